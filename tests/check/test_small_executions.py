"""Small launches: the search ends, whatever the number of sizes, and what it finds is legal."""

from __future__ import annotations

import math

import pytest

from argus.check.explain.small_executions import MAX_COMBINATIONS, fewer, launches, whole_tiles
from argus.device.guards import check_sizes
from argus.layout.expr import evaluate
from tests.check.convolution_kernels import CONVOLUTIONS


@pytest.mark.parametrize("sizes", [1, 5, 14, 15, 40])
def test_choices_are_few_enough(sizes: int) -> None:
    """Fifteen sizes of two values each are more than are tried; every size keeps its smallest."""
    made = fewer([[1, 2, 3, 5, 8] for _ in range(sizes)])
    assert math.prod(map(len, made)) <= MAX_COMBINATIONS
    assert all(choice[0] == 1 for choice in made)


@pytest.mark.parametrize("name", ["conv2d", "conv_transpose2d", "pool"])
def test_a_launch_of_whole_tiles_switches_no_lane_off(name: str) -> None:
    """Every size that is taken in tiles has a whole one; strides leave no gaps, and the launch is legal."""
    kernel = CONVOLUTIONS[name]().kernel
    one, more = whole_tiles(kernel)
    for sizes in (one, more):
        check_sizes(kernel, sizes)
    output = next(t for t in kernel.tensors if t.written)
    assert evaluate(output.shape[-1], one) >= 16
    assert all(more[name] >= one[name] for name in one)
    strides = [int(evaluate(stride, one)) for stride in output.strides]
    extents = [int(evaluate(extent, one)) for extent in output.shape]
    assert all(strides[n] == strides[n + 1] * extents[n + 1] for n in range(len(strides) - 1))


def test_sizes_that_an_equation_gives_are_within_their_bounds() -> None:
    """OW == IW + 1 and OW >= 1: IW is not 0."""
    kernel = CONVOLUTIONS["conv2d"]().kernel
    found = launches(kernel)
    assert found
    for sizes in found:
        check_sizes(kernel, sizes)
