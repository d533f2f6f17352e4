"""Two groups of waves in opposite phase: while one half multiplies, the other reads, publishes and fetches.

    fetch 0; publish 0; fetch 1; ag.barrier()
    with ag.opposite():
        for kt in …:
            a = ring[kt].a.load(…); …; ring[kt + 1].a.store(ra); …; fetch kt + 2
            ag.barrier()
            multiply, at high priority
            ag.barrier()

`ag.opposite()` keeps the second half of the waves one barrier behind the first. A turn has its LDS accesses in one
stretch and its matrix instructions in the other, so a slot is never written in a stretch in which anybody reads it.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from argus.agent.lower.lds_ring import into_ring, turn_parts
from argus.agent.lower.pipeline import FETCH, MULTIPLY, PUBLISH, READ, PipelineStep, emit, staged_loop
from argus.agent.lower.source import NotApplicableError, Source, is_ag
from argus.agent.lower.text import statement


def wave_groups(source: Source, params: Mapping[str, object]) -> None:
    """The loop of a staged product with its waves in two groups, one part of a turn apart."""
    loop, outer = staged_loop(source)
    parts = turn_parts(source, loop)
    threads = source.value(ast.Name("THREADS"))
    if threads is None or threads % 128:
        raise NotApplicableError("an even number of waves is needed to make two groups")
    if any(is_ag(n, "setprio") for n in ast.walk(source.function)):
        raise NotApplicableError("priorities are set already")
    into_ring(source, loop, outer, 2)
    barrier = [PipelineStep(statement("ag.barrier()"), 0)]
    steps = [PipelineStep(s, 0) for s in parts[READ]]
    steps += [PipelineStep(s, 1) for s in parts[PUBLISH]]
    steps += [PipelineStep(s, 2) for s in parts[FETCH]]
    steps += [*barrier, PipelineStep(statement("ag.setprio(1)"), 0)]
    steps += [PipelineStep(s, 0) for s in parts[MULTIPLY]]
    steps += [PipelineStep(statement("ag.setprio(0)"), 0), *barrier]
    emit(source, loop, outer, steps, peel_last=False)
    group = statement("with ag.opposite():\n    pass")
    if isinstance(group, ast.With):
        group.body = [loop]
    at = outer.index(loop)
    outer[at : at + 1] = [statement("ag.barrier()"), group]
