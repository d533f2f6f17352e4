"""The fetch of the next turn runs ahead of this turn's multiplications; `pipeline` shows how turns are moved.

fetch 0                                            global loads of turn i + 1 are under way while turn i multiplies
for i: publish i; fetch i + 1; multiply i
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from argus.agent.lower.pipeline import (
    BARRIER,
    MULTIPLY,
    PUBLISH,
    PipelineStep,
    emit,
    kind,
    published_fetches,
    staged_loop,
    turn_remainder,
    undo_prefetch,
)
from argus.agent.lower.source import NotApplicableError, Source
from argus.agent.lower.text import is_comment


def software_pipelining(source: Source, params: Mapping[str, object]) -> None:
    """Run the fetch of the next turn ahead of the multiplications."""
    loop, outer = staged_loop(source)
    if undo_prefetch(source, loop, outer):
        raise NotApplicableError("the fetch runs ahead already")
    _prefetch(source, loop, outer)


def _prefetch(source: Source, loop: ast.For, outer: list[ast.stmt]) -> None:
    body = [s for s in loop.body if not is_comment(s)]
    fetches = published_fetches(source, body)
    last = max(at for at, s in enumerate(body) if kind(source, s) == PUBLISH)
    if last + 1 < len(body) and kind(source, body[last + 1]) == BARRIER:
        last += 1
    steps = []
    for at, node in enumerate(body):
        if node not in fetches:
            steps.append(PipelineStep(node, 0))
        if at == last:
            steps.extend(PipelineStep(fetch, 1) for fetch in fetches)
    products = sum(kind(source, s) == MULTIPLY for s in body)
    emit(source, loop, outer, steps, peel_last=products == 1 and not turn_remainder(source, body)[2])
