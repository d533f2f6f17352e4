"""Passes over the same data as one: a later loop that needs nothing of what an earlier one found joins it.

    for i in ag.range(N // 64):                           for i in ag.range(N // 64):
        x = X[row, 64 * i].load(PART).to(f32)                 x = X[row, 64 * i].load(PART).to(f32)
        total = total + x                           ->        total = total + x
    mean = total.sum("n") / f32(N)                            squares = squares + x * x
    squares = ag.zeros(PART, f32)                         mean = total.sum("n") / f32(N)
    for j in ag.range(N // 64):
        y = X[row, 64 * j].load(PART).to(f32)
        squares = squares + y * y

What stands between the loops and is needed by the second moves before the first, if it does not depend on it; what is
loaded twice alike is loaded once. A value that a stage would write and the next one read again never leaves registers.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from argus.agent.lower.pipeline import shifted, variable
from argus.agent.lower.source import NotApplicableError, Source, is_ag, names, same
from argus.agent.lower.text import expression, is_comment


def fused_stages(source: Source, params: Mapping[str, object]) -> None:
    """Join every loop of the kernel's body with an earlier one over the same range that it does not depend on."""
    joined = 0
    loops = [n for n in source.body if isinstance(n, ast.For) and is_ag(n.iter, "range")]
    for later in loops[1:]:
        for earlier in loops[: loops.index(later)]:
            if earlier in source.body and same(earlier.iter, later.iter) and _join(source, earlier, later):
                joined += 1
                break
    if not joined:
        raise NotApplicableError("no two loops run over the same range without one needing the other")


def _join(source: Source, earlier: ast.For, later: ast.For) -> bool:
    """Put the later loop's turns into the earlier one's; False if it depends on what was found in between."""
    first, second = source.body.index(earlier), source.body.index(later)
    between = source.body[first + 1 : second]
    needed = names(later) - {variable(later)}
    known = _assigned([earlier])
    moved: list[ast.stmt] = []
    for node in between:
        if known & names(node):
            known |= _assigned([node])
        elif _assigned([node]) & needed:
            moved.append(node)
    touched = _assigned([later])
    if known & needed or touched & names(earlier) or any(touched & names(n) for n in between if n not in moved):
        return False
    if any(_orders(n, ("barrier", "store")) for s in (earlier, *between, later) for n in ast.walk(s)):
        return False
    if any(_orders(n, ("load",)) for s in between for n in ast.walk(s)):
        return False
    body = [shifted(s, variable(later), expression(variable(earlier))) for s in later.body if not is_comment(s)]
    earlier.body = _once([*earlier.body, *body])
    source.body.remove(later)
    for node in moved:
        source.body.remove(node)
    source.body[first:first] = moved
    return True


def _orders(node: ast.AST, words: tuple[str, ...]) -> bool:
    """Whether a node is an access or a barrier: what it depends on does not show in names."""
    return isinstance(node, ast.Attribute) and node.attr in words


def _assigned(nodes: list[ast.stmt]) -> set[str]:
    """Names that statements give a value."""
    return {n.id for s in nodes for n in ast.walk(s) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}


def _once(body: list[ast.stmt]) -> list[ast.stmt]:
    """What is loaded twice alike gets one name."""
    kept: list[ast.stmt] = []
    first: dict[str, str] = {}
    renamed: dict[str, str] = {}
    for node in body:
        for inner in ast.walk(node):
            if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Load) and inner.id in renamed:
                inner.id = renamed[inner.id]
        target = node.targets[0] if isinstance(node, ast.Assign) else None
        if isinstance(node, ast.Assign) and isinstance(target, ast.Name) and target.id not in names(node.value):
            key = ast.dump(node.value)
            if key in first:
                renamed[target.id] = first[key]
                continue
            first[key] = target.id
        kept.append(node)
    return kept
