"""Random kernels: the IR interpreter and both executors of the machine, running the object, agree bit for bit.

pytest tests/compile/test_random_kernels.py -m full        2,000 kernels
"""

from __future__ import annotations

import numpy as np
import pytest

from argus import machine
from argus.compile import compile_kernel
from argus.ir import interp
from argus.ir.passes.schedule import scheduled
from argus.machine.launch import Executor
from tests.compile.harness import EXACT
from tests.compile.random_kernels import RandomKernel

TRANSLATED = 4
"""In the short suite every fourth kernel runs on the JIT too; translation takes most of its time."""


def agree(seed: int, translated: bool) -> None:
    kernel, arrays, n, grid = RandomKernel(seed).build()
    written = kernel.tensors[-1].name
    meant = interp.run(kernel, {name: a.copy() for name, a in arrays.items()}, {"N": n}).arrays[written]
    code = machine.load(compile_kernel(scheduled(kernel)).object).kernel(kernel.name)
    checked = machine.Options(checks=EXACT, max_steps=2_000_000)
    runs: list[tuple[Executor, machine.Options]] = [("checking", checked)]
    if translated:
        runs.append(("jit", machine.Options(checks=())))
    for executor, options in runs:
        own = {name: a.copy() for name, a in arrays.items()}
        values = (own[t.name] for t in kernel.tensors)
        result = code(grid, (kernel.threads, 1, 1), *values, n, executor=executor, options=options)
        assert not result.reports, result.reports[0]
        got, want = own[written], meant
        wide = (lambda x: x) if got.dtype.kind in "iu" else (lambda x: x.astype(np.float64))
        np.testing.assert_array_equal(wide(got), wide(want), err_msg=f"seed {seed}, {executor}")


@pytest.mark.parametrize("first", range(0, 60, 20))
def test_random_kernels(first: int) -> None:
    for seed in range(first, first + 20):
        agree(seed, translated=seed % TRANSLATED == 0)


@pytest.mark.full
@pytest.mark.parametrize("first", range(1000, 3000, 100))
def test_many_random_kernels(first: int) -> None:
    for seed in range(first, first + 100):
        agree(seed, translated=True)
