"""When a launch ends: workgroups handed out in order to free places, XCD by XCD.

    finish([100] * 305, places=38)       -> 200    the 305th workgroup waits for a place
    nearest({0: 10, 4: 20}, grid=6)      -> [10, 10, 10, 20, 20, 20]
    work_of_all({0: 2, 8: 2, 16: 2, 1: 1, 17: 1}, grid=24)   -> about 2 for every eighth, about 1 for those after them

Workgroup n belongs to XCD n % 8; an XCD gives its next workgroup to the place that becomes free first; a successor
starts `gap` clocks after its predecessor's end. Tails and uneven work (causal masks, ragged batches) come out of this.
"""

from __future__ import annotations

import heapq
import math
import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence

from argus.gfx942.chip import XCDS

CLEARLY = 4.0
"""About what one in forty launches whose XCDs are alike reaches by chance (F distribution, 7 and 8 degrees)."""


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


def nearest(samples: Mapping[int, float], grid: int) -> list[float]:
    """For every workgroup the value of the nearest sampled one."""
    numbers = sorted(samples)
    out: list[float] = []
    at = 0
    for number in range(grid):
        while at + 1 < len(numbers) and numbers[at + 1] - number < number - numbers[at]:
            at += 1
        out.append(samples[numbers[at]])
    return out


def work_of_all(samples: Mapping[int, float], grid: int) -> list[float]:
    """For every workgroup the value of the nearest sampled one, as far as XCDs are alike.

    A program may give XCDs different work (AITER's persistent MoE hands blocks out XCD by XCD), and samples are dense
    on one XCD alone: the nearest sample of a workgroup elsewhere is one of that XCD. So every other XCD has a factor,
    the geometric mean of its own samples over what the dense XCD has beside them. One XCD has few samples, so the
    factors count only if XCDs differ clearly more than samples of one do (`CLEARLY`, a ratio of variances), and then as
    far as the variance of such a mean is one between XCDs (as in James and Stein's estimator).
    """
    plain = nearest(samples, grid)
    by_xcd: dict[int, list[int]] = defaultdict(list)
    for number in samples:
        by_xcd[number % XCDS].append(number)
    dense = max(by_xcd, key=lambda xcd: len(by_xcd[xcd]))
    beside = nearest({number: samples[number] for number in by_xcd[dense]}, grid)
    if len(samples) == grid or min(samples.values()) <= 0:
        return plain
    ratios = {
        xcd: [math.log(samples[number] / beside[number]) for number in numbers]
        for xcd, numbers in by_xcd.items()
        if xcd != dense
    }
    free = sum(len(found) - 1 for found in ratios.values())
    if len(ratios) < 2 or free < 1:
        return plain
    means = {xcd: statistics.fmean(found) for xcd, found in ratios.items()}
    within = sum((value - means[xcd]) ** 2 for xcd, found in ratios.items() for value in found) / free
    of_means = statistics.fmean(within / len(found) for found in ratios.values())
    apart = statistics.variance([0.0, *means.values()])
    if apart <= CLEARLY * of_means:
        return plain
    between = apart - of_means
    out = plain
    for xcd, found in ratios.items():
        weight = between / (between + within / len(found))
        for number in range(xcd, grid, XCDS):
            out[number] += weight * (beside[number] * math.exp(means[xcd]) - out[number])
    return out
