"""Mismatched barriers: waves of one workgroup that execute different numbers of barriers.

On hardware a wave that has ended no longer takes part, so such a kernel does not hang; but the waves that go on were
synchronised with fewer partners than the author meant.
"""

from __future__ import annotations

from argus.machine.errors import LaunchPoint, MachineReport
from argus.machine.interp_services import Services
from argus.machine.state import Workgroup


class BarrierCheck:
    """Compares the barrier counts of a workgroup's waves when it has ended."""

    def __init__(self, services: Services) -> None:
        self._services = services

    def workgroup_ended(self, group: Workgroup) -> None:
        counts = [w.barriers for w in group.waves]
        if len(set(counts)) == 1:
            return
        most, least = max(group.waves, key=lambda w: w.barriers), min(group.waves, key=lambda w: w.barriers)
        message = (
            f"wave {most.index} executed {most.barriers} barriers, wave {least.index} only {least.barriers}: "
            "they do not meet at the same ones"
        )
        self._services.findings.add(MachineReport("ARG-M106", message, LaunchPoint(group.id, least.index)))
