"""The LLVM function being written: text, nested scopes, debug locations.

Every loop body and branch arm is a `CodeScope` with its own lines. While a loop body is being written, the scope
around it is still open just *before* the loop, so code that does not change in the loop is simply appended there:

    scope of the function    entry:  %v = mul i32 %lane, %K          <- hoisted while the body below is written
                                     br label %L1
    scope of the loop        L1:     %k = phi ...
                                     call ... buffer.load(..., %v, ...)

The branch that leaves a scope is written when the scope around it goes on, after everything that may be hoisted.

A line is tagged with the id of the IR op it belongs to; the tag becomes a debug location whose *line number is the op
id plus one* and, after linking, the sidecar (`argus.compile.lineinfo`). Address setup carries line 0: it belongs to
no op.

Names are numbered in the order of emission and nothing else, so the same kernel gives the same text; they contain a
dot, so that no name of a kernel's argument can meet one.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from argus.layout.expr import Expr

SETUP = -1


@dataclass(slots=True, eq=False)
class Phi:
    """A value carried around a loop; `back` is known when the body is complete."""

    name: str
    type: str
    start: str
    back: str = ""


@dataclass(slots=True, eq=False)
class CodeScope:
    """A region of code: `label` is the basic block open at its end; `cache` the index values available in it."""

    parent: CodeScope | None
    label: str
    kind: str  # "function", "loop" or "branch"
    depth: int
    lines: list[str] = field(default_factory=list)
    cache: dict[Expr, str] = field(default_factory=dict)
    phis: list[Phi] = field(default_factory=list)
    increments: list[tuple[Phi, str]] = field(default_factory=list)
    resources: dict[tuple[str, Expr, Expr, str, bool], str] = field(default_factory=dict)
    remains: dict[tuple[Expr, Expr, str], str] = field(default_factory=dict)
    wide: dict[Expr, str] = field(default_factory=dict)
    pointers: dict[Expr, str] = field(default_factory=dict)
    kept: dict[Expr, str] = field(default_factory=dict)
    variable: Expr | None = None
    first: Expr | None = None
    step: int = 1


class LlvmFunction:
    """Collects the text of one kernel. `scope` is the innermost open scope, `op` the IR op being emitted."""

    def __init__(self) -> None:
        self.scope = CodeScope(None, "entry.0", "function", 0)
        self.op = SETUP
        self.declarations: dict[str, str] = {}
        self.locations: dict[int, int] = {}
        self._names = 0

    def name(self) -> str:
        self._names += 1
        return f"%.{self._names}"

    def label(self) -> str:
        self._names += 1
        return f"block.{self._names}"

    def line(self, text: str, scope: CodeScope | None = None) -> None:
        """Append an instruction of the current op; with an explicit scope it is setup, which belongs to no op."""
        target = self.scope if scope is None else scope
        op = self.op if scope is None else SETUP
        location = self.locations.setdefault(op, len(self.locations))
        target.lines.append(f"  {text}, !dbg !{{{location}}}")

    def let(self, text: str, scope: CodeScope | None = None) -> str:
        """Append `%new = text` and return the new name."""
        name = self.name()
        self.line(f"{name} = {text}", scope)
        return name

    def start_block(self, label: str) -> None:
        self.scope.lines.append(f"{label}:")
        self.scope.label = label

    def call(self, result: str, intrinsic: str, *operands: str, scope: CodeScope | None = None) -> str:
        """Call an LLVM intrinsic; operands are `type value`. The declaration follows from the first call."""
        kinds = ", ".join(_type_of(operand) for operand in operands)
        self.declarations.setdefault(intrinsic, f"declare {result} @{intrinsic}({kinds})")
        text = f"call {result} @{intrinsic}({', '.join(operands)})"
        if result == "void":
            self.line(text, scope)
            return ""
        return self.let(text, scope)

    def fence(self) -> None:
        """Nothing moves across, neither in LLVM's IR passes nor in its scheduler; no instruction results."""
        self.line('call void asm sideeffect "", "~{memory}"()')
        self.keep_order()

    def keep_order(self) -> None:
        """The schedulers keep what is before it before it."""
        self.call("void", "llvm.amdgcn.sched.barrier", "i32 0")

    def opaque(self, type: str, value: str, register: str, scope: CodeScope | None = None) -> str:
        """The same value, of which LLVM knows nothing but the register file ("v", "a" or "s") it lives in."""
        return self.let(f'call {type} asm "", "={register},0"({type} {value})', scope)

    def open(self, kind: str, label: str) -> CodeScope:
        self.scope = CodeScope(self.scope, label, kind, self.scope.depth + 1)
        return self.scope

    def close(self) -> CodeScope:
        inner = self.scope
        assert inner.parent is not None
        self.scope = inner.parent
        return inner


def _type_of(operand: str) -> str:
    """The type in `type value`: up to the first space outside brackets, after `ptr addrspace(n)` as one word."""
    depth, start = 0, len("ptr ") if operand.startswith("ptr ") else 0
    for position in range(start, len(operand)):
        character = operand[position]
        depth += (character in "<(") - (character in ">)")
        if character == " " and depth == 0:
            return operand[:position]
    return operand
