"""All dense matrix instructions: compiled, run, compared element by element with an exact product."""

from __future__ import annotations

import numpy as np
import pytest

from argus.compile import CompileError
from argus.gfx942.mfma import ALIASES, mfma
from argus.ir.build import IrBuilder
from argus.ir.types import DTYPES, Value
from tests.compile.harness import NUMPY, WAVE, run

STORED = {"xf32": "f32"}


@pytest.mark.parametrize("alias", sorted(ALIASES))
def test_matrix_instruction(alias: str) -> None:
    row = mfma(alias)
    rng = np.random.default_rng(len(alias))
    a, b = (
        rng.integers(-3, 4, (WAVE, row.a_elements)).astype(NUMPY[STORED.get(kind, kind)]) for kind in (row.a, row.b)
    )
    c = rng.integers(-9, 10, (WAVE, row.d_elements)).astype(NUMPY[row.c])

    def ops(build: IrBuilder, x: Value, y: Value, z: Value) -> Value:
        return build.mfma(alias, x, y, z)

    got = run(ops, a, b, c)
    lane, e = np.meshgrid(np.arange(WAVE), np.arange(row.a_elements), indexing="ij")
    left, right = np.zeros((row.blocks, row.m, row.k)), np.zeros((row.blocks, row.n, row.k))
    i, k, block = row.a_index(lane, e)
    left[block, i, k] = a.astype(np.float64)
    j, k, block = row.b_index(lane, e)
    right[block, j, k] = b.astype(np.float64)
    product = np.einsum("bik,bjk->bij", left, right)
    lane, r = np.meshgrid(np.arange(WAVE), np.arange(row.d_elements), indexing="ij")
    i, j, block = row.d_index(lane, r)
    np.testing.assert_array_equal(got.astype(np.float64), product[block, i, j] + c.astype(np.float64))


def test_an_instruction_the_chip_lacks_names_those_it_has() -> None:
    x = np.zeros((WAVE, 4), NUMPY["bf16"])
    with pytest.raises(CompileError, match=r"C120.*mfma_32x32x8_bf16"):
        run(lambda b, v: b.mfma("mfma_32x32x16_bf16", v, v, b.constant(0.0, DTYPES["f32"], 16)), x)
