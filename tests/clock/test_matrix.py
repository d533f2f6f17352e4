"""Dependency times of matrix instructions against the published table of wait states (N = passes)."""

from __future__ import annotations

import pytest

from argus.clock.matrix import RESULT_CLOCKS
from argus.gfx942.mfma import MFMA


def _published(name: str) -> tuple[int, ...]:
    """Wait states: same C, overlapping C of XDL and of f32, A or B, VALU, memory, overwritten C."""
    row = MFMA[name]
    n = row.passes
    if name == "v_mfma_f64_16x16x4_f64":
        return 0, 9, 9, 11, 11, 18, 0
    if name == "v_mfma_f64_4x4x4_4b_f64":
        return 4, 4, 4, 6, 6, 9, 0
    same = 2 if n == 2 else 0
    if row.xdl:
        return same, n + 1, n + 1, n + 3, n + 3, n + 3, n - 1
    return same, 0, n, n + 2, n + 2, n + 2, 0


@pytest.mark.parametrize("name", sorted(MFMA))
def test_clocks_are_the_published_wait_states_and_the_own_turn(name: str) -> None:
    result = RESULT_CLOCKS[name]
    got = (result.same, result.c_xdl, result.c_other, result.ab, result.valu, result.memory, result.war)
    assert got == tuple(4 * (1 + states) for states in _published(name))
    assert result.longest == max(got)
