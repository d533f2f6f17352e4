"""A ring of LDS slots: a tile is published into a slot nobody reads, so that one barrier per turn is enough.

    fetch kt                                          ring = ag.ring(2, a=(LDS_A, bf16), b=(LDS_B, bf16))
    ag.barrier()                                      fetch 0; publish 0; fetch 1
    sA.store(ra); sB.store(rb)                        for kt in …:
    ag.barrier()                              ->          ag.barrier()                        tile kt is there
    a = sA.load(…); b = sB.load(…)                        a = ring[kt].a.load(…); b = …
    multiply                                              ring[kt + 1].a.store(ra); …         nobody reads this slot
                                                          fetch kt + 2
                                                          multiply

Slot kt + 1 was read last in turn kt - 1, before the barrier of turn kt. With more slots tiles are published further
ahead. Layouts are those of the buffers; the ring takes their LDS as many times as it has slots.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from argus.agent.lower.pipeline import (
    BARRIER,
    FETCH,
    MULTIPLY,
    PUBLISH,
    READ,
    PipelineStep,
    emit,
    kind,
    staged_loop,
    variable,
)
from argus.agent.lower.source import Instead, NotApplicableError, Source, is_ag
from argus.agent.lower.text import expression, is_comment, statement

TURN = [FETCH, BARRIER, PUBLISH, BARRIER, READ, MULTIPLY]
ASSERTIONS = ("race_free", "bank_free")


def lds_ring(source: Source, params: Mapping[str, object]) -> None:
    """`slots` tiles of every buffer; tiles are published one turn ahead, or two with three slots."""
    loop, outer = staged_loop(source)
    parts = turn_parts(source, loop)
    slots = int(str(params["slots"]))
    into_ring(source, loop, outer, slots)
    steps = [PipelineStep(statement(f"'# tile {variable(loop)} is there, tile {variable(loop)} - 1 has been read'"), 0)]
    steps += [PipelineStep(statement("ag.barrier()"), 0)]
    steps += [PipelineStep(s, 0) for s in parts[READ]]
    steps += [PipelineStep(s, slots - 1) for s in parts[PUBLISH]]
    steps += [PipelineStep(s, slots) for s in parts[FETCH]]
    steps += [PipelineStep(s, 0) for s in parts[MULTIPLY]]
    emit(source, loop, outer, steps, peel_last=False)


def turn_parts(source: Source, loop: ast.For) -> dict[str, list[ast.stmt]]:
    """The statements of a turn by what they do; the turn must be as `staging` writes it, with one product."""
    body = [s for s in loop.body if not is_comment(s)]
    kinds = [kind(source, s) for s in body]
    shape = [k for n, k in enumerate(kinds) if n == 0 or kinds[n - 1] != k]
    if shape != TURN:
        raise NotApplicableError(
            "a turn of the loop must be fetch, barrier, publish, barrier, read, multiply; it is " + ", ".join(shape)
        )
    return {k: [s for s, found in zip(body, kinds, strict=True) if found == k] for k in TURN}


def into_ring(source: Source, loop: ast.For, outer: list[ast.stmt], slots: int) -> str:
    """The buffers of a loop become one ring, its accesses those of slot `kt`; the name of the ring."""
    buffers = _buffers(loop, outer)
    ring = source.fresh("ring")
    fields = {name: name.removeprefix("s").lower() for name in buffers}
    given = ", ".join(f"{fields[n]}=({', '.join(ast.unparse(a) for a in c.args)})" for n, (_, c) in buffers.items())
    first = min(outer.index(node) for node, _ in buffers.values())
    for node, _ in buffers.values():
        outer.remove(node)
    outer.insert(first, statement(f"{ring} = ag.ring({slots}, {given})"))
    name = variable(loop)
    slot = {n: expression(f"{ring}[{name}].{fields[n]}") for n in buffers}
    for node in loop.body:
        Instead(slot).visit(node)
    _asserted(source, set(buffers), ring)
    return ring


def _buffers(loop: ast.For, outer: list[ast.stmt]) -> dict[str, tuple[ast.stmt, ast.Call]]:
    """LDS buffers that the loop uses, with the statements that make them."""
    used = {n.id for n in ast.walk(loop) if isinstance(n, ast.Name)}
    found: dict[str, tuple[ast.stmt, ast.Call]] = {}
    for node in outer[: outer.index(loop)]:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and is_ag(node.value, "shared"):
            name = node.targets[0].id
            if name in used and isinstance(node.value, ast.Call):
                found[name] = (node, node.value)
    if not found:
        raise NotApplicableError("the loop's LDS buffers are not made in front of it")
    if any(_used_outside(outer, loop, name) for name in found):
        raise NotApplicableError("the loop's LDS buffers are used outside it")
    return found


def _used_outside(outer: list[ast.stmt], loop: ast.For, name: str) -> bool:
    for node in outer:
        if node is loop or _assertion(node) is not None:
            continue
        for inner in ast.walk(node):
            if isinstance(inner, ast.Name) and inner.id == name and isinstance(inner.ctx, ast.Load):
                return True
    return False


def _assertion(node: ast.stmt) -> ast.Call | None:
    """`ag.check.race_free(…)` or `ag.check.bank_free(…)`."""
    call = node.value if isinstance(node, ast.Expr) else None
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr in ASSERTIONS:
        return call
    return None


def _asserted(source: Source, buffers: set[str], ring: str) -> None:
    """Assertions about the buffers are about the ring."""
    for block in source.blocks():
        for node in block:
            call = _assertion(node)
            if call is not None and any(isinstance(a, ast.Name) and a.id in buffers for a in call.args):
                kept = [a for a in call.args if not (isinstance(a, ast.Name) and a.id in buffers)]
                call.args = [*kept, ast.Name(ring, ast.Load())]
