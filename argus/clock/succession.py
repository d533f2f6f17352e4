"""Rounds of workgroups that follow each other on one compute unit: how long a round takes once they are out of step.

    round_clocks(unit, first, later, gap=290)    -> 1830.0, where `first` alone take 3300 clk

Workgroups that start together first wait for memory together and then take its bandwidth together. Their successors do
not: one loads while another waits or stores. So a launch of many rounds is not as many times its first round. The unit
runs the resident workgroups, then three rounds of others, each of which starts `gap` clk after the end of the one whose
place it takes. The rate at which they end while all places are taken is that of the rounds to come.

Only short workgroups are worth it, those whose loops were not shortened: a long one computes while it waits.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from argus.clock.cu import ComputeUnit, next_turn
from argus.clock.program import Wave
from argus.clock.state import NEVER, WaveState

ROUNDS = 3
"""Rounds that are run after the first; the last is not counted, as nobody follows it."""
LONGEST = 60_000
"""Wave instructions of all these rounds up to which they are run."""


class Succession(ComputeUnit):
    """A compute unit on which a waiting workgroup takes the place of one that ends."""

    waiting: deque[Sequence[Wave]]
    gap: int

    def _end(self, state: WaveState, now: int) -> None:
        super()._end(state, now)
        ended = [each.ended for each in self.groups[state.group]]
        if self.waiting and None not in ended:
            self._follow(state.group, max(clock for clock in ended if clock is not None) + self.gap)

    def _follow(self, before: int, start: int) -> None:
        """The next waiting workgroup on the SIMDs of one that has ended."""
        places = [state.simd for state in self.groups[before]]
        waves = self.waiting.popleft()
        group, age = len(self.groups), sum(map(len, self.groups))
        states = []
        for number, wave in enumerate(waves):
            simd = places[number % len(places)]
            turn = next_turn(start + number * self.launch_gap, simd)
            states.append(WaveState(wave, group, age + number, simd, turn, turn, next_mark=NEVER))
        self.groups.append(states)
        self.passed.append([])
        for state in states:
            self.waves[state.simd].append(state)
            self._enter(state, state.started)
        for simd in {state.simd for state in states}:
            self._schedule(simd)


def round_clocks(unit: Succession, first: Sequence[Sequence[Wave]], later: Sequence[Sequence[Wave]], gap: int) -> float:
    """Clocks of a round of as many workgroups as `first`, when those of `later` follow them."""
    unit.waiting, unit.gap = deque(later), gap
    unit.run(first)
    ends = sorted(max(state.ended or 0 for state in states) for states in unit.groups)
    resident = len(first)
    last = len(ends) - resident
    return resident * (ends[last - 1] - ends[resident - 1]) / (last - resident)
