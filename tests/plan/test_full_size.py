"""Plans at full size: what is wrong there alone is found, tensors are never made, and ragged edges are looked at."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from argus.bench.kernelbench import launch_trial
from argus.bench.kernelbench.contents import contents_of, inside
from argus.bench.kernelbench.drawn import DrawKind, DrawnBuffer
from argus.bench.kernelbench.exact_sums import exactly_summed
from argus.bench.kernelbench.full_size import at_full_size
from argus.bench.kernelbench.launch_trial import (
    LaunchSample,
    LaunchTrial,
    TrialKernel,
    Undefined,
    WrongAtFullSize,
    as_passed,
    places_of,
)
from argus.bench.kernelbench.stores import NotSampled, store_sites, workgroups, written
from argus.compile.cache import compile_cached
from argus.device.guards import launch_grid, tensor_shapes
from argus.ir.compile_error import CompileError
from argus.ir.types import f32, f64, i32
from argus.pipeline import program_of
from argus.plan.plan import Plan, PlanBuffer, PlannedLaunch
from argus.plan.planner import kernel_of, planned
from argus.plan.views import View, whole
from argus.spec import of_arrays, read_specification
from tests.plan.graphs import Builder
from tests.spec.stated import stated

PLUS_ONE = """
import argus as ag
from argus import f32

PART = ag.Owner(t=256, e=4, c="t*4 + e")


@ag.kernel(threads=256, requires="M >= 1 and N >= 1 and N % 4 == 0", computes="Y[m, n] = X[m, n] + 1")
def plus_one(X: ag.In["M N", f32], Y: ag.Out["M N", f32]):
    m, b = ag.grid(M, ag.cdiv(N, 1024))
    at = b * 1024
    x = X[m, at].load(PART, width=16, guard="shape")
    Y[m, at].store(x + 1.0, width=16, guard="shape")
"""
SMALL, LARGE = (7, 10_000), (600, 1_000_004)
"""The second has more than 2^31 bytes; its row 536 is the last that begins below."""
GIB = 1 << 30


def of_text(folder: Path, name: str, text: str) -> TrialKernel:
    file = folder / f"{name}.py"
    file.write_text(text)
    program = program_of(file, {}, "plus_one")
    return TrialKernel(program.read, compile_cached(program).object, {})


def one_launch(rows: int, columns: int) -> Plan:
    """A plan of one launch of `plus_one`."""
    views = {"X": whole("x", (rows, columns)), "Y": whole("y", (rows, columns))}
    sizes = {"M": rows, "N": columns}
    launch = PlannedLaunch("plus_one", "plus_one", {}, sizes, views, {}, ("Y",), ())
    buffers = {
        "x": PlanBuffer("x", "input", "f32", rows * columns),
        "y": PlanBuffer("y", "output", "f32", rows * columns),
    }
    return Plan((launch,), buffers, ("x",), (), {"y": views["Y"]})


def tried(ready: TrialKernel, shape: tuple[int, int]) -> LaunchSample:
    return LaunchTrial(one_launch(*shape), 0, ready, seed=0, kind="structured").run()


def test_right_at_every_size(tmp_path: Path) -> None:
    right = of_text(tmp_path, "right", PLUS_ONE)
    for shape in ((1, 4), SMALL, LARGE):
        assert tried(right, shape).worst <= 1
    assert tried(right, LARGE).blocks >= 4


@pytest.mark.parametrize(
    ("line", "by", "told"),
    [
        ("    Y[m, at]", "    Y[m % 537, at]", "not written"),
        ("    x = X[m, at]", "    x = X[m % 537, at]", "elements are wrong"),
        ("x + 1.0", "ag.where(m < 537, x + 1.0, x + 1.001)", "elements are wrong"),
    ],
    ids=["a store that wraps", "a load that wraps", "another number"],
)
def test_what_is_wrong_beyond_two_gigabytes_alone(tmp_path: Path, line: str, by: str, told: str) -> None:
    assert line in PLUS_ONE
    right, wrong = of_text(tmp_path, "right", PLUS_ONE), of_text(tmp_path, "wrong", PLUS_ONE.replace(line, by))
    object_only = replace(right, code=wrong.code)
    assert tried(object_only, SMALL).worst <= 1
    with pytest.raises(WrongAtFullSize, match=told):
        tried(object_only, LARGE)


def test_stores_beside_the_own_elements(tmp_path: Path) -> None:
    twice = PLUS_ONE + "    Y[m, at + 1024].store(x, width=16, guard='shape')\n"
    right, wrong = of_text(tmp_path, "right", PLUS_ONE), of_text(tmp_path, "wrong", twice)
    assert tried(replace(right, code=wrong.code), (7, 1000)).worst <= 1, "in a short row there is nothing to write"
    with pytest.raises(WrongAtFullSize, match=r"bytes beside what is written|elements are wrong"):
        tried(replace(right, code=wrong.code), (7, 1 << 20))


def test_a_tail_that_no_workgroup_has(tmp_path: Path) -> None:
    """A multiple of the tile is right; a remainder is left out."""
    short = of_text(tmp_path, "short", PLUS_ONE.replace("ag.cdiv(N, 1024)", "N // 1024"))
    assert tried(short, (7, 1 << 20)).worst <= 1
    with pytest.raises(NotSampled, match="none beyond"):
        tried(short, (7, (1 << 20) + 4))


def test_a_kernel_without_a_code_object(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(program: object) -> None:
        raise CompileError("C130", "about 267 registers are live at once")

    monkeypatch.setattr(launch_trial, "compile_cached", refuse)
    found = at_full_size(plan_of("map"))
    assert "cannot be compiled" in found.wrong[0]
    assert found.launches == 0


def product(m: int, n: int, k: int) -> Plan:
    made = Builder()
    return planned(made.graph(made.matmul(made.input(m, k), made.input(k, n, parameter=True))))


def restated(plan: Plan, text: str) -> TrialKernel:
    """The kernel of the first launch with another specification."""
    ready = TrialKernel.of(plan.launches[0])
    kernel = ready.kernel
    shapes = tensor_shapes(kernel, plan.launches[0].sizes)
    arrays = {t.name: np.broadcast_to(np.float32(0), shapes[t.name]) for t in kernel.tensors}
    changed = replace(kernel, computes=read_specification(text, of_arrays(arrays)))
    return replace(ready, kernel=changed)


def test_one_term_of_four_thousand() -> None:
    """The error bound of f32 has room for a term; whole numbers have none. Sizes below 4001 are the same."""
    plan = product(100, 72, 4100)
    launch = plan.launches[0]
    right = TrialKernel.of(launch)
    assert right.exact({name: view.shape for name, view in launch.arguments.items()}, launch.sizes)
    assert LaunchTrial(plan, 0, right, 0, "whole").run().worst == 0
    text = str(right.kernel.computes)
    assert "sum(A[z, m, k] * B[z, k, n], k)" in text
    for missing in (4000, 4099):
        other = text.replace("A[z, m, k] *", f"where(k == {missing}, 0, A[z, m, k]) *")
        wrong = restated(plan, other)
        with pytest.raises(WrongAtFullSize, match="elements are wrong"):
            LaunchTrial(plan, 0, wrong, 0, "whole").run()


def test_a_long_sum_in_an_exponential() -> None:
    """With ordinary inputs the error bound of the sum is so large that the exponential of it has none."""
    made = Builder()
    summed = made.matmul(made.input(64, 8192), made.input(8192, 40, parameter=True))
    plan = planned(made.graph(made.add("mish", made.add("hardtanh", summed))))
    right = TrialKernel.of(plan.launches[0])
    for kind in ("structured", "positive"):
        with pytest.raises(Undefined):
            LaunchTrial(plan, 0, right, 0, kind).run()
    found = at_full_size(plan)
    assert (found.not_sampled, found.wrong, found.elements) == ([], [], 64 * 40)
    text = str(right.kernel.computes)
    for old, new in (("sum(A[z, m, k]", "sum(where(k < 8000, A[z, m, k], 0)"), ("B[z, k, n]", "B[z, k, (n + 1) % 40]")):
        assert old in text
        with pytest.raises(WrongAtFullSize, match="elements are wrong"):
            LaunchTrial(plan, 0, restated(plan, text.replace(old, new)), 0, "small").run()


def high_water() -> int:
    """The largest resident memory of this process since `reset`, in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * int(next(line for line in lines if line.startswith("VmHWM")).split()[1])


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_no_tensor_is_made() -> None:
    """Twelve GiB of arguments, cut into launches below 2 GiB, in little memory."""
    made = Builder()
    x, y = made.input(3 * GIB // 8 + 1001, 4), made.input(3 * GIB // 8 + 1001, 4)
    plan = planned(made.graph(made.add("relu", made.add("add", x, y))))
    assert sum(buffer.bytes for buffer in plan.buffers.values() if buffer.kind != "filled") > 12 * GIB
    assert len(plan.launches) > 2
    Path("/proc/self/clear_refs").write_text("5")
    before = high_water()
    found = at_full_size(plan)
    assert not found.wrong + found.not_sampled
    assert found.launches == len(plan.launches)
    assert high_water() - before < GIB


def squared(made: Builder, x: str) -> str:
    """Two arguments are views of one buffer, and see its rows as rows and as columns."""
    return made.add("sigmoid", made.matmul(x, made.permute(x, 1, 0)))


VARIED: dict[str, Callable[[Builder], str]] = {
    "product": lambda made: made.matmul(made.input(130, 37), made.input(37, 200, parameter=True)),
    "product of one input": lambda made: squared(made, made.input(70, 130)),
    "sums of columns": lambda made: made.reduce(made.input(5, 70, 300), "sum", (1,)),
    "maxima of rows": lambda made: made.reduce(made.input(70, 300), "max", (1,)),
    "softmax": lambda made: made.add("softmax", made.input(9, 700), dim=1),
    "map": lambda made: made.add("gelu", made.add("mul", made.input(3, 1500), made.input(3, 1))),
    "scan": lambda made: made.add("scan", made.input(9, 600), kind="sum", dim=1, exclusive=False, reverse=False),
}


def plan_of(name: str) -> Plan:
    made = Builder()
    return planned(made.graph(VARIED[name](made)))


@pytest.mark.parametrize("name", VARIED)
def test_workgroups_write_every_element_once(name: str) -> None:
    for launch in plan_of(name).launches:
        kernel = kernel_of(*launch.key)
        sites = store_sites(kernel)
        shapes = tensor_shapes(kernel, launch.sizes)
        counts = {tensor: np.zeros(shapes[tensor], np.int64) for tensor in launch.writes}
        groups = range(int(np.prod(launch_grid(kernel, launch.sizes))))
        for parts in written(kernel, launch.sizes, sites, groups).values():
            for tensor, coords in parts.items():
                counts[tensor][tuple(coords.T)] += 1
        for count in counts.values():
            assert (count == 1).all()


@pytest.mark.parametrize("name", VARIED)
def test_varied_plans_are_right(name: str) -> None:
    plan = plan_of(name)
    found = at_full_size(plan)
    assert not found.wrong + found.not_sampled
    assert found.launches == len(plan.launches)
    assert found.elements > 0
    assert found.worst <= 1


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 700), st.integers(1, 700), st.integers(0, 100))
def test_corners_of_ragged_edges_are_chosen(m: int, n: int, seed: int) -> None:
    launch = product(130, 200, 37).launches[0]
    kernel, sizes = kernel_of(*launch.key), {**launch.sizes, "M": m, "N": n}
    sites = store_sites(kernel)
    chosen = written(kernel, sizes, sites, workgroups(kernel, sizes, sites, seed))
    parts = [coords["C"] for coords in chosen.values()]
    rows, columns = [p[:, 1].max() for p in parts], [p[:, 2].max() for p in parts]
    ends = {(row == m - 1, column == n - 1) for row, column in zip(rows, columns, strict=True)}
    assert (True, True) in ends
    several_rows, several_columns = min(rows) < m - 1, min(columns) < n - 1
    wanted = {(row, column) for row in {True, not several_rows} for column in {True, not several_columns}}
    assert wanted <= ends


@settings(max_examples=50, deadline=None)
@given(
    st.sampled_from(["structured", "positive", "whole", "near one", "small"]),
    st.integers(0, 9),
    st.integers(0, 1 << 40),
)
def test_an_element_is_what_it_is_whoever_asks(kind: DrawKind, seed: int, start: int) -> None:
    drawn = DrawnBuffer("x", seed, kind, 100)
    places = np.arange(start, start + 500)
    values = drawn.real(places)
    some = np.random.default_rng(seed).permutation(500)[:50]
    assert np.array_equal(drawn.real(places[some].reshape(5, 10)).reshape(-1), values[some])
    assert not np.array_equal(values, DrawnBuffer("y", seed, kind, 100).real(places))
    assert not np.array_equal(values, DrawnBuffer("x", seed + 1, kind, 100).real(places))


def test_structured_numbers_have_offsets_zeros_and_several_maxima() -> None:
    rows = DrawnBuffer("x", 0, "structured", 1000).real(np.arange(64_000)).reshape(64, 1000)
    assert set(np.round(np.median(rows, axis=1) / 4)) == {-1.0, 0.0, 1.0}
    assert 0.05 < (rows == 0).mean() < 0.2
    largest = rows.max(axis=1, keepdims=True)
    assert ((rows == largest).sum(axis=1) > 1).all()
    assert (DrawnBuffer("x", 0, "positive", 1000).real(np.arange(64_000)) > 0).all()


def test_borders_keep_their_number_and_nobody_reads_what_was_not_written() -> None:
    """A 4 x 6 image in a buffer of 6 x 8, and a temporary of which the second half is never written."""
    interior = View("padded", (4, 6), (8, 1), 9)
    half = View("t", (50,), (1,))
    buffers = {
        "x": PlanBuffer("x", "input", "f32", 100),
        "padded": PlanBuffer("padded", "filled", "f32", 48, fill=-1.0),
        "t": PlanBuffer("t", "temporary", "f32", 100),
    }

    def launch(**views: View) -> PlannedLaunch:
        return PlannedLaunch("fused_map", "fused_map", {}, {}, views, {}, ("Y",), ())

    launches = (launch(X=whole("x", (4, 6)), Y=interior), launch(X=whole("x", (50,)), Y=half))
    reads = (launch(X=whole("padded", (6, 8)), Y=half), launch(X=whole("t", (100,)), Y=interior))
    plan = Plan((*launches, *reads), buffers, ("x",), (), {})
    kernel = kernel_of("fused_map", "fused_map", ())
    image = contents_of(plan, 2, "X", kernel, 0, "positive")(np.arange(48)).reshape(6, 8)
    assert (image[1:5, 1:7].astype(float) > 0).all()
    assert (image == -1).sum() == 48 - 24
    values = contents_of(plan, 3, "X", kernel, 0, "positive")(np.arange(100)).astype(float)
    assert np.isnan(values[50:]).all()
    assert np.isfinite(values[:50]).all()


def test_arguments_that_share_a_buffer_have_the_same_contents() -> None:
    views = {name: whole("x", (24,)) for name in "UVWY"} | {"X": whole("x", (4, 6))}
    launch = PlannedLaunch("fused_map", "fused_map", {}, {}, views, {}, (), ())
    plan = Plan((launch,), {"x": PlanBuffer("x", "input", "f32", 24)}, ("x",), (), {})
    kernel = kernel_of("fused_map", "fused_map", ())
    one, other = (contents_of(plan, 0, name, kernel, 0, "structured")(np.arange(24)) for name in "XU")
    assert np.array_equal(one, other)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 4), st.integers(0, 2)), min_size=1, max_size=4), st.integers(0, 5))
def test_places_of_a_view_are_inside_of_it(axes: list[tuple[int, int]], offset: int) -> None:
    """Strides of a view without overlaps: each axis steps over the whole of those after it, and some more."""
    strides: list[int] = []
    step = 1
    for extent, more in reversed(axes):
        strides.insert(0, step)
        step = step * extent + more
    view = View("b", tuple(extent for extent, _ in axes), tuple(strides), offset)
    own = set(places_of(view, np.ix_(*(np.arange(extent) for extent in view.shape))).reshape(-1).tolist())
    places = np.arange(-3, max(own) + 5)
    assert set(places[inside(view, places)].tolist()) == own


@pytest.mark.parametrize(
    ("text", "exact"),
    [
        ("C[m, n] = sum(A[m, k] * B[n, k], k)", True),
        ("C[m, n] = maximum(sum(A[m, k] * B[n, k], k) + B[n, 0], 0)", True),
        ("C[m, n] = sum(A[m, k] * B[n, k], k) * 0.5", False),
        ("C[m, n] = sum(A[m, k] * B[n, k], k) / 3", False),
        ("C[m, n] = A[m, n] + 1", False),
        ("C[m, n] = sum(exp(A[m, k]), k) + n", False),
    ],
)
def test_which_sums_are_exact(text: str, exact: bool) -> None:
    arrays = {"A": np.zeros((4, 4096)), "B": np.zeros((5, 4096))}
    spec = stated(text, {**arrays, "C": np.zeros((4, 5))})
    assert exactly_summed(spec, {name: array.shape for name, array in arrays.items()}, {}, 2) == exact
    long = {"A": (4, 1 << 23), "B": (5, 1 << 23)}
    assert not exactly_summed(spec, long, {}, 2)


def test_scalars_are_compared_as_the_launch_passes_them() -> None:
    assert as_passed(3.14, f32) == float(np.float32(3.14)) != 3.14
    assert as_passed(3.14, f64) == 3.14
    assert as_passed(7, i32) == 7


@pytest.mark.parametrize("factor", [3.14, 0.1, -1e-7])
def test_a_factor_that_f32_does_not_have(factor: float) -> None:
    """One multiplication has a bound of one rounding: no room for that of the factor."""
    made = Builder()
    found = at_full_size(planned(made.graph(made.add("scale", made.input(3, 1500), p=factor))))
    assert not found.wrong + found.not_sampled
    assert 0 < found.worst <= 1
