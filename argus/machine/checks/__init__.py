"""The checks of the interpreter, each in its own module, switched on by name.

    kernel(grid, block, *args, checks=("waits", "lds-races"))        or checks="all"

| name | module | code | finds |
|---|---|---|---|
| waits | `waits` | ARG-M102 | a result used, or its register overwritten, before an s_waitcnt made it certain |
| lds-races | `lds_races` | ARG-M101, ARG-M112 | two waves at the same LDS bytes with no barrier between |
| | | ARG-M102 | a direct copy to LDS and another access of one wave, with no wait between |
| lds-use | `lds_use` | ARG-M114 | LDS data of which a part is read and the rest never |
| global-races | `global_races` | ARG-M101 | the same in global memory, between waves and between workgroups |
| wait-states | `wait_states` | ARG-M103 | dependent instructions too close for the hardware (s_nop) |
| uninitialised | `uninitialised` | ARG-M104 | registers or LDS nobody wrote, where it matters |
| barriers | `barriers` | ARG-M106 | waves of a workgroup that execute different numbers of barriers |

Always checked: bounds of every allocation and of LDS (ARG-M105), endless kernels (ARG-M107), resources (ARG-M108),
unsupported and undecodable instructions (ARG-M109, ARG-M110). With any of the first three checks on, memory operations
complete as late as the program allows, so what is missing also shows in the results.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, get_args

from argus.gfx942.inst import Inst
from argus.machine.checks.barriers import BarrierCheck
from argus.machine.checks.global_races import GlobalRaceCheck
from argus.machine.checks.lds_races import LdsRaceCheck
from argus.machine.checks.lds_use import LdsUseCheck
from argus.machine.checks.uninitialised import UninitialisedCheck
from argus.machine.checks.wait_states import WaitStateCheck
from argus.machine.checks.waits import WaitCheck, WaveQueues
from argus.machine.checks.watch import Watch, Watcher, WatchEvent
from argus.machine.interp_services import Services
from argus.machine.state import Wave, Workgroup

__all__ = ["ALL_CHECKS", "CheckName", "Checks", "Watch", "WatchEvent"]

CheckName = Literal["waits", "lds-races", "global-races", "wait-states", "uninitialised", "barriers", "lds-use"]
ALL_CHECKS: tuple[CheckName, ...] = get_args(CheckName)
EVENT_LIMIT = 1_000_000

Run = Callable[[Wave], Any]


class Checks:
    """The chosen checks of one launch, and the places where the interpreter calls them."""

    def __init__(
        self, names: Sequence[CheckName], services: Services, waves: int, watches: Sequence[Watch] = ()
    ) -> None:
        unknown = sorted(set(names) - set(ALL_CHECKS))
        if unknown:
            raise ValueError(f"unknown check {unknown[0]!r}; there are: {', '.join(ALL_CHECKS)}")
        self._deferred = bool({"waits", "lds-races", "global-races"} & set(names))
        self._lds = LdsRaceCheck(services) if "lds-races" in names else None
        self._use = LdsUseCheck(services) if "lds-use" in names else None
        self._global = GlobalRaceCheck(services, waves) if "global-races" in names else None
        self._uninitialised = UninitialisedCheck(services) if "uninitialised" in names else None
        self._barriers = BarrierCheck(services) if "barriers" in names else None
        self._wait_states = WaitStateCheck(services) if "wait-states" in names else None
        self._watcher = Watcher(watches, services.accum_offset, EVENT_LIMIT) if watches else None
        observers = (self._uninitialised, self._lds, self._use, self._global)
        services.observers.extend(check for check in observers if check is not None)
        wraps: list[Callable[[Inst, Run], Run]] = []
        if self._watcher is not None:
            wraps.append(self._watcher.wrap)
        if self._uninitialised is not None:
            wraps.append(self._uninitialised.wrap)
        if "waits" in names:
            wraps.append(WaitCheck(services).wrap)
        self.wraps = tuple(wraps)

    @property
    def events(self) -> list[WatchEvent]:
        return self._watcher.events if self._watcher is not None else []

    def bind(self, insts: list[Inst], steps: list[Run]) -> None:
        """The program is ready."""
        if self._lds is not None:
            self._lds.bind(insts)
        if self._use is not None:
            self._use.bind(insts)
        if self._global is not None:
            self._global.bind(insts)
        if self._wait_states is not None:
            self._wait_states.bind(insts, steps)

    def wave_started(self, w: Wave, scalars: list[int]) -> None:
        """A wave has its start state; `scalars` are the scalar registers that hold something."""
        if self._deferred:
            w.queues = WaveQueues(w)
        if self._uninitialised is not None:
            self._uninitialised.wave_started(w, scalars)

    def workgroup_started(self, group: Workgroup) -> None:
        """All waves of a workgroup exist."""
        for check in (self._uninitialised, self._lds, self._use, self._global):
            if check is not None:
                check.workgroup_started(group)

    def barrier_released(self, group: Workgroup) -> None:
        """All waves of a workgroup have met at a barrier."""
        for check in (self._lds, self._global):
            if check is not None:
                check.barrier_released(group)

    def workgroup_ended(self, group: Workgroup) -> None:
        """All waves of a workgroup have ended."""
        for check in (self._uninitialised, self._lds, self._use, self._barriers):
            if check is not None:
                check.workgroup_ended(group)
