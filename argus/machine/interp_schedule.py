"""Who runs when: waves of a workgroup, workgroups of a launch.

    rounds       every wave in turn for `quantum` instructions (default)
    sequential   a wave runs until it meets a barrier or ends
    random       a seeded choice of wave, each for a seeded quantum up to `quantum`

Barriers are counted per wave, not by program point: a wave that waits goes on when every wave of its workgroup that has
not ended waits too. Workgroups run one after another; one that has used its budget without ending (it may be
waiting for another workgroup) is set aside and the next one starts, so kernels that wait across workgroups end.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Iterable
from typing import Literal

from argus.gfx942.disasm import text
from argus.machine.errors import LaunchPoint, MachineError, MachineReport
from argus.machine.interp import Program
from argus.machine.interp_operands import UnsupportedForm
from argus.machine.state import Wave, Workgroup

Schedule = Literal["rounds", "sequential", "random"]
SEQUENTIAL = 1 << 62


class Scheduler:
    """Runs workgroups on a program."""

    def __init__(
        self, program: Program, schedule: Schedule, quantum: int, seed: int, max_steps: int, switch_after: int
    ) -> None:
        self.program = program
        self.schedule = schedule
        self.quantum = quantum if schedule != "sequential" else min(switch_after, SEQUENTIAL)
        self.random = random.Random(seed)
        self.max_steps = max_steps
        self.switch_after = switch_after
        self.steps = 0
        self.barrier_released: Callable[[Workgroup], None] | None = None

    def run(self, groups: Iterable[Workgroup], ended: Callable[[Workgroup], None]) -> None:
        """Run all workgroups; `ended` is called with each that has ended."""
        waiting: deque[Workgroup] = deque()
        for group in groups:
            if self._run_group(group):
                ended(group)
            else:
                waiting.append(group)
                self._revisit(waiting, ended)
        while waiting:
            group = waiting.popleft()
            if self._run_group(group):
                ended(group)
            else:
                waiting.append(group)

    def _revisit(self, waiting: deque[Workgroup], ended: Callable[[Workgroup], None]) -> None:
        """Before another workgroup starts, let the oldest waiting one look again."""
        if len(waiting) < 2:
            return
        group = waiting.popleft()
        if self._run_group(group):
            ended(group)
        else:
            waiting.append(group)

    def _run_group(self, group: Workgroup) -> bool:
        """Run until the workgroup ends (True) or has used its budget."""
        budget = self.switch_after
        while budget > 0:
            live = [w for w in group.waves if w.state != "done"]
            if not live:
                return True
            ready = [w for w in live if w.state == "running"]
            if not ready:
                for w in live:
                    w.state = "running"
                if self.barrier_released is not None:
                    self.barrier_released(group)
                ready = live
            if self.schedule == "random":
                chosen = self.random.choice(ready)
                budget -= self._turn(chosen, self.random.randint(1, self.quantum))
            else:
                for w in ready:
                    budget -= self._turn(w, self.quantum)
        return all(w.state == "done" for w in group.waves)

    def _turn(self, w: Wave, quantum: int) -> int:
        try:
            count = self.program.run(w, quantum)
        except UnsupportedForm as why:
            inst = self.program.insts[w.pc - 1]
            place = LaunchPoint(w.group.id, w.index, None, inst.pc, text(inst))
            raise MachineError(MachineReport("ARG-M109", f"cannot be executed: {why}", place)) from None
        self.steps += count
        if self.steps > self.max_steps:
            inst = self.program.insts[w.pc - 1]
            place = LaunchPoint(w.group.id, w.index, None, inst.pc, text(inst) if inst.words else inst.op)
            message = f"the launch has executed {self.steps} instructions without ending (limit {self.max_steps})"
            raise MachineError(MachineReport("ARG-M107", message, place))
        return count
