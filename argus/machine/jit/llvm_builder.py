"""The semantic table's `Builder`, writing LLVM instructions instead of computing.

    b = LlvmBuilder(function, width=8)           # eight lanes at a time; width=0 is scalar code
    v_lshl_add_u32(b, x, n, y)                   # appends  %t1 = and ..., %t2 = shl ..., %t3 = add <8 x i32> ...

A value remembers its spelling as bits and, once needed, as a float, so a chain of float operations carries no casts
back and forth; and it remembers whether a denormal could be in it, so that with flushing on (`flush32`, `flush64`) a
chain flushes each operand once. Constants are folded, because some table functions are mostly decided by one (a byte
permute with a known selector is two instructions instead of a hundred).

Flushing is written out as integer operations rather than left to the processor's FTZ/DAZ bits, because those decide
"denormal" before rounding, would also reach matrix instructions (which ignore the mode on the GPU), and cannot be set
for f32 and f64 separately.

Minimum and maximum are LLVM's `minimumnum`/`maximumnum`, the only intrinsics with the table's rules for -0 and NaN.
Conversions to integers are the saturating intrinsics. Nothing here may trap or be undefined: shift counts are below
the width by the table's contract, and there is no integer division.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from argus.machine.jit.irtext import JitFunction


@dataclass(slots=True)
class LlvmValue:
    """A word or mask of `bits` bits (32, 64, or 1).

    whole, real   its spelling as integer and as float, made when first needed;
    flushed       its spelling as float with denormals flushed;
    clean         no denormal can be in it;
    known         its value, if it is a constant;
    halves        the words it was paired from.
    """

    bits: int
    whole: str | None
    real: str | None = None
    flushed: str | None = None
    clean: bool = False
    known: int | None = None
    halves: tuple[LlvmValue, LlvmValue] | None = None


def _signed(value: int, bits: int) -> int:
    return value - (value >> (bits - 1) << bits)


FOLD: dict[str, Callable[[int, int, int], int]] = {
    "add": lambda a, b, bits: a + b,
    "sub": lambda a, b, bits: a - b,
    "mul": lambda a, b, bits: a * b,
    "and": lambda a, b, bits: a & b,
    "or": lambda a, b, bits: a | b,
    "xor": lambda a, b, bits: a ^ b,
    "shl": lambda a, b, bits: a << b,
    "lshr": lambda a, b, bits: a >> b,
    "ashr": lambda a, b, bits: _signed(a, bits) >> b,
}
COMPARE: dict[str, Callable[[int, int, int], bool]] = {
    "eq": lambda a, b, bits: a == b,
    "ne": lambda a, b, bits: a != b,
    "ult": lambda a, b, bits: a < b,
    "ule": lambda a, b, bits: a <= b,
    "slt": lambda a, b, bits: _signed(a, bits) < _signed(b, bits),
    "sle": lambda a, b, bits: _signed(a, bits) <= _signed(b, bits),
}


class LlvmBuilder:
    """`argus.machine.semantics.builder.Builder` over LLVM text; see the module for the value model."""

    def __init__(
        self, f: JitFunction, width: int, *, flush32: bool = False, flush64: bool = False, saturate_fp8: bool = True
    ) -> None:
        self.f = f
        self.width = width
        self._flush = {32: flush32, 64: flush64}
        self._saturate_fp8 = saturate_fp8
        self._constants: dict[tuple[int, int], LlvmValue] = {}
        if width:
            self._types = {n: f"<{width} x i{n}>" for n in (1, 8, 16, 32, 64)}
            self._reals = {16: f"<{width} x half>", 32: f"<{width} x float>", 64: f"<{width} x double>"}
        else:
            self._types = {n: f"i{n}" for n in (1, 8, 16, 32, 64)}
            self._reals = {16: "half", 32: "float", 64: "double"}
        self._suffix = f"v{width}" if width else ""

    @property
    def mode(self) -> tuple[bool, bool, bool]:
        """Flush f32, flush f64 and f16, saturate fp8."""
        return self._flush[32], self._flush[64], self._saturate_fp8

    def like(self, f: JitFunction) -> LlvmBuilder:
        """A builder of the same kind for another function."""
        flush32, flush64, saturate = self.mode
        return LlvmBuilder(f, self.width, flush32=flush32, flush64=flush64, saturate_fp8=saturate)

    @property
    def saturate_fp8(self) -> bool:
        return self._saturate_fp8

    # Spelling

    def type_of(self, bits: int) -> str:
        return self._types[bits]

    def whole(self, a: LlvmValue) -> str:
        """The value's integer spelling."""
        if a.whole is None:
            if a.real is None and a.halves is not None:
                low, high = a.halves
                top = self._binary("shl", self.zext(high), self._const(64, 32))
                a.whole = self.whole(self.or_(self.zext(low), top))
            else:
                a.whole = self.f.let(f"bitcast {self._reals[a.bits]} {a.real} to {self._types[a.bits]}")
        return a.whole

    def real(self, a: LlvmValue) -> str:
        """The value's float spelling as an operand: denormals flushed if the mode says so."""
        if self._flush[a.bits] and not a.clean:
            if a.flushed is None:
                a.flushed = self._as_real(self._flush_bits(a))
            return a.flushed
        return self._as_real(a)

    def _as_real(self, a: LlvmValue) -> str:
        if a.real is None:
            a.real = self.f.let(f"bitcast {self._types[a.bits]} {self.whole(a)} to {self._reals[a.bits]}")
        return a.real

    def _flush_bits(self, a: LlvmValue) -> LlvmValue:
        bits = a.bits
        magnitude = self.and_(a, self._const(bits, (1 << (bits - 1)) - 1))
        denormal = self.ult(magnitude, self._const(bits, 1 << (23 if bits == 32 else 52)))
        made = self.select(denormal, self.and_(a, self._const(bits, 1 << (bits - 1))), a)
        made.clean = True
        return made

    def _result(self, bits: int, real: str) -> LlvmValue:
        made = LlvmValue(bits, None, real)
        return self._flush_bits(made) if self._flush[bits] else made

    def _const(self, bits: int, value: int) -> LlvmValue:
        value &= (1 << bits) - 1
        made = self._constants.get((bits, value))
        if made is None:
            signed = value - (value >> (bits - 1) << bits)
            spelled = f"splat (i{bits} {signed})" if self.width else str(signed)
            made = self._constants[bits, value] = LlvmValue(bits, spelled, known=value)
        return made

    def _intrinsic(self, name: str, real_bits: int, *operands: str) -> str:
        """A float intrinsic of one type throughout."""
        type_ = self._reals[real_bits]
        return self.f.call(type_, f"llvm.{name}.{self._suffix}f{real_bits}", *[(type_, o) for o in operands])

    def _bit_intrinsic(self, name: str, a: LlvmValue, *flags: str) -> LlvmValue:
        type_ = self._types[a.bits]
        arguments = [(type_, self.whole(a)), *[("i1", flag) for flag in flags]]
        return LlvmValue(a.bits, self.f.call(type_, f"llvm.{name}.{self._suffix}i{a.bits}", *arguments))

    def _binary(self, op: str, a: LlvmValue, b: LlvmValue) -> LlvmValue:
        if a.known is not None and b.known is not None:
            folded = FOLD[op](a.known, b.known, a.bits)
            return self.const_mask(bool(folded & 1)) if a.bits == 1 else self._const(a.bits, folded)
        if b.known == 0 and op in ("add", "sub", "or", "xor", "shl", "lshr", "ashr"):
            return a
        if a.known == 0 and op in ("add", "or", "xor"):
            return b
        if 0 in (a.known, b.known) and op == "and":
            return a if a.known == 0 else b
        return LlvmValue(a.bits, self.f.let(f"{op} {self._types[a.bits]} {self.whole(a)}, {self.whole(b)}"))

    def _compare(self, predicate: str, a: LlvmValue, b: LlvmValue) -> LlvmValue:
        if a.known is not None and b.known is not None:
            return self.const_mask(COMPARE[predicate](a.known, b.known, a.bits))
        return LlvmValue(1, self.f.let(f"icmp {predicate} {self._types[a.bits]} {self.whole(a)}, {self.whole(b)}"))

    def _real_binary(self, op: str, a: LlvmValue, b: LlvmValue) -> LlvmValue:
        left, right = self.real(a), self.real(b)
        return self._result(a.bits, self.f.let(f"{op} {self._reals[a.bits]} {left}, {right}"))

    def _real_compare(self, predicate: str, a: LlvmValue, b: LlvmValue) -> LlvmValue:
        left, right = self.real(a), self.real(b)
        return LlvmValue(1, self.f.let(f"fcmp {predicate} {self._reals[a.bits]} {left}, {right}"))

    def _real_call(self, name: str, *operands: LlvmValue) -> LlvmValue:
        bits = operands[0].bits
        return self._result(bits, self._intrinsic(name, bits, *[self.real(o) for o in operands]))

    def _shift(self, op: str, a: LlvmValue, n: LlvmValue) -> LlvmValue:
        return self._binary(op, a, n if a.bits == n.bits else self.zext(n))

    # Constants

    def const32(self, value: int) -> LlvmValue:
        return self._const(32, value)

    def const64(self, value: int) -> LlvmValue:
        return self._const(64, value)

    def const_mask(self, value: bool) -> LlvmValue:
        spelled = "true" if value else "false"
        return LlvmValue(1, f"splat (i1 {spelled})" if self.width else spelled, known=int(value))

    # Integers

    def add32(self, a: LlvmValue, b: LlvmValue) -> LlvmValue:
        return self._binary("add", a, b)

    def sub32(self, a: LlvmValue, b: LlvmValue) -> LlvmValue:
        return self._binary("sub", a, b)

    def mul32(self, a: LlvmValue, b: LlvmValue) -> LlvmValue:
        return self._binary("mul", a, b)

    add64, sub64, mul64 = add32, sub32, mul32

    def and_(self, a: LlvmValue, b: LlvmValue) -> LlvmValue:
        return self._binary("and", a, b)

    def or_(self, a: LlvmValue, b: LlvmValue) -> LlvmValue:
        return self._binary("or", a, b)

    def xor(self, a: LlvmValue, b: LlvmValue) -> LlvmValue:
        return self._binary("xor", a, b)

    def not32(self, a: LlvmValue) -> LlvmValue:
        return self._binary("xor", a, self._const(a.bits, -1))

    not64 = not32

    def shl32(self, a: LlvmValue, n: LlvmValue) -> LlvmValue:
        return self._shift("shl", a, n)

    def lshr32(self, a: LlvmValue, n: LlvmValue) -> LlvmValue:
        return self._shift("lshr", a, n)

    def ashr32(self, a: LlvmValue, n: LlvmValue) -> LlvmValue:
        return self._shift("ashr", a, n)

    shl64, lshr64, ashr64 = shl32, lshr32, ashr32

    def zext(self, a: LlvmValue) -> LlvmValue:
        if a.known is not None:
            return self.const64(a.known)
        return LlvmValue(64, self.f.let(f"zext {self._types[32]} {self.whole(a)} to {self._types[64]}"))

    def sext(self, a: LlvmValue) -> LlvmValue:
        if a.known is not None:
            return self.const64(_signed(a.known, 32))
        return LlvmValue(64, self.f.let(f"sext {self._types[32]} {self.whole(a)} to {self._types[64]}"))

    def trunc(self, a: LlvmValue) -> LlvmValue:
        if a.halves is not None:
            return a.halves[0]
        if a.known is not None:
            return self.const32(a.known)
        return LlvmValue(32, self.f.let(f"trunc {self._types[64]} {self.whole(a)} to {self._types[32]}"))

    def high(self, a: LlvmValue) -> LlvmValue:
        if a.halves is not None:
            return a.halves[1]
        return self.trunc(self._binary("lshr", a, self._const(64, 32)))

    def pair(self, lo: LlvmValue, hi: LlvmValue) -> LlvmValue:
        if lo.known is not None and hi.known is not None:
            return self.const64(lo.known | hi.known << 32)
        return LlvmValue(64, None, halves=(lo, hi))

    def popcount32(self, a: LlvmValue) -> LlvmValue:
        return self._bit_intrinsic("ctpop", a)

    def clz32(self, a: LlvmValue) -> LlvmValue:
        return self._bit_intrinsic("ctlz", a, "false")

    def ctz32(self, a: LlvmValue) -> LlvmValue:
        return self._bit_intrinsic("cttz", a, "false")

    def bitreverse32(self, a: LlvmValue) -> LlvmValue:
        return self._bit_intrinsic("bitreverse", a)

    def eq(self, a: LlvmValue, b: LlvmValue) -> LlvmValue:
        return self._compare("eq", a, b)

    def ne(self, a: LlvmValue, b: LlvmValue) -> LlvmValue:
        return self._compare("ne", a, b)

    def ult(self, a: LlvmValue, b: LlvmValue) -> LlvmValue:
        return self._compare("ult", a, b)

    def ule(self, a: LlvmValue, b: LlvmValue) -> LlvmValue:
        return self._compare("ule", a, b)

    def slt32(self, a: LlvmValue, b: LlvmValue) -> LlvmValue:
        return self._compare("slt", a, b)

    def sle32(self, a: LlvmValue, b: LlvmValue) -> LlvmValue:
        return self._compare("sle", a, b)

    slt64, sle64 = slt32, sle32

    def select(self, mask: LlvmValue, a: LlvmValue, b: LlvmValue) -> LlvmValue:
        if mask.known is not None:
            return a if mask.known else b
        condition = f"{self._types[1]} {self.whole(mask)}"
        if a.real is not None and b.real is not None:
            type_ = self._reals[a.bits]
            chosen = self.f.let(f"select {condition}, {type_} {a.real}, {type_} {b.real}")
            return LlvmValue(a.bits, None, chosen, clean=a.clean and b.clean)
        type_ = self._types[a.bits]
        chosen = self.f.let(f"select {condition}, {type_} {self.whole(a)}, {type_} {self.whole(b)}")
        return LlvmValue(a.bits, chosen, clean=a.clean and b.clean)

    def mask_and(self, p: LlvmValue, q: LlvmValue) -> LlvmValue:
        return self._binary("and", p, q)

    def mask_or(self, p: LlvmValue, q: LlvmValue) -> LlvmValue:
        return self._binary("or", p, q)

    def mask_xor(self, p: LlvmValue, q: LlvmValue) -> LlvmValue:
        return self._binary("xor", p, q)

    def mask_not(self, p: LlvmValue) -> LlvmValue:
        return self._binary("xor", p, self.const_mask(True))

    # Floats

    def fadd32(self, a: LlvmValue, b: LlvmValue) -> LlvmValue:
        return self._real_binary("fadd", a, b)

    def fsub32(self, a: LlvmValue, b: LlvmValue) -> LlvmValue:
        return self._real_binary("fsub", a, b)

    def fmul32(self, a: LlvmValue, b: LlvmValue) -> LlvmValue:
        return self._real_binary("fmul", a, b)

    def fdiv32(self, a: LlvmValue, b: LlvmValue) -> LlvmValue:
        return self._real_binary("fdiv", a, b)

    def fsqrt32(self, a: LlvmValue) -> LlvmValue:
        return self._real_call("sqrt", a)

    def ffma32(self, a: LlvmValue, b: LlvmValue, c: LlvmValue) -> LlvmValue:
        return self._real_call("fma", a, b, c)

    def fmin32(self, a: LlvmValue, b: LlvmValue) -> LlvmValue:
        return self._real_call("minimumnum", a, b)

    def fmax32(self, a: LlvmValue, b: LlvmValue) -> LlvmValue:
        return self._real_call("maximumnum", a, b)

    def feq32(self, a: LlvmValue, b: LlvmValue) -> LlvmValue:
        return self._real_compare("oeq", a, b)

    def flt32(self, a: LlvmValue, b: LlvmValue) -> LlvmValue:
        return self._real_compare("olt", a, b)

    def fle32(self, a: LlvmValue, b: LlvmValue) -> LlvmValue:
        return self._real_compare("ole", a, b)

    def funo32(self, a: LlvmValue, b: LlvmValue) -> LlvmValue:
        return self._real_compare("uno", a, b)

    def ffloor32(self, a: LlvmValue) -> LlvmValue:
        return self._real_call("floor", a)

    def fceil32(self, a: LlvmValue) -> LlvmValue:
        return self._real_call("ceil", a)

    def ftrunc32(self, a: LlvmValue) -> LlvmValue:
        return self._real_call("trunc", a)

    def frint32(self, a: LlvmValue) -> LlvmValue:
        return self._real_call("roundeven", a)

    fadd64, fsub64, fmul64, fdiv64, fsqrt64, ffma64 = fadd32, fsub32, fmul32, fdiv32, fsqrt32, ffma32
    fmin64, fmax64, feq64, flt64, fle64, funo64 = fmin32, fmax32, feq32, flt32, fle32, funo32
    ffloor64, fceil64, ftrunc64, frint64 = ffloor32, fceil32, ftrunc32, frint32

    # Conversions

    def f32_to_f64(self, a: LlvmValue) -> LlvmValue:
        return self._result(64, self.f.let(f"fpext {self._reals[32]} {self.real(a)} to {self._reals[64]}"))

    def f64_to_f32(self, a: LlvmValue) -> LlvmValue:
        return self._result(32, self.f.let(f"fptrunc {self._reals[64]} {self.real(a)} to {self._reals[32]}"))

    def f16_to_f32(self, a: LlvmValue) -> LlvmValue:
        bits = self.whole(self._flush_half(a) if self._flush[64] else a)
        narrow = self.f.let(f"trunc {self._types[32]} {bits} to {self._types[16]}")
        half = self.f.let(f"bitcast {self._types[16]} {narrow} to {self._reals[16]}")
        return LlvmValue(32, None, self.f.let(f"fpext {self._reals[16]} {half} to {self._reals[32]}"), clean=True)

    def f32_to_f16(self, a: LlvmValue) -> LlvmValue:
        half = self.f.let(f"fptrunc {self._reals[32]} {self._as_real(a)} to {self._reals[16]}")
        narrow = self.f.let(f"bitcast {self._reals[16]} {half} to {self._types[16]}")
        made = LlvmValue(32, self.f.let(f"zext {self._types[16]} {narrow} to {self._types[32]}"))
        return self._flush_half(made) if self._flush[64] else made

    def _flush_half(self, a: LlvmValue) -> LlvmValue:
        magnitude = self.and_(a, self.const32(0x7FFF))
        return self.select(self.ult(magnitude, self.const32(0x400)), self.and_(a, self.const32(0x8000)), a)

    def u32_to_f32(self, a: LlvmValue) -> LlvmValue:
        return self._from_int("uitofp", a, 32)

    def i32_to_f32(self, a: LlvmValue) -> LlvmValue:
        return self._from_int("sitofp", a, 32)

    def u32_to_f64(self, a: LlvmValue) -> LlvmValue:
        return self._from_int("uitofp", a, 64)

    def i32_to_f64(self, a: LlvmValue) -> LlvmValue:
        return self._from_int("sitofp", a, 64)

    def _from_int(self, op: str, a: LlvmValue, bits: int) -> LlvmValue:
        made = self.f.let(f"{op} {self._types[32]} {self.whole(a)} to {self._reals[bits]}")
        return LlvmValue(bits, None, made, clean=True)

    def f32_to_u32(self, a: LlvmValue) -> LlvmValue:
        return self._to_int("fptoui", a)

    def f32_to_i32(self, a: LlvmValue) -> LlvmValue:
        return self._to_int("fptosi", a)

    f64_to_u32, f64_to_i32 = f32_to_u32, f32_to_i32

    def _to_int(self, op: str, a: LlvmValue) -> LlvmValue:
        name = f"llvm.{op}.sat.{self._suffix}i32.{self._suffix}f{a.bits}"
        return LlvmValue(32, self.f.call(self._types[32], name, (self._reals[a.bits], self.real(a))))
