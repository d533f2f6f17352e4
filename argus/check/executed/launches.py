"""Which launches execute a proof: the smallest sizes, sizes around multiples of tiles, several blocks.

    launches(kernel)     [Launch({"M": 128, "N": 128, "K": 64}, "normal", 1), …]

What a launch costs is counted from the program (ops × waves × turns of loops × blocks), not measured, so the same
kernel is executed at the same launches on every machine. One launch is always tried, unless it alone is too large.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from argus.check.executed.inputs import KINDS
from argus.check.executed.outcome import Launch
from argus.check.explain import small_executions
from argus.ir import interp, ops
from argus.ir.kernel import BLOCK_X, BLOCK_Y, BLOCK_Z, Kernel
from argus.ir.ops import Op
from argus.layout import expr as E
from argus.layout.expr import Expr, ExprError

COUNT = 6
STEPS = 9_000
"""Ops of waves that all launches together may execute: below a second of CPU for a GEMM."""
MOST_STEPS = 60_000
"""Ops of waves of the smallest launch, beyond which nothing is executed."""
MOST_ELEMENTS = 1 << 20
CHEAP = 1.25
"""Of launches that cost about as little as the smallest, the one with the largest sizes is chosen, too."""
TURNS = 4
"""Turns counted for a loop whose bounds are data."""


def launches(kernel: Kernel) -> list[Launch]:
    """The launches, cheapest sizes first; none if the smallest is too large."""
    whole = any(t.read and t.dtype.kind in ("int", "uint") for t in kernel.tensors)
    kinds = [kind for kind in KINDS if kind != "whole" or whole]
    sizes = [one for one in shapes(kernel) if _elements(kernel, one) <= MOST_ELEMENTS]
    costs = [steps(kernel, one) for one in sizes]
    if not sizes or costs[0] > MOST_STEPS:
        return []
    found: list[Launch] = []
    spent = 0
    for n in range(max(COUNT, len(sizes))):
        at = n % len(sizes)
        affordable = [i for i in range(at, -1, -1) if spent + costs[i] <= STEPS]
        if found and not affordable:
            break
        at = affordable[0] if affordable else 0
        found.append(Launch(sizes[at], kinds[n % len(kinds)], n + 1))
        spent += costs[at]
    return found


def shapes(kernel: Kernel) -> list[dict[str, int]]:
    """Different sizes, cheapest first: the smallest, those around multiples of tiles, several blocks, several turns."""
    pool = small_executions.launches(kernel, 400)
    if not pool:
        return []
    cheap = [one for one in pool if steps(kernel, one) <= CHEAP * steps(kernel, pool[0])]
    chosen = [
        pool[0],
        cheap[-1],
        *_around(kernel, pool),
        *small_executions.varied(kernel),
        *small_executions.larger(kernel),
    ]
    different = {tuple(sorted(one.items())): one for one in chosen}
    return sorted(different.values(), key=lambda one: steps(kernel, one))


def _around(kernel: Kernel, pool: list[dict[str, int]]) -> list[dict[str, int]]:
    """For each size that need not be a multiple of its tile, the smallest launch with one less and with one more."""
    found = []
    for symbol in kernel.shapes:
        unit = small_executions.largest_unit(kernel, symbol)
        for left in (unit - 1, 1) if unit > 1 else ():
            found += [one for one in pool if one[symbol.name] % unit == left and one[symbol.name] >= left][:1]
    return found


def _elements(kernel: Kernel, sizes: Mapping[str, int]) -> int:
    return sum(int(np.prod(interp.extents(t, sizes))) for t in kernel.tensors)


def steps(kernel: Kernel, sizes: Mapping[str, int]) -> int:
    """Ops that the waves of a launch execute, with every branch taken."""
    grid = [int(E.evaluate(g, sizes)) for g in kernel.grid]
    last = {v.name: n - 1 for v, n in zip((BLOCK_X, BLOCK_Y, BLOCK_Z), grid, strict=True)}
    return int(np.prod(grid)) * kernel.waves * _ops(kernel.body, {**sizes, **last})


def _ops(body: list[Op], env: Mapping[str, int]) -> int:
    total = 0
    for op in body:
        turns = 1
        if isinstance(op, ops.For):
            turns = _turns(op, env)
        total += 1 + turns * sum(_ops(block, env) for block in op.blocks)
    return total


def _turns(op: ops.For, env: Mapping[str, int]) -> int:
    try:
        low, high = (_number(e, env) for e in (op.lo, op.hi))
    except ExprError:
        return TURNS
    return max(0, -(-(high - low) // op.step))


def _number(e: Expr, env: Mapping[str, int]) -> int:
    return int(E.evaluate(e, {"wave": 0, **env}))
