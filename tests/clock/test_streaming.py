"""Streaming from memory against published bandwidths (RRZE gpu-stream on MI300X, read, one 8-byte load per lane)."""

from __future__ import annotations

import numpy as np
import pytest
from programs import LANE, Program, load

from argus.clock.launch import Launch, estimate
from argus.clock.model import Resources, time_waves
from argus.clock.timer import settle
from argus.clock.timing import Timing

PUBLISHED = {1: 554, 4: 1959, 8: 3098, 12: 3756, 16: 4199}
"""Workgroups of 128 threads per CU -> GB/s."""


def _stream(workgroups_per_cu: int) -> Launch:
    """Every thread loads eight bytes of its own and ends; LDS limits how many workgroups share a CU."""
    program = Program()
    op, wait = program.vmem(), program.wait(vm=0)
    groups = {}
    for number in range(workgroups_per_cu):
        members = []
        for wave in range(2):
            program.steps.clear()
            program.add(op, load(8, LANE * 8 + 512 * wave + 1024 * number))
            program.add(wait)
            members.append(program.wave(8 * number, wave))
        groups[8 * number] = members
    resources = Resources(vgprs=16, lds_bytes=65536 // workgroups_per_cu)
    grid = 304 * workgroups_per_cu * 1000

    def attempt(assumed: float) -> tuple[Timing, Launch]:
        timing = time_waves(program.ops, groups, resources, hbm_load=assumed)
        return timing, estimate(timing, grid)

    return settle(attempt)[1]


@pytest.mark.parametrize("workgroups_per_cu", sorted(PUBLISHED))
def test_read_bandwidth_against_occupancy(workgroups_per_cu: int) -> None:
    launch = _stream(workgroups_per_cu)
    assert launch.hbm_gbps == pytest.approx(PUBLISHED[workgroups_per_cu], rel=0.05)


def test_settling_finds_the_load_it_assumes() -> None:
    launch = _stream(8)
    assert launch.bound == "compute"
    assert np.isclose(launch.hbm_load, launch.hbm_gbps / 4200, rtol=0.02)
