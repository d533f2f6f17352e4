"""Random kernels: the IR interpreter and the machine running the compiled object agree bit for bit.

pytest tests/compile/test_random_kernels.py -m full        2,000 kernels
"""

from __future__ import annotations

import numpy as np
import pytest

from argus.ir import interp
from tests.compile.harness import EXACT, launch
from tests.compile.random_kernels import RandomKernel


def agree(seed: int) -> None:
    kernel, arrays, n, grid = RandomKernel(seed).build()
    meant = interp.run(kernel, {name: a.copy() for name, a in arrays.items()}, {"N": n})
    launch(kernel, *(arrays[t.name] for t in kernel.tensors), n, grid=grid, checks=EXACT)
    written = kernel.tensors[-1].name
    got, want = arrays[written], meant.arrays[written]
    wide = (lambda x: x) if got.dtype.kind in "iu" else (lambda x: x.astype(np.float64))
    np.testing.assert_array_equal(wide(got), wide(want), err_msg=f"seed {seed}")


@pytest.mark.parametrize("first", range(0, 60, 20))
def test_random_kernels(first: int) -> None:
    for seed in range(first, first + 20):
        agree(seed)


@pytest.mark.full
@pytest.mark.parametrize("first", range(1000, 3000, 100))
def test_many_random_kernels(first: int) -> None:
    for seed in range(first, first + 100):
        agree(seed)
