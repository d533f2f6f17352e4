"""Reading bytes as a float of a format: which number is it?

    all bytes literal                the number the bits are, or the constant they stand for (`constants`)
    one id, and the bits are a rounding of plus or minus its value in this format      its residues, or their negatives
    anything else                    not followed, from this instruction on

A rounding may go either way: the distance is less than one unit in the last place, plus the least subnormal; for f32
two units, which covers code that corrects a root by one. Of an f32 whose low half is literal only the high half counts
(bf16). Beyond the largest number of a format that saturates, the largest counts as a rounding.
"""

from __future__ import annotations

from dataclasses import dataclass

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from argus.machine.algebra import fields
from argus.machine.algebra.carried import Home, Row, bits_of, ids_of
from argus.machine.algebra.constants import Constants
from argus.machine.algebra.fields import EVERY_LEVEL
from argus.machine.algebra.numbers import DOUBTFUL, LOGARITHM, AlgebraNumbers, Reals, choose
from argus.machine.algebra.value_table import LITERAL, Ids, ValueTable


@dataclass(frozen=True, slots=True)
class FloatFormat:
    """`unit`: one (f32: two) units in the last place, relative; `least`: the smallest subnormal."""

    name: str
    dtype: np.dtype[np.generic]
    unit: float
    least: float
    largest: float = np.inf

    @property
    def bytes(self) -> int:
        return self.dtype.itemsize

    def values(self, bits: NDArray[np.generic]) -> Reals:
        """Bits in the low end of words as doubles."""
        unsigned = np.dtype(f"u{self.bytes}")
        narrow = np.ascontiguousarray(bits).astype(unsigned)
        with np.errstate(all="ignore"):
            return narrow.view(self.dtype).astype(np.float64)


FORMATS = {
    f.name: f
    for f in (
        FloatFormat("f64", np.dtype(np.float64), 2.0**-50, 0.0),
        FloatFormat("f32", np.dtype(np.float32), 2.0**-22, 2.0**-149),
        FloatFormat("f16", np.dtype(np.float16), 2.0**-10, 2.0**-24),
        FloatFormat("bf16", np.dtype(ml_dtypes.bfloat16), 2.0**-7, 2.0**-133),
        FloatFormat("fp8", np.dtype(ml_dtypes.float8_e4m3fnuz), 2.0**-3, 2.0**-10, 240.0),
        FloatFormat("bf8", np.dtype(ml_dtypes.float8_e5m2fnuz), 2.0**-2, 2.0**-17, 57344.0),
    )
}
_HALF = 2


def one_id(ids: Ids) -> tuple[Ids, NDArray[np.bool_]]:
    """(the id of each row of bytes, whether there is only one besides literals)."""
    most = ids.max(axis=-1)
    return most, ((ids == most[..., None]) | (ids == LITERAL)).all(axis=-1)


class FloatReader:
    """Rows of words to numbers."""

    def __init__(self, home: Home, constants: Constants) -> None:
        self._home, self._constants = home, constants
        self._table: ValueTable = home.table

    def read(self, word: Row, form: FloatFormat) -> tuple[AlgebraNumbers, Ids]:
        """The numbers, and per lane the id of the cause where one is not followed, else 0."""
        bits, ids = bits_of(word), ids_of(word)
        if ids is None:
            real = np.atleast_1d(form.values(np.atleast_1d(bits)))
            return self._constants.of_floats(real), np.zeros(len(real), np.uint32)
        return self.of_bytes(form.values(bits), ids[..., : form.bytes], form)

    def of_bytes(self, real: Reals, ids: Ids, form: FloatFormat) -> tuple[AlgebraNumbers, Ids]:
        """As `read`, of values (n,) and ids (n, bytes)."""
        most, single = one_id(ids)
        known = self._table.numbers(most)
        was, now = np.abs(known.real), np.abs(real)
        unit = np.full(real.shape, form.unit)
        if form.name == "f32":
            half = (ids[..., :_HALF] == LITERAL).all(axis=-1)
            unit = np.where(half, FORMATS["bf16"].unit, unit)
        with np.errstate(invalid="ignore"):
            rounded = np.abs(was - now) <= unit * was + form.least
            rounded |= (now == form.largest) & (was > form.largest)
        negative = np.signbit(real) != np.signbit(known.real)
        residue = np.where(negative, fields.negate(known.residue), known.residue)
        carried = AlgebraNumbers(residue, known.present, known.taint, real)
        literal = most == LITERAL
        followed = single & rounded & (known.present > 0)
        lost = np.where(self._table.is_lost(ids), ids, np.uint32(0)).max(axis=-1)
        fault = ~(literal | followed) & (lost == 0)
        if fault.any():
            lost = np.where(fault, np.uint32(self._home.lost()), lost)
        present = np.where(lost > 0, 0, carried.present).astype(np.uint8)
        made = AlgebraNumbers(carried.residue, present, carried.taint, real)
        if literal.any():
            made = choose(literal, self._constants.of_floats(real), made)
        return made, lost


def literal_result(made: AlgebraNumbers) -> NDArray[np.bool_]:
    """Where a number is exactly what its real value says, so that the bits may stand for themselves. Only what no
    format rounds: integer instructions may round a literal (f32 to bf16), and it would mean what it was rounded to."""
    same = (fields.of_floats(made.real) == made.residue).all(axis=0)
    with np.errstate(all="ignore"):
        for narrow in (FORMATS["fp8"].dtype, FORMATS["bf8"].dtype):
            same &= made.real.astype(narrow).astype(np.float64) == made.real
    return np.asarray(
        same & (made.present == EVERY_LEVEL) & (made.taint & (DOUBTFUL | LOGARITHM) == 0) | ~np.isfinite(made.real)
    )
