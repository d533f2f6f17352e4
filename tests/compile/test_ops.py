"""Every elementwise function, conversion, register and lane exchange against numpy, on the machine."""

from __future__ import annotations

from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from argus.compile import CompileError
from argus.compile.exchange import DPP, swizzle
from argus.ir.build import IrBuilder
from argus.ir.kernel import LANE
from argus.ir.maps import MAPS
from argus.ir.types import DTYPES, Value, boolean, f32, i32
from argus.layout import expr as E
from tests.compile.harness import NUMPY, WAVE, run

FLOATS = ("f64", "f32", "f16", "bf16", "fp8", "bf8")
INTS = ("i64", "i32", "i16", "i8", "u32", "u16", "u8")
SPECIAL = np.array(
    [
        0.0,
        -0.0,
        1.0,
        -1.0,
        np.inf,
        -np.inf,
        np.nan,
        1e-40,
        -1e-40,
        3.4e38,
        65504,
        65520,
        240,
        248,
        57344,
        1e5,
        0.5,
        1.5,
        2.5,
    ]
)


def numbers(dtype: str, count: int, seed: int, specials: bool = True) -> np.ndarray:
    """Values over the whole range of the type, with special ones and ties mixed in."""
    rng = np.random.default_rng(seed)
    kind = NUMPY[dtype]
    if dtype in INTS:
        info = np.iinfo(kind)
        return rng.integers(info.min, info.max, (WAVE, count), dtype=kind, endpoint=True)
    values = rng.standard_normal((WAVE, count)) * 2.0 ** rng.integers(-9, 9, (WAVE, count))
    if specials:
        some = rng.random((WAVE, count)) < 0.25
        values = np.where(some, rng.choice(SPECIAL, (WAVE, count)), values)
    with np.errstate(over="ignore"):
        return values.astype(np.float32).astype(kind) if dtype != "f64" else values


def same(got: np.ndarray, want: np.ndarray) -> None:
    """Equal values; NaN where NaN is wanted, of any payload."""
    wide = (lambda x: x.astype(np.float64)) if got.dtype.kind not in "iu" else (lambda x: x)
    np.testing.assert_array_equal(wide(got), wide(want))


def through_f32(fn: str, *xs: np.ndarray) -> np.ndarray:
    """The function in the type's own arithmetic; narrow floats computed in f32 and rounded once."""
    narrow = (
        xs[-1].dtype not in (np.dtype(np.float64), np.dtype(np.float32), np.dtype(np.float16))
        and xs[-1].dtype.kind not in "iu"
    )
    args = [x.astype(np.float32) for x in xs] if narrow else list(xs)
    with np.errstate(all="ignore"):
        result = {
            "add": lambda x, y: x + y,
            "sub": lambda x, y: x - y,
            "mul": lambda x, y: x * y,
            "div": lambda x, y: x / y,
            "neg": lambda x: -x,
            "abs": np.abs,
            "floor": np.floor,
            "max": lambda x, y: np.fmax(x, y) if x.dtype.kind == "f" else np.maximum(x, y),
            "min": lambda x, y: np.fmin(x, y) if x.dtype.kind == "f" else np.minimum(x, y),
            "and": lambda x, y: x & y,
            "or": lambda x, y: x | y,
            "xor": lambda x, y: x ^ y,
        }[fn](*args)
    return np.asarray(result).astype(xs[-1].dtype)


ARITHMETIC = ("add", "sub", "mul", "neg", "abs", "max", "min", "floor", "div", "and", "or", "xor")


@pytest.mark.parametrize("dtype", [*FLOATS, *INTS])
def test_arithmetic(dtype: str) -> None:
    """All functions defined on the type, in one kernel per type, with counts that fill registers and that do not."""
    kind = DTYPES[dtype].kind
    names = [fn for fn in ARITHMETIC if kind in MAPS[fn].kinds]
    for count in (1, 4) if DTYPES[dtype].bits < 32 else (2,):
        x, y = numbers(dtype, count, 1), numbers(dtype, count, 2)

        def ops(b: IrBuilder, a: Value, c: Value) -> Value:
            made = [b.map(fn, *(a, c)[: MAPS[fn].arity]) for fn in names]
            return b.registers(tuple(made), tuple((n, e) for n in range(len(made)) for e in range(a.count)))

        got = run(ops, x, y)
        for n, fn in enumerate(names):
            part = got[:, n * count : (n + 1) * count]
            want = through_f32(fn, *(x, y)[: MAPS[fn].arity])
            zeros = (part == 0) & (want == 0)
            same(np.where(zeros, want, part) if fn in ("max", "min") else part, want)


@pytest.mark.parametrize("dtype", ["f32", "f64", "f16", "bf16", "i32", "u32", "i16", "u8"])
def test_comparisons_and_select(dtype: str) -> None:
    x, y = numbers(dtype, 4, 3), numbers(dtype, 4, 4)
    y[:, 0] = x[:, 0]
    names = ("lt", "le", "gt", "ge", "eq", "ne")

    def ops(b: IrBuilder, a: Value, c: Value) -> Value:
        made = [b.map("select", b.map(fn, a, c), a, c) for fn in names]
        return b.registers(tuple(made), tuple((n, e) for n in range(len(made)) for e in range(4)))

    got = run(ops, x, y)
    compare = {
        "lt": np.less,
        "le": np.less_equal,
        "gt": np.greater,
        "ge": np.greater_equal,
        "eq": np.equal,
        "ne": np.not_equal,
    }
    for n, fn in enumerate(names):
        with np.errstate(invalid="ignore"):
            same(got[:, 4 * n : 4 * n + 4], np.where(compare[fn](x, y), x, y))


@pytest.mark.parametrize("dtype", ["i32", "u32", "i64"])
def test_shifts(dtype: str) -> None:
    x = numbers(dtype, 2, 5)
    y = np.random.default_rng(6).integers(0, DTYPES[dtype].bits, x.shape).astype(x.dtype)

    def ops(b: IrBuilder, a: Value, c: Value) -> Value:
        return b.registers((b.map("shl", a, c), b.map("shr", a, c)), ((0, 0), (0, 1), (1, 0), (1, 1)))

    got = run(ops, x, y)
    same(got[:, :2], x << y)
    same(got[:, 2:], x >> y)


def test_booleans() -> None:
    x, y = numbers("i32", 2, 7), numbers("i32", 2, 8)

    def ops(b: IrBuilder, a: Value, c: Value) -> Value:
        zero = b.constant(0, i32, 2)
        p, q = b.map("lt", a, zero), b.map("lt", c, zero)
        masks = [b.map("and", p, q), b.map("or", p, q), b.map("xor", p, q), b.map("not", p)]
        numbers_ = [b.convert(m, i32) for m in masks]
        return b.registers(tuple(numbers_), tuple((n, e) for n in range(4) for e in range(2)))

    p, q = x < 0, y < 0
    same(run(ops, x, y), np.concatenate([p & q, p | q, p ^ q, ~p], axis=1).astype(np.int32))


def test_fma_rounds_once() -> None:
    rng = np.random.default_rng(9)
    x, y, z = (rng.standard_normal((WAVE, 2)).astype(np.float32) for _ in range(3))
    z[:, 0] = -(x[:, 0] * y[:, 0])
    got = run(lambda b, *v: b.map("fma", *v), x, y, z)
    for index in np.ndindex(got.shape):
        exact = Fraction(float(x[index])) * Fraction(float(y[index])) + Fraction(float(z[index]))
        assert abs(Fraction(float(got[index])) - exact) <= abs(Fraction(float(np.spacing(got[index])))) / 2


@pytest.mark.parametrize(
    ("fn", "want"),
    [
        ("exp2", np.exp2),
        ("log2", np.log2),
        ("rcp", np.reciprocal),
        ("rsqrt", lambda x: 1 / np.sqrt(x)),
        ("sqrt", np.sqrt),
    ],
)
@pytest.mark.parametrize("dtype", ["f32", "f16", "bf16"])
def test_hardware_functions(fn: str, want: np.ufunc, dtype: str) -> None:
    rng = np.random.default_rng(10)
    x = rng.uniform(0.01, 8.0, (WAVE, 4)).astype(NUMPY[dtype])
    got = run(lambda b, v: b.map(fn, v), x).astype(np.float64)
    exact = want(x.astype(np.float64))
    relative = {"f32": 2.0**-21, "f16": 2.0**-9, "bf16": 2.0**-7}[dtype]
    np.testing.assert_allclose(got, exact, rtol=relative, atol=relative)


def float_conversion(x: np.ndarray, target: str) -> np.ndarray:
    wide = x.astype(np.float64) if target == "f64" else x.astype(np.float32)
    with np.errstate(over="ignore", invalid="ignore"):
        return wide.astype(NUMPY[target])


@pytest.mark.parametrize("source", FLOATS)
def test_float_conversions(source: str) -> None:
    """To every float type: nearest even, NaN stays NaN, overflow as the format says."""
    for count in (1, 4):
        x = numbers(source, count, 11)
        for target in FLOATS:
            if target == source:
                continue
            got = run(lambda b, v, t=target: b.convert(v, DTYPES[t]), x)
            same(got, float_conversion(x, target))


def test_bf16_ties_and_nans_exhaustively_around_the_rounding_point() -> None:
    """Bits below and above the halfway point for many exponents and signs, and NaNs of every payload shape."""
    rng = np.random.default_rng(12)
    top = rng.integers(0, 1 << 16, WAVE * 2, dtype=np.uint32) << 16
    low = rng.choice(np.array([0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF], np.uint32), WAVE * 2)
    x = (top | low).view(np.float32).reshape(WAVE, 2)
    x[0] = np.array([0x7F800001, 0xFFFFFFFF], np.uint32).view(np.float32)
    got = run(lambda b, v: b.convert(v, DTYPES["bf16"]), x)
    with np.errstate(invalid="ignore"):
        same(got, x.astype(ml_dtypes.bfloat16))
    assert np.isnan(got[0].astype(np.float32)).all()
    numbers_only = np.where(np.isnan(x), np.float32(1.5), x)
    cheap = run(lambda b, v: b.convert(v, DTYPES["bf16"], finite=True), numbers_only)
    same(cheap, numbers_only.astype(ml_dtypes.bfloat16))


def test_rounding_toward_zero() -> None:
    x = numbers("f32", 4, 13, specials=False)
    got = run(lambda b, v: b.convert(v, DTYPES["bf16"], rounding="rtz"), x)
    same(got, (x.view(np.uint32) & 0xFFFF0000).view(np.float32).astype(ml_dtypes.bfloat16))
    half = run(lambda b, v: b.convert(v, DTYPES["f16"], rounding="rtz"), x)
    nearest = x.astype(np.float16)
    toward = np.where(np.abs(nearest.astype(np.float32)) > np.abs(x), np.nextafter(nearest, np.float16(0)), nearest)
    same(half, toward)


@pytest.mark.parametrize("target", ["fp8", "bf8"])
def test_saturating_8_bit_floats(target: str) -> None:
    x = numbers("f32", 4, 14)
    largest = {"fp8": 240.0, "bf8": 57344.0}[target]
    want = np.clip(x, -largest, largest).astype(NUMPY[target])
    same(run(lambda b, v: b.convert(v, DTYPES[target], saturate=True), x), want)


@pytest.mark.parametrize("source", INTS)
def test_integer_conversions(source: str) -> None:
    x = numbers(source, 4, 15)
    for target in INTS:
        if DTYPES[target].bits == 64 or source == target:
            continue
        got = run(lambda b, v, t=target: b.convert(v, DTYPES[t]), x)
        same(got, x.astype(NUMPY[target]))
        info = np.iinfo(NUMPY[target])
        got = run(lambda b, v, t=target: b.convert(v, DTYPES[t], saturate=True), x)
        same(got, np.clip(x.astype(object), info.min, info.max).astype(NUMPY[target]))
    for target in ("f32", "f64", "bf16", "f16"):
        if DTYPES[source].bits == 64 and target != "f64":
            continue
        got = run(lambda b, v, t=target: b.convert(v, DTYPES[t]), x)
        with np.errstate(over="ignore"):
            want = x.astype(np.float64 if target == "f64" else np.float32).astype(NUMPY[target])
        same(got, want)


@pytest.mark.parametrize("source", ["f32", "f16", "bf16", "f64"])
def test_float_to_integer(source: str) -> None:
    x = np.random.default_rng(16).uniform(-1000, 1000, (WAVE, 4)).astype(NUMPY[source])
    x[0] = np.array([0.5, 1.5, 2.5, -0.5]).astype(NUMPY[source])
    exact = x.astype(np.float64)
    for target in ("i32", "i16", "i8"):
        same(
            run(lambda b, v, t=target: b.convert(v, DTYPES[t]), x),
            np.rint(exact).astype(np.int64).astype(NUMPY[target]),
        )
        rtz = run(lambda b, v, t=target: b.convert(v, DTYPES[t], rounding="rtz"), x)
        same(rtz, np.trunc(exact).astype(np.int64).astype(NUMPY[target]))
        info = np.iinfo(NUMPY[target])
        clipped = run(lambda b, v, t=target: b.convert(v, DTYPES[t], saturate=True), x)
        same(clipped, np.clip(np.rint(exact), info.min, info.max).astype(NUMPY[target]))


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.data())
def test_register_rearrangements(data: st.DataObject) -> None:
    """Any pick of elements of up to three values, for every element width."""
    dtype = data.draw(st.sampled_from(["i8", "bf16", "f32", "i64"]))
    counts = data.draw(st.lists(st.integers(1, 9), min_size=1, max_size=3))
    pick = data.draw(
        st.lists(
            st.integers(0, len(counts) - 1).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, counts[n] - 1))),
            min_size=1,
            max_size=12,
        )
    )
    rng = np.random.default_rng(17)
    xs = [rng.integers(-100, 100, (WAVE, n)).astype(NUMPY[dtype]) for n in counts]
    got = run(lambda b, *v: b.registers(v, tuple(pick)), *xs)
    same(got, np.stack([xs[n][:, e] for n, e in pick], axis=1))


def test_bitcasts() -> None:
    x = numbers("f32", 4, 18, specials=False)
    same(run(lambda b, v: b.bitcast(v, DTYPES["i32"]), x), x.view(np.int32))
    same(run(lambda b, v: b.bitcast(v, DTYPES["u8"]), x), x.view(np.uint8))
    same(run(lambda b, v: b.bitcast(b.bitcast(v, DTYPES["bf16"]), DTYPES["i64"]), x), x.view(np.int64))


EXCHANGES = {
    "xor 1": LANE ^ 1,
    "xor 2": LANE ^ 2,
    "xor 8": LANE ^ 8,
    "xor 16": LANE ^ 16,
    "xor 32": LANE ^ 32,
    "mirror": 63 - LANE,
    "row rotate": LANE // 16 * 16 + (LANE + 3) % 16,
    "broadcast": E.const(17),
    "row broadcast": LANE // 16 * 16 + 5,
    "wave rotate": (LANE + 1) % 64,
    "transpose 8x8": LANE % 8 * 8 + LANE // 8,
    "same": LANE,
}


@pytest.mark.parametrize("name", EXCHANGES)
def test_lane_exchanges(name: str) -> None:
    source = EXCHANGES[name]
    x = numbers("f32", 2, 19, specials=False)
    table = np.broadcast_to(E.evaluate(source, {"lane": np.arange(WAVE)}), (WAVE,))
    same(run(lambda b, v: b.lanes(v, source), x), x[table])


def test_lane_tables_describe_every_lane() -> None:
    """A DPP or swizzle control is used only for the exact map it performs."""
    assert all(len(table) == WAVE and all(0 <= s < WAVE for s in table) for table in DPP)
    for mask in range(32):
        table = tuple((lane & 32) + ((lane & 31) ^ mask) for lane in range(WAVE))
        assert swizzle(table) == (31 | mask << 10)
    assert swizzle(tuple(lane ^ 32 for lane in range(WAVE))) is None


def test_a_lane_outside_the_wave_is_refused() -> None:
    with pytest.raises(CompileError, match="C140"):
        run(lambda b, v: b.lanes(v, LANE + 1), numbers("f32", 1, 20))


def test_an_operation_the_type_lacks_is_refused() -> None:
    x = numbers("f64", 1, 21)
    with pytest.raises(CompileError, match="C101"):
        run(lambda b, v: b.map("exp2", v), x)


@pytest.mark.parametrize("dtype", [*FLOATS, *INTS])
def test_constants(dtype: str) -> None:
    value = -3 if DTYPES[dtype].kind != "uint" else 5
    x = np.zeros((WAVE, 3), np.int32)
    got = run(lambda b, v: b.constant(value, DTYPES[dtype], 3), x)
    same(got, np.full((WAVE, 3), value, NUMPY[dtype]))


def test_true_is_one() -> None:
    x = np.zeros((WAVE, 1), np.int32)
    got = run(lambda b, v: b.convert(b.constant(1, boolean, 2), f32), x)
    same(got, np.ones((WAVE, 2), np.float32))
