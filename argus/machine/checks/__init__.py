"""The checks of the interpreter, each in its own module, switched on by name.

    kernel(grid, block, *args, checks=("waits", "lds-races"))        or checks="all"

| name | module | finds |
|---|---|---|
| waits | `waits` | a result used, or its register overwritten, before an s_waitcnt made it certain |

Bounds of every allocation, LDS bounds, unsupported instructions and endless kernels are always checked.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from argus.gfx942.inst import Inst
from argus.machine.interp_services import Services
from argus.machine.loader import KernelInfo
from argus.machine.state import Wave, Workgroup

CheckName = Literal["waits", "lds-races", "global-races", "wait-states", "uninitialised", "barriers"]
ALL_CHECKS: tuple[CheckName, ...] = ("waits", "lds-races", "global-races", "wait-states", "uninitialised", "barriers")

Run = Callable[[Wave], Any]


class Checks:
    """The chosen checks of one launch, and the places where the interpreter calls them."""

    def __init__(self, names: tuple[CheckName, ...], services: Services, kernel: KernelInfo) -> None:
        self.names = names
        self.services = services
        self.wraps: tuple[Callable[[Inst, Run], Run], ...] = ()

    def bind(self, program: Any) -> None:
        """The program is ready."""

    def wave_started(self, w: Wave, scalars: list[int]) -> None:
        """A wave has its start state; `scalars` are the scalar registers that hold something."""

    def workgroup_started(self, group: Workgroup) -> None:
        """All waves of a workgroup exist."""

    def barrier_released(self, group: Workgroup) -> None:
        """All waves of a workgroup have met at a barrier."""

    def workgroup_ended(self, group: Workgroup) -> None:
        """All waves of a workgroup have ended."""
