"""Loops over the taps of a window, written out: which loads of a row of X they make, and how far apart.

    for r in range(3):
        for s in range(3):
            tap = X[b, c, p + r - 1, 64 * bq + s - 1].load(IN, width=4, guard="shape").held_as(OUT)

`tap_loop` finds the inner loop with its load: taps 0 to 2 along the row, the first one place before the result's.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from argus.agent.lower.source import NotApplicableError, Source, SourceAccess, names, terms

NO_TAPS = "no loop over the taps of a row that loads them one by one"


@dataclass(frozen=True, slots=True)
class TapLoop:
    """`loop` over `count` taps stands in `block`; tap 0 is `first` places behind the result; `load` is its access."""

    loop: ast.For
    block: list[ast.stmt]
    variable: str
    count: int
    first: int
    load: SourceAccess


def static_range(source: Source, node: ast.stmt) -> tuple[str, int] | None:
    """`for name in range(count)` with a count the file fixes."""
    if (
        isinstance(node, ast.For)
        and isinstance(node.target, ast.Name)
        and isinstance(node.iter, ast.Call)
        and isinstance(node.iter.func, ast.Name)
        and node.iter.func.id == "range"
        and len(node.iter.args) == 1
    ):
        count = source.value(node.iter.args[0])
        return None if count is None else (node.target.id, count)
    return None


def offset(index: ast.expr, variable: str) -> int | None:
    """The number added to a loop's variable in an index: -1 for `64 * bq + s - 1`; None without the variable."""
    if variable not in names(index):
        return None
    found, rest = 0, index
    if isinstance(index, ast.BinOp) and isinstance(index.op, ast.Sub) and isinstance(index.right, ast.Constant):
        found, rest = -int(str(index.right.value)), index.left
    parts = terms(rest)
    found += sum(part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, int))
    alone = [part for part in parts if isinstance(part, ast.Name) and part.id == variable]
    used = [part for part in parts if variable in names(part)]
    return found if len(alone) == len(used) == 1 else None


def without(index: ast.expr, variable: str) -> list[ast.expr]:
    """The summands of an index beside a loop's variable and numbers."""
    rest = index.left if isinstance(index, ast.BinOp) and isinstance(index.op, ast.Sub) else index
    return [part for part in terms(rest) if variable not in names(part) and not isinstance(part, ast.Constant)]


def tap_loop(source: Source, block_variable: str) -> TapLoop:
    """The loop whose load moves along the block's axis with the loop's variable."""
    for block, node in _statements(source):
        found = static_range(source, node)
        if found is None or not isinstance(node, ast.For):
            continue
        for access in source.loads():
            if access.statement in node.body and access.index:
                last = access.index[-1]
                first = offset(last, found[0])
                if first is not None and block_variable in names(last):
                    return TapLoop(node, block, found[0], found[1], first, access)
    raise NotApplicableError(NO_TAPS)


def _statements(source: Source) -> Iterator[tuple[list[ast.stmt], ast.stmt]]:
    for block in source.blocks():
        for node in block:
            yield block, node
