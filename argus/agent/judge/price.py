"""What the costs of a timed launch are worth, as shares of its clocks: the few prices that the planner asks for.

    no bank conflicts     the same execution timed again without them; 0 without a second timing if there are none
    matrix core only      a bound: the clocks of the busiest matrix core
    issue turns only      a bound: the longest wave with every instruction in its own turn

`argus clock explain` prices more costs (`argus.clock.launch_whatif`); each takes a timing of its own, which a judgement
of hundreds of candidates does not need.
"""

from __future__ import annotations

from argus.clock.model import time_waves
from argus.clock.parameters import PARAMETERS
from argus.clock.program import Access, LdsAccess
from argus.clock.recorded import Recorded
from argus.clock.timing import Timing
from argus.clock.whatif import with_lds, without_conflicts


def prices(recorded: Recorded, timing: Timing) -> dict[str, float]:
    """Share of the clocks that each change saves, the largest first."""
    cycles = {
        "no bank conflicts": _without_conflicts(recorded, timing),
        "matrix core only": timing.busiest_matrix_clocks,
        "issue turns only": timing.longest_wave_turns,
    }
    saved = {name: round(1 - clocks / timing.cycles, 4) for name, clocks in cycles.items()}
    return dict(sorted(saved.items(), key=lambda item: -item[1]))


def _without_conflicts(recorded: Recorded, timing: Timing) -> int:
    ops, groups = recorded.waves(PARAMETERS)
    if not any(_conflicts(access) for waves in groups.values() for wave in waves for access in wave.accesses):
        return timing.cycles
    again = time_waves(
        ops,
        with_lds(groups, without_conflicts),
        recorded.resources,
        parameters=PARAMETERS,
        resident=timing.resident,
        clock_mhz=timing.clock_mhz,
        readers=recorded.readers,
        active_cus=recorded.active_cus,
    )
    return again.cycles


def _conflicts(access: Access) -> bool:
    return isinstance(access, LdsAccess) and access.conflicts > 0
