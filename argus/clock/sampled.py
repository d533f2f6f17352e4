"""Which workgroups of a launch to execute, and the launch timed from them.

    seen = sample(Work("gemm", kernel, grid, block, args), seed=0)
    timing, launch = time_observed(work, seen)

First the workgroups that meet on one compute unit, and `STRATA` others spread over the grid by the seed, which tell
whether all do the same work. Then as many of the workgroups that run on one XCD at a time as `AFFORDABLE` wave
instructions allow, chosen by the seed: they tell who shares cache lines. The same seed gives the same sample and time.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from argus.clock.launch import Launch
from argus.clock.model import room_for
from argus.clock.observe import Observed, observe
from argus.clock.parameters import PARAMETERS, Parameters
from argus.clock.timer import LEAST_SHARERS, kernel_resources, time_launch, workgroups_to_record
from argus.clock.timing import Timing
from argus.gfx942.chip import WAVE_LANES, XCDS
from argus.gfx942.mfma import MFMA
from argus.machine.launch import Executor, Kernel

STRATA = 8
AFFORDABLE: dict[Executor, int] = {"interp": 100_000, "jit": 1_000_000}


@dataclass(frozen=True, slots=True)
class Work:
    """A launch to be timed. `bytes`: what its tensors hold; None: the sum of the arrays among the arguments."""

    name: str
    kernel: Kernel
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
        return float(sum(value.nbytes for value in self.args if isinstance(value, np.ndarray)))


def sample(work: Work, seed: int = 0) -> Observed:
    """Executes a sample of the launch."""
    resources = kernel_resources(work.kernel.info, work.lds)
    room = room_for(resources, -(-math.prod(work.block) // WAVE_LANES))
    few = sorted({*workgroups_to_record(work.workgroups, room), *_spread(work.workgroups, seed)})

    def run(chosen: Sequence[int], how: Executor | None = None) -> Observed:
        return observe(
            work.kernel,
            work.grid,
            work.block,
            work.args,
            workgroups=chosen,
            lds=work.lds,
            offsets=work.offsets,
            executor=how or "auto",
        )

    seen = run(few)
    each = seen.record.instructions / len(few)
    on_xcd = workgroups_to_record(work.workgroups, room, sharing=True)
    count = min(len(on_xcd), int(AFFORDABLE[seen.executor] / each))
    if count < min(len(on_xcd), LEAST_SHARERS):
        return seen
    others = [number for number in on_xcd if number not in few]
    more = random.Random(seed).sample(others, max(0, min(len(others), count - (len(on_xcd) - len(others)))))
    return run(sorted({*few, *more}), seen.executor)


def _spread(grid: int, seed: int) -> set[int]:
    """One workgroup from each of `STRATA` parts of the grid, none of them on XCD 0, whose sample must stay complete."""
    dice = random.Random(seed)
    edges = [grid * part // STRATA for part in range(STRATA + 1)]
    found = set()
    for low, high in pairwise(edges):
        others = [n for n in range(low, high) if n % XCDS]
        if others:
            found.add(dice.choice(others))
    return found


def matrix_element(seen: Observed) -> str | None:
    """Element type of the executed matrix instructions, for the share of peak; None when there are several."""
    executed = {int(pc) for wave in seen.record.waves.values() for pc in np.unique(wave.pc)}
    types = {MFMA[inst.op].a for inst in seen.insts if inst.pc in executed and inst.op in MFMA}
    return types.pop() if len(types) == 1 else None


def time_observed(
    work: Work, seen: Observed, *, seed: int = 0, parameters: Parameters = PARAMETERS, **options: Any
) -> tuple[Timing, Launch]:
    """Times a launch from its sample; `options` are those of `argus.clock.timer.time_launch`."""
    return time_launch(
        seen.record,
        seen.insts,
        seen.kernel,
        dynamic_lds=seen.lds,
        flops="matrix",
        hbm_bytes=work.moved,
        element=matrix_element(seen),
        seed=seed,
        parameters=parameters,
        **options,
    )
