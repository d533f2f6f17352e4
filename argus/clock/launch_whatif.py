"""What each cause costs: the launch timed again with that cost taken away, rounds, roofs and power included.

    for price in prices(recorded, timer, launch):
        print(price.name, price.microseconds, f"{price.saved:.0%}")      # bank conflicts 41.2 18 %

| name | taken away |
|---|---|
| matrix, VALU, scalar instructions | the instructions of that unit, with their turns and power |
| bank conflicts | every LDS access takes its conflict-free clocks |
| LDS time | LDS instructions keep their turn; ports, banks and latency cost nothing |
| memory latency | every load, store and scalar load comes back as from the L1 |
| memory bandwidth limit | L2, Infinity Cache and HBM move any number of bytes at once |
| barriers, s_nop | those instructions |
| last round | the rest round and uneven work: full rounds only |
| power limit | the launch runs at the stated clock |
| launch floor | time before the first and after the last workgroup |

A price holds for this schedule: two together may save more or less than their sum. Some are no program one could write
(a kernel without barriers); they say where to look. `argus.clock.whatif` asks the same of one compute unit alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from argus.clock.launch import Launch
from argus.clock.launch_stack import TimePart
from argus.clock.parameters import PARAMETERS, Parameters
from argus.clock.program import LdsAccess, Op, Unit, Wave
from argus.clock.recorded import Recorded
from argus.clock.whatif import with_lds, without, without_conflicts
from argus.gfx942 import chip

Groups = Mapping[int, Sequence[Wave]]
Timer = Callable[[Recorded, Parameters], Launch]

UNLIMITED = 1e9


@dataclass(frozen=True, slots=True)
class Price:
    """Microseconds of the launch without one cost, and the share of the time this saves."""

    name: str
    group: str
    microseconds: float
    saved: float


class ChangedRecord(Recorded):
    """A recorded launch whose waves are changed before they are timed."""

    def __init__(self, base: Recorded, change: Callable[[Groups], dict[int, list[Wave]]]) -> None:
        self.__dict__.update(base.__dict__)
        self._change = change
        self._changed: tuple[Parameters, list[Op], dict[int, list[Wave]]] | None = None

    def waves(self, parameters: Parameters) -> tuple[list[Op], dict[int, list[Wave]]]:
        if self._changed is None or self._changed[0] is not parameters:
            ops, groups = super().waves(parameters)
            self._changed = (parameters, ops, self._change(groups))
        return self._changed[1], self._changed[2]


def prices(
    recorded: Recorded,
    timer: Timer,
    launch: Launch,
    parts: Sequence[TimePart],
    parameters: Parameters = PARAMETERS,
) -> list[Price]:
    """The prices, the highest first; `timer` times a recorded launch, `parts` is the stack of its time."""
    whole = launch.sustained.microseconds

    def price(name: str, group: str, microseconds: float) -> Price:
        return Price(name, group, microseconds, 1 - microseconds / whole)

    executed = {op.unit for waves in recorded.waves(parameters)[1].values() for wave in waves for op in wave.ops}
    found = [
        price(name, group, timer(ChangedRecord(recorded, change), parameters).sustained.microseconds)
        for name, group, needs, change in CHANGES
        if needs & executed
    ]
    changed = {"memory latency": _near(parameters), "memory bandwidth limit": _wide(parameters)}
    for name, values in changed.items():
        found.append(price(name, "memory", timer(recorded, values).sustained.microseconds))
    found += [price(name, group, microseconds) for name, group, microseconds in _of_the_launch(launch, parts)]
    return sorted(found, key=lambda item: item.microseconds)


def _of_the_launch(launch: Launch, parts: Sequence[TimePart]) -> list[tuple[str, str, float]]:
    """Prices that follow from the parts: nothing has to be timed again."""
    part = {found.cause: found.microseconds for found in parts}
    whole, floor = launch.sustained.microseconds, part.get("launch_floor", 0.0)
    found = [("launch floor", "launch", whole - floor)]
    if part.get("last_round", 0.0) > 0:
        others = [clocks for name, clocks in launch.parts.items() if name != "compute"]
        even = launch.parts["compute"] - part["last_round"] * launch.clock_mhz
        found.append(("last round", "launch", floor + (whole - floor) * max(even, *others) / launch.cycles))
    if part.get("power", 0.0) > 0:
        found.append(("power limit", "power", whole - part["power"]))
    return found


def _free(access: LdsAccess) -> LdsAccess:
    return replace(access, port=0.0, bank=0, conflicts=0, latency=0.0)


CHANGES: tuple[tuple[str, str, frozenset[Unit], Callable[[Groups], dict[int, list[Wave]]]], ...] = (
    ("matrix instructions", "matrix", frozenset({Unit.MATRIX}), lambda groups: without(groups, Unit.MATRIX)),
    ("VALU instructions", "valu", frozenset({Unit.VALU}), lambda groups: without(groups, Unit.VALU)),
    (
        "scalar instructions",
        "issue",
        frozenset({Unit.SALU, Unit.BRANCH}),
        lambda groups: without(groups, Unit.SALU, Unit.BRANCH),
    ),
    ("bank conflicts", "lds", frozenset({Unit.LDS}), lambda groups: with_lds(groups, without_conflicts)),
    ("LDS time", "lds", frozenset({Unit.LDS}), lambda groups: with_lds(groups, _free)),
    ("barriers", "barrier", frozenset({Unit.BARRIER}), lambda groups: without(groups, Unit.BARRIER)),
    ("s_nop", "issue", frozenset({Unit.NOP, Unit.SLEEP}), lambda groups: without(groups, Unit.NOP, Unit.SLEEP)),
)


def _near(parameters: Parameters) -> Parameters:
    near = parameters["l1_latency"]
    nanoseconds = near * 1e3 / chip.CLOCK_MAX_MHZ
    return parameters.with_values(
        l2_latency=near, smem_latency=near, mall_latency_ns=nanoseconds, hbm_latency_ns=nanoseconds
    )


def _wide(parameters: Parameters) -> Parameters:
    wide = dict.fromkeys(("l2_share", "mall_bandwidth", "hbm_bandwidth", "cu_fill"), UNLIMITED)
    return parameters.with_values(**wide)
