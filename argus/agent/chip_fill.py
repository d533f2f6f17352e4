"""How well a kernel's workgroups fill the chip, at the first shape of its task.

    filled_share(source, task)      64 workgroups for 304 compute units are a fifth, 1024 in four rounds are 84 %
    fullest_first(choices, …)       parameter sets that leave most of the chip idle go last

It is known from the source: nothing is compiled or timed. What a block is worth otherwise (bytes it reads, registers)
is for the clock; a chip that is mostly idle is the one thing no later technique makes up for.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from argus.agent.lower import NotApplicableError, lower
from argus.device.guards import LaunchRefused, launch_grid
from argus.gfx942.chip import CUS_PER_XCD, XCDS
from argus.knowledge import KnowledgeEntry
from argus.lang import read
from argus.lang.errors import ProgramError
from argus.tasks.task import Task

FULL = 0.8
"""From here on smaller blocks are not worth more."""
HALF = 0.5
"""Below it the order of an entry's parameter sets, made for large problems, says nothing."""
REMEMBERED = 1024
_KNOWN: dict[Hashable, float] = {}


def filled_share(source: str, task: Task) -> float:
    """How much of the compute units the workgroups keep busy over their rounds; 0 for what cannot be launched."""
    asked = (source, tuple(sorted(task.beside.items())), task.kernel.target.key, tuple(sorted(task.shapes[0].items())))
    if asked not in _KNOWN:
        while len(_KNOWN) >= REMEMBERED:
            del _KNOWN[next(iter(_KNOWN))]
        _KNOWN[asked] = _filled(source, task)
    return _KNOWN[asked]


def _filled(source: str, task: Task) -> float:
    try:
        kernel = read(source, beside=dict(task.beside), target=task.kernel.target)
        groups = math.prod(launch_grid(kernel, task.shapes[0]))
    except (ProgramError, LaunchRefused):
        return 0.0
    units = XCDS * CUS_PER_XCD
    return groups / (units * math.ceil(groups / units)) if groups else 0.0


def coarsely(share: float, enough: float) -> float:
    """A share as it orders kernels: in tenths, and all the same from `enough` on."""
    return min(enough, round(share, 1))


def fullest_first(source: str, task: Task, entry: KnowledgeEntry) -> Sequence[Mapping[str, Any]]:
    """An entry's parameter sets in its order, but those behind the others that would leave half of the chip idle."""
    if entry.kind != "global" or len(entry.choices) == 1:
        return entry.choices

    def filled(params: Mapping[str, Any]) -> float:
        try:
            return coarsely(filled_share(lower(source, entry.id, params), task), HALF)
        except NotApplicableError:
            return 0.0

    return sorted(entry.choices, key=lambda params: -filled(params))
