"""Sizes that are no multiples of the block: the grid is rounded up, and what lies outside is left to the hardware.

    bm, bn = ag.grid(M // BLOCK_M, N // BLOCK_N)        bm, bn = ag.grid(ag.cdiv(M, BLOCK_M), ag.cdiv(N, BLOCK_N))
    C[…].store(acc.to(bf16), width=8)             ->    C[…].store(acc.to(bf16), width=8, guard="shape")

A buffer access past the last row touches nothing; one past the end of a row would hit the next row, so accesses to
tensors with a ragged inner axis are guarded by the shape. A size along which accesses take several elements at once
stays a multiple of their number. `axes="all"` rounds up loops over a size in blocks as well.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from argus.agent.lower.fragments import BYTES
from argus.agent.lower.source import (
    NotApplicableError,
    Source,
    SourceAccess,
    divided,
    is_ag,
    keyword,
    names,
    set_keyword,
)
from argus.agent.lower.text import expression


def range_guards(source: Source, params: Mapping[str, object]) -> None:
    """Blocked sizes need not be multiples of their blocks: those of the grid, or `axes="all"` of them."""
    bound = tied(source)
    steps = _rounded_grid(source, bound)
    if str(params.get("axes", "grid")) == "all":
        steps |= _rounded_loops(source, bound)
    if not steps:
        raise NotApplicableError("no size is taken in blocks")
    tensors = source.tensors()
    moves = [a for a in (*source.loads(), *source.accesses("store")) if a.place in tensors]
    for access in moves:
        inner = [axis.split("=")[-1] for axis in tensors[access.place].axes[1:]]
        if set(inner) & set(steps) and access.keyword("guard") is None:
            set_keyword(access.call, "guard", ast.Constant("shape"))
    need_only(source, {size: together(source, size, moves) for size in steps}, steps)


def tied(source: Source) -> set[str]:
    """Sizes that `requires` ties to others (`KB == K // 128`): they cannot be any number."""
    given = keyword(source.decorator, "requires")
    clauses = str(given.value).split(" and ") if isinstance(given, ast.Constant) else []
    return {name for c in clauses if " % " not in c and "==" in c for name in names(expression(c))}


def _rounded_grid(source: Source, bound: set[str]) -> dict[str, str]:
    _, call = source.grid()
    found: dict[str, str] = {}
    for at, extent in enumerate(call.args):
        size = divided(extent)
        if size is not None and size[0] not in bound:
            found[size[0]] = size[1]
            call.args[at] = expression(f"ag.cdiv({size[0]}, {size[1]})")
    return found


def _rounded_loops(source: Source, bound: set[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for node in ast.walk(source.function):
        if isinstance(node, ast.For) and is_ag(node.iter, "range") and isinstance(node.iter, ast.Call):
            size = divided(node.iter.args[0]) if len(node.iter.args) == 1 else None
            if size is not None and size[0] not in bound:
                found[size[0]] = size[1]
                node.iter = expression(f"ag.range(ag.cdiv({size[0]}, {size[1]}))")
    return found


def together(source: Source, size: str, moves: list[SourceAccess]) -> int:
    """How many elements one access takes along a size: it stays a multiple of that."""
    tensors = source.tensors()
    most = 1
    for access in moves:
        tensor = tensors[access.place]
        if tensor.axes[-1].split("=")[-1] == size:
            width = source.value(access.keyword("width") or ast.Constant(0)) or 0
            most = max(most, width // BYTES[tensor.element])
    return most


def need_only(source: Source, multiples: Mapping[str, int], steps: Mapping[str, str]) -> None:
    """`M % BLOCK_M == 0` is no longer asked for; the example has a block and a bit."""
    given = keyword(source.decorator, "requires")
    old = str(given.value).split(" and ") if isinstance(given, ast.Constant) else []
    kept = [c for c in old if not any(c.strip().startswith(f"{size} % ") for size in steps)]
    new = [f"{size} % {many} == 0" if many > 1 else f"{size} >= 1" for size, many in multiples.items()]
    set_keyword(source.decorator, "requires", ast.Constant(" and ".join([*new, *kept])))
    example = keyword(source.decorator, "example")
    if isinstance(example, ast.Call):
        for size, step in steps.items():
            if keyword(example, size) is not None:
                set_keyword(example, size, expression(f"{step} + {multiples[size]}"))
