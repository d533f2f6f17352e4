"""The least time of a launch counts what must be moved and multiplied, and nothing else."""

from __future__ import annotations

import pytest

from argus.agent.judge.floor import least_microseconds, looked_up, multiplications
from argus.tasks.task import load_task


def test_products_of_a_matrix_product() -> None:
    task = load_task("gemm")
    assert task.kernel.computes is not None
    (spec,) = task.kernel.computes.results
    sizes = {"M": 4096, "N": 4096, "K": 4096}
    assert multiplications(task.kernel, sizes, spec) == 4096**3
    assert least_microseconds(task.kernel, sizes, spec) == pytest.approx(2 * 4096**3 / 1307.4e6, rel=1e-3)


@pytest.mark.parametrize("name", ["softmax", "layernorm"])
def test_row_kernels_only_move_data(name: str) -> None:
    task = load_task(name)
    assert task.kernel.computes is not None
    spec = task.kernel.computes.results[0]
    sizes = dict(task.shapes[0])
    assert multiplications(task.kernel, sizes, spec) == 0
    moved = 2 * 2 * sizes["M"] * sizes["N"]
    assert least_microseconds(task.kernel, sizes, spec) == pytest.approx(moved / 5324.8e3, rel=0.02)


def test_what_data_chooses_is_not_certain() -> None:
    task = load_task("examples/agent/uncovered/slot_decode.py")
    assert task.kernel.computes is not None
    spec = task.kernel.computes.results[0]
    sizes = dict(task.shapes[0])
    assert looked_up(spec) == {"K", "V"}
    assert least_microseconds(task.kernel, sizes, spec, certain=True) < 3 < least_microseconds(task.kernel, sizes, spec)


def test_a_product_that_is_written_twice_counts_once_and_a_masked_one_half() -> None:
    task = load_task("attention")
    assert task.kernel.computes is not None
    sizes = {"Z": 2, "G": 3, "Sq": 64, "Sk": 128}
    assert multiplications(task.kernel, sizes, task.kernel.computes.results[0]) == 2 * 3 * 64 * 128 * 128 // 2
