"""What the emitters share: the function being written, index values, facts, and where each IR value lives.

How an IR value is held in LLVM: as whole 32-bit registers, because that is what the machine has and what survives loops
and branches unchanged. `f32 x 16` is `<16 x float>`; `bf16 x 8`, `fp8 x 16` are `<4 x i32>`, element 0 in the low
bits; 64-bit elements are `double`/`i64` vectors; booleans are `i1`. One register is a scalar. Narrow elements
that do not fill the last register leave its top bits undefined: `undef`, which is any bits there. Of `poison` LLVM may
make the whole register anything (a word with one element that is poison is poison).

`typed` unpacks to a vector of the element type for arithmetic, `packed` goes back.
"""

from __future__ import annotations

import re

from argus.compile.facts import Facts
from argus.compile.function import LlvmFunction
from argus.compile.index import Indices
from argus.compile.tails import tails
from argus.ir.compile_error import CompileError
from argus.ir.kernel import Kernel
from argus.ir.ops import Op
from argus.ir.passes.liveness import live
from argus.ir.types import NOWHERE, DType, Span, Value

VECTOR = re.compile(r"<(\d+) x (\w+)>")
WORDS_OF = {"float": ("float", 1), "half": ("<2 x half>", 2)}
"""What a word holds of floats: the type, and how many."""


def vector(element: str, count: int) -> str:
    """LLVM's spelling of `count` elements; one is a scalar."""
    return element if count == 1 else f"<{count} x {element}>"


def registers(value: Value) -> int:
    """32-bit registers a value occupies; booleans count one scalar pair each and no vector register."""
    return 0 if value.dtype.kind == "bool" else -(-value.count * value.dtype.bits // 32)


def held_type(value: Value) -> str:
    """The LLVM type a value is kept in."""
    if value.dtype.kind == "bool" or value.dtype.bits >= 32:
        return vector(value.dtype.llvm, value.count)
    return vector("i32", registers(value))


def element_type(dtype: DType) -> str:
    """The LLVM type of one element as `typed` delivers it; formats without LLVM arithmetic are integers."""
    return f"i{dtype.bits}" if dtype.name in ("bf16", "fp8", "bf8") else dtype.llvm


class EmitContext:
    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.function = LlvmFunction()
        self.indices = Indices(self.function)
        self.facts = Facts(kernel)
        self.values: dict[Value, str] = {}
        self.live = live(kernel.body)
        self.tails = tails(kernel)
        self.apart: dict[int, int] = {}
        self.constants: dict[Value, float | int] = {}
        self.span: Span = NOWHERE

    def at(self, op: Op) -> None:
        self.span = self.indices.span = op.span
        self.function.op = op.id

    def fail(self, code: str, message: str, *notes: str) -> CompileError:
        return CompileError(code, message, self.span, notes)

    def get(self, value: Value) -> str:
        return self.values[value]

    def set(self, value: Value, text: str) -> None:
        self.values[value] = text

    def cast(self, text: str, old: str, new: str) -> str:
        """Words as floats go word by word: LLVM takes the negation of a 64-bit vector of floats whose bits are two
        chosen words for that of an f64, and changes the sign of the last float alone (tests/compile/test_negation.py).
        """
        if old == new:
            return text
        words, floats = VECTOR.fullmatch(old), VECTOR.fullmatch(new)
        if words is None or floats is None or words[2] != "i32" or floats[2] not in WORDS_OF:
            return self.function.let(f"bitcast {old} {text} to {new}")
        kind, each = WORDS_OF[floats[2]]
        parts = [
            part
            for word in self.elements(text, "i32", int(words[1]))
            for part in self.elements(self.function.let(f"bitcast i32 {word} to {kind}"), floats[2], each)
        ]
        return self.build(parts, floats[2])

    def typed(self, value: Value) -> str:
        """The value as `vector(element_type, count)`."""
        text, dtype = self.get(value), value.dtype
        if dtype.kind == "bool" or dtype.bits >= 32:
            return text
        held, element = held_type(value), element_type(dtype)
        room = registers(value) * 32 // dtype.bits
        text = self.cast(text, held, vector(element, room))
        if room == value.count:
            return text
        if value.count == 1:
            return self.function.let(f"extractelement {vector(element, room)} {text}, i32 0")
        return self.shuffle(element, room, text, list(range(value.count)))

    def packed(self, text: str, value: Value) -> str:
        """From `vector(element_type, count)` back to the held form."""
        dtype = value.dtype
        if dtype.kind == "bool" or dtype.bits >= 32:
            return text
        element = element_type(dtype)
        room = registers(value) * 32 // dtype.bits
        if value.count == 1:
            text = self.function.let(f"insertelement {vector(element, room)} undef, {element} {text}, i32 0")
        elif room != value.count:
            text = self.shuffle(element, value.count, text, list(range(room)))
        return self.cast(text, vector(element, room), held_type(value))

    def shuffle(self, element: str, count: int, text: str, picks: list[int]) -> str:
        """A vector of the picked elements; those from `count` on are undefined."""
        indices = ", ".join(f"i32 {n}" for n in picks)
        kind = vector(element, count)
        if len(picks) == 1:
            return self.function.let(f"extractelement {kind} {text}, i32 {picks[0]}")
        return self.function.let(f"shufflevector {kind} {text}, {kind} undef, <{len(picks)} x i32> <{indices}>")

    def elements(self, text: str, element: str, count: int) -> list[str]:
        """The elements of a vector, one by one."""
        if count == 1:
            return [text]
        return [self.function.let(f"extractelement <{count} x {element}> {text}, i32 {n}") for n in range(count)]

    def build(self, parts: list[str], element: str) -> str:
        """A vector of scalars."""
        if len(parts) == 1:
            return parts[0]
        text = "poison"
        for n, part in enumerate(parts):
            text = self.function.let(f"insertelement <{len(parts)} x {element}> {text}, {element} {part}, i32 {n}")
        return text

    def dwords(self, value: Value) -> list[str]:
        """The registers of a value as i32."""
        count = registers(value)
        return self.elements(self.cast(self.get(value), held_type(value), vector("i32", count)), "i32", count)

    def from_dwords(self, parts: list[str], value: Value) -> str:
        return self.cast(self.build(parts, "i32"), vector("i32", len(parts)), held_type(value))
