"""Arguments that are only read may be views of one tensor: one memory to launcher, machine, judge and clock."""

from __future__ import annotations

import numpy as np
import pytest

from argus import machine
from argus.agent.judge import Problem
from argus.agent.judge.court import Court
from argus.agent.judge.data import inputs, poisoned
from argus.clock.sampled import Work, sample, time_observed
from argus.clock.staged import Operand, OperandView, Staged, tensor_bytes
from argus.compile.cache import compile_cached
from argus.device.guards import LaunchRefused, launch_grid
from argus.device.launch import scalar_values
from argus.device.simulated import CheckingDevice, JitDevice
from argus.ir.passes.schedule import scheduled
from argus.lang import read
from argus.machine.errors import LaunchError
from argus.machine.record import GLOBAL
from argus.tasks.inputs import make_arrays
from argus.tasks.work import work_of

HEAD = """
import argus as ag
from argus import f32

PART = ag.Owner(t=256, i="t")
ONE = ag.Owner(t=256, z="t*0")
"""
THREE = (
    HEAD
    + """
@ag.kernel(threads=256, requires="N >= 1", computes="y[i] = a[i] + 2 * b[i] + 4 * c[i]", example=dict(N=1000))
def three(a: ag.In["N", f32], b: ag.In["N", f32], c: ag.In["N", f32], y: ag.Out["N", f32]):
    at = 256 * ag.grid(ag.cdiv(N, 256))
    y[at].store(a[at].load(PART, width=4) + 2.0 * b[at].load(PART, width=4) + 4.0 * c[at].load(PART, width=4), width=4)
"""
)
WINDOW = (
    HEAD
    + """
@ag.kernel(threads=256, requires="N >= 1", computes="y[i] = x[i, 0] + 2 * x[i, 1] + 4 * x[i, 2]",
           example=dict(N=1000, step=2))
def window(x: ag.In["N r=3", f32, "step 1"], y: ag.Out["N", f32]):
    at = 256 * ag.grid(ag.cdiv(N, 256))
    inside = at + ag.thread() < N
    taps = [x[at + ag.thread(), r].load(ONE, width=4, guard=inside) for r in range(3)]
    y[at].store((taps[0] + 2.0 * taps[1] + 4.0 * taps[2]).held_as(PART), width=4)
"""
)
DEVICES = [CheckingDevice, JitDevice]
N = 1000


@pytest.mark.parametrize("device", DEVICES)
def test_read_only_views_of_one_array(device: type[CheckingDevice] | type[JitDevice]) -> None:
    program = scheduled(read(THREE))
    x = np.random.default_rng(0).standard_normal(N + 2).astype(np.float32)
    arrays = {"a": x[:N], "b": x[1 : N + 1], "c": x[2:], "y": np.zeros(N, np.float32)}
    outcome = device().launch(program.kernel, compile_cached(program).object, {"N": N}, arrays)
    assert not outcome.reports
    np.testing.assert_allclose(arrays["y"], x[:N] + 2 * x[1 : N + 1] + 4 * x[2:], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("device", DEVICES)
def test_an_input_whose_elements_overlap(device: type[CheckingDevice] | type[JitDevice]) -> None:
    program = scheduled(read(WINDOW))
    sizes = {"N": N, "step": 2}
    arrays = make_arrays(program.kernel, sizes, 0)
    x = arrays["x"].astype(np.float64)
    assert np.shares_memory(arrays["x"][0, 2:], arrays["x"][1, :1])
    outcome = device().launch(program.kernel, compile_cached(program).object, sizes, arrays)
    assert not outcome.reports
    np.testing.assert_allclose(arrays["y"], x @ [1, 2, 4], rtol=1e-5, atol=1e-5)


def test_a_written_argument_that_overlaps_is_refused() -> None:
    program = scheduled(read(THREE))
    x = np.zeros(N + 2, np.float32)
    for out in (x[:N], x[2:], x[1 : N + 1]):
        arrays = {"a": x[:N], "b": np.zeros(N, np.float32), "c": x[2:], "y": out}
        with pytest.raises(LaunchRefused, match="output y overlaps"):
            JitDevice().launch(program.kernel, compile_cached(program).object, {"N": N}, arrays)


def test_the_machine_shares_what_nobody_may_write_and_refuses_the_rest() -> None:
    program = scheduled(read(THREE))
    kernel = machine.load(compile_cached(program).object).kernel("three")
    x, y = np.arange(N + 2, dtype=np.float32), np.zeros(N, np.float32)
    values = scalar_values(program.kernel, {"N": N}, {})
    grid = launch_grid(program.kernel, {"N": N})
    with pytest.raises(LaunchError, match="argument b partly overlaps"):
        kernel(grid, 256, x[:N], x[1 : N + 1], np.zeros(N, np.float32), y, *values)
    written = x[:N]
    x.flags.writeable = False
    kernel(grid, 256, x[2:], x[:N], x[1 : N + 1], y, *values)  # in any order, and none before the first
    np.testing.assert_array_equal(y, x[2:] + 2 * x[:N] + 4 * x[1 : N + 1])
    with pytest.raises(LaunchError, match="argument y partly overlaps"):
        kernel(grid, 256, x[:N], x[1 : N + 1], x[2:], written, *values)
    square = np.zeros((4, 4), np.float32)
    with pytest.raises(LaunchError, match="partly overlaps"):
        kernel(1, 256, square, square.T, x[2:], y, *values)


def test_memory_that_is_shared_is_counted_once() -> None:
    x = np.zeros(N + 2, np.float32)
    y = np.zeros(N, np.float32)
    assert tensor_bytes([x[:N], x[1 : N + 1], x[2:], y, np.int32(3)]) == x.nbytes + y.nbytes
    assert tensor_bytes([x, x]) == x.nbytes
    operand = Operand((N + 2,), np.float32)
    views = [OperandView(operand, 4 * k) for k in range(3)]
    assert tensor_bytes([*views, Operand((N,), np.float32, blank=True)]) == x.nbytes + y.nbytes


def test_views_of_an_operand_are_read_where_they_start() -> None:
    program = scheduled(read(THREE))
    kernel = machine.load(compile_cached(program).object).kernel("three")
    x = np.random.default_rng(0).standard_normal(N + 2).astype(np.float32)
    values = scalar_values(program.kernel, {"N": N}, {})
    operand = Operand((N + 2,), np.float32)
    for three in ([x[:N], x[1 : N + 1], x[2:]], [OperandView(operand, 4 * k) for k in range(3)]):
        args = [*three, np.zeros(N, np.float32), *values]
        record = Staged(kernel, launch_grid(program.kernel, {"N": N}), 256, args).run([0], "jit").record
        assert record is not None
        wave = record.waves[0, 0]
        a, b, c = sorted(wave.addr[wave.space == GLOBAL, 0].tolist()[:3])
        assert (b - a, c - b) == (4, 4)


def test_the_clock_counts_bytes_once_and_times_less() -> None:
    program = scheduled(read(THREE))
    code = compile_cached(program).object
    size = 1 << 26
    apart = work_of(program.kernel, code, {"N": size}, 0)
    operand = Operand((size + 2,), np.float32)
    shared = Work(
        apart.name, apart.kernel, apart.grid, apart.block,
        [OperandView(operand, 0), OperandView(operand, 4), OperandView(operand, 8), *apart.args[3:]],
    )  # fmt: skip
    assert apart.moved == 4 * 4 * size
    assert shared.moved == 2 * 4 * size + 8
    times = [time_observed(work, sample(work))[1].microseconds for work in (apart, shared)]
    assert 1.5 < times[0] / times[1] < 2.2


def test_the_clock_counts_overlapping_elements_once() -> None:
    program = scheduled(read(WINDOW))
    work = work_of(program.kernel, compile_cached(program).object, {"N": N, "step": 1}, 0)
    assert work.moved == 4 * (N + 2) + 4 * N


def test_the_judge_draws_memory_and_sees_it_with_strides() -> None:
    kernel = read(WINDOW)
    x = inputs(kernel, {"N": 40, "step": 2}, "normal", 1)["x"]
    assert np.array_equal(x[1:, 0], x[:-1, 2])
    assert poisoned(kernel, {"N": 40, "step": 2})["y"].shape == (40,)


def test_the_judge_accepts_a_strided_kernel_and_fails_a_wrong_tap() -> None:
    problem = Problem(
        "window", WINDOW, small=({"N": 300, "step": 2}, {"N": 257, "step": 5}), shapes=({"N": 5000, "step": 3},)
    )
    court = Court(problem)
    assert court.judge(WINDOW, 1).verdict == "pass"
    wrong = court.judge(WINDOW.replace("4.0 * taps[2]", "4.0 * taps[1]"), 1)
    assert wrong.verdict == "fail"
