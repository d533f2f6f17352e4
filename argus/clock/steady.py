"""The account of a compute unit, and its continuation over the iterations that `argus.clock.fold` left out.

    unit.run(groups)                              # 18 of 64 iterations
    account, steady = continued(unit, groups)     # as if all 64 had run
    steady.iterations, steady.timed, steady.error -> 64, 18, 0.004

The first wave of every workgroup notes when it begins each iteration that is left. The loop is taken to be steady from
when the last workgroup has begun `WARM` iterations until the first one has begun its last: all of them run then. The
iterations of all workgroups in that time give the rate at which those left out would have run. The stalls and bytes of
that time, per issued instruction, are what they would have added; the work itself is counted. `error` is how much the
rates of the two halves of that time differ, as a share of the whole run: a loop still speeding up shows there.

When the oldest workgroups race so far ahead that no such time exists, it starts with the first workgroup's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from argus.clock.program import LdsAccess, Unit, VmemAccess, Wave
from argus.gfx942.mfma import ISSUE_CLOCKS

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
class Snapshot:
    """The account at a mark of a loop; `last`: where the first workgroup begins its last iteration."""

    clock: int
    last: bool
    issued: int
    account: Account


@dataclass(frozen=True, slots=True)
class Steady:
    """Iterations of the timed workgroups' loop, those timed, clocks the others add, the error of the whole run."""

    iterations: int
    timed: int
    clocks: float
    error: float


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
    start, end = _window(unit)
    missing = sum(wave.left_out * (wave.marks[1] - wave.marks[0]) for waves in groups for wave in waves)
    account = account.continued(start.account, end.account, missing / max(1, end.issued - start.issued))
    account = replace(account, **_exact(unit))
    middle = (start.clock + end.clock) / 2
    early, late = (_iterations(unit, *part) for part in ((start.clock, middle), (middle, end.clock)))
    clocks = left_out * len(groups) * (end.clock - start.clock) / (early + late)
    account = replace(account, stalls=_balanced(unit, account.stalls, clocks, missing))
    error = clocks * abs(early - late) / (early + late) / (cycles + clocks)
    timed = len(groups[0][0].marks) - 1
    return account, Steady(left_out + timed, timed, clocks, error)


def _balanced(unit: ComputeUnit, stalls: Numbers, clocks: float, missing: int) -> Numbers:
    """The stalls with those of the iterations left out scaled so that turns and stalls fill the clocks these add.

    All waves run in those clocks, so each spends them on its turns or on stalls. Stalls are booked when they begin, so
    the window's own sum is off by what hangs over its ends: some percent.
    """
    timed = np.array(unit.stalls, float)
    waves = sum(len(states) for states in unit.groups)
    room = waves * clocks - ISSUE_CLOCKS * missing
    added: Numbers = stalls - timed
    total = float(added.sum())
    balanced: Numbers = timed + added * (max(0.0, room) / total if total > 0 else 1.0)
    return balanced


def _exact(unit: ComputeUnit) -> dict[str, Numbers]:
    """What the waves say about the iterations left out: clocks of matrix cores, VALUs, LDS banks, vector memory."""
    run = Account.of(unit)
    found = {"matrix": run.matrix, "valu": run.valu, "lds": run.lds}
    for state in (state for states in unit.groups for state in states):
        wave = state.wave
        times = wave.left_out / (len(wave.marks) - 1 - WARM)
        for at in range(wave.marks[WARM], wave.marks[-1]):
            op, access = wave.ops[at], wave.accesses[at]
            if op.unit is Unit.MATRIX:
                found["matrix"][state.simd] += times * op.clocks
            elif op.unit is Unit.VALU:
                found["valu"][state.simd] += times * op.clocks
            elif isinstance(access, LdsAccess):
                found["lds"][:3] += times * np.array((access.bank, access.conflicts, access.bytes))
            elif isinstance(access, VmemAccess):
                found["lds"][3] += times * access.clocks
    return found


def _window(unit: ComputeUnit) -> tuple[Snapshot, Snapshot]:
    """The account when the loop had become steady, and when the first workgroup left it."""
    end = next(found for found in unit.snapshots if found.last)
    before = [found for found in unit.snapshots if not found.last and found.clock < end.clock]
    steady = before[-1] if len(before) == len(unit.groups) else before[0]
    return steady, end


def _iterations(unit: ComputeUnit, start: float, end: float) -> float:
    """Iterations all workgroups began between two clocks, in parts."""
    total = 0.0
    for times in unit.passed:
        numbers = np.arange(len(times))
        total += float(np.interp(end, times, numbers) - np.interp(start, times, numbers))
    return total
