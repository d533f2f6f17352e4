"""Element types and the spans that tie every IR op to the line that asked for it.

A value of the kernel IR is a short vector of registers *per thread*: `f32 x 16` is what one lane holds of a 32x32
accumulator. Its type is an element type and a count; how lanes and tensor elements relate is not in the type but in
the index expressions of the loads and stores (and is what the checker proves things about).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class DType:
    """An element type: `bits` wide; `kind` float, int (two's complement), uint or bool; `llvm` spells it in LLVM IR."""

    name: str
    bits: int
    kind: Literal["float", "int", "uint", "bool"]
    llvm: str

    @property
    def bytes(self) -> int:
        return max(1, self.bits // 8)

    def __str__(self) -> str:
        return self.name


f64 = DType("f64", 64, "float", "double")
f32 = DType("f32", 32, "float", "float")
f16 = DType("f16", 16, "float", "half")
bf16 = DType("bf16", 16, "float", "bfloat")
fp8 = DType("fp8", 8, "float", "i8")  # E4M3 FNUZ: bias 8, 0x80 is NaN, largest 240
bf8 = DType("bf8", 8, "float", "i8")  # E5M2 FNUZ: bias 16, 0x80 is NaN, largest 57344
i64 = DType("i64", 64, "int", "i64")
i32 = DType("i32", 32, "int", "i32")
i16 = DType("i16", 16, "int", "i16")
i8 = DType("i8", 8, "int", "i8")
u32 = DType("u32", 32, "uint", "i32")
u16 = DType("u16", 16, "uint", "i16")
u8 = DType("u8", 8, "uint", "i8")
boolean = DType("bool", 1, "bool", "i1")

DTYPES: dict[str, DType] = {
    t.name: t for t in (f64, f32, f16, bf16, fp8, bf8, i64, i32, i16, i8, u32, u16, u8, boolean)
}


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of source text: lines from 1, columns from 0, end exclusive, as Python's syntax tree counts them."""

    file: str
    line: int
    col: int
    end_line: int
    end_col: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.col + 1}"


NOWHERE = Span("<built>", 0, 0, 0, 0)


@dataclass(frozen=True, slots=True, eq=False)
class Value:
    """An SSA value: `count` elements of `dtype` held by every thread."""

    id: int
    dtype: DType
    count: int
    name: str = ""

    def __str__(self) -> str:
        return f"%{self.id}"

    @property
    def type(self) -> str:
        return f"{self.dtype}x{self.count}"
