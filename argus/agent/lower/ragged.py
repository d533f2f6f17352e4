"""Kernels of sizes that no block divides: techniques see them as if blocks divided, and they are ragged again after.

    bm, bn = ag.grid(ag.cdiv(M, 32), ag.cdiv(N, 32))                bm, bn = ag.grid(M // 32, N // 32)
    for kt in ag.range(ag.cdiv(K, 8)):                       ->     for kt in ag.range(K // 8):
        a = A[…].load(FRAG, width=8, guard="shape")                     a = A[…].load(FRAG, width=8)

Transformations look for sizes in whole blocks. `straightened` gives them that form and remembers which sizes were
ragged; `restored` rounds every count of blocks of such a size up again and guards accesses to tensors whose inner axes
it runs along. A fetch ahead of its turn needs no guard of its own then: past the last block lies no element. For the
same reason no size need be as large as a block. Guards that are there for other reasons stay: of tensors without a
ragged inner axis, and of accesses that may begin before their axis (padding).

What it cannot do: kernels without matrix instructions; row kernels keep their own guards.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from argus.agent.lower.range_guards import need_only, tied, together
from argus.agent.lower.source import (
    Source,
    SourceAccess,
    SourceTensor,
    divided,
    drop_keyword,
    is_ag,
    keyword,
    set_keyword,
)
from argus.agent.lower.text import expression

SHAPE = "shape"


@dataclass(frozen=True, slots=True)
class RaggedSizes:
    """Sizes that need not be multiples of anything, and what the kernel required before."""

    sizes: frozenset[str]
    requires: str


def straightened(source: Source) -> RaggedSizes | None:
    """Make the kernel one of whole blocks; None where nothing in it is ragged."""
    if not any(is_ag(node, "mfma") for node in ast.walk(source.function)):
        return None
    found: dict[str, str] = {}
    bound = tied(source)

    class Whole(ast.NodeTransformer):
        def visit_Call(self, node: ast.Call) -> ast.expr:
            self.generic_visit(node)
            if is_ag(node, "cdiv") and len(node.args) == 2:
                whole = ast.BinOp(node.args[0], ast.FloorDiv(), node.args[1])
                size = divided(whole)
                if size is not None and size[0] not in bound:
                    found[size[0]] = size[1]
                    return ast.copy_location(whole, node)
            return node

    source.function.body = [Whole().visit(node) for node in source.function.body]
    if not found:
        return None
    tensors = source.tensors()
    for access in (*source.loads(), *source.accesses("store")):
        guard = access.keyword("guard")
        ragged = access.place in tensors and _inner(tensors[access.place]) & set(found)
        if isinstance(guard, ast.Constant) and guard.value == SHAPE and ragged and not _before_the_start(access):
            drop_keyword(access.call, "guard")
    given = keyword(source.decorator, "requires")
    required = str(given.value) if isinstance(given, ast.Constant) else ""
    kept = [c for c in required.split(" and ") if c and not any(c.strip().startswith(f"{s} ") for s in found)]
    whole = [f"{size} % {step} == 0" for size, step in found.items()]
    set_keyword(source.decorator, "requires", ast.Constant(" and ".join([*whole, *kept])))
    return RaggedSizes(frozenset(found), required)


def _inner(tensor: SourceTensor) -> set[str]:
    """The sizes of all axes but the outermost."""
    return {axis.split("=")[-1] for axis in tensor.axes[1:]}


def _before_the_start(access: SourceAccess) -> bool:
    """An index subtracts: there may be padding."""
    return any(isinstance(node, ast.Sub) for index in access.index for node in ast.walk(index))


def restored(source: Source, ragged: RaggedSizes) -> None:
    """Round the counts of blocks up again, and guard what may lie outside."""
    steps: dict[str, str] = {}

    class Rounded(ast.NodeTransformer):
        def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
            self.generic_visit(node)
            size = divided(node)
            if size is not None and size[0] in ragged.sizes:
                steps[size[0]] = size[1]
                return expression(f"ag.cdiv({size[0]}, {size[1]})")
            return node

    source.function.body = [Rounded().visit(node) for node in source.function.body]
    tensors = source.tensors()
    moves = [a for a in (*source.loads(), *source.accesses("store")) if a.place in tensors]
    for access in moves:
        if _inner(tensors[access.place]) & set(steps):
            set_keyword(access.call, "guard", ast.Constant(SHAPE))
    multiples = {size: together(source, size, moves) for size in steps}
    need_only(source, multiples, steps)
    given = keyword(source.decorator, "requires")
    clauses = str(given.value).split(" and ") if isinstance(given, ast.Constant) else []
    kept = [c for c in clauses if not any(c.strip().startswith(f"{size} >= ") for size in steps)]
    least = [f"{size} >= {many}" for size, many in multiples.items()]
    set_keyword(source.decorator, "requires", ast.Constant(" and ".join([*kept, *least])))
