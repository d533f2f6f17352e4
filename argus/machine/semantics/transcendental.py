"""exp2, log2, reciprocal, square roots, sine: one definition for every executor.

The hardware's units are approximations whose last bit is unpublished (1 ulp documented). Here each is a fixed
sequence of correctly rounded IEEE operations, so the interpreter and the JIT agree bit for bit on any host:

    v_exp_f32    n = rint(x), p(x - n) by an f32 polynomial of degree 6, exponent field + n.    error <= 1.0 ulp
    v_log_f32    exponent + an odd polynomial of (m - 1)/(m + 1) in f64.                        error <= 0.51 ulp
    v_rcp_f32, v_sqrt_f32, v_rcp_f64, v_sqrt_f64: correctly rounded.  v_rsq_*: f64 1/sqrt.      error <= 0.51 ulp
    (f64: 1) v_sin_f32, v_cos_f32 (argument in revolutions): exact reduction, f64 polynomial.            error <= 0.51
    ulp f16 forms: through f32.

Denormals: the f32 functions read denormal arguments as zero and flush denormal results, whatever the mode, as the
hardware does (compilers scale around it). v_sin/v_cos answer 0 / 1 for |x| > 256, the documented range.
Exponential and logarithm use f32 where it is accurate enough, because attention kernels spend their time there.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import pack, unpack

from argus.machine.semantics.builder import Builder, Word
from argus.machine.semantics.table import define
from argus.machine.semantics.valu_float import half1
from argus.machine.semantics.valu_int import VALU

ABS32, SIGN32, INF32, NAN32 = 0x7FFFFFFF, 0x80000000, 0x7F800000, 0x7FC00000

EXP2 = (
    1.0,
    0.6931471824645996,
    0.24022647738456726,
    0.05550329014658928,
    0.009618373587727547,
    0.0013399808667600155,
    0.00015370632172562182,
)
"""Coefficients of 2**f on [-1/2, 1/2], lowest first, each an f32."""

TAYLOR_LOG2 = tuple(2.8853900817779268 / n for n in range(1, 24, 2))
"""2/ln 2 * s**n / n for odd n: log2 of (1 + s)/(1 - s), |s| <= 0.1716."""

SIN_2PI = (
    6.283185307179586,
    -41.341702240399755,
    81.60524927607504,
    -76.70585975306136,
    42.058693944897655,
    -15.094642576822984,
    3.8199525848482803,
    -0.7181223017785001,
    0.1042291622081397,
    -0.012031585942120622,
)
"""Taylor coefficients of sin(2 pi r), odd powers from 1; |r| <= 1/4."""


def f32_bits(x: float) -> int:
    return int(unpack("<I", pack("<f", x))[0])


def f64_bits(x: float) -> int:
    return int(unpack("<Q", pack("<d", x))[0])


def _flush(b: Builder, x: Word) -> Word:
    """Denormals become zeros of the same sign."""
    tiny = b.ult(b.and_(x, b.const32(ABS32)), b.const32(0x00800000))
    return b.select(tiny, b.and_(x, b.const32(SIGN32)), x)


def exp2_f32(b: Builder, x: Word) -> Word:
    zero = b.const32(0)
    inside = b.fmin32(b.fmax32(x, b.const32(f32_bits(-200.0))), b.const32(f32_bits(200.0)))
    n = b.frint32(inside)
    f = b.fsub32(inside, n)
    p = b.const32(f32_bits(EXP2[-1]))
    for c in reversed(EXP2[1:-1]):
        p = b.fadd32(b.fmul32(p, f), b.const32(f32_bits(c)))
    p = b.ffma32(p, f, b.const32(f32_bits(EXP2[0])))
    scaled = b.add32(p, b.shl32(b.f32_to_i32(n), b.const32(23)))
    result = b.select(b.fle32(b.const32(f32_bits(128.0)), x), b.const32(INF32), scaled)
    result = b.select(b.flt32(x, b.const32(f32_bits(-126.0))), zero, result)
    return b.select(b.funo32(x, x), b.const32(NAN32), result)


def log2_f32(b: Builder, x: Word) -> Word:
    x = _flush(b, x)
    bits = b.sub32(x, b.const32(0x3F3504F3))
    exponent = b.ashr32(bits, b.const32(23))
    mantissa = b.add32(b.and_(bits, b.const32(0x007FFFFF)), b.const32(0x3F3504F3))
    m, one = b.f32_to_f64(mantissa), b.const64(f64_bits(1.0))
    s = b.fdiv64(b.fsub64(m, one), b.fadd64(m, one))
    square = b.fmul64(s, s)
    p = b.const64(f64_bits(TAYLOR_LOG2[-1]))
    for c in reversed(TAYLOR_LOG2[:-1]):
        p = b.fadd64(b.fmul64(p, square), b.const64(f64_bits(c)))
    value = b.f64_to_f32(b.fadd64(b.i32_to_f64(exponent), b.fmul64(p, s)))
    zero = b.const32(0)
    value = b.select(b.feq32(x, b.const32(INF32)), x, value)
    value = b.select(b.feq32(x, zero), b.const32(0xFF800000), value)
    return b.select(b.mask_or(b.flt32(x, zero), b.funo32(x, x)), b.const32(NAN32), value)


def rcp_f32(b: Builder, x: Word) -> Word:
    return _flush(b, b.fdiv32(b.const32(f32_bits(1.0)), _flush(b, x)))


def sqrt_f32(b: Builder, x: Word) -> Word:
    return b.fsqrt32(_flush(b, x))


def rsq_f32(b: Builder, x: Word) -> Word:
    root = b.fsqrt64(b.f32_to_f64(_flush(b, x)))
    return b.f64_to_f32(b.fdiv64(b.const64(f64_bits(1.0)), root))


def _sin_quarter(b: Builder, r: Word) -> Word:
    """sin(2 pi r) for an f64 |r| <= 1/4."""
    square = b.fmul64(r, r)
    p = b.const64(f64_bits(SIN_2PI[-1]))
    for c in reversed(SIN_2PI[:-1]):
        p = b.fadd64(b.fmul64(p, square), b.const64(f64_bits(c)))
    return b.fmul64(p, r)


def _turns(b: Builder, x: Word, quarter_shift: float) -> Word:
    """sin(2 pi (x + quarter_shift)) as f64 for an f32 x."""
    wide = b.f32_to_f64(b.fsub32(x, b.frint32(x)))
    r = b.fadd64(wide, b.const64(f64_bits(quarter_shift)))
    r = b.fsub64(r, b.frint64(r))
    magnitude = b.and_(r, b.const64((1 << 63) - 1))
    sign = b.and_(r, b.const64(1 << 63))
    folded = b.fmin64(magnitude, b.fsub64(b.const64(f64_bits(0.5)), magnitude))
    return _sin_quarter(b, b.or_(folded, sign))


def _trigonometric(shift: float, outside: int) -> Callable[[Builder, Word], Word]:
    def run(b: Builder, x: Word) -> Word:
        x = _flush(b, x)
        value = _flush(b, b.f64_to_f32(_turns(b, x, shift)))
        magnitude = b.and_(x, b.const32(ABS32))
        far = b.flt32(b.const32(f32_bits(256.0)), magnitude)
        value = b.select(far, b.const32(outside), value)
        not_finite = b.ule(b.const32(INF32), magnitude)
        return b.select(not_finite, b.const32(NAN32), value)

    return run


sin_f32 = _trigonometric(0.0, 0)
cos_f32 = _trigonometric(0.25, f32_bits(1.0))


def _rcp_f64(b: Builder, x: Word) -> Word:
    return b.fdiv64(b.const64(f64_bits(1.0)), x)


def _rsq_f64(b: Builder, x: Word) -> Word:
    return b.fdiv64(b.const64(f64_bits(1.0)), b.fsqrt64(x))


define(VALU, "v_exp_f32 v_exp_legacy_f32", "f32 = f32", exp2_f32)
define(VALU, "v_log_f32 v_log_legacy_f32", "f32 = f32", log2_f32)
define(VALU, "v_rcp_f32 v_rcp_iflag_f32", "f32 = f32", rcp_f32)
define(VALU, "v_rsq_f32", "f32 = f32", rsq_f32)
define(VALU, "v_sqrt_f32", "f32 = f32", sqrt_f32)
define(VALU, "v_sin_f32", "f32 = f32", sin_f32)
define(VALU, "v_cos_f32", "f32 = f32", cos_f32)
define(VALU, "v_rcp_f64", "f64 = f64", _rcp_f64)
define(VALU, "v_rsq_f64", "f64 = f64", _rsq_f64)
define(VALU, "v_sqrt_f64", "f64 = f64", lambda b, x: b.fsqrt64(x))
for _name, _fn in (
    ("exp", exp2_f32),
    ("log", log2_f32),
    ("rcp", rcp_f32),
    ("rsq", rsq_f32),
    ("sqrt", sqrt_f32),
    ("sin", sin_f32),
    ("cos", cos_f32),
):
    define(VALU, f"v_{_name}_f16", "f16 = f16", half1(_fn))
