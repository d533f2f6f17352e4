"""The memory plan: buffers that live together do not overlap, and the arena is no larger than needed at most."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given, settings
from hypothesis import strategies as st

from argus.plan.memory import ALIGNED, placed
from argus.plan.plan import PlanBuffer, PlannedLaunch
from argus.plan.views import whole

LIVES = st.lists(st.tuples(st.integers(1, 3000), st.integers(0, 7), st.integers(0, 7)), min_size=1, max_size=12)


def launches(lives: list[tuple[int, int, int]]) -> list[PlannedLaunch]:
    """Launches that touch buffer i at both ends of its life."""
    made = []
    for number in range(8):
        here = {f"a{i}": whole(f"t{i}", (n,)) for i, (n, a, b) in enumerate(lives) if number in (a, b)}
        made.append(PlannedLaunch("f", "k", {}, {}, here, {}, (), ()))
    return made


@settings(deadline=None)
@given(LIVES)
def test_no_two_live_buffers_overlap(lives: list[tuple[int, int, int]]) -> None:
    buffers = {f"t{i}": PlanBuffer(f"t{i}", "temporary", "f32", n) for i, (n, _, _) in enumerate(lives)}
    found, arena = placed(buffers, launches(lives))
    for one, other in combinations(found.values(), 2):
        together = one.live[0] <= other.live[1] and other.live[0] <= one.live[1]
        apart = one.place + one.bytes <= other.place or other.place + other.bytes <= one.place
        assert apart or not together
    for i, (_, a, b) in enumerate(lives):
        assert found[f"t{i}"].live == (min(a, b), max(a, b))
        assert found[f"t{i}"].place % ALIGNED == 0
    assert max(b.place + b.bytes for b in found.values()) <= arena
    assert arena <= sum(-(-b.bytes // ALIGNED) * ALIGNED for b in found.values())


def test_a_buffer_takes_the_place_of_one_that_is_done() -> None:
    buffers = {name: PlanBuffer(name, "temporary", "f32", 1024) for name in ("t0", "t1", "t2")}
    found, arena = placed(buffers, launches([(1024, 0, 1), (1024, 1, 2), (1024, 2, 3)]))
    assert arena == 2 * 4096
    assert found["t0"].place == found["t2"].place
