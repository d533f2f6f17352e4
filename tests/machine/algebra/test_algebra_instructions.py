"""Every class of instruction on carried rows: bits as the machine has them, residues as the law says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from argus.machine.algebra import fields, numbers
from argus.machine.algebra.carried import Home, bits_of, ids_of
from argus.machine.algebra.carrying_builder import CarryingBuilder
from argus.machine.algebra.constants import Constants
from argus.machine.algebra.float_reading import FORMATS, FloatReader
from argus.machine.algebra.functions import CARRYING
from argus.machine.algebra.numbers import AlgebraNumbers
from argus.machine.algebra.value_table import ValueTable
from argus.machine.semantics.numpy_backend import NumpyBuilder
from argus.machine.semantics.valu import VALU

LANES = 64
U32 = np.uint32


@pytest.fixture(autouse=True)
def _quiet() -> Any:
    with np.errstate(all="ignore"):
        yield


class Bench:
    """A builder, and rows of values to feed it."""

    def __init__(self) -> None:
        self.home = Home(ValueTable())
        self.home.cause = "the test"
        self.reader = FloatReader(self.home, Constants(1))
        self.b = CarryingBuilder(self.home, self.reader, NumpyBuilder())
        self._rng = np.random.default_rng(0)

    def row(self, low: float = -4.0, high: float = 4.0, form: str = "f32") -> tuple[Any, AlgebraNumbers]:
        """A row of values of a format in the low end of words, and their numbers."""
        dtype = FORMATS[form].dtype
        values = self._rng.uniform(low, high, LANES).astype(dtype)
        real = values.astype(np.float64)
        made = numbers.exactly(fields.drawn(real, 9), real)
        ids = np.zeros((LANES, 4), U32)
        ids[:, : dtype.itemsize] = self.home.table.enter(made)[:, None]
        bits = values.view(f"u{dtype.itemsize}").astype(U32)
        return self.home.row(bits, ids), made

    def read(self, word: Any, form: str = "f32") -> AlgebraNumbers:
        made, lost = self.reader.read(word, FORMATS[form])
        assert not lost.any()
        return made

    def lost(self, word: Any, form: str = "f32") -> Any:
        return self.reader.read(word, FORMATS[form])[1] > 0


def same_bits(op: str, made: Any, *words: Any) -> None:
    plain = VALU[op].fn(NumpyBuilder(), *map(bits_of, words))
    assert (bits_of(made) == plain).all()


CASES: list[tuple[str, int, Callable[..., AlgebraNumbers]]] = [
    ("v_add_f32", 2, numbers.add),
    ("v_sub_f32", 2, numbers.subtract),
    ("v_subrev_f32", 2, lambda x, y: numbers.subtract(y, x)),
    ("v_mul_f32", 2, numbers.multiply),
    ("v_fma_f32", 3, numbers.multiply_add),
    ("v_fmac_f32", 3, numbers.multiply_add),
    ("v_rcp_f32", 1, numbers.inverse),
    ("v_exp_f32", 1, numbers.exp2),
    ("v_log_f32", 1, numbers.log2),
    ("v_sqrt_f32", 1, numbers.sqrt),
    ("v_rsq_f32", 1, lambda x: numbers.inverse(numbers.sqrt(x))),
]


@pytest.mark.parametrize(("op", "count", "law"), CASES, ids=[c[0] for c in CASES])
def test_arithmetic_follows_its_law(op: str, count: int, law: Callable[..., AlgebraNumbers]) -> None:
    bench = Bench()
    rows = [bench.row(0.5, 4.0) for _ in range(count)]
    words = [word for word, _ in rows]
    made = CARRYING[op].fn(bench.b, *words)
    same_bits(op, made, *words)
    got, want = bench.read(made), law(*[known for _, known in rows])
    assert (got.present == want.present).all()
    assert (got.residue[[k for k in range(3) if want.present[0] >> k & 1]] ==
            want.residue[[k for k in range(3) if want.present[0] >> k & 1]]).all()  # fmt: skip
    assert (got.taint == want.taint).all()


@pytest.mark.parametrize("op", ["v_max_f32", "v_min_f32"])
def test_choices_follow_the_real_run(op: str) -> None:
    bench = Bench()
    (x, nx), (y, ny) = bench.row(), bench.row()
    made = CARRYING[op].fn(bench.b, x, y)
    first = nx.real > ny.real if op == "v_max_f32" else nx.real < ny.real
    want = numbers.choose(first, nx, ny)
    assert (bench.read(made).residue == want.residue).all()


def test_a_tie_of_different_numbers_is_doubtful() -> None:
    bench = Bench()
    x, known = bench.row()
    other = numbers.exactly(fields.drawn(known.real, 77), known.real)
    y = bench.home.row(bits_of(x), np.repeat(bench.home.table.enter(other)[:, None], 4, axis=1))
    assert (bench.read(bench.b.fmax32(x, y)).taint == numbers.DOUBTFUL).all()
    assert not bench.read(bench.b.fmax32(x, x)).taint.any()


def test_signs_are_bits() -> None:
    bench = Bench()
    x, known = bench.row()
    negative = bench.b.xor(x, bench.b.const32(0x80000000))
    assert (bench.read(negative).residue == fields.negate(known.residue)).all()
    size = bench.b.and_(x, bench.b.const32(0x7FFFFFFF))
    assert (bench.read(size).residue == numbers.absolute(known).residue).all()


def test_a_half_made_by_integer_rounding_keeps_its_value() -> None:
    """f32 to bf16 as compilers write it: add half and the last kept bit, take the high half; then pack and unpack."""
    bench = Bench()
    b = bench.b
    halves = []
    for _ in range(2):
        x, known = bench.row()
        odd = b.and_(b.lshr32(x, b.const32(16)), b.const32(1))
        rounded = b.add32(b.add32(x, b.const32(0x7FFF)), odd)
        assert bench.lost(rounded).any()
        halves.append((b.lshr32(rounded, b.const32(16)), rounded, known))
    (low, _, first), (_, high, second) = halves
    packed = VALU["v_and_or_b32"].fn(b, high, b.const32(0xFFFF0000), low)
    permuted = VALU["v_perm_b32"].fn(b, high, halves[0][1], b.const32(0x07060302))
    for word in (packed, permuted):
        assert (bench.read(b.shl32(word, b.const32(16))).residue == first.residue).all()
        assert (bench.read(b.and_(word, b.const32(0xFFFF0000))).residue == second.residue).all()
        assert (bench.read(b.and_(word, b.const32(0xFFFF)), "bf16").residue == first.residue).all()
    assert bench.lost(packed).all()


def test_another_half_is_not_taken_for_the_value() -> None:
    bench = Bench()
    x, _ = bench.row()
    low = bench.b.shl32(bench.b.and_(x, bench.b.const32(0xFFFF)), bench.b.const32(16))
    assert bench.lost(low).mean() > 0.9


def test_conversions_are_the_identity() -> None:
    bench = Bench()
    b = bench.b
    x, known = bench.row(-2.0, 2.0)
    half = b.f32_to_f16(x)
    assert (bench.read(half, "f16").residue == known.residue).all()
    assert (bench.read(b.f16_to_f32(half)).residue == known.residue).all()
    assert (bench.read(b.f32_to_f64(x), "f64").residue == known.residue).all()
    y, second = bench.row(-2.0, 2.0)
    towards_zero = VALU["v_cvt_pkrtz_f16_f32"].fn(b, x, y)
    assert (bench.read(b.and_(towards_zero, b.const32(0xFFFF)), "f16").residue == known.residue).all()
    assert (bench.read(b.lshr32(towards_zero, b.const32(16)), "f16").residue == second.residue).all()


@pytest.mark.parametrize("form", ["fp8", "bf8"])
def test_eight_bit_floats_carry_one_value_on_each_byte(form: str) -> None:
    bench = Bench()
    b = bench.b
    (x, first), (y, second) = bench.row(-300.0, 300.0), bench.row(-0.01, 0.01)
    pair = CARRYING[f"v_cvt_pk_{form}_f32"].fn(b, x, y)
    fits = np.isfinite(FORMATS[form].values(bits_of(pair) & U32(0xFF)))
    wide = CARRYING[f"v_cvt_pk_f32_{form}"].fn(b, pair)
    low, high = b.trunc(wide), b.high(wide)
    assert (bench.read(low).residue == first.residue)[:, fits].all()
    assert (bench.read(high).residue == second.residue).all()
    one = CARRYING[f"v_cvt_f32_{form}"].fn(b, pair)
    assert (bench.read(one).residue == first.residue)[:, fits].all()


def test_a_literal_beside_a_row_is_narrowed_with_it() -> None:
    """The second byte of a pair may be a number of the instruction: one lane for all of them."""
    bench = Bench()
    x, first = bench.row(-1.0, 1.0)
    pair = CARRYING["v_cvt_pk_fp8_f32"].fn(bench.b, x, bench.b.const32(0))
    one = CARRYING["v_cvt_f32_fp8"].fn(bench.b, pair)
    assert (bench.read(one).residue == first.residue).all()


def _divided(b: CarryingBuilder, n: Any, d: Any) -> Any:
    """v_div_scale, v_rcp, Newton steps, v_div_fmas, v_div_fixup, as LLVM writes n / d."""
    scaled_d, _ = CARRYING["v_div_scale_f32"].fn(b, d, d, n)
    scaled_n, flag = CARRYING["v_div_scale_f32"].fn(b, n, d, n)
    r = CARRYING["v_rcp_f32"].fn(b, scaled_d)
    minus = b.xor(scaled_d, b.const32(0x80000000))
    error = b.ffma32(minus, r, b.const32(0x3F800000))
    r = b.ffma32(error, r, r)
    q = b.fmul32(scaled_n, r)
    rest = b.ffma32(minus, q, scaled_n)
    q = b.ffma32(rest, r, q)
    rest = b.ffma32(minus, q, scaled_n)
    q = CARRYING["v_div_fmas_f32"].fn(b, rest, r, q, flag)
    return CARRYING["v_div_fixup_f32"].fn(b, q, d, n)


def test_the_division_sequence_is_a_quotient() -> None:
    bench = Bench()
    (n, top), (d, bottom) = bench.row(), bench.row(0.5, 4.0)
    made = _divided(bench.b, n, d)
    assert (bench.read(made).residue == numbers.divide(top, bottom).residue).all()


@pytest.mark.parametrize("constant", [False, True])
def test_a_quotient_of_what_happens_to_be_zero_is_not_followed(constant: bool) -> None:
    """The steps before v_div_fixup give NaN for a numerator 0: no other lane's number, and no literal 0."""
    bench = Bench()
    b = bench.b
    (x, known), (d, bottom) = bench.row(), bench.row(0.5, 4.0)
    if constant:
        d, bottom = b.const32(0x40800000) + np.zeros(LANES, U32), numbers.of_floats(np.full(LANES, 4.0))
    bits = bits_of(x).copy()
    zero = np.arange(LANES) % 5 == 0
    bits[zero] = 0
    real = np.where(zero, 0.0, known.real)
    top = numbers.exactly(fields.drawn(real + 0.125 * zero, 9), real)
    n = bench.home.row(bits, np.repeat(bench.home.table.enter(top)[:, None], 4, axis=1))
    made = _divided(b, n, d)
    assert (bench.lost(made) == zero).all()
    assert (bench.reader.read(made, FORMATS["f32"])[0].residue == numbers.divide(top, bottom).residue)[:, ~zero].all()


def test_a_split_exponent_is_the_whole() -> None:
    """exp2(x - n) * 2**n with n = rint(x), and v_ldexp."""
    bench = Bench()
    b = bench.b
    x, known = bench.row(-20.0, 20.0)
    n = b.frint32(x)
    assert (bench.read(n).residue == numbers.of_floats(np.rint(known.real)).residue).all()
    part = CARRYING["v_exp_f32"].fn(b, b.fsub32(x, n))
    made = VALU["v_ldexp_f32"].fn(b, part, b.f32_to_i32(n))
    assert (bench.read(made).residue[1:] == numbers.exp2(known).residue[1:]).all()


def test_whole_numbers_are_what_they_are() -> None:
    """Also after integer instructions have rounded them to bf16."""
    bench = Bench()
    b = bench.b
    n = np.arange(1, LANES + 1, dtype=U32) * np.uint32(1001)
    wide = b.u32_to_f32(n)
    want = numbers.of_floats(n.astype(np.float64))
    assert (bench.read(wide).residue == want.residue).all()
    twice = b.fmul32(wide, b.const32(0x40000000))
    assert (bench.read(twice).residue == numbers.of_floats(2.0 * n).residue).all()
    for given in (wide, b.ffloor32(wide)):
        odd = b.and_(b.lshr32(given, b.const32(16)), b.const32(1))
        half = b.lshr32(b.add32(b.add32(given, odd), b.const32(0x7FFF)), b.const32(16))
        assert (bits_of(half) << np.uint32(16) != bits_of(given)).any()
        assert (bench.read(half, "bf16").residue == want.residue).all()
    assert ids_of(b.u32_to_f32(np.full(LANES, 2, U32))) is None
    inverse = CARRYING["v_rcp_f32"].fn(b, wide)
    assert (bench.read(inverse).residue == numbers.inverse(numbers.of_floats(n.astype(np.float64))).residue).all()


def test_packed_halves_of_f16() -> None:
    bench = Bench()
    b = bench.b
    (x, first), (y, second) = bench.row(form="f16"), bench.row(form="f16")
    total = VALU["v_pk_add_f16"].fn(b, x, y)
    assert (bench.read(total, "f16").residue == numbers.add(first, second).residue).all()
    product = VALU["v_fma_f16"].fn(b, x, y, x)
    assert (bench.read(product, "f16").residue == numbers.multiply_add(first, second, first).residue).all()


def test_what_mixes_two_values_is_lost_and_says_where() -> None:
    bench = Bench()
    (x, _), (y, _) = bench.row(), bench.row()
    mixed = bench.b.mul32(x, y)
    lost = bench.reader.read(mixed, FORMATS["f32"])[1]
    assert {bench.home.table.cause(int(k)) for k in lost} == {"the test"}


def test_bits_that_are_no_rounding_of_the_value_are_lost() -> None:
    bench = Bench()
    x, _ = bench.row(1.0, 2.0)
    assert not bench.lost(bench.b.add32(x, bench.b.const32(1))).any()
    assert bench.lost(bench.b.add32(x, bench.b.const32(64))).all()


def test_bf16_values_compare_at_their_own_precision() -> None:
    values = np.array([1.0, 3.14159], ml_dtypes.bfloat16)
    assert FORMATS["bf16"].values(values.view(np.uint16)).tolist() == values.astype(np.float64).tolist()


def test_a_sign_on_a_magnitude_is_that_number() -> None:
    bench = Bench()
    (x, nx), (y, ny) = bench.row(), bench.row()
    mask = bench.b.const32(0x7FFFFFFF)
    made = CARRYING["v_bfi_b32"].fn(bench.b, mask, x, y)
    same_bits("v_bfi_b32", made, mask, x, y)
    want = numbers.choose(np.signbit(nx.real) == np.signbit(ny.real), nx, numbers.negate(nx))
    assert (bench.read(made).residue == want.residue).all()
    mixed = CARRYING["v_bfi_b32"].fn(bench.b, bench.b.const32(0x007FFFFF), x, y)
    assert bench.lost(mixed).any()
