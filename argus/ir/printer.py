"""Kernel IR as text. Prints everything but the source, and `argus.ir.parser` reads it back to the same IR.

    kernel "vadd" waves 4 file "vadd.py" at 12:0-17:30
    size `N` 4..536870908
    tensor "x" f32 in axes "N" shape [`N`] strides [`1`] at 13:9-13:20
    grid `(N + 1023)//1024`, `1`, `1`
    {
      %0:f32x4 = load "x" at `block_x*4096 + wave*1024 + lane*16` coords [`...`] axis 0 elements 4 ; 0 @ 16:12-16:40
      ...
    }

Index expressions stand in backquotes, names and texts in JSON strings, values are `%number:type` where they are defined
and `%number` where they are used. After `;` come the op's number, its place in the source and, in braces, its position
in unrolled loops. Variables that are not lane, wave, block or sizes are declared with their bounds before the body.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import assert_never

from argus.ir import ops
from argus.ir.kernel import BLOCK_X, BLOCK_Y, BLOCK_Z, LANE, Kernel, wave_variable
from argus.ir.ops import Access, Memory, Op
from argus.ir.types import NOWHERE, Span, Value
from argus.layout.expr import Expr, postorder


def print_kernel(kernel: Kernel) -> str:
    """The whole kernel as text, ending in a newline."""
    lines = [*_header(kernel), "{", *_block(kernel.body, "  ", kernel.file), "}"]
    return "\n".join(lines) + "\n"


def expressions(kernel: Kernel) -> Iterator[Expr]:
    """Every index expression of a kernel."""
    yield from (*kernel.shapes, *kernel.requires, *kernel.grid)
    for t in kernel.tensors:
        yield from (*t.shape, *t.strides)
    for op in ops.walk(kernel.body):
        yield from op.mentioned


def variables(kernel: Kernel) -> dict[str, Expr]:
    """Declared variables by name: all but lane, wave, block and sizes."""
    known = {LANE, BLOCK_X, BLOCK_Y, BLOCK_Z, wave_variable(kernel.waves), *kernel.shapes}
    found = {v for e in expressions(kernel) for v in e.free()} - known
    return {v.name: v for v in sorted(found, key=lambda v: v.name)}


def functions(kernel: Kernel) -> dict[str, tuple[int | None, int | None]]:
    """Uninterpreted functions by name, with the bounds of their values."""
    found = {e.name: e.bounds() for top in expressions(kernel) for e in postorder(top) if e.op == "apply"}
    return dict(sorted(found.items()))


def _header(kernel: Kernel) -> Iterator[str]:
    place = _place(kernel.span, kernel.file)
    yield f"kernel {_text(kernel.name)} waves {kernel.waves} file {_text(kernel.file)}{place}"
    for symbol in kernel.shapes:
        yield f"size {_variable(symbol)}"
    for v in variables(kernel).values():
        yield f"var {_variable(v)}"
    for name, (low, high) in functions(kernel).items():
        yield f"function {_text(name)} {_bounds(low, high)}"
    for t in kernel.tensors:
        mode = {(True, False): "in", (False, True): "out", (True, True): "inout", (False, False): "unused"}[
            t.read, t.written
        ]
        axes = " ".join(_text(a) for a in t.axes)
        shape = f"shape {_list(t.shape)} strides {_list(t.strides)}"
        yield f"tensor {_text(t.name)} {t.dtype} {mode} axes {axes} {shape}{_place(t.span, kernel.file)}"
    for s in kernel.scalars:
        positive = " positive" if s.positive else ""
        yield f"scalar {_text(s.name)} {_define(s.value)}{positive}{_place(s.span, kernel.file)}"
    for knob in kernel.knobs:
        legal = " ".join(json.dumps(v) for v in knob.legal)
        values = f"default {json.dumps(knob.default)} legal {legal}"
        yield f"knob {_text(knob.name)} {values} why {_text(knob.why)}{_place(knob.span, kernel.file)}"
    for name, value in kernel.settings.items():
        yield f"setting {_text(name)} {json.dumps(value)}"
    for condition in kernel.requires:
        yield f"requires {_expr(condition)}"
    yield f"grid {', '.join(_expr(e) for e in kernel.grid)}"
    for b in kernel.shared:
        size = f"bytes {b.bytes} base {b.base}"
        yield f"shared {_text(b.name)} {b.dtype} {size} layout {_text(b.layout)}{_place(b.span, kernel.file)}"
    for name, policy in kernel.policies.items():
        yield f"policy {_text(name)} {json.dumps(policy)}"
    for name, number in kernel.example.items():
        yield f"example {_text(name)} {number}"
    if kernel.computes is not None:
        yield f"computes {_text(kernel.computes.text)}"


def _block(block: list[Op], indent: str, file: str) -> Iterator[str]:
    for op in block:
        yield from _op(op, indent, file)


def _op(op: Op, indent: str, file: str) -> Iterator[str]:
    end = _end(op, file)
    match op:
        case ops.For():
            carried = ", ".join(f"{_define(a)} = {i}" for a, i in zip(op.args, op.inits, strict=True))
            outs = ", ".join(_define(v) for v in op.outs)
            turns = f"{_expr(op.var)} in {_expr(op.lo)} .. {_expr(op.hi)} step {op.step}"
            yield f"{indent}for {turns} carry ({carried}) out ({outs}) {{{end}"
            yield from _block(op.body, indent + "  ", file)
            yield f"{indent}  yield ({_uses(op.yields)})"
            yield f"{indent}}}"
        case ops.If():
            outs = ", ".join(_define(v) for v in op.outs)
            kind = "uniform" if op.uniform else "lanes"
            yield f"{indent}if {_expr(op.cond)} {kind} out ({outs}) {{{end}"
            yield from _block(op.then, indent + "  ", file)
            yield f"{indent}  yield ({_uses(op.then_yields)})"
            yield f"{indent}}} else {{"
            yield from _block(op.orelse, indent + "  ", file)
            yield f"{indent}  yield ({_uses(op.else_yields)})"
            yield f"{indent}}}"
        case ops.Schedule():
            yield f"{indent}schedule {_pairs(op.policy)} {{{end}"
            yield from _block(op.body, indent + "  ", file)
            yield f"{indent}}}"
        case (
            ops.Constant() | ops.Index() | ops.Symbol() | ops.Map() | ops.Convert() | ops.Bitcast() |
            ops.Registers() | ops.Lanes() | ops.Mfma() | ops.Instruction() | ops.Load() | ops.Store() |
            ops.CopyToLds() | ops.Atomic() | ops.Barrier() | ops.Wait() | ops.SetPrio() | ops.Tag() | ops.Check()
        ):  # fmt: skip
            results = ", ".join(_define(v) for v in op.results)
            yield f"{indent}{results + ' = ' if results else ''}{_simple(op)}{end}"
        case _:
            assert_never(op)


def _simple(op: ops.Computing | ops.Accessing | ops.Ordered | ops.Annotation) -> str:
    match op:
        case ops.Constant():
            return f"constant {op.value!r}"
        case ops.Index():
            return f"index {_expr(op.expr)}"
        case ops.Symbol():
            return f"symbol {op.value} as {_expr(op.symbol)} facts {_list(op.facts)}"
        case ops.Load():
            return f"load {_access(op.access)}"
        case ops.Store():
            return f"store {_access(op.access)} value {op.value}"
        case ops.CopyToLds():
            return f"copy {_access(op.access)} into {_text(op.into.name)} base {_expr(op.lds_base)}"
        case ops.Atomic():
            return f"atomic {op.fn} {_access(op.access)} value {op.value}"
        case ops.Map():
            return f"map {op.fn} ({_uses(op.args)})"
        case ops.Convert():
            flags = (" saturate" if op.saturate else "") + (" finite" if op.finite else "")
            return f"convert {op.value} {op.rounding}{flags}"
        case ops.Bitcast():
            return f"bitcast {op.value}"
        case ops.Registers():
            return f"registers ({_uses(op.args)}) [{_picks(op.pick)}]"
        case ops.Lanes():
            return f"lanes {op.value} from {_expr(op.source)}"
        case ops.Mfma():
            return f"mfma {op.inst} ({_uses((op.a, op.b, op.c))})"
        case ops.Instruction():
            return f"instruction {_text(op.inst)} ({_uses(op.args)}) {_pairs(op.attrs)}"
        case ops.Barrier():
            return "barrier bare" if op.bare else "barrier"
        case ops.Wait():
            counts = "".join(f" {n} {v}" for n, v in (("vm", op.vm), ("lgkm", op.lgkm)) if v is not None)
            return f"wait{counts}{' registers' if op.registers else ''}"
        case ops.SetPrio():
            return f"setprio {op.priority}"
        case ops.Tag():
            return f"tag {_target(op.target)} {_text(op.name)} params {_list(op.params)} exprs {_list(op.exprs)}"
        case ops.Check():
            targets = ", ".join(_target(t) for t in op.targets)
            facts = ", ".join(f"{_text(n)} = {_fact(v)}" for n, v in op.args.items())
            return f"check {op.rule} ({targets}) {{{facts}}}"
        case _:
            assert_never(op)


def _access(a: Access) -> str:
    guard = f" guard {_expr(a.guard)}" if a.guard is not None else ""
    return (
        f"{_text(a.memory.name)} at {_expr(a.address)} coords {_list(a.coords)} axis {a.axis} elements {a.count}{guard}"
    )


def _picks(pick: tuple[tuple[int, int], ...]) -> str:
    """Runs `arg:first+count` of consecutive elements and `arg:element*count` of one repeated."""
    parts: list[str] = []
    at = 0
    while at < len(pick):
        arg, first = pick[at]
        run = 1
        while at + run < len(pick) and pick[at + run] == (arg, first + run):
            run += 1
        same = 1
        while at + same < len(pick) and pick[at + same] == (arg, first):
            same += 1
        parts.append(f"{arg}:{first}+{run}" if run >= same else f"{arg}:{first}*{same}")
        at += max(run, same)
    return ", ".join(parts)


def _target(t: Value | Memory | str) -> str:
    if isinstance(t, Value):
        return str(t)
    return f"op {_text(t)}" if isinstance(t, str) else f"memory {_text(t.name)}"


def _fact(value: Expr | str | int | tuple[Expr, ...]) -> str:
    if isinstance(value, Expr):
        return _expr(value)
    return _list(value) if isinstance(value, tuple) else json.dumps(value)


def _pairs(pairs: dict[str, int | str]) -> str:
    return "{" + ", ".join(f"{_text(n)} = {json.dumps(v)}" for n, v in pairs.items()) + "}"


def _end(op: Op, file: str) -> str:
    site = " {" + ", ".join(f"{n} = {i}" for n, i in op.site) + "}" if op.site else ""
    return f" ; {op.id}{_place(op.span, file, '@')}{site}"


def _place(span: Span, home: str, word: str = "at") -> str:
    if span == NOWHERE:
        return ""
    file = "" if span.file == home else f" {_text(span.file)}"
    return f" {word}{file} {span.line}:{span.col}-{span.end_line}:{span.end_col}"


def _define(v: Value) -> str:
    return f"{v}:{v.type}" + (f"!{v.name}" if v.name else "")


def _uses(values: tuple[Value, ...]) -> str:
    return ", ".join(str(v) for v in values)


def _variable(v: Expr) -> str:
    return f"{_expr(v)} {_bounds(*v.bounds())}"


def _bounds(low: int | None, high: int | None) -> str:
    return f"{'' if low is None else low}..{'' if high is None else high}"


def _list(exprs: tuple[Expr, ...]) -> str:
    return "[" + ", ".join(_expr(e) for e in exprs) + "]"


def _expr(e: Expr) -> str:
    return f"`{e}`"


def _text(s: str) -> str:
    return json.dumps(s, ensure_ascii=False)
