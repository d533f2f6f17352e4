"""Workgroups that take several blocks, one after the other: fewer starts, and what is shared stays in the caches.

    row = ag.grid(M)                       first = ag.grid(M // TURNS)
    …                              ->      for turn in ag.range(TURNS):
                                               row = TURNS * first + turn
                                               …

The last axis of the grid is walked; blocks that a workgroup walks are neighbours. LDS buffers are made once, before the
walk, and a barrier ends a turn, so that the next one does not overwrite what is still read.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from argus.agent.lower.register_blocking import divisible
from argus.agent.lower.source import NotApplicableError, Source, divided, is_ag, keyword, names
from argus.agent.lower.text import expression, is_comment, statement


def persistent_groups(source: Source, params: Mapping[str, object]) -> None:
    """Every workgroup takes `turns` neighbouring blocks along the last axis of the grid."""
    given, call = source.grid()
    if given not in source.body or source.constant("TURNS") is not None:
        raise NotApplicableError("the workgroups walk several blocks already")
    if keyword(call, "order") is not None:
        raise NotApplicableError("the order of workgroups is given; a walk would change it")
    size, step = _extent(call.args[-1])
    at = source.body.index(given)
    first, turn = source.fresh("first"), source.fresh("turn")
    walked = expression(f"TURNS * {first} + {turn}")
    target = given.targets[0]
    if isinstance(target, ast.Tuple):
        if given.value is not call or not isinstance(target.elts[-1], ast.Name):
            raise NotApplicableError("the block numbers are not those of the grid")
        block = statement(f"{target.elts[-1].id} = {ast.unparse(walked)}")
        target.elts[-1] = ast.Name(first, ast.Store())
        start: ast.stmt = given
    else:
        start = statement(f"{first} = {ast.unparse(call)}")
        block = statement(f"{ast.unparse(target)} = {ast.unparse(_Walked(call, walked).visit(given.value))}")
        call = start.value if isinstance(start, ast.Assign) and isinstance(start.value, ast.Call) else call
    call.args[-1] = expression(f"{size} // (TURNS * {step})" if step else f"{size} // TURNS")
    kept, body, last = parted(source.body[at + 1 :])
    loop = statement(f"for {turn} in ag.range(TURNS):\n    pass")
    if isinstance(loop, ast.For):
        loop.body = [block, *body, *([statement("ag.barrier()")] if has_buffers(kept) else [])]
    source.body[at:] = [start, *kept, loop, *last]
    source.define_first(f"TURNS = {int(str(params['turns']))}")
    divisible(source, {size: f"(TURNS * {step})" if step else "TURNS"})


def parted(rest: Sequence[ast.stmt]) -> tuple[list[ast.stmt], list[ast.stmt], list[ast.stmt]]:
    """What is the same for every block and is made once, what is done for each, and assertions on the former."""
    kept = [s for s in rest if _is_outside(s)]
    buffers = {n.id for s in kept for n in ast.walk(s) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    last = [s for s in rest if _is_assertion(s) and names(s) - {"ag"} <= buffers]
    return kept, [s for s in rest if s not in kept and s not in last], last


def has_buffers(kept: Sequence[ast.stmt]) -> bool:
    return any(is_ag(n, "shared") or is_ag(n, "ring") for s in kept for n in ast.walk(s))


def _extent(node: ast.expr) -> tuple[str, str]:
    """`N // BLOCK_N` or `M`: the size and its step."""
    if isinstance(node, ast.Name):
        return node.id, ""
    found = divided(node)
    if found is not None:
        return found
    raise NotApplicableError(f"the last axis of the grid, {ast.unparse(node)}, is no size in blocks")


def _is_outside(node: ast.stmt) -> bool:
    """Wave numbers and LDS buffers, which are the same for every block."""
    value = node.value if isinstance(node, ast.Assign) else None
    return value is not None and any(is_ag(value, name) for name in ("wave", "shared", "ring"))


def _is_assertion(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and not is_comment(node) and ast.unparse(node).startswith("ag.check.")


class _Walked(ast.NodeTransformer):
    def __init__(self, call: ast.Call, new: ast.expr) -> None:
        self._call, self._new = call, new

    def visit_Call(self, node: ast.Call) -> ast.expr:
        if node is self._call:
            return self._new
        self.generic_visit(node)
        return node
