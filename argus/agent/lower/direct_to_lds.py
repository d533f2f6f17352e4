"""Global memory straight to LDS: the copy passes no registers, and has to be waited for before the barrier.

    ra = A[…, BLOCK_K * kt].load(COPY_A, width=16)          ag.barrier()
    ag.barrier()                                            A[…, BLOCK_K * kt].copy(sA, COPY_A, width=4)
    sA.store(ra, width=16)                          ->      ag.wait(vm=0)
    ag.barrier()                                            ag.barrier()

On gfx942 an instruction moves 4 bytes per lane, lane after lane, so the rows of the buffer must lie one behind the
other: a layout that is swizzled within rows, or a tile transposed on the way, has no such copy. With `slots=2` the next
tile is copied into the other slot of a ring while this one is multiplied.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from argus.agent.lower.fragments import BYTES
from argus.agent.lower.lds_ring import into_ring, turn_parts
from argus.agent.lower.pipeline import FETCH, MULTIPLY, PUBLISH, READ, PipelineStep, bounds, emit, staged_loop, variable
from argus.agent.lower.source import NotApplicableError, Source, drop_keyword, is_ag, keyword, set_keyword
from argus.agent.lower.text import expression, statement

LANE_BYTES = 4


def direct_to_lds(source: Source, params: Mapping[str, object]) -> None:
    """Fetch and publish of a staged loop become one copy per buffer; `slots` tiles of them."""
    loop, outer = staged_loop(source)
    turn_parts(source, loop)
    slots = int(str(params["slots"]))
    if slots > 1:
        into_ring(source, loop, outer, slots)
    parts = turn_parts(source, loop)
    owners = {o.id for o in (_owner(f) for f in parts[FETCH])}
    copies = _copies(source, parts[FETCH], parts[PUBLISH])
    for name in sorted(owners):
        _narrow(source, name)
    barrier, wait = statement("ag.barrier()"), statement("ag.wait(vm=0)")
    ready = [PipelineStep(wait, 0), PipelineStep(barrier, 0)]
    multiply = [PipelineStep(s, 0) for part in (READ, MULTIPLY) for s in parts[part]]
    if slots > 1:
        emit(source, loop, outer, [*ready, *(PipelineStep(c, slots - 1) for c in copies), *multiply], peel_last=False)
        _while_there_is_one(loop, slots - 1, len(ready), len(copies))
    else:
        loop.body = [
            s.node for s in (PipelineStep(barrier, 0), *(PipelineStep(c, 0) for c in copies), *ready, *multiply)
        ]


def _while_there_is_one(loop: ast.For, ahead: int, at: int, count: int) -> None:
    """Copies that run ahead stop with the tiles: a copy has no guard, so a branch says it."""
    end = ast.unparse(bounds(loop)[1])
    there = statement(f"if {variable(loop)} + {ahead} < {end}:\n    pass")
    if isinstance(there, ast.If):
        there.body = loop.body[at : at + count]
    loop.body[at : at + count] = [there]


def _owner(fetch: ast.stmt) -> ast.Name:
    call = fetch.value if isinstance(fetch, ast.Assign) else None
    if isinstance(call, ast.Call) and call.args and isinstance(call.args[0], ast.Name):
        return call.args[0]
    raise NotApplicableError("a tile is not fetched by one load with an owner of the file")


def _copies(source: Source, fetches: list[ast.stmt], stores: list[ast.stmt]) -> list[ast.stmt]:
    """`held = A[…].load(OWNER, width=16)` and `buffer.store(held, width=16)` as `A[…].copy(buffer, OWNER, width=4)`."""
    made: list[ast.stmt] = []
    where: dict[str, ast.expr] = {}
    for store in stores:
        call = store.value if isinstance(store, ast.Expr) else None
        if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.args):
            raise NotApplicableError("a tile is not published by one store")
        if not isinstance(call.args[0], ast.Name):
            raise NotApplicableError("the tile is transposed on its way to LDS, which a copy cannot do")
        where[call.args[0].id] = call.func.value
    for fetch in fetches:
        target = fetch.targets[0] if isinstance(fetch, ast.Assign) else None
        call = fetch.value if isinstance(fetch, ast.Assign) else None
        if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and isinstance(target, ast.Name)):
            raise NotApplicableError("a tile is not fetched by one load")
        if target.id not in where:
            raise NotApplicableError(f"{target.id} is fetched and not published")
        place = ast.unparse(call.func.value)
        buffer, owner = ast.unparse(where[target.id]), ast.unparse(call.args[0])
        made.append(statement(f"{place}.copy({buffer}, {owner}, width={LANE_BYTES})"))
    return made


def _narrow(source: Source, name: str) -> None:
    """The copying owner with 4 bytes per thread instead of 16; rows one behind the other, threads along them."""
    given = source.constant(name)
    owner = given.value if given is not None else None
    if not (isinstance(owner, ast.Call) and is_ag(owner, "Owner")):
        raise NotApplicableError(f"{name} is no owner of the file")
    each, many = keyword(owner, "e"), keyword(owner, "p")
    width = source.value(each) if each is not None else None
    formulas = [k for k in owner.keywords if isinstance(k.value, ast.JoinedStr)]
    if width is None or many is None or len(formulas) != 2 or keyword(owner, "i") is not None:
        raise NotApplicableError(f"{name} does not copy rows in pieces of 16 bytes")
    element = 16 // width
    if element not in BYTES.values() or element > LANE_BYTES:
        raise NotApplicableError("elements are wider than a lane of the copy")
    narrow = LANE_BYTES // element
    across, along = formulas
    line, rows = _line(source, owner, str(along.arg)), str(across.arg)
    drop_keyword(owner, rows)
    drop_keyword(owner, str(along.arg))
    set_keyword(owner, "p", expression(f"{width // narrow} * ({ast.unparse(many)})"))
    set_keyword(owner, "e", ast.Constant(narrow))
    lanes = f"{line} // {narrow}"
    set_keyword(owner, rows, expression(f"f'p*{{{narrow} * THREADS // ({line})}} + t//{{{lanes}}}'"))
    set_keyword(owner, str(along.arg), expression(f"f't%{{{lanes}}}*{narrow} + e'"))


def _line(source: Source, owner: ast.Call, along: str) -> str:
    """The length of a row in elements, from `t%{line // 8}*8 + e`."""
    formula = keyword(owner, along)
    for part in formula.values if isinstance(formula, ast.JoinedStr) else []:
        divided = part.value if isinstance(part, ast.FormattedValue) else None
        if (
            isinstance(divided, ast.BinOp)
            and isinstance(divided.op, ast.FloorDiv)
            and source.value(divided.left) is not None
        ):
            return ast.unparse(divided.left)
    raise NotApplicableError("the rows of the copy have no length of the file")
