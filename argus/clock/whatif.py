"""What would help most: the same execution timed again with one cost taken away.

    for change in what_if(ops, workgroups, resources):
        print(change.name, change.cycles, f"{change.saved:.0%}")

    no bank conflicts       every LDS access takes its conflict-free bank clocks
    LDS twice as fast       ports and banks in half the clocks
    memory at L1 latency    every load and store comes back as from the L1
    barriers free           s_barrier waits for nobody
    no s_nop                explicit wait turns removed
    matrix core only        the clocks of the busiest matrix core, a bound no schedule can beat
    issue turns only        the longest wave with every instruction in its own turn, another bound

A change shows what its cost is worth *in this schedule*; two changes together may save more or less than their sum.
"Barriers free" is not a program one could run, only a price.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from argus.clock.model import Resources, time_waves
from argus.clock.parameters import PARAMETERS, Parameters
from argus.clock.program import Access, LdsAccess, Op, Unit, Wave
from argus.clock.recorded import Recorded
from argus.clock.timing import Timing

BOUNDS = ("matrix core only", "issue turns only")


@dataclass(frozen=True, slots=True)
class Change:
    """One cost taken away: clocks then, and the share of the clocks that it saves."""

    name: str
    cycles: int
    saved: float


def what_if(
    ops: Sequence[Op],
    workgroups: Mapping[int, Sequence[Wave]],
    resources: Resources,
    *,
    parameters: Parameters = PARAMETERS,
    **options: Any,
) -> tuple[Timing, list[Change]]:
    """The timing as it is, and the changes, the most helpful first."""

    def timed(groups: Mapping[int, Sequence[Wave]], used: Parameters = parameters) -> Timing:
        return time_waves(ops, groups, resources, parameters=used, **options)

    base = timed(workgroups)
    near = parameters["l1_latency"]
    near_ns = near * 1e3 / base.clock_mhz
    nearer = parameters.with_values(l2_latency=near, mall_latency_ns=near_ns, hbm_latency_ns=near_ns)
    cycles = {
        "no bank conflicts": timed(with_lds(workgroups, without_conflicts)).cycles,
        "LDS twice as fast": timed(with_lds(workgroups, _twice_as_fast)).cycles,
        "memory at L1 latency": timed(workgroups, nearer).cycles,
        "barriers free": timed(without(workgroups, Unit.BARRIER)).cycles,
        "no s_nop": timed(without(workgroups, Unit.NOP)).cycles,
        **dict(zip(BOUNDS, (base.busiest_matrix_clocks, base.longest_wave_turns), strict=True)),
    }
    changes = [Change(name, clocks, 1 - clocks / base.cycles) for name, clocks in cycles.items()]
    return base, sorted(changes, key=lambda change: -change.saved)


def what_if_recorded(recorded: Recorded, timing: Timing) -> list[Change]:
    """The changes for a recorded launch, at the clock and with the workgroups and sharers of its timing."""
    ops, groups = recorded.waves(PARAMETERS)
    return what_if(
        ops,
        groups,
        recorded.resources,
        resident=timing.resident,
        clock_mhz=timing.clock_mhz,
        readers=recorded.readers,
        active_cus=recorded.active_cus,
    )[1]


def with_lds(
    workgroups: Mapping[int, Sequence[Wave]], change: Callable[[LdsAccess], LdsAccess]
) -> dict[int, list[Wave]]:
    """The waves with every LDS access changed."""
    known: dict[int, LdsAccess] = {}

    def changed(access: Access) -> Access:
        if not isinstance(access, LdsAccess):
            return access
        if id(access) not in known:
            known[id(access)] = change(access)
        return known[id(access)]

    return {
        number: [replace(wave, accesses=[changed(access) for access in wave.accesses]) for wave in waves]
        for number, waves in workgroups.items()
    }


def without_conflicts(access: LdsAccess) -> LdsAccess:
    """The access as if no two lanes met in a bank."""
    return replace(access, bank=access.bank - access.conflicts, conflicts=0)


def _twice_as_fast(access: LdsAccess) -> LdsAccess:
    return replace(access, port=access.port / 2, bank=access.bank // 2, latency=access.latency - access.port / 2)


def without(workgroups: Mapping[int, Sequence[Wave]], *units: Unit) -> dict[int, list[Wave]]:
    """The waves without the instructions of these units; a branch that fell through still does."""
    out: dict[int, list[Wave]] = {}
    for number, waves in workgroups.items():
        kept = []
        for wave in waves:
            steps = [at for at, op in enumerate(wave.ops) if op.unit not in units]
            kept.append(
                replace(
                    wave,
                    ops=_still_falling_through(wave.ops, steps),
                    accesses=[wave.accesses[at] for at in steps],
                    marks=tuple(bisect_left(steps, mark) for mark in wave.marks),
                )
            )
        out[number] = kept
    return out


def _still_falling_through(ops: Sequence[Op], steps: Sequence[int]) -> list[Op]:
    """The operations at these steps; a branch that was not taken leads to the one that is next now."""
    found = [ops[at] for at in steps]
    for number, (at, following) in enumerate(pairwise(steps)):
        op = ops[at]
        if op.unit is Unit.BRANCH and following != at + 1 and ops[at + 1].pc == op.follow:
            found[number] = replace(op, follow=ops[following].pc)
    return found
