"""`argus bench moe --right`: sampled workgroups of a layer's products at the benchmark's sizes against float64.

name, elements, share = written(0, 4096, plan, sample=4)      share of the bound: at most 1
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from argus import machine
from argus.bench.moe import BF16, FP8, stages
from argus.device.guards import launch_grid, tensor_shapes
from argus.device.launch import scalar_values
from argus.ops.launch import prepared
from argus.ops.moe import LayerPlan
from argus.ops.moe_reference import ROUND, UNIT, activated, product

SAMPLE = 4


def written(number: int, tokens: int, plan: LayerPlan, sample: int) -> tuple[str, int, float]:
    """Runs `sample` workgroups of a product on random operands; elements written, and the worst share of its bound."""
    name, choice, sizes, known = list(stages(tokens, plan))[number]
    ready = prepared(choice)
    dice = np.random.default_rng(tokens)
    arrays: dict[str, Any] = {}
    for tensor in ready.kernel.tensors:
        shape = tensor_shapes(ready.kernel, sizes)[tensor.name]
        if tensor.name in known:
            arrays[tensor.name] = known[tensor.name]
        elif not tensor.read:
            arrays[tensor.name] = np.full(shape, np.nan, BF16)
        elif tensor.dtype.name == "fp8":
            drawn = np.tile(dice.integers(-60, 60, 1 << 20, np.int8), -(-math.prod(shape) >> 20))
            arrays[tensor.name] = (drawn[: math.prod(shape)].view(np.uint8) & np.uint8(0xBF)).view(FP8).reshape(shape)
            arrays[tensor.name].view(np.uint8)[arrays[tensor.name].view(np.uint8) == 0x80] = 0
        else:
            arrays[tensor.name] = dice.uniform(0.5, 2.0, shape).astype(np.float32) / 64
    grid = launch_grid(ready.kernel, sizes)
    chosen = sorted(dice.choice(math.prod(grid), sample, replace=False).tolist())
    values = [*(arrays[t.name] for t in ready.kernel.tensors), *scalar_values(ready.kernel, sizes, {})]
    code = machine.load(ready.code).kernel(ready.kernel.name)
    code(grid, ready.kernel.threads, *values, executor="jit", workgroups=chosen)
    got = arrays["H" if number == 0 else "Y"].astype(np.float32)
    row_blocks = np.flatnonzero(~np.isnan(got).all(axis=1)[:: plan.block])
    count, worst = 0, 0.0
    for block in row_blocks.tolist():
        rows = slice(block * plan.block, (block + 1) * plan.block)
        columns = np.flatnonzero(~np.isnan(got[rows][0]))
        want, bound = expected(number, arrays, rows, columns, int(arrays["expert"][block]))
        count += want.size
        worst = max(worst, float((np.abs(got[rows][:, columns] - want) / bound).max()))
    return name, count, worst


def expected(number: int, arrays: Mapping[str, Any], rows: slice, columns: Any, expert: int) -> tuple[Any, Any]:
    """float64 values of a block's rows and some columns, and their bound."""

    def weights(which: tuple[int, ...]) -> Any:
        stored = arrays["W"][which][np.unique(columns // 32)].astype(np.float64)
        plain = stored.swapaxes(-3, -2).reshape(len(stored) * 32, -1)
        scales = arrays["sw"][which][np.unique(columns // 32) * 32 // 128].astype(np.float64)
        return plain * np.repeat(np.repeat(scales, 32, axis=0), 128, axis=1)

    if number == 0:
        token = arrays["token"][rows]
        x = np.zeros((len(token), arrays["X"].shape[1]))
        real = token < len(arrays["X"])
        x[real] = arrays["X"][token[real]].astype(np.float64) * np.repeat(arrays["sx"][token[real]], 128, axis=1)
        gate, gate_error = product(x, weights((expert, 0)))
        up, up_error = product(x, weights((expert, 1)))
        want = activated(gate, up)
        off = 1.1 * gate_error * np.abs(up) + np.abs(activated(gate, np.ones_like(up))) * up_error
        return want, off + gate_error * up_error + (ROUND + 16 * UNIT) * np.abs(want) + np.finfo(np.float32).tiny
    q = arrays["Q"][rows].astype(np.float64) * np.repeat(arrays["sq"][rows], 128, axis=1)
    want, error = product(q, weights((expert,)))
    return want, error + ROUND * np.abs(want) + np.finfo(np.float32).tiny
