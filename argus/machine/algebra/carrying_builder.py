"""`Builder` over carried rows: an instruction's definition, executed on bits and on values at once.

    b = CarryingBuilder(home, reader, numpy_builder(mode))
    VALU["v_fma_f32"].fn(b, x, y, z)        the bits of the real run; the id of x * y + z, computed in the fields

Integer operations move ids (`carried`); float operations read numbers (`float_reading`), compute in the fields
(`numbers`) and enter new values. Conversions between float formats keep the residue. Rounding to a whole number
follows the real run and gives literals; so do comparisons, whose masks carry nothing; a maximum is the operand it is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from argus.machine.algebra import numbers
from argus.machine.algebra.carried import CarriedRow, Home, Row, bits_of, ids_of
from argus.machine.algebra.float_reading import FORMATS, FloatFormat, FloatReader, literal_result
from argus.machine.algebra.numbers import AlgebraNumbers
from argus.machine.algebra.value_table import LITERAL, Ids
from argus.machine.semantics.numpy_backend import NumpyBuilder

Law = Callable[..., AlgebraNumbers]

_LAWS: dict[str, Law] = {
    "fadd": numbers.add,
    "fsub": numbers.subtract,
    "fmul": numbers.multiply,
    "fdiv": numbers.divide,
    "fsqrt": numbers.sqrt,
    "ffma": numbers.multiply_add,
}
_CONVERSIONS = {
    "f32_to_f64": ("f32", "f64"),
    "f64_to_f32": ("f64", "f32"),
    "f16_to_f32": ("f16", "f32"),
    "f32_to_f16": ("f32", "f16"),
}
_FROM_INTEGERS = {
    "u32_to_f32": (np.uint32, "f32"),
    "i32_to_f32": (np.int32, "f32"),
    "u32_to_f64": (np.uint32, "f64"),
    "i32_to_f64": (np.int32, "f64"),
}
_WHOLE = ("floor", "ceil", "trunc", "rint")
_BITWISE = {"and_", "or_", "xor"}
_SHIFTS = {"shl32": True, "lshr32": False, "ashr32": False, "shl64": True, "lshr64": False, "ashr64": False}
_REAL_RUN = ("floor", "ceil", "trunc", "rint", "to_u32", "to_i32")
"""Parts of the names of operations that give whole numbers of the real run."""
_MASKS = frozenset({"eq", "ne", "ult", "ule", "const_mask"})
_MASK_STEMS = ("slt", "sle", "feq", "flt", "fle", "funo", "mask_")


def _identity(x: AlgebraNumbers) -> AlgebraNumbers:
    return x


class CarryingBuilder:
    """See `argus.machine.semantics.builder` for what each operation means."""

    def __init__(self, home: Home, reader: FloatReader, plain: NumpyBuilder) -> None:
        self.home, self.reader, self.plain = home, reader, plain
        self.saturate_fp8 = plain.saturate_fp8
        self.const32, self.const64 = plain.const32, plain.const64

    def __getattr__(self, name: str) -> Callable[..., Any]:
        made = self._operation(name)
        setattr(self, name, made)
        return made

    def _operation(self, name: str) -> Callable[..., Any]:
        """The operation of a name, made when it is first used."""
        plain: Callable[..., Any] = getattr(self.plain, name)
        if name in _MASKS or name.startswith(_MASK_STEMS):
            return lambda *words: plain(*map(bits_of, words))
        stem, width = name[:-2], f"f{name[-2:]}"
        if stem in _LAWS:
            form, law = FORMATS[width], _LAWS[stem]
            return lambda *words: self.computed(law, form, form, plain(*map(bits_of, words)), *words)
        if stem in ("fmin", "fmax"):
            return lambda a, b: self._picked(plain(bits_of(a), bits_of(b)), a, b, FORMATS[width])
        if name in _CONVERSIONS:
            source, target = (FORMATS[f] for f in _CONVERSIONS[name])
            return lambda a: self.computed(_identity, source, target, plain(bits_of(a)), a)
        if name in _FROM_INTEGERS:
            kind, form_name = _FROM_INTEGERS[name]
            return lambda a: self._whole(plain(bits_of(a)), np.atleast_1d(bits_of(a)).view(kind), a, FORMATS[form_name])
        if any(part in stem for part in _WHOLE) and width in FORMATS:
            return lambda a: self._whole(plain(bits_of(a)), None, None, FORMATS[width])
        if any(part in name for part in _REAL_RUN):
            return lambda a: plain(bits_of(a))
        if name in _BITWISE:
            return lambda a, b: getattr(self.home, name)(a, b)
        if name in _SHIFTS:
            return self._shift(plain, _SHIFTS[name], signed=name.startswith("ashr"))
        return lambda *words: self.home.mixed(plain, *words)

    def _shift(self, plain: Callable[..., Any], left: bool, signed: bool) -> Callable[..., Any]:
        def shift(a: Row, n: Row) -> Row:
            if ids_of(a) is None and ids_of(n) is None:
                return plain(bits_of(a), bits_of(n))
            if not signed:
                return self.home.shifted(a, n, left=left)
            size = bits_of(a).itemsize
            as_signed = CarriedRow(bits_of(a).view(f"i{size}"), ids_of(a), self.home)
            return self.home.shifted(as_signed, bits_of(n).astype(f"i{size}"), left=False).view(f"u{size}")

        return shift

    # -- words ---------------------------------------------------------------------------------------------------

    def add32(self, a: Row, b: Row) -> Row:
        return self.home.sum_of(a, b)

    add64 = add32

    def select(self, mask: Any, a: Row, b: Row) -> Row:
        if ids_of(a) is None and ids_of(b) is None:
            return self.plain.select(mask, bits_of(a), bits_of(b))
        return self.home.where(mask, a, b)

    def zext(self, a: Row) -> Row:
        return a.astype(np.uint64)

    def trunc(self, a: Row) -> Row:
        return a.astype(np.uint32)

    def high(self, a: Row) -> Row:
        return (a >> np.uint64(32)).astype(np.uint32)

    def pair(self, lo: Row, hi: Row) -> Row:
        return self.home.or_(lo.astype(np.uint64), hi.astype(np.uint64) << np.uint64(32))

    # -- floats --------------------------------------------------------------------------------------------------

    def computed(self, law: Law, source: FloatFormat, target: FloatFormat, bits: Row, *words: Row) -> Row:
        """A row of bits in format `target` that is `law` of words in format `source`."""
        read = [self.reader.read(word, source) for word in words]
        lanes = max(np.size(bits), *(len(lost) for _, lost in read))
        given = [_spread(x, lanes) for x, _ in read]
        lost = np.zeros(lanes, np.uint32)
        for _, cause in read:
            lost = np.where(lost > 0, lost, cause)
        row = np.broadcast_to(bits, (lanes,))
        made = law(*given).with_real(target.values(row))
        ids = self.entered(made, lost, all(ids_of(word) is None for word in words))
        if ids is None:
            return bits
        return self.home.row(row, _on_bytes(ids, target.bytes, row.dtype.itemsize))

    def _whole(self, bits: Row, integers: Any, source: Row, form: FloatFormat) -> Row:
        """Whole numbers of the real run as floats: integers, or what is in the bits itself. They are numbers, not just
        bits: what rounds them later does not change them."""
        if ids_of(source) is not None:
            return self.home.mixed(lambda *unused: bits, source)
        row = np.atleast_1d(bits)
        real = form.values(row)
        made = numbers.of_floats(real if integers is None else integers.astype(np.float64)).with_real(real)
        ids = self.entered(made, np.zeros(len(row), np.uint32), literals=True)
        return bits if ids is None else self.home.row(row, _on_bytes(ids, form.bytes, row.dtype.itemsize))

    def entered(self, made: AlgebraNumbers, lost: Ids, literals: bool) -> Ids | None:
        """Ids of results; None if they may all stand for themselves. What follows from an infinity does."""
        stands = literal_result(made) if literals else ~np.isfinite(made.real)
        beyond = (made.present == 0) & ~stands & (lost == 0)
        if beyond.any():
            lost = np.where(beyond, np.uint32(self.home.lost()), lost)
        if not lost.any() and stands.all():
            return None
        ids = self.home.table.enter(made)
        ids = np.where(lost > 0, lost, ids)
        return np.where(stands & (lost == 0), np.uint32(LITERAL), ids)

    def _picked(self, bits: Row, a: Row, b: Row, form: FloatFormat) -> Row:
        """The operand that the result is; doubtful where both are, and are different numbers."""
        if ids_of(a) is None and ids_of(b) is None:
            return bits
        made = self.home.where(bits == bits_of(a), a, b)
        made = self.home.row(bits, ids_of(made))
        lanes = len(bits)
        both = np.broadcast_to(bits_of(a) == bits_of(b), (lanes,))
        if not both.any():
            return made
        (x, _), (y, _) = self.reader.read(a, form), self.reader.read(b, form)
        x, y = _spread(x, lanes), _spread(y, lanes)
        tie = both & ~numbers.same(x, y)
        if not tie.any():
            return made
        doubted = self.home.table.enter(x.doubted(tie))
        return self.home.where(tie, self.home.row(bits, _on_bytes(doubted, form.bytes, bits.dtype.itemsize)), made)


def _spread(x: AlgebraNumbers, lanes: int) -> AlgebraNumbers:
    if len(x.real) == lanes:
        return x
    return x.arranged(lambda array: np.broadcast_to(array, (lanes,)))


def _on_bytes(ids: Ids, count: int, size: int) -> Ids:
    """Ids on the low `count` of `size` bytes, literals above."""
    made = np.zeros((len(ids), size), np.uint32)
    made[:, :count] = ids[:, None]
    return made
