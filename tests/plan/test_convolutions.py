"""Plans of convolutions, also transposed, are their graphs: `computes` lines against the graph's value in float64."""

from __future__ import annotations

from dataclasses import replace

import pytest

from argus.compile.cache import compile_cached
from argus.pipeline import program_of
from argus.plan.graph import Graph, PlanError
from argus.plan.planner import planned
from tests.plan.graphs import Builder
from tests.plan.test_meaning import same
from tests.plan.test_runner import away

Numbers = tuple[int, ...]

CONVOLUTIONS = [
    ((2, 3, 9, 11), (3, 1, 3, 5), (1, 1), (1, 2), (1, 1), 3),
    ((2, 4, 9, 12), (4, 1, 2, 3), (2, 1), (0, 1), (1, 2), 4),
    ((2, 4, 13), (4, 1, 3), (2,), (1,), (1,), 4),
    ((2, 3, 9, 12), (3, 1, 6, 3), (1, 2), (1, 1), (1, 1), 3),
    ((2, 5, 6, 7), (3, 5, 1, 1), (1, 1), (0, 0), (1, 1), 1),
    ((2, 5, 3, 2, 7), (4, 5, 1, 1, 1), (1, 1, 1), (0, 0, 0), (1, 1, 1), 1),
    ((2, 3, 9, 12), (5, 3, 3, 2), (1, 1), (0, 0), (1, 1), 1),
    ((2, 6, 9, 11), (8, 3, 3, 5), (2, 1), (1, 2), (1, 2), 2),
    ((1, 3, 30, 31), (7, 3, 11, 11), (4, 4), (2, 2), (1, 1), 1),
    ((2, 4, 17), (6, 4, 3), (3,), (0,), (4,), 1),
    ((1, 4, 5, 6, 7), (6, 2, 3, 2, 3), (2, 1, 1), (1, 0, 1), (1, 1, 2), 2),
    ((2, 3, 4, 5, 6), (3, 1, 2, 2, 2), (1, 1, 1), (0, 0, 0), (1, 1, 1), 3),
]
TRANSPOSED = [
    ((2, 3, 5, 6), (3, 4, 3, 3), (1, 1), (0, 0), (0, 0), (1, 1), 1),
    ((2, 4, 4, 5), (4, 3, 3, 5), (2, 3), (1, 2), (1, 1), (2, 1), 2),
    ((1, 3, 4, 4), (3, 2, 2, 3), (3, 5), (0, 1), (0, 2), (1, 2), 1),
    ((2, 3, 7), (3, 4, 3), (2,), (1,), (0,), (2,), 1),
    ((2, 3, 7), (3, 4, 5), (1,), (0,), (0,), (3,), 1),
    ((1, 4, 3, 4, 5), (4, 3, 3, 3, 3), (2, 2, 2), (1, 1, 1), (1, 1, 1), (1, 1, 1), 1),
    ((1, 4, 2, 3, 4), (4, 2, 3, 2, 3), (2, 1, 2), (1, 0, 1), (0, 0, 0), (2, 2, 1), 2),
]


def finished(made: Builder, y: str, features: int, rank: int) -> Graph:
    """With bias and activation after it."""
    bias = made.input(features, *(1,) * rank, parameter=True)
    return made.graph(made.add("relu", made.add("add", y, bias)))


def convolution(
    shape: Numbers, weight: Numbers, stride: Numbers, padding: Numbers, dilation: Numbers, groups: int
) -> Graph:
    made = Builder()
    x, w = made.input(*shape), made.input(*weight, parameter=True)
    space = zip(shape[2:], weight[2:], stride, padding, dilation, strict=True)
    results = tuple((e + 2 * p - d * (k - 1) - 1) // s + 1 for e, k, s, p, d in space)
    form = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    y = made.add("convolution", x, w, shape=(shape[0], weight[0], *results), **form)
    return finished(made, y, weight[0], len(results))


def transposed(
    shape: Numbers, weight: Numbers, stride: Numbers, padding: Numbers, more: Numbers, dilation: Numbers, groups: int
) -> Graph:
    made = Builder()
    x, w = made.input(*shape), made.input(*weight, parameter=True)
    space = zip(shape[2:], weight[2:], stride, padding, more, dilation, strict=True)
    results = tuple((e - 1) * s - 2 * p + d * (k - 1) + o + 1 for e, k, s, p, o, d in space)
    form = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    features = weight[1] * groups
    y = made.add("conv_transpose", x, w, shape=(shape[0], features, *results), **form)
    return finished(made, y, features, len(results))


@pytest.mark.parametrize("form", CONVOLUTIONS)
def test_convolutions(form: tuple[Numbers, Numbers, Numbers, Numbers, Numbers, int]) -> None:
    """Depthwise, of one pixel, and over channels; strided, padded, dilated and grouped."""
    same(convolution(*form))


@pytest.mark.parametrize("form", TRANSPOSED)
def test_transposed_convolutions(
    form: tuple[Numbers, Numbers, Numbers, Numbers, Numbers, Numbers, int],
) -> None:
    """Phases with and without taps, output padding, groups."""
    same(transposed(*form))


ONE, NONE = (1, 1, 1), (0, 0, 0)
MANY_TAPS = [
    transposed((2, 19, 16, 19, 19), (19, 16, 3, 5, 7), ONE, NONE, NONE, ONE, 1),
    transposed((2, 19, 19, 19, 19), (19, 19, 3, 5, 5), ONE, NONE, NONE, ONE, 1),
    convolution((8, 25, 35, 35), (33, 25, 5, 9), (1, 1), (2, 4), (2, 3), 1),
    transposed((2, 29, 16, 19, 19), (29, 29, 5, 5, 5), ONE, NONE, NONE, ONE, 1),
]


def typed(graph: Graph, dtype: str) -> Graph:
    return replace(graph, nodes={name: replace(node, dtype=dtype) for name, node in graph.nodes.items()})


@pytest.mark.parametrize("graph", MANY_TAPS)
@pytest.mark.parametrize("dtype", ["f32", "bf16"])
def test_many_taps_over_odd_channels(graph: Graph, dtype: str) -> None:
    """Weights are read one by one there: a kernel with the most channels a step was too long to read."""
    assert planned(typed(graph, dtype)).launches


TWO = (2, 2, 2)
FULL_REGISTERS = [(graph, "bf16", -1) for graph in MANY_TAPS]
HALVES = transposed((2, 19, 19, 19, 19), (19, 19, 5, 5, 5), TWO, TWO, NONE, ONE, 1)
FULL_REGISTERS += [
    (transposed((2, 32, 16, 16, 16), (32, 32, 5, 5, 5), ONE, NONE, NONE, ONE, 1), "f32", -1),
    *((HALVES, "bf16", phase) for phase in (1, 2, 3)),
]


@pytest.mark.parametrize(("graph", "dtype", "number"), FULL_REGISTERS)
def test_windows_fit_into_registers(graph: Graph, dtype: str, number: int) -> None:
    """Addresses of all taps are held and, in several planes, those of the halo of each."""
    launch = planned(typed(graph, dtype)).launches[number]
    assert compile_cached(program_of(launch.path, launch.knobs, launch.kernel)).object


def test_a_window_that_fills_the_registers_is_right() -> None:
    """125 taps over an odd number of channels, proved and run: the kernel is that of the larger sizes above."""
    graph = typed(transposed((1, 19, 2, 3, 5), (19, 3, 5, 5, 5), ONE, NONE, NONE, ONE, 1), "bf16")
    plan = planned(graph)
    assert plan.launches[-1].key == planned(typed(MANY_TAPS[3], "bf16")).launches[-1].key
    assert away(graph, plan) < 2**-8


def test_images_some_at_a_time() -> None:
    graph = convolution((5, 3, 9, 12), (4, 3, 3, 3), (1, 1), (1, 1), (1, 1), 1)
    assert same(graph, limit=4000) > same(graph)
    graph = transposed((5, 3, 4, 5), (3, 4, 3, 3), (2, 2), (1, 1), (0, 0), (1, 1), 1)
    assert same(graph, limit=4000) > same(graph)


def test_a_window_that_no_template_has() -> None:
    with pytest.raises(PlanError, match=r"a convolution of 6 x 3 with stride .* has no template; there are windows of"):
        planned(convolution((1, 3, 9, 9), (4, 3, 6, 3), (1, 1), (0, 0), (1, 1), 1))
