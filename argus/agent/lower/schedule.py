"""Interleaving: the compiler may mix matrix instructions with the memory accesses that stand before them.

    a1 = sA.load(…)                                    with ag.schedule(mfma=2, ds_read=1):
    b1 = sB.load(…)                              ->        a1 = sA.load(…)
    for i, j in ag.unroll(…): acc[i, j] = …                b1 = sB.load(…)
                                                           for i, j in ag.unroll(…): acc[i, j] = …

A group ends with its multiplications and never crosses a barrier. `priority` raises the wave's priority around a
group's multiplications instead, so that a wave that multiplies is not held up by one that copies.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from argus.agent.lower.pipeline import BARRIER, FETCH, MULTIPLY, PUBLISH, READ, kind
from argus.agent.lower.source import NotApplicableError, Source, is_ag
from argus.agent.lower.text import is_comment, statement

WORDS = {READ: "ds_read", PUBLISH: "ds_write", FETCH: "buffer_load"}


def interleave(source: Source, params: Mapping[str, object]) -> None:
    """Wrap every group of accesses and multiplications of a loop in `ag.schedule`."""
    ratio = int(str(params.get("mfma", 2)))
    done = 0
    for loop in _loops(source):
        _unwrap(loop)
        loop.body = _grouped(source, loop.body, ratio)
        done += sum(isinstance(s, ast.With) for s in loop.body)
    if not done:
        raise NotApplicableError("no group of accesses stands before multiplications")


def _loops(source: Source) -> list[ast.For]:
    return [
        n
        for n in ast.walk(source.function)
        if isinstance(n, ast.For) and is_ag(n.iter, "range") and any(is_ag(m, "mfma") for m in ast.walk(n))
    ]


def _unwrap(loop: ast.For) -> None:
    body: list[ast.stmt] = []
    for node in loop.body:
        if isinstance(node, ast.With) and is_ag(node.items[0].context_expr, "schedule"):
            body.extend(node.body)
        else:
            body.append(node)
    loop.body = body


def _grouped(source: Source, body: list[ast.stmt], ratio: int) -> list[ast.stmt]:
    found: list[ast.stmt] = []
    group: list[ast.stmt] = []
    for node in body:
        what = kind(source, node)
        if what in WORDS:
            group.append(node)
        elif what == MULTIPLY and group:
            found.append(_wrapped(source, [*group, node], ratio))
            group = []
        else:
            found.extend(group)
            group = []
            found.append(node)
    return [*found, *group]


def _wrapped(source: Source, group: list[ast.stmt], ratio: int) -> ast.stmt:
    kinds = dict.fromkeys(kind(source, node) for node in group)
    words = ", ".join(f"{WORDS[k]}=1" for k in kinds if k in WORDS)
    node = statement(f"with ag.schedule(mfma={ratio}, {words}):\n    pass")
    if isinstance(node, ast.With):
        node.body = group
    return node


def priority(source: Source, params: Mapping[str, object]) -> None:
    """`ag.setprio(1)` while a loop's multiplications are issued, back to 0 at the next barrier."""
    if any(is_ag(n, "setprio") for n in ast.walk(source.function)):
        raise NotApplicableError("priorities are set already")
    changed = False
    for loop in _loops(source):
        body: list[ast.stmt] = []
        raised = False
        for node in loop.body:
            multiplies = any(is_ag(n, "mfma") for n in ast.walk(node))
            if multiplies and not raised:
                body.append(statement("ag.setprio(1)"))
                raised = changed = True
            if raised and not multiplies and not is_comment(node) and kind(source, node) == BARRIER:
                body.append(statement("ag.setprio(0)"))
                raised = False
            body.append(node)
        if raised:
            body.append(statement("ag.setprio(0)"))
        loop.body = body
    if not changed:
        raise NotApplicableError("no loop multiplies")


def fetch_order(source: Source, params: Mapping[str, object]) -> None:
    """The fetches of a turn, in every place they stand together, in the opposite order."""
    changed = False
    for block in source.blocks():
        at = 0
        while at < len(block):
            end = at
            while end < len(block) and kind(source, block[end]) == FETCH:
                end += 1
            if end - at > 1:
                block[at:end] = block[at:end][::-1]
                changed = True
            at = max(end, at + 1)
    if not changed:
        raise NotApplicableError("no two fetches stand together")
