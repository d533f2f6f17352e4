"""The conditions on the sizes of a launch follow from the kernel alone: they are made at its first launch only."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from argus.device import guards
from argus.device.guards import LaunchRefused, check_sizes
from argus.ir.kernel import Kernel
from argus.lang import read
from argus.layout.expr import Expr

KERNEL = Path(__file__).parents[2] / "argus" / "tasks" / "naive" / "broadcast.py"
SIZES = {"A": 4, "B": 4, "C": 128}


@pytest.fixture
def walks(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Kernel]]:
    """Which walk over which kernel was made, in their order."""
    made: list[tuple[str, Kernel]] = []

    def watch(name: str) -> None:
        usual: Callable[[Kernel], tuple[Expr, ...]] = getattr(guards, name)

        def watched(kernel: Kernel) -> tuple[Expr, ...]:
            made.append((name, kernel))
            return usual(kernel)

        monkeypatch.setattr(guards, name, watched)

    for name in ("reach", "grid_limits", "base_limits"):
        watch(name)
    return made


def test_a_second_launch_does_not_walk_the_kernel_again(walks: list[tuple[str, Kernel]]) -> None:
    kernel = read(KERNEL)
    check_sizes(kernel, SIZES)
    assert walks == [(name, kernel) for name in ("reach", "grid_limits", "base_limits")]
    check_sizes(kernel, SIZES)
    check_sizes(kernel, {**SIZES, "C": 256})
    assert len(walks) == 3


def test_what_is_kept_still_refuses(walks: list[tuple[str, Kernel]]) -> None:
    kernel = read(KERNEL)
    check_sizes(kernel, SIZES)
    for _ in range(2):
        with pytest.raises(LaunchRefused, match="bases of broadcast leave 64 bits") as refused:
            check_sizes(kernel, {"A": 2**22, "B": 2**22, "C": 2**20})
        assert refused.value.code == "ARG-D103"
    check_sizes(kernel, SIZES)
    assert len(walks) == 3


def test_another_kernel_has_its_own_conditions(walks: list[tuple[str, Kernel]]) -> None:
    """Two readings of one file are two kernels: nothing is kept under a name."""
    for _ in range(2):
        check_sizes(read(KERNEL), SIZES)
    assert len(walks) == 6
    assert walks[0][1] is not walks[3][1]
