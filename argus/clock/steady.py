"""The account of a compute unit, and its continuation over the iterations that `argus.clock.fold` left out.

    unit.run(groups)                              # 18 of 64 iterations
    account, steady = continued(unit, groups)     # as if all 64 had run
    steady.iterations, steady.timed, steady.error -> 64, 18, 0.004

The first wave of every workgroup notes when it begins each iteration that is left. After `WARM` iterations the loop is
taken to be steady: what the unit's account gained from there to the last mark, per issued instruction, is what the
iterations left out would have added, and their time is the mean distance of the marks. `error` is how much the earlier
and the later half of those distances differ, as a share of the whole run: a loop still speeding up or slowing down
shows there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from argus.clock.program import Wave

if TYPE_CHECKING:
    from argus.clock.cu import ComputeUnit

WARM = 6

Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Account:
    """What a compute unit has done: stall clocks by operation and reason, clocks of its units, bytes moved."""

    stalls: Numbers
    matrix: Numbers
    valu: Numbers
    lds_port: Numbers
    lds: Numbers
    traffic: Numbers

    @staticmethod
    def of(unit: ComputeUnit) -> Account:
        busy, traffic = unit.busy, unit.memory.traffic
        return Account(
            stalls=np.array(unit.stalls, float),
            matrix=np.array(busy.matrix, float),
            valu=np.array(busy.valu, float),
            lds_port=np.array(busy.lds_port, float),
            lds=np.array([busy.lds_bank, busy.lds_conflicts, busy.lds_bytes, busy.vmem], float),
            traffic=np.array([*traffic.read.values(), traffic.filled, traffic.written], float),
        )

    def continued(self, start: Account, end: Account, times: float) -> Account:
        """This account and `times` what happened from `start` to `end`."""
        parts = {
            name: getattr(self, name) + times * (getattr(end, name) - getattr(start, name)) for name in self.__slots__
        }
        return Account(**parts)


@dataclass(frozen=True, slots=True)
class Steady:
    """Iterations of the timed workgroups' loop, those timed, clocks the others add, the error of the whole run."""

    iterations: int
    timed: int
    clocks: tuple[float, ...]
    error: float

    @property
    def mean_clocks(self) -> float:
        return sum(self.clocks) / len(self.clocks)


def issued(unit: ComputeUnit, groups: Sequence[Sequence[Wave]]) -> list[int]:
    """Executions of every operation, those left out included."""
    found = list(unit.issued)
    for wave in (wave for waves in groups for wave in waves if wave.left_out):
        for index, times in Counter(op.index for op in wave.ops[wave.marks[0] : wave.marks[1]]).items():
            found[index] += times * wave.left_out
    return found


def continued(unit: ComputeUnit, groups: Sequence[Sequence[Wave]], cycles: int) -> tuple[Account, Steady | None]:
    """The account of the whole run; no `Steady` when nothing was left out."""
    account = Account.of(unit)
    left_out = groups[0][0].left_out
    if not left_out:
        return account, None
    start, end = unit.snapshots
    missing = sum(wave.left_out * (wave.marks[1] - wave.marks[0]) for waves in groups for wave in waves)
    account = account.continued(start.account, end.account, missing / max(1, end.issued - start.issued))
    slopes, drifts = [], []
    for times in unit.passed:
        middle = (WARM + len(times)) // 2
        slopes.append((times[-1] - times[WARM]) / (len(times) - 1 - WARM))
        early = (times[middle] - times[WARM]) / (middle - WARM)
        late = (times[-1] - times[middle]) / (len(times) - 1 - middle)
        drifts.append((late - early) / 2)
    clocks = tuple(left_out * slope for slope in slopes)
    total = cycles + sum(clocks) / len(clocks)
    error = left_out * abs(sum(drifts) / len(drifts)) / total
    timed = len(unit.passed[0]) - 1
    return account, Steady(left_out + timed, timed, clocks, error)
