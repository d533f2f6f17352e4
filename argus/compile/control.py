"""Loops and branches.

A loop becomes one rotated block sequence: the test stands at the end, so an iteration has one branch. When the facts
show that it runs at least once nothing else is needed; otherwise the entry is guarded.

A vector that enters a loop as a constant (accumulators that start at zero) is made opaque first, in the register file
it is to live in: LLVM would otherwise split the loop-carried vector into scalars and spill them.

Memory accesses do not move across the edges of loops and branches: LLVM would sink a load to its first use, and with it
the time it has to arrive. Neither does arithmetic that stands before a branch and is used after it: it was scheduled
there.

After a loop everything computed from `lane` before it is forgotten and computed anew: addresses of the epilogue would
otherwise occupy registers throughout the loop.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import assert_never

from argus.compile.context import EmitContext, held_type, registers
from argus.compile.function import CodeScope, Phi
from argus.ir import ops
from argus.ir.kernel import LANE
from argus.ir.ops import For, If, Op, walk
from argus.ir.passes.liveness import taken
from argus.ir.types import Value
from argus.layout.expr import Expr

MOST_HELD = 16
"""Operands of one empty instruction."""
EmitBlock = Callable[[EmitContext, list[Op]], None]


def emit_for(c: EmitContext, op: For, emit_block: EmitBlock, home: Callable[[Value], str]) -> None:
    """`home` names the register file ("v" or "a") of a loop-carried value."""
    function, indices = c.function, c.indices
    if op.step < 1:
        raise c.fail("C102", f"a loop counts upwards; its step is {op.step}")
    lo, hi = _uniform(c, op.lo), _uniform(c, op.hi)
    rows = [
        row
        for row in zip(op.args, op.inits, op.yields, op.outs, strict=True)
        if row[0] in c.live.values or row[3] in c.live.values
    ]
    starts = [_start(c, init, arg, home) for arg, init, _, _ in rows]
    outer, lane = function.scope, indices.variables[LANE.name][0]
    label, after = function.label(), function.label()
    loop = function.open("loop", label)
    loop.variable, loop.first, loop.step = op.var, op.lo, op.step
    counter = Phi(function.name(), "i32", lo)
    loop.phis.append(counter)
    loop.increments.append((counter, str(op.step)))
    indices.define(op.var, counter.name)
    carried = []
    for (arg, _, _, _), start in zip(rows, starts, strict=True):
        phi = Phi(function.name(), held_type(arg), start)
        loop.phis.append(phi)
        carried.append(phi)
        c.set(arg, phi.name)
    c.facts.enter(op.var, op.hi)
    function.fence()
    emit_block(c, op.body)
    function.fence()
    c.facts.leave(op.var)
    function.op = -1
    for phi, (_, _, back, _) in zip(carried, rows, strict=True):
        phi.back = c.get(back)
    for phi, amount in loop.increments:
        phi.back = function.let(f"add i32 {phi.name}, {amount}")
    again = function.let(f"icmp slt i32 {counter.back}, {hi}")
    function.line(f"br i1 {again}, label %{label}, label %{after}")
    function.close()
    del indices.variables[op.var.name]
    entered_from = outer.label
    runs = c.facts.positive(op.hi - op.lo)
    function.fence()
    if runs:
        function.line(f"br label %{label}")
    else:
        some = function.let(f"icmp slt i32 {lo}, {hi}")
        function.line(f"br i1 {some}, label %{label}, label %{after}")
    outer.lines.append(f"{label}:")
    for phi in loop.phis:
        function.line(f"{phi.name} = phi {phi.type} [ {phi.start}, %{entered_from} ], [ {phi.back}, %{loop.label} ]")
    outer.lines += loop.lines
    function.start_block(after)
    for (_, _, _, out), phi in zip(rows, carried, strict=True):
        if runs:
            c.set(out, phi.back)
        else:
            arms = f"[ {phi.start}, %{entered_from} ], [ {phi.back}, %{loop.label} ]"
            c.set(out, function.let(f"phi {phi.type} {arms}"))
    function.fence()
    indices.forget(LANE.name)
    known = indices.variables[LANE.name][0] if runs else lane  # what a loop inside has left is not there without a turn
    indices.variables[LANE.name] = (function.opaque("i32", known, "v"), outer)


def _start(c: EmitContext, init: Value, arg: Value, home: Callable[[Value], str]) -> str:
    text = c.get(init)
    if init in c.constants and registers(arg) > 1:
        return c.function.opaque(held_type(arg), text, home(arg))
    return text


def computed_before(block: list[Op], n: int) -> list[Value]:
    """Values made by arithmetic between the last loop or branch and op n, and used from op n on."""
    made: list[Value] = []
    for op in reversed(block[:n]):
        if op.blocks:
            break
        made += _arithmetic(op)
    used = {value for op in block[n:] for inner in walk([op]) for value in _operands(inner)}
    return [value for value in reversed(made) if value in used]


def _arithmetic(op: Op) -> tuple[Value, ...]:
    """The results of an op that LLVM might move to their use."""
    match op:
        case ops.Map() | ops.Convert() | ops.Mfma() | ops.Registers():
            return op.results
        case (
            ops.Constant()
            | ops.Index()
            | ops.Symbol()
            | ops.Bitcast()
            | ops.Lanes()
            | ops.Instruction()
            | ops.Load()
            | ops.Store()
            | ops.CopyToLds()
            | ops.Atomic()
            | ops.Barrier()
            | ops.Wait()
            | ops.SetPrio()
            | ops.For()
            | ops.If()
            | ops.Schedule()
            | ops.Tag()
            | ops.Check()
        ):
            return ()
        case _:
            assert_never(op)


def _operands(op: Op) -> tuple[Value, ...]:
    branch = op.control is ops.Control.BRANCH
    return (*op.operands, *(v for values in op.handed for v in values)) if branch else op.operands


def hold(c: EmitContext, values: list[Value]) -> None:
    """An empty instruction that reads the values: they are computed before it."""
    texts = {
        c.get(value): held_type(value)
        for value in values
        if value in c.values and registers(value) and c.get(value).startswith("%")
    }
    for start in range(0, len(texts), MOST_HELD):
        rows = list(texts.items())[start : start + MOST_HELD]
        operands = ", ".join(f"{kind} {text}" for text, kind in rows)
        c.function.line(f'call void asm sideeffect "", "{",".join("v" for _ in rows)}"({operands})')


def emit_if(c: EmitContext, op: If, emit_block: EmitBlock) -> None:
    function = c.function
    if op.cond.op == "const":
        emit_block(c, taken(op)[0])
        for out, chosen in zip(op.outs, op.then_yields if op.cond.value else op.else_yields, strict=True):
            if out in c.live.values:
                c.set(out, c.get(chosen))
        return
    condition = _condition(c, op.cond, op.uniform)
    then, other, after = function.label(), function.label(), function.label()
    lane = c.indices.variables[LANE.name]
    arms: list[CodeScope] = []
    ends: list[tuple[str, list[str]]] = []
    for label, block, yields in ((then, op.then, op.then_yields), (other, op.orelse, op.else_yields)):
        function.open("branch", label)
        function.start_block(label)
        function.fence()
        emit_block(c, block)
        c.at(op)
        function.fence()
        function.line(f"br label %{after}")
        inner = function.close()
        if c.indices.variables[LANE.name] is not lane:  # a loop of this arm has left its own
            c.indices.forget(LANE.name)
            c.indices.variables[LANE.name] = lane
        arms.append(inner)
        ends.append((inner.label, [c.values.get(value, "poison") for value in yields]))
    function.fence()
    function.line(f"br i1 {condition}, label %{then}, label %{other}")
    for inner in arms:
        function.scope.lines += inner.lines
    function.start_block(after)
    for n, out in enumerate(op.outs):
        if out not in c.live.values:
            continue
        sources = ", ".join(f"[ {texts[n]}, %{label} ]" for label, texts in ends)
        c.set(out, function.let(f"phi {held_type(out)} {sources}"))
    function.fence()


def _condition(c: EmitContext, cond: Expr, uniform: bool) -> str:
    """A condition every lane of the wave agrees on is read from one lane, so that the branch is a scalar one."""
    if not uniform or c.indices.uniform(cond):
        return c.indices.value(cond)
    return c.function.let(f"icmp ne i32 {_uniform(c, cond)}, 0")


def _uniform(c: EmitContext, e: Expr) -> str:
    """A number all lanes agree on; one that comes from data is read from the first lane, to be scalar."""
    text = c.indices.number(e)
    if c.indices.uniform(e):
        return text
    return c.function.call("i32", "llvm.amdgcn.readfirstlane.i32", f"i32 {text}")
