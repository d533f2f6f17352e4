"""Values behind which a conversion may have rounded, and what jumps by them.

    x.to(bf16) > 1000.0           of an x = 1002 false: what is selected by it is another thing, not a rounded one
    floor(x.to(f16))              one less, or more
    x.to(f32) > y.to(f32)         of i32 that differ above 2^24 false: x is not their maximum
    x.to(f32) * y.to(f32) > z     of i16: the product has more digits than f32
    floor(x * y)                  of bf16: the product is rounded to bf16
    mfma(a, b, c) > 4096          of f32 factors that an xf32 instruction reads with 11 digits
    x > 0.1                       of bf16: the register holds 0.10009765625, and an x may be that

Proofs do not look at rounding (docs/rounding.md bounds it), which is right for what depends on a number steadily and
wrong for what jumps. So what a jump at a narrowed number is worth is not known. A maximum or minimum of the narrowed
numbers themselves is steady, however it is written: `where(b > 0, b, 0)` of `b = x.to(bf16)`.

What is narrowed is found in the text: from conversions, from arithmetic in types narrower than f32, from constants that
such a type does not have (of a kernel with f64 tensors: that f32 does not have), from matrix instructions that read
fewer digits than their operands have, and from arithmetic on whole numbers as floats, through operands, loops, branches
and memory; it may be too much. What it does not cover: rounding of arithmetic in f32 and f64 on floats that were
loaded, and of constants in f32, which may turn a test near its edge as well; that is a note of the rounding walk.
"""

from __future__ import annotations

from dataclasses import replace
from math import isfinite
from typing import assert_never

from argus.check.domain.records import Record, Tables
from argus.check.domain.tags import Tags, each_record
from argus.check.terms.atoms import UNKNOWN, Apply
from argus.gfx942.mfma import mfma
from argus.ir import ops
from argus.ir.conversions import exact
from argus.ir.float_formats import FORMATS, nearest
from argus.ir.kernel import Kernel
from argus.ir.maps import JUMPS, MAPS
from argus.ir.origins import reached
from argus.ir.types import DType, Value

EXACT = frozenset(row.name for row in MAPS.values() if not row.ulps) | {"select"}
"""Elementwise functions of floats that never round."""
MANY = 10**6
WIDE = 32
"""Bits of a float in which arithmetic counts as that of real numbers."""


class NarrowedValues:
    """All values that depend on a number that a conversion, arithmetic in a narrow type, or arithmetic on whole numbers
    may have rounded."""

    def __init__(self, kernel: Kernel) -> None:
        every = list(ops.walk(kernel.body))
        self.wide = max([WIDE, *(t.dtype.bits for t in kernel.tensors if t.dtype.kind == "float")])
        """Bits of a type whose constants count as they are written."""
        self.bits: dict[Value, int] = {}
        """Bits that values may have if they are whole numbers; those of no entry may have many."""
        self.constants: set[Value] = set()
        self.whole: set[Value] = set()
        """Whole numbers as floats."""
        self.narrowed: set[Value] = set()
        computed: set[Value] = set()
        """Results of arithmetic on floats, which rounds what does not fit."""
        for op in every:
            for value in op.results:
                most = MANY if _float(value) else value.dtype.bits
                self.bits[value] = min(most, self._read(op))
            computed |= {value for value in op.results if self._arithmetic(op) and _float(value)}
            if self._reads_fewer_digits(op):
                self.narrowed |= set(op.results)
        whole = reached(every, self.whole)
        for value in computed:
            rounds = self.bits[value] > FORMATS[value.dtype.name].digits
            if rounds and (value in whole or value.dtype.bits < WIDE):
                self.narrowed.add(value)
        self.values = reached(every, self.narrowed)

    def _read(self, op: ops.Op) -> int:
        """Bits of its result, if it is a whole number; notes constants and conversions."""
        match op:
            case ops.Index():
                low, high = op.expr.bounds()
                return MANY if low is None or high is None else max(abs(low), abs(high)).bit_length()
            case ops.Constant():
                self.constants.add(op.result)
                if _float(op.result) and op.result.dtype.bits < self.wide and _rounded(op.value, op.result.dtype):
                    self.narrowed.add(op.result)
                return abs(int(op.value)).bit_length() if float(op.value).is_integer() else MANY
            case ops.Convert():
                return self._converted(op)
            case ops.Lanes() | ops.Registers():
                return max(map(self._bits, op.operands))
            case ops.Map():
                return self._mapped(op.fn, [self._bits(v) for v in op.args]) if _float(op.result) else MANY
            case (
                ops.Bitcast() | ops.Mfma() | ops.Instruction() | ops.Load() | ops.Store() | ops.CopyToLds() |
                ops.Atomic() | ops.Symbol() | ops.For() | ops.If() | ops.Schedule() | ops.Barrier() | ops.Wait() |
                ops.SetPrio() | ops.Tag() | ops.Check()
            ):  # fmt: skip
                return MANY
            case _:
                assert_never(op)

    def _arithmetic(self, op: ops.Op) -> bool:
        match op:
            case ops.Map():
                return op.fn not in EXACT
            case ops.Mfma() | ops.Instruction():
                return True
            case (
                ops.Index() | ops.Constant() | ops.Convert() | ops.Lanes() | ops.Registers() | ops.Bitcast() |
                ops.Load() | ops.Store() | ops.CopyToLds() | ops.Atomic() | ops.Symbol() | ops.For() | ops.If() |
                ops.Schedule() | ops.Barrier() | ops.Wait() | ops.SetPrio() | ops.Tag() | ops.Check()
            ):  # fmt: skip
                return False
            case _:
                assert_never(op)

    def _reads_fewer_digits(self, op: ops.Op) -> bool:
        """A matrix instruction whose format of factors has fewer digits than the factors may have."""
        if op.matrix_instruction is None:
            return False
        row = mfma(op.matrix_instruction)
        read = ((row.a, op.operands[0]), (row.b, op.operands[1]))
        return any(_float(v) and min(self._bits(v), _digits(v.dtype.name)) > _digits(name) for name, v in read)

    def _bits(self, value: Value) -> int:
        return self.bits.get(value, MANY if _float(value) else value.dtype.bits)

    def _converted(self, op: ops.Convert) -> int:
        source, target = op.value.dtype, op.result.dtype
        whole = source.kind in ("int", "uint")
        if target.kind == "float" and source.kind == "float":
            if not exact(source, target):
                self.narrowed.add(op.result)
        elif target.kind == "float" and whole:
            self.whole.add(op.result)
            if self._bits(op.value) > FORMATS[target.name].digits:
                self.narrowed.add(op.result)
        widened = source.bits < target.bits and (source.kind == "uint" or target.kind == "int")
        return self._bits(op.value) if whole and (target.kind == "float" or widened) else MANY

    def _mapped(self, fn: str, bits: list[int]) -> int:
        match fn:
            case "mul":
                return sum(bits)
            case "add" | "sub":
                return max(bits) + 1
            case "fma":
                return max(sum(bits[:2]), bits[2]) + 1
            case "neg" | "abs" | "max" | "min":
                return max(bits)
            case "select":
                return max(bits[1:])
        return MANY

    def of_map(self, op: ops.Map, tags: Tags, tables: Tables) -> Tags:
        """What is known of the result of a function: of one that jumps at a narrowed number, not what it is worth, but
        of maxima and minima among numbers no better known than that."""
        tested = op.args[:1] if op.fn == "select" else op.args if op.fn in JUMPS else ()
        if not any(v in self.values for v in tested):
            return tags
        chosen = op.args[1:] if op.fn == "select" and _float(op.result) else ()
        steady = bool(chosen) and all(v in self.values or v in self.constants for v in chosen)
        return _without_terms(tags, tables, steady)

    def of_conversion(self, op: ops.Convert, tags: Tags, tables: Tables) -> Tags:
        """The same of a conversion: to an integer it jumps."""
        return tags if _float(op.result) or op.value not in self.values else _without_terms(tags, tables, False)


def _without_terms(tags: Tags, tables: Tables, steady: bool) -> Tags:
    """The tags without what they are worth; `steady`: maxima and minima keep it."""

    def kept(record: Record) -> Record:
        if record.kind == "zero" or record.term == UNKNOWN:
            return record
        atom = tables.terms.as_atom(record.term) if steady else None
        return record if isinstance(atom, Apply) and atom.fn in ("max", "min") else replace(record, term=UNKNOWN)

    return tags.each(lambda case: each_record(tables, case, kept))


def _digits(name: str) -> int:
    return FORMATS[name].digits


def _rounded(number: float, dtype: DType) -> bool:
    """A register of the type holds another number."""
    return isfinite(number) and nearest(float(number), dtype) != number


def _float(value: Value) -> bool:
    return value.dtype.kind == "float"
