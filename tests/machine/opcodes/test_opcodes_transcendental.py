"""exp2, log2, reciprocals, roots and sines: error in units of the last place, and the special values.

The reference is Python's f64 mathematics, which is accurate to far better than an f32 unit."""

from __future__ import annotations

import math
import random
import struct
from collections.abc import Callable

import numpy as np
import pytest
from opcode_harness import run
from opcode_softfloat import F16, F32, F64

INF, NAN = math.inf, math.nan


def bits32(x: float) -> int:
    return int(struct.unpack("<I", struct.pack("<f", x))[0])


def float32(b: int) -> float:
    return float(struct.unpack("<f", struct.pack("<I", b))[0])


def ulps(got: float, want: float) -> float:
    spacing = float(np.spacing(np.float32(abs(want)))) if want else 2.0**-149
    return abs(got - want) / spacing


def rsq(x: float) -> float:
    return 1 / math.sqrt(x)


CASES: list[tuple[str, Callable[[float], float], float, float, float]] = [
    ("v_exp_f32", lambda x: 2.0**x, -125.9, 127.9, 1.0),
    ("v_log_f32", math.log2, 1e-37, 1e38, 0.51),
    ("v_log_f32", math.log2, 0.9, 1.1, 0.51),
    ("v_rcp_f32", lambda x: 1 / x, 1e-37, 1e37, 0.5),
    ("v_rcp_iflag_f32", lambda x: 1 / x, -1e30, -1e-30, 0.5),
    ("v_rsq_f32", rsq, 1e-37, 1e38, 0.51),
    ("v_sqrt_f32", math.sqrt, 1e-37, 1e38, 0.5),
    ("v_sin_f32", lambda x: math.sin(2 * math.pi * x), -0.24, 0.24, 0.51),
    ("v_cos_f32", lambda x: math.cos(2 * math.pi * x), -0.24, 0.24, 0.51),
]


@pytest.mark.parametrize(("op", "reference", "low", "high", "bound"), CASES)
def test_error_in_units_of_the_last_place(
    op: str, reference: Callable[[float], float], low: float, high: float, bound: float
) -> None:
    rng = random.Random(1)
    worst = 0.0
    for _ in range(40):
        if low > 0 and high / low > 1e3:
            xs = [math.exp(rng.uniform(math.log(low), math.log(high))) for _ in range(64)]
        else:
            xs = [rng.uniform(low, high) for _ in range(64)]
        codes = [bits32(x) for x in xs]
        got = run(op, "f32 = f32", [codes])
        worst = max(worst, *(ulps(float32(g), reference(float32(c))) for g, c in zip(got, codes, strict=True)))
    assert worst <= bound + 1e-6


SPECIAL: dict[str, list[tuple[float, float]]] = {
    "v_exp_f32": [
        (0.0, 1.0),
        (-0.0, 1.0),
        (INF, INF),
        (-INF, 0.0),
        (1.0, 2.0),
        (-126.0, 2.0 ** (-126)),
        (-127.0, 0.0),
        (128.0, INF),
        (127.0, 2.0**127),
        (1e-40, 1.0),
        (1e30, INF),
        (-1e30, 0.0),
    ],
    "v_log_f32": [(1.0, 0.0), (0.0, -INF), (-0.0, -INF), (INF, INF), (8.0, 3.0), (2.0**-126, -126.0), (1e-40, -INF)],
    "v_rcp_f32": [(0.0, INF), (-0.0, -INF), (INF, 0.0), (-INF, -0.0), (4.0, 0.25), (2.0**127, 0.0), (1e-40, INF)],
    "v_rsq_f32": [(0.0, INF), (-0.0, -INF), (INF, 0.0), (4.0, 0.5), (1e-40, INF)],
    "v_sqrt_f32": [(0.0, 0.0), (-0.0, -0.0), (INF, INF), (9.0, 3.0), (1e-40, 0.0)],
    "v_sin_f32": [(0.0, 0.0), (0.25, 1.0), (0.5, 0.0), (-0.25, -1.0), (100.25, 1.0), (1000.0, 0.0)],
    "v_cos_f32": [(0.0, 1.0), (0.5, -1.0), (1.0, 1.0), (100.5, -1.0), (1000.0, 1.0)],
}


@pytest.mark.parametrize("op", sorted(SPECIAL))
def test_special_values(op: str) -> None:
    pairs = SPECIAL[op]
    codes = [bits32(x) for x, _ in pairs] + [bits32(NAN)] * (64 - len(pairs))
    got = run(op, "f32 = f32", [codes])
    for (x, want), g in zip(pairs, got, strict=False):
        assert float32(g) == want, (op, x)
        if want == 0 and op != "v_sin_f32":
            assert math.copysign(1, float32(g)) == math.copysign(1, want), (op, x)
    assert all(F32.is_nan(g) for g in got[len(pairs) :])


def test_negative_arguments_give_nan() -> None:
    for op in ("v_log_f32", "v_rsq_f32", "v_sqrt_f32"):
        assert all(F32.is_nan(g) for g in run(op, "f32 = f32", [[bits32(-1.5)] * 64]))


def test_f64_forms() -> None:
    rng = random.Random(2)
    xs = [math.exp(rng.uniform(-300, 300)) for _ in range(64)]
    codes = [struct.unpack("<Q", struct.pack("<d", x))[0] for x in xs]
    assert run("v_sqrt_f64", "f64 = f64", [codes]) == [F64.sqrt(c) for c in codes]
    one = 0x3FF0000000000000
    assert run("v_rcp_f64", "f64 = f64", [codes]) == [F64.div(one, c) for c in codes]
    got = run("v_rsq_f64", "f64 = f64", [codes])
    for g, x in zip(got, xs, strict=True):
        value = struct.unpack("<d", struct.pack("<Q", g))[0]
        assert abs(value * math.sqrt(x) - 1) < 4e-16


F16_CASES: dict[str, Callable[[float], float]] = {
    "v_exp_f16": lambda x: 2.0**x,
    "v_log_f16": math.log2,
    "v_rcp_f16": lambda x: 1 / x,
    "v_rsq_f16": rsq,
    "v_sqrt_f16": math.sqrt,
    "v_sin_f16": lambda x: math.sin(2 * math.pi * x),
    "v_cos_f16": lambda x: math.cos(2 * math.pi * x),
}


@pytest.mark.parametrize("op", sorted(F16_CASES))
def test_f16_forms(op: str) -> None:
    codes = [
        F16.encode((False, F64.number(struct.unpack("<Q", struct.pack("<d", 0.05 + k / 40))[0])[1])) for k in range(64)
    ]
    got = run(op, "f16 = f16", [codes])
    for g, c in zip(got, codes, strict=True):
        want = F16_CASES[op](float(F16.signed(c)))
        assert abs(float(F16.signed(g)) - want) <= max(abs(want) * 2**-10, 2**-11), (op, hex(c))


def test_legacy_names_agree() -> None:
    codes = [bits32(0.1 * k + 0.01) for k in range(64)]
    assert run("v_exp_legacy_f32", "f32 = f32", [codes]) == run("v_exp_f32", "f32 = f32", [codes])
    assert run("v_log_legacy_f32", "f32 = f32", [codes]) == run("v_log_f32", "f32 = f32", [codes])


def test_the_compilers_division_sequence_is_ieee_division() -> None:
    """v_div_scale, v_rcp, v_fma, v_div_fmas, v_div_fixup as compilers combine them."""
    rng = random.Random(3)
    f = "f32 = f32 f32 f32"
    for _ in range(20):
        special = [0, 0x80000000, 1, 0x7FFFFF, 0x800000, 0x7F7FFFFF, 0x7F800000, 0x7FC00000, 0x3F800000, 0x00800001]
        n = [rng.choice(special) if rng.random() < 0.3 else rng.getrandbits(32) for _ in range(64)]
        d = [rng.choice(special) if rng.random() < 0.3 else rng.getrandbits(32) for _ in range(64)]
        one = [0x3F800000] * 64
        ds, _ = run("v_div_scale_f32", "f32 mask = f32 f32 f32", [d, d, n])
        ns, vcc = run("v_div_scale_f32", "f32 mask = f32 f32 f32", [n, d, n])
        minus = [x ^ 0x80000000 for x in ds]
        r = run("v_rcp_f32", "f32 = f32", [ds])
        e = run("v_fma_f32", f, [minus, r, one])
        r = run("v_fma_f32", f, [e, r, r])
        q = run("v_mul_f32", "f32 = f32 f32", [ns, r])
        e = run("v_fma_f32", f, [minus, q, ns])
        q = run("v_fma_f32", f, [e, r, q])
        e = run("v_fma_f32", f, [minus, q, ns])
        q = run("v_div_fmas_f32", "f32 = f32 f32 f32 vcc", [e, r, q, vcc])
        got = run("v_div_fixup_f32", f, [q, d, n])
        for g, a, b in zip(got, n, d, strict=True):
            want = F32.div(a, b)
            close = abs(g - want) <= 1 and want & 0x7F800000 == 0
            assert g == want or (F32.is_nan(g) and F32.is_nan(want)) or close, (hex(a), hex(b), hex(g), hex(want))
