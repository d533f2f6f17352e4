"""Which launches execute a proof: the smallest sizes, sizes around multiples of tiles, several blocks.

    launches(kernel)     [SmallLaunch({"M": 128, "N": 128, "K": 64}, "normal", 1), …]

What a launch costs is counted from the program (ops of all waves, with turns of loops and the branches that blocks
take), not measured, so the same kernel is executed at the same launches on every machine. One launch is always tried,
unless it alone is too large.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import assert_never

import numpy as np

from argus.check.executed.inputs import KINDS
from argus.check.executed.outcome import SmallLaunch
from argus.check.explain import small_executions
from argus.ir import interp, ops
from argus.ir.kernel import BLOCK_X, BLOCK_Y, BLOCK_Z, Kernel
from argus.ir.ops import Op
from argus.layout import expr as E
from argus.layout.expr import Expr, ExprError

COUNT = 6
STEPS = 7_000
"""Ops of waves that all launches together may execute: below a second of CPU for a GEMM."""
MOST_STEPS = 30_000
"""Ops of waves of the smallest launch, beyond which nothing is executed."""
MOST_ELEMENTS = 1 << 20
POOL = 150
"""Sizes that are looked at."""
CHEAP = 1.25
"""Of launches that cost about as little as the smallest, the one with the largest sizes is chosen, too."""
CHEAP_ELEMENTS = 1 << 17
UNKNOWN_TURNS = 1
"""Turns counted for a loop whose bounds are data: small launches hold little of it."""


def launches(kernel: Kernel) -> list[SmallLaunch]:
    """The launches, cheapest sizes first; none if the smallest is too large."""
    whole = any(t.read and t.dtype.kind in ("int", "uint") for t in kernel.tensors)
    kinds = [kind for kind in KINDS if kind != "whole" or whole]
    sizes = [one for one in shapes(kernel) if _elements(kernel, one) <= MOST_ELEMENTS]
    costs = [steps(kernel, one) for one in sizes]
    if not sizes or costs[0] > MOST_STEPS:
        return []
    found: list[SmallLaunch] = []
    spent = 0
    for n in range(max(COUNT, len(sizes))):
        at = n % len(sizes)
        affordable = [i for i in range(at, -1, -1) if spent + costs[i] <= STEPS]
        if found and not affordable:
            break
        at = affordable[0] if affordable else 0
        found.append(SmallLaunch(sizes[at], kinds[n % len(kinds)], n + 1))
        spent += costs[at]
    return found


def shapes(kernel: Kernel) -> list[dict[str, int]]:
    """Different sizes, cheapest first: large ones that cost little, around multiples of tiles, the smallest, several
    blocks, several turns."""
    pool = small_executions.launches(kernel, 400)[:POOL]
    if not pool:
        return []
    least = min(steps(kernel, one) for one in pool[:3])
    small = [one for one in pool if _elements(kernel, one) <= CHEAP_ELEMENTS]
    cheap = [one for one in small if steps(kernel, one) <= CHEAP * least] or pool[:1]
    several = [*small_executions.varied(kernel), *small_executions.larger(kernel)]
    chosen = [cheap[-1], *_around(kernel, pool), pool[0], *several]
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


@dataclass(frozen=True, slots=True)
class BodyWork:
    """A block of ops: how many are plain, and its loops and branches with their own work."""

    plain: int
    inner: tuple[tuple[ops.For | ops.If, tuple[BodyWork, ...]], ...]


@lru_cache(maxsize=16)
def _work(kernel: Kernel) -> BodyWork:
    return _work_of(kernel.body)


def _work_of(body: list[Op]) -> BodyWork:
    plain, inner = 0, list[tuple[ops.For | ops.If, tuple[BodyWork, ...]]]()
    for op in body:
        plain += 1
        below = tuple(_work_of(block) for block in op.blocks)
        if isinstance(op, ops.For | ops.If):
            inner.append((op, below))
        else:
            plain += sum(work.plain for work in below)
            inner += [one for work in below for one in work.inner]
    return BodyWork(plain, tuple(inner))


def steps(kernel: Kernel, sizes: Mapping[str, int]) -> int:
    """Ops that the waves of a launch execute; of a branch that depends on lanes or data both arms."""
    grid = [int(E.evaluate(g, sizes)) for g in kernel.grid]
    work, total = _work(kernel), 0
    for place in product(*(range(n) for n in grid)):
        block = {v.name: n for v, n in zip((BLOCK_X, BLOCK_Y, BLOCK_Z), place, strict=True)}
        total += kernel.waves * _ops(work, {**sizes, **block, "wave": 0})
    return total


def _ops(work: BodyWork, env: Mapping[str, int]) -> int:
    total = work.plain
    for op, below in work.inner:
        match op:
            case ops.For():
                total += _turns(op, env) * sum(_ops(one, env) for one in below)
            case ops.If():
                taken = _value(op.cond, env)
                arms = below if taken is None else below[:1] if taken else below[1:]
                total += sum(_ops(one, env) for one in arms)
            case _:
                assert_never(op)
    return total


def _turns(op: ops.For, env: Mapping[str, int]) -> int:
    low, high = _value(op.lo, env), _value(op.hi, env)
    return UNKNOWN_TURNS if low is None or high is None else max(0, -(-(high - low) // op.step))


def _value(e: Expr, env: Mapping[str, int]) -> int | None:
    try:
        return int(E.evaluate(e, env))
    except ExprError:
        return None
