"""Kernels in which a lane makes a result of its own: who holds the results, and the blocks of the grid they lie in.

    OUT = ag.Owner(lane=64, q="lane")
    z, p, bq = ag.grid(Z, P, Q // 64)
    tap = X[z, p, 64 * bq, r, s].load(OUT, width=4)             `result_block` finds OUT, bq, Q and 64
    Y[z, p, 64 * bq].store(top, width=4)

Maps, pooling and depthwise convolutions are such kernels: every load of the owner and every store begins at the block's
first result.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from argus.agent.lower.row_walks import axis_owners
from argus.agent.lower.source import NotApplicableError, Source, SourceAccess, factor, keyword, same, terms

NO_BLOCK = "no block of results that every load and store begins at"


@dataclass(frozen=True, slots=True)
class ResultBlock:
    """`variable` of the grid counts blocks of `step` results along `size`; the owner's `thread` input has `lanes`."""

    owner: ast.Call
    thread: str
    axis: str
    lanes: ast.expr
    variable: str
    size: str
    step: ast.expr
    moves: tuple[SourceAccess, ...]


def result_block(source: Source) -> ResultBlock:
    """The block that the loads by the kernel's owner of results, and its stores, begin at."""
    tensors = source.tensors()
    stores = [a for a in source.accesses("store") if a.place in tensors]
    for name, owner, thread, axis in axis_owners(source):
        lanes = keyword(owner, thread)
        loads = [a for a in source.loads() if a.place in tensors and ast.unparse(a.owner) == name]
        moves = (*loads, *stores)
        for variable, blocked in source.sizes().items():
            if lanes is not None and stores and all(_at(move, variable, blocked.by) is not None for move in moves):
                return ResultBlock(owner, thread, axis, lanes, variable, blocked.size, blocked.by, moves)
    raise NotApplicableError(NO_BLOCK)


def _at(move: SourceAccess, variable: str, step: ast.expr) -> int | None:
    """The index of an access that has `step * variable` as a summand."""
    for number, index in enumerate(move.index):
        less = isinstance(index, ast.BinOp) and isinstance(index.op, ast.Sub)
        for term in terms(index.left if less and isinstance(index, ast.BinOp) else index):
            found = factor(term, variable)
            if found is not None and same(found, step):
                return number
    return None


def at_block(move: SourceAccess, block: ResultBlock) -> bool:
    """Whether an access begins at the block's first result, not some places beside it."""
    at = _at(move, block.variable, block.step)
    return at is not None and isinstance(factor(move.index[at], block.variable), ast.expr)


def neighbors(source: Source, move: SourceAccess, block: ResultBlock) -> bool:
    """Whether results that are neighbors lie next to each other in the tensor of an access."""
    at = _at(move, block.variable, block.step)
    note = next(a.annotation for a in source.function.args.args if a.arg == move.place)
    if not isinstance(note, ast.Subscript) or not isinstance(note.slice, ast.Tuple) or at is None:
        return False
    parts = [part.value for part in note.slice.elts if isinstance(part, ast.Constant)]
    if len(note.slice.elts) < 3:
        return at == len(str(parts[0]).split()) - 1
    return len(parts) == 2 and str(parts[1]).split()[at] == "1"
