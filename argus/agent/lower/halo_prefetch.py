"""The next halo is on its way while this one is multiplied.

    for kt in ag.range(C // BLOCK_C):                  around = X[n, 0, …].load(FILL, …)
        around = X[n, BLOCK_C * kt, …].load(FILL, …)   for kt in ag.range(C // BLOCK_C):
        ag.barrier()                                       ag.barrier()
        halo.store(around…)                       ->       halo.store(around…)
        ag.barrier()                                       ag.barrier()
        …                                                  around = X[n, BLOCK_C * (kt + 1), …].load(FILL, …)
                                                           …

The guard by the shape makes zeros of what lies past the last channel; nobody reads them.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from argus.agent.lower.pipeline import BARRIER, PUBLISH, kind, published_fetches, shifted, staged_loop, variable
from argus.agent.lower.source import NotApplicableError, Source
from argus.agent.lower.text import expression


def halo_prefetch(source: Source, params: Mapping[str, object]) -> None:
    """Fetches of what a loop publishes go behind the barrier after it, one turn ahead."""
    loop, outer = staged_loop(source)
    fetches = published_fetches(source, loop.body)
    published = [n for n, node in enumerate(loop.body) if kind(source, node) == PUBLISH]
    behind = [n for n, node in enumerate(loop.body) if kind(source, node) == BARRIER and n > published[-1]]
    if not fetches or not behind or any(loop.body.index(node) > published[0] for node in fetches):
        raise NotApplicableError("what a turn publishes is not fetched in the same turn, before it")
    name = variable(loop)
    after = loop.body[behind[0]]
    guards = [a.keyword("guard") for a in source.loads() if a.statement in fetches]
    if any(not isinstance(guard, ast.Constant) or guard.value != "shape" for guard in guards):
        raise NotApplicableError("a fetch past the last turn is not guarded by the shape")
    for node in fetches:
        loop.body.remove(node)
        outer.insert(outer.index(loop), shifted(node, name, ast.Constant(0)))
        loop.body.insert(loop.body.index(after) + 1, shifted(node, name, expression(f"{name} + 1")))
