"""Which whole numbers an integer tensor may hold: what `ag.as_index` states of its elements, in numbers.

    expert: e = ag.as_index(expert[b].load(ONE, width=4), 0, E - 1)      stated_ranges = [(0, E - 1)]

Tensors nobody states anything about hold small numbers, or any of their type: who draws them decides.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from argus.ir import ops
from argus.ir.kernel import Kernel
from argus.ir.origins import Origins, numbers
from argus.layout.expr import Expr, evaluate

MANY = 100


def whole_numbers(rng: np.random.Generator, shape: tuple[int, ...], between: tuple[int, int]) -> npt.NDArray[np.int64]:
    """Numbers of a range, all as likely; both of its ends are among them where there is room."""
    drawn = rng.integers(*between, shape, endpoint=True)
    ends = between[: drawn.size]
    drawn.reshape(-1)[rng.choice(drawn.size, len(ends), replace=False)] = ends
    return drawn


def legal_range(
    kernel: Kernel, tensor: ops.Tensor, sizes: Mapping[str, int], unstated: tuple[int, int] = (0, MANY - 1)
) -> tuple[int, int]:
    """Least and greatest number an integer input may hold: as indices those the kernel states, else `unstated`."""
    stated = stated_ranges(kernel, tensor, sizes)
    if not stated:
        return unstated
    least, most = numbers(tensor.dtype)
    low, high = max(least, *(low for low, _ in stated)), min(most, *(high for _, high in stated))
    return (low, high) if low <= high else (0, 0)


def stated_ranges(kernel: Kernel, tensor: ops.Tensor, sizes: Mapping[str, int]) -> list[tuple[int, int]]:
    """What the kernel states about elements of a tensor, in numbers."""
    origins = Origins(kernel)
    symbols = [op for op in ops.walk(kernel.body) if isinstance(op, ops.Symbol)]
    return [stated_range(op, sizes) for op in symbols if tensor in origins.tensors(op.value)]


def stated_range(op: ops.Symbol, sizes: Mapping[str, int]) -> tuple[int, int]:
    """What `ag.as_index` states in numbers at these sizes; bounds that depend on anything else are left out."""
    least, most = numbers(op.value.dtype)
    low, high = op.symbol.bounds()
    low, high = least if low is None else low, most if high is None else high
    for fact in op.facts:
        limit = limit_of(op, fact)
        if limit is not None and {v.name for v in limit.free()} <= sizes.keys():
            value = int(evaluate(limit, sizes))
            low, high = (low, min(high, value)) if fact.args[0] is op.symbol else (max(low, value), high)
    return low, high


def limit_of(op: ops.Symbol, fact: Expr) -> Expr | None:
    """The other side of `symbol <= limit` or `limit <= symbol`."""
    sides = [side for side in fact.args if side is not op.symbol]
    return sides[0] if fact.op == "le" and len(fact.args) == len(sides) + 1 else None
