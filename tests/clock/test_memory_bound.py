"""Memory-bound kernels take the same time at every clock, and move bytes as fast as published streams."""

from __future__ import annotations

import pytest

from argus.bench.contestant import Part, from_choice
from argus.bench.memory import chosen
from argus.clock.launch import Launch
from argus.clock.sampled import time_prepared

CLOCKS = (1300, 1500, 1700, 1900, 2100)
CASES = {
    "copy": ("relu", 8192, 8192),
    "copy, 4 GB": ("relu", 32752, 16376),
    "two in, one out": ("add", 8192, 8192),
    "two in, one out, 6 GB": ("add", 16376, 32752),
    "read": ("rowreduce", 16384, 8192),
    "read, 2 GB": ("rowreduce", 65528, 8184),
}
"""f32, 0.5 to 6.4 GB: beyond the Infinity Cache; kernels address at most 2 GB of each tensor."""
PUBLISHED = {
    "copy": (4.11, 4.26, 3.9, 4.2),
    "two in, one out": (4.14, 4.09, 3.7, 3.9),
    "read": (3.87, 4.33, 3.9, 4.3),
}
"""TB/s by mix of reads and writes: BabelStream copy and mul, add and triad, dot (Azure), a register stream, and the
range of RRZE's gpu-stream for the same mix, all on an MI300X."""


@pytest.fixture(scope="module")
def timed() -> dict[str, tuple[Part, int]]:
    found = {}
    for name, (family, m, n) in CASES.items():
        choice, sizes, moved = chosen(family, m, n, "f32")
        found[name] = (from_choice(name, choice, sizes, proved=False).parts[0], moved)
    return found


def _launch(part: Part, clock: float) -> Launch:
    return time_prepared(part.work, part.recorded, part.element, clock_mhz=clock)[1]


@pytest.mark.parametrize("name", CASES)
def test_the_same_time_at_every_clock(timed: dict[str, tuple[Part, int]], name: str) -> None:
    part, _ = timed[name]
    launches = [_launch(part, clock) for clock in CLOCKS]
    times = [launch.microseconds for launch in launches] + [launch.sustained.microseconds for launch in launches]
    assert max(times) <= 1.01 * min(times)


@pytest.mark.parametrize("name", CASES)
def test_as_fast_as_published_streams(timed: dict[str, tuple[Part, int]], name: str) -> None:
    part, moved = timed[name]
    rate = moved / _launch(part, 2100).sustained.microseconds * 1e-6
    known = PUBLISHED[name.rsplit(", ", 1)[0] if name.endswith("GB") else name]
    middle = sum(known) / len(known)
    assert rate == pytest.approx(middle, rel=0.1)
