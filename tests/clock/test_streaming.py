"""Streaming from memory against published bandwidths (RRZE gpu-stream on MI300X, read, one 8-byte load per lane)."""

from __future__ import annotations

import numpy as np
import pytest
from programs import LANE, Program, load

from argus.clock.launch import Launch, estimate
from argus.clock.model import Resources, time_waves
from argus.clock.program import Wave
from argus.clock.succession import ROUNDS
from argus.clock.timer import settle
from argus.clock.timing import Timing

PUBLISHED = {1: 554, 4: 1959, 8: 3098, 12: 3756, 16: 4199}
"""Waves of each of the two workgroups per CU -> GB/s."""


def _stream(waves: int) -> Launch:
    """Every thread loads eight bytes of its own and ends; two workgroups share a CU, then those that follow them."""
    program = Program()
    op, wait = program.vmem(), program.wait(vm=0)

    def group(number: int) -> list[Wave]:
        members = []
        for wave in range(waves):
            program.steps.clear()
            program.add(op, load(8, LANE * 8 + 512 * (wave + waves * number)))
            program.add(wait)
            members.append(program.wave(8 * number, wave))
        return members

    resident = {8 * number: group(number) for number in range(2)}
    followers = [group(2 + number) for number in range(2 * ROUNDS)]
    resources = Resources(vgprs=16, lds_bytes=32768)

    def attempt(assumed: float) -> tuple[Timing, Launch]:
        timing = time_waves(program.ops, resident, resources, memory_load=assumed, followers=followers)
        return timing, estimate(timing, 304 * 2 * 1000)

    return settle(attempt)[1]


@pytest.mark.parametrize("waves", sorted(PUBLISHED))
def test_read_bandwidth_against_occupancy(waves: int) -> None:
    launch = _stream(waves)
    assert launch.hbm_gbps == pytest.approx(PUBLISHED[waves], rel=0.05)


def test_settling_finds_the_load_it_assumes() -> None:
    launch = _stream(8)
    assert launch.bound == "compute"
    assert np.isclose(launch.hbm_load, launch.hbm_gbps / 4200, rtol=0.02)
