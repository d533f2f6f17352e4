"""The abstract operations in which every instruction of the machine is defined.

An instruction's meaning is written once, as a Python function over a `Builder`; what an operation *does* is up to the
builder. `NumpyBuilder` computes it for 64 lanes now, `ScalarBuilder` for one Python integer, the JIT's builder emits
LLVM instructions for later. One definition, several interpreters:

    def v_lshl_add_u32(b, x, n, y):            # argus/machine/semantics/valu_int.py
        return b.add32(b.shl32(x, b.and_(n, b.const32(31))), y)

Values are raw bits, never Python or NumPy numbers of a particular meaning. There are three kinds:

    w32   a 32-bit word: an integer, the bits of an f32, or an f16/16-bit integer in bits 15..0 with zeros above;
    w64   a 64-bit word: an integer or the bits of an f64;
    mask  one truth value per lane (in scalar code: one truth value).

Names carry the width (`add32`, `fmul64`), so a backend never guesses it; operations without a width suffix
(`and_`, `eq`, `select` ...) take operands of one common width and mean the same for both.

Float operations round to nearest even and follow the denormal mode the builder was made for: when f32 flushing is on,
f32 operations read denormal operands as zeros of the same sign and replace denormal results by zeros of the same sign;
the f64/f16 flag does the same for f64 operations and for the f16 conversions. A NaN result may carry any payload.
What the protocol cannot express: other rounding modes, exceptions, and lane crossing (that is data, see `lanes.py`).
"""

from __future__ import annotations

from typing import Any, Protocol, TypeAlias

Word: TypeAlias = Any
"""A w32 or w64 value of some backend."""
Mask: TypeAlias = Any
"""A lane mask of some backend."""


class IntBuilder(Protocol):
    """Integer operations: all that scalar instructions need."""

    def const32(self, value: int) -> Word:
        """The w32 constant `value` mod 2**32."""
        ...

    def const64(self, value: int) -> Word:
        """The w64 constant `value` mod 2**64."""
        ...

    def const_mask(self, value: bool) -> Mask:
        """The mask that is `value` in every lane."""
        ...

    def add32(self, a: Word, b: Word) -> Word:
        """(a + b) mod 2**32."""
        ...

    def sub32(self, a: Word, b: Word) -> Word:
        """(a - b) mod 2**32."""
        ...

    def mul32(self, a: Word, b: Word) -> Word:
        """(a * b) mod 2**32."""
        ...

    def add64(self, a: Word, b: Word) -> Word:
        """(a + b) mod 2**64."""
        ...

    def sub64(self, a: Word, b: Word) -> Word:
        """(a - b) mod 2**64."""
        ...

    def mul64(self, a: Word, b: Word) -> Word:
        """(a * b) mod 2**64."""
        ...

    def and_(self, a: Word, b: Word) -> Word:
        """Bitwise and; any width."""
        ...

    def or_(self, a: Word, b: Word) -> Word:
        """Bitwise or; any width."""
        ...

    def xor(self, a: Word, b: Word) -> Word:
        """Bitwise exclusive or; any width."""
        ...

    def not32(self, a: Word) -> Word:
        """Bitwise complement of a w32."""
        ...

    def not64(self, a: Word) -> Word:
        """Bitwise complement of a w64."""
        ...

    def shl32(self, a: Word, n: Word) -> Word:
        """a << n mod 2**32; n is a w32 below 32 (callers mask it)."""
        ...

    def lshr32(self, a: Word, n: Word) -> Word:
        """a >> n, zeros shifted in; n is a w32 below 32."""
        ...

    def ashr32(self, a: Word, n: Word) -> Word:
        """a >> n, sign bit shifted in; n is a w32 below 32."""
        ...

    def shl64(self, a: Word, n: Word) -> Word:
        """w64 a << n mod 2**64; n is a w32 below 64."""
        ...

    def lshr64(self, a: Word, n: Word) -> Word:
        """w64 a >> n, zeros shifted in; n is a w32 below 64."""
        ...

    def ashr64(self, a: Word, n: Word) -> Word:
        """w64 a >> n, sign bit shifted in; n is a w32 below 64."""
        ...

    def zext(self, a: Word) -> Word:
        """w32 to w64, zeros above."""
        ...

    def sext(self, a: Word) -> Word:
        """w32 to w64, sign bit above."""
        ...

    def trunc(self, a: Word) -> Word:
        """w64 to w32: the low half."""
        ...

    def high(self, a: Word) -> Word:
        """w64 to w32: the high half."""
        ...

    def pair(self, lo: Word, hi: Word) -> Word:
        """Two w32 to one w64, `lo` in bits 31..0."""
        ...

    def popcount32(self, a: Word) -> Word:
        """Number of one bits, as w32."""
        ...

    def clz32(self, a: Word) -> Word:
        """Number of leading zero bits; 32 for zero."""
        ...

    def ctz32(self, a: Word) -> Word:
        """Number of trailing zero bits; 32 for zero."""
        ...

    def bitreverse32(self, a: Word) -> Word:
        """Bit i of the result is bit 31 - i of a."""
        ...

    def eq(self, a: Word, b: Word) -> Mask:
        """a == b as bits; any width."""
        ...

    def ne(self, a: Word, b: Word) -> Mask:
        """a != b as bits; any width."""
        ...

    def ult(self, a: Word, b: Word) -> Mask:
        """a < b, unsigned; any width."""
        ...

    def ule(self, a: Word, b: Word) -> Mask:
        """a <= b, unsigned; any width."""
        ...

    def slt32(self, a: Word, b: Word) -> Mask:
        """a < b, two's complement w32."""
        ...

    def sle32(self, a: Word, b: Word) -> Mask:
        """a <= b, two's complement w32."""
        ...

    def slt64(self, a: Word, b: Word) -> Mask:
        """a < b, two's complement w64."""
        ...

    def sle64(self, a: Word, b: Word) -> Mask:
        """a <= b, two's complement w64."""
        ...

    def select(self, mask: Mask, a: Word, b: Word) -> Word:
        """a where the mask is set, b elsewhere; any width."""
        ...

    def mask_and(self, p: Mask, q: Mask) -> Mask:
        """p and q."""
        ...

    def mask_or(self, p: Mask, q: Mask) -> Mask:
        """p or q."""
        ...

    def mask_xor(self, p: Mask, q: Mask) -> Mask:
        """p differs from q."""
        ...

    def mask_not(self, p: Mask) -> Mask:
        """not p."""
        ...


class Builder(IntBuilder, Protocol):
    """Integer and float operations: all that vector instructions need."""

    @property
    def saturate_fp8(self) -> bool:
        """Whether f32 to fp8/bf8 conversion clamps to the largest number (MODE.FP16_OVFL = 1) or overflows to NaN."""
        ...

    def fadd32(self, a: Word, b: Word) -> Word:
        """f32 a + b."""
        ...

    def fsub32(self, a: Word, b: Word) -> Word:
        """f32 a - b."""
        ...

    def fmul32(self, a: Word, b: Word) -> Word:
        """f32 a * b."""
        ...

    def fdiv32(self, a: Word, b: Word) -> Word:
        """f32 a / b, correctly rounded."""
        ...

    def fsqrt32(self, a: Word) -> Word:
        """f32 square root, correctly rounded; NaN below zero, -0 for -0."""
        ...

    def ffma32(self, a: Word, b: Word, c: Word) -> Word:
        """f32 a * b + c with one rounding."""
        ...

    def fmin32(self, a: Word, b: Word) -> Word:
        """The smaller operand; -0 < +0; if one is NaN, the other; NaN if both are."""
        ...

    def fmax32(self, a: Word, b: Word) -> Word:
        """The larger operand; -0 < +0; if one is NaN, the other; NaN if both are."""
        ...

    def feq32(self, a: Word, b: Word) -> Mask:
        """f32 a == b; false if either is NaN."""
        ...

    def flt32(self, a: Word, b: Word) -> Mask:
        """f32 a < b; false if either is NaN."""
        ...

    def fle32(self, a: Word, b: Word) -> Mask:
        """f32 a <= b; false if either is NaN."""
        ...

    def funo32(self, a: Word, b: Word) -> Mask:
        """a or b is NaN."""
        ...

    def ffloor32(self, a: Word) -> Word:
        """f32 largest integer not above a (sign of zero kept, NaN and infinities unchanged)."""
        ...

    def fceil32(self, a: Word) -> Word:
        """f32 smallest integer not below a."""
        ...

    def ftrunc32(self, a: Word) -> Word:
        """f32 a rounded towards zero to an integer."""
        ...

    def frint32(self, a: Word) -> Word:
        """f32 a rounded to the nearest integer, ties to even."""
        ...

    def fadd64(self, a: Word, b: Word) -> Word:
        """f64 a + b."""
        ...

    def fsub64(self, a: Word, b: Word) -> Word:
        """f64 a - b."""
        ...

    def fmul64(self, a: Word, b: Word) -> Word:
        """f64 a * b."""
        ...

    def fdiv64(self, a: Word, b: Word) -> Word:
        """f64 a / b, correctly rounded."""
        ...

    def fsqrt64(self, a: Word) -> Word:
        """f64 square root, correctly rounded; NaN below zero, -0 for -0."""
        ...

    def ffma64(self, a: Word, b: Word, c: Word) -> Word:
        """f64 a * b + c with one rounding."""
        ...

    def fmin64(self, a: Word, b: Word) -> Word:
        """The smaller operand; -0 < +0; if one is NaN, the other; NaN if both are."""
        ...

    def fmax64(self, a: Word, b: Word) -> Word:
        """The larger operand; -0 < +0; if one is NaN, the other; NaN if both are."""
        ...

    def feq64(self, a: Word, b: Word) -> Mask:
        """f64 a == b; false if either is NaN."""
        ...

    def flt64(self, a: Word, b: Word) -> Mask:
        """f64 a < b; false if either is NaN."""
        ...

    def fle64(self, a: Word, b: Word) -> Mask:
        """f64 a <= b; false if either is NaN."""
        ...

    def funo64(self, a: Word, b: Word) -> Mask:
        """a or b is NaN."""
        ...

    def ffloor64(self, a: Word) -> Word:
        """f64 largest integer not above a (sign of zero kept, NaN and infinities unchanged)."""
        ...

    def fceil64(self, a: Word) -> Word:
        """f64 smallest integer not below a."""
        ...

    def ftrunc64(self, a: Word) -> Word:
        """f64 a rounded towards zero to an integer."""
        ...

    def frint64(self, a: Word) -> Word:
        """f64 a rounded to the nearest integer, ties to even."""
        ...

    def f32_to_f64(self, a: Word) -> Word:
        """w32 to w64, exact."""
        ...

    def f64_to_f32(self, a: Word) -> Word:
        """w64 to w32, round to nearest even."""
        ...

    def f16_to_f32(self, a: Word) -> Word:
        """f16 in the low half of a w32 to f32, exact."""
        ...

    def f32_to_f16(self, a: Word) -> Word:
        """f32 to f16 in the low half of a w32, round to nearest even; overflow gives infinity."""
        ...

    def u32_to_f32(self, a: Word) -> Word:
        """Unsigned w32 to f32, round to nearest even."""
        ...

    def i32_to_f32(self, a: Word) -> Word:
        """Signed w32 to f32, round to nearest even."""
        ...

    def u32_to_f64(self, a: Word) -> Word:
        """Unsigned w32 to f64, exact."""
        ...

    def i32_to_f64(self, a: Word) -> Word:
        """Signed w32 to f64, exact."""
        ...

    def f32_to_u32(self, a: Word) -> Word:
        """f32 towards zero to unsigned w32; clamped to the range; NaN gives 0."""
        ...

    def f32_to_i32(self, a: Word) -> Word:
        """f32 towards zero to signed w32; clamped to the range; NaN gives 0."""
        ...

    def f64_to_u32(self, a: Word) -> Word:
        """f64 towards zero to unsigned w32; clamped to the range; NaN gives 0."""
        ...

    def f64_to_i32(self, a: Word) -> Word:
        """f64 towards zero to signed w32; clamped to the range; NaN gives 0."""
        ...
