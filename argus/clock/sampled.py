"""Which workgroups of a launch to execute, and the launch timed from them.

    seen = sample(Work("gemm", kernel, grid, block, args), seed=0)
    timing, launch = time_observed(work, seen)

First the workgroups that meet on one compute unit, then `STRATA` others (half as many if they are long) spread over the
grid by the seed, which tell whether all do the same work, and as many of the workgroups that run on one XCD at a time
as `AFFORDABLE` wave instructions allow, chosen by the seed: they tell who shares cache lines. When the tensors do not
fit into the Infinity Cache, the first workgroup of every XCD tells what XCDs fetch together, and a few of the second
round what the Infinity Cache has kept. They are executed
`AT_ONCE` wave instructions at a time and their long loops shortened at once, so that the record stays small. The same
seed gives the same sample and time.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

from argus.clock.fold import fold, merged
from argus.clock.launch import Launch
from argus.clock.model import room_for
from argus.clock.observe import Observed, Observer
from argus.clock.parameters import PARAMETERS, Parameters
from argus.clock.recorded import (
    LEAST_SHARERS,
    Recorded,
    atomic_places,
    kernel_resources,
    on_one_cu,
    workgroups_to_record,
)
from argus.clock.staged import tensor_bytes
from argus.clock.timer import time_recorded
from argus.clock.timing import Timing
from argus.gfx942.chip import WAVE_LANES, XCDS, count
from argus.gfx942.mfma import MFMA
from argus.machine.launch import Executor, LoadedKernel

STRATA = 8
SECOND_ROUND = 6
AFFORDABLE: dict[Executor, int] = {"checking": 100_000, "jit": 10_000_000}
AT_ONCE = 400_000
SHORT_ALL = 40_000
"""Wave instructions of a whole sample up to which the interpreter is faster than a translation."""


@dataclass(frozen=True, slots=True)
class Work:
    """A launch to be timed. `bytes`: what its tensors hold; None: the arguments' memory, shared parts once."""

    name: str
    kernel: LoadedKernel
    grid: tuple[int, ...]
    block: tuple[int, ...]
    args: Sequence[Any]
    lds: int = 0
    offsets: Sequence[int] | None = None
    bytes: float | None = None

    @property
    def workgroups(self) -> int:
        return math.prod(self.grid)

    @property
    def moved(self) -> float:
        if self.bytes is not None:
            return self.bytes
        return float(tensor_bytes(self.args))


def sample(work: Work, seed: int = 0, executor: Literal["auto", "jit", "checking"] = "auto") -> Observed:
    """Executes a sample of the launch; `executor` as in `Observer`."""
    resources = kernel_resources(work.kernel.info, work.lds)
    room = room_for(resources, -(-math.prod(work.block) // WAVE_LANES))
    on_cu = workgroups_to_record(work.workgroups, room)
    on_xcd = workgroups_to_record(work.workgroups, room, sharing=True)
    observer = Observer(
        work.kernel, work.grid, work.block, work.args, lds=work.lds, offsets=work.offsets, executor=executor
    )
    counted = atomic_places(observer.insts)
    parts = [fold(observer.record(on_cu), on_one_cu(on_cu, room), counted)]
    each = sum(parts[0].full.values()) / len(on_cu)
    if each * (STRATA + len(on_xcd)) > SHORT_ALL:
        observer.leave_interpreter()
    affordable = AFFORDABLE[observer.executor or "jit"]
    more = _spread(work.workgroups, STRATA if each * STRATA <= affordable / 2 else STRATA // 2, seed)
    others = [number for number in on_xcd if number not in on_cu]
    wanted = min(len(others), max(int(affordable / each), LEAST_SHARERS) - len(on_cu))
    if wanted * each <= 2 * affordable:
        more += random.Random(seed).sample(others, max(0, wanted))
    if work.moved > count("mall_bytes"):
        more += [n for n in range(1, min(XCDS, work.workgroups)) if n not in more]
        more += _second_round(work.workgroups, on_xcd)
    step = max(1, int(AT_ONCE / each))
    more.sort()
    for start in range(0, len(more), step):
        parts.append(fold(observer.record(more[start : start + step]), counted=counted))
    return observer.observed(merged(parts))


def _spread(grid: int, strata: int, seed: int) -> list[int]:
    """One workgroup from each of some parts of the grid, none of them on XCD 0, whose sample must stay complete."""
    dice = random.Random(seed)
    edges = [grid * part // strata for part in range(strata + 1)]
    found = []
    for low, high in pairwise(edges):
        others = [n for n in range(low, high) if n % XCDS]
        if others:
            found.append(dice.choice(others))
    return found


def _second_round(grid: int, first: Sequence[int]) -> list[int]:
    """Some workgroups that follow those of the first round on their XCD."""
    later = range(first[0] + XCDS * len(first), grid, XCDS)[: len(first)]
    return list(later[:: max(1, -(-len(later) // SECOND_ROUND))])


def matrix_element(seen: Observed) -> str | None:
    """Element type of the executed matrix instructions, for the share of peak; None when there are several."""
    executed: set[int] = set().union(*(wave.pc.tolist() for wave in seen.record.waves.values()))
    types = {MFMA[inst.op].a for inst in seen.insts if inst.pc in executed and inst.op in MFMA}
    return types.pop() if len(types) == 1 else None


def time_observed(
    work: Work, seen: Observed, *, seed: int = 0, parameters: Parameters = PARAMETERS, **options: Any
) -> tuple[Timing, Launch]:
    """Times a launch from its sample; `options` are those of `argus.clock.timer.time_recorded`."""
    return time_prepared(work, prepared(seen, seed), matrix_element(seen), parameters=parameters, **options)


def prepared(seen: Observed, seed: int = 0) -> Recorded:
    """The sample ready to be timed under any parameters."""
    return Recorded(seen.folded, seen.insts, seen.kernel, dynamic_lds=seen.lds, seed=seed)


def time_prepared(
    work: Work, recorded: Recorded, element: str | None, *, parameters: Parameters = PARAMETERS, **options: Any
) -> tuple[Timing, Launch]:
    """Times a prepared sample."""
    return time_recorded(
        recorded, flops="matrix", hbm_bytes=work.moved, element=element, parameters=parameters, **options
    )
