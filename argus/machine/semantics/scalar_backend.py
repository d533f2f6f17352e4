"""`IntBuilder` over Python integers: what the interpreter computes scalar instructions with.

    ScalarBuilder().add32(0xFFFFFFFF, 2) == 1

A w32 is an int in [0, 2**32), a w64 one in [0, 2**64), a mask is a bool. No float operations: gfx942 has no scalar
floats.
"""

from __future__ import annotations

M32, M64 = 0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF


def signed32(a: int) -> int:
    return a - (1 << 32) if a >> 31 else a


def signed64(a: int) -> int:
    return a - (1 << 64) if a >> 63 else a


class ScalarBuilder:
    """See the protocol for what each operation means."""

    __slots__ = ()

    def const32(self, value: int) -> int:
        return value & M32

    def const64(self, value: int) -> int:
        return value & M64

    def const_mask(self, value: bool) -> bool:
        return value

    def add32(self, a: int, b: int) -> int:
        return a + b & M32

    def sub32(self, a: int, b: int) -> int:
        return a - b & M32

    def mul32(self, a: int, b: int) -> int:
        return a * b & M32

    def add64(self, a: int, b: int) -> int:
        return a + b & M64

    def sub64(self, a: int, b: int) -> int:
        return a - b & M64

    def mul64(self, a: int, b: int) -> int:
        return a * b & M64

    def and_(self, a: int, b: int) -> int:
        return a & b

    def or_(self, a: int, b: int) -> int:
        return a | b

    def xor(self, a: int, b: int) -> int:
        return a ^ b

    def not32(self, a: int) -> int:
        return a ^ M32

    def not64(self, a: int) -> int:
        return a ^ M64

    def shl32(self, a: int, n: int) -> int:
        return a << n & M32

    def lshr32(self, a: int, n: int) -> int:
        return a >> n

    def ashr32(self, a: int, n: int) -> int:
        return signed32(a) >> n & M32

    def shl64(self, a: int, n: int) -> int:
        return a << n & M64

    def lshr64(self, a: int, n: int) -> int:
        return a >> n

    def ashr64(self, a: int, n: int) -> int:
        return signed64(a) >> n & M64

    def zext(self, a: int) -> int:
        return a

    def sext(self, a: int) -> int:
        return signed32(a) & M64

    def trunc(self, a: int) -> int:
        return a & M32

    def high(self, a: int) -> int:
        return a >> 32

    def pair(self, lo: int, hi: int) -> int:
        return lo | hi << 32

    def popcount32(self, a: int) -> int:
        return a.bit_count()

    def clz32(self, a: int) -> int:
        return 32 - a.bit_length()

    def ctz32(self, a: int) -> int:
        return (a & -a).bit_length() - 1 if a else 32

    def bitreverse32(self, a: int) -> int:
        return int(f"{a:032b}"[::-1], 2)

    def eq(self, a: int, b: int) -> bool:
        return a == b

    def ne(self, a: int, b: int) -> bool:
        return a != b

    def ult(self, a: int, b: int) -> bool:
        return a < b

    def ule(self, a: int, b: int) -> bool:
        return a <= b

    def slt32(self, a: int, b: int) -> bool:
        return signed32(a) < signed32(b)

    def sle32(self, a: int, b: int) -> bool:
        return signed32(a) <= signed32(b)

    def slt64(self, a: int, b: int) -> bool:
        return signed64(a) < signed64(b)

    def sle64(self, a: int, b: int) -> bool:
        return signed64(a) <= signed64(b)

    def select(self, mask: bool, a: int, b: int) -> int:
        return a if mask else b

    def mask_and(self, p: bool, q: bool) -> bool:
        return p and q

    def mask_or(self, p: bool, q: bool) -> bool:
        return p or q

    def mask_xor(self, p: bool, q: bool) -> bool:
        return p != q

    def mask_not(self, p: bool) -> bool:
        return not p
