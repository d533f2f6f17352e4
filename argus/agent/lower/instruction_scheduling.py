"""The compiler may mix matrix instructions with the memory accesses that stand before them.

    a1 = sA.load(…)                                    with ag.schedule(mfma=2, ds_read=1):
    b1 = sB.load(…)                              ->        a1 = sA.load(…)
    for i, j in ag.unroll(…): acc[i, j] = …                b1 = sB.load(…)
                                                           for i, j in ag.unroll(…): acc[i, j] = …

A group ends with its multiplications and never crosses a barrier.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from argus.agent.lower.pipeline import FETCH, MULTIPLY, PUBLISH, READ, kind
from argus.agent.lower.scheduled_loops import scheduled_loops
from argus.agent.lower.source import NotApplicableError, Source, is_ag
from argus.agent.lower.text import statement

WORDS = {READ: "ds_read", PUBLISH: "ds_write", FETCH: "buffer_load"}


def instruction_scheduling(source: Source, params: Mapping[str, object]) -> None:
    """Wrap every group of accesses and multiplications of a loop in `ag.schedule`."""
    ratio = int(str(params.get("mfma", 2)))
    done = 0
    for loop in scheduled_loops(source):
        _unwrap(loop)
        loop.body = _grouped(source, loop.body, ratio)
        done += sum(isinstance(s, ast.With) for s in loop.body)
    if not done:
        raise NotApplicableError("no group of accesses stands before multiplications")


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
