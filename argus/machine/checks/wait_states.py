"""Missing wait states (s_nop): pairs of instructions the hardware needs apart. The rules are in `argus.gfx942.hazards`.

The pairs are found once, on every path of the prepared code; the report comes when the second instruction is executed.
A distance that AMD's own assembly uses, although LLVM keeps more, is a note, not an error.
Code reached only by jumps through registers is not looked at.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from argus.gfx942.disasm import text
from argus.gfx942.hazards import HazardViolation, violations
from argus.gfx942.inst import Inst
from argus.machine.errors import LaunchPoint
from argus.machine.interp_services import Services
from argus.machine.state import Wave

Run = Callable[[Wave], Any]


class WaitStateCheck:
    """Surrounds the second instruction of each violating pair with a report."""

    def __init__(self, services: Services) -> None:
        self._services = services

    def bind(self, insts: list[Inst], steps: list[Run]) -> None:
        real = sorted((i for i in insts if i.size and i.op != "invalid"), key=lambda i: i.pc)
        position = {inst.pc: k for k, inst in enumerate(insts) if inst.size}
        by_second: dict[int, list[HazardViolation]] = {}
        for violation in violations(real):
            by_second.setdefault(position[violation.second.pc], []).append(violation)
        for k, found in by_second.items():
            steps[k] = self._reporting(found, steps[k])

    def _reporting(self, found: list[HazardViolation], run: Run) -> Run:
        def reported(w: Wave) -> Any:
            for violation in found:
                rule = violation.rule
                message = (
                    f"{rule.why}: {rule.states} wait states are required, {violation.states} are there; "
                    f"add s_nop {violation.missing - 1}"
                )
                other = LaunchPoint(w.group.id, w.index, None, violation.first.pc, text(violation.first))
                level = "error" if violation.certain else "note"
                self._services.finding("ARG-M103", message, w, violation.second, other=other, level=level)
            return run(w)

        return reported
