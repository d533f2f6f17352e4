"""When a launch ends: workgroups handed out in order to free places, XCD by XCD.

    finish([100] * 305, places=38)       -> 200    the 305th workgroup waits for a place
    nearest({0: 10, 4: 20}, grid=6)      -> [10, 10, 10, 20, 20, 20]

Workgroup n belongs to XCD n % 8; an XCD gives its next workgroup to the place that becomes free first; a successor
starts `gap` clocks after its predecessor's end. Tails and uneven work (causal masks, ragged batches) come out of this.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence

from argus.gfx942.chip import XCDS


def finish(durations: Sequence[float], places: int, gap: float = 0.0) -> float:
    """Clock at which the last workgroup ends, with `places` workgroups at a time on each XCD."""
    last = 0.0
    for xcd in range(XCDS):
        free: list[float] = []
        for duration in durations[xcd::XCDS]:
            if len(free) < places:
                end = duration
                heapq.heappush(free, end)
            else:
                end = free[0] + gap + duration
                heapq.heapreplace(free, end)
            last = max(last, end)
    return last


def nearest(samples: dict[int, float], grid: int) -> list[float]:
    """For every workgroup the value of the nearest sampled one."""
    numbers = sorted(samples)
    out: list[float] = []
    at = 0
    for number in range(grid):
        while at + 1 < len(numbers) and numbers[at + 1] - number < number - numbers[at]:
            at += 1
        out.append(samples[numbers[at]])
    return out
