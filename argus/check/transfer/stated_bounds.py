"""What an author states about loaded data (`ag.as_index(x, low, high)`), for every element it is loaded from.

    seq = ag.as_index(Seq[first + 32 * wave + lane % 32].load(...), b, b)      each thread: Seq at its own row is b

Rows first … first + 255 are loaded, so for a row t, whatever it is:

    t < first  or  t > first + 255  or  Seq(t) == b

That is what terms need, which speak of own coordinates. Bounds may move with the row: `lane % 32 - rows` becomes
`t - first - rows` if it moves from thread to thread exactly as the coordinate does. Only vectors (one axis) are looked
at. Statements are obligations of the launch, as everywhere; nothing here is assumed that was not stated.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from argus.check.domain.records import without_constant
from argus.check.terms.atoms import own
from argus.check.transfer.computed_places import DATA
from argus.ir import ops
from argus.ir.kernel import Kernel
from argus.layout import expr as E
from argus.layout.expr import Expr

if TYPE_CHECKING:
    from argus.check.walk import KernelWalk


def everywhere(flow: KernelWalk, op: ops.Symbol, stated_facts: Sequence[Expr]) -> list[Expr]:
    """The statements `said` about a symbol, for each element of the vector that the threads have loaded."""
    held = flow.threads.symbols[op.symbol][flow.active]
    first = held[0]
    tensor = next((t for t in flow.kernel.tensors if first.op == "apply" and first.name == DATA + t.name), None)
    if tensor is None or len(tensor.axes) != 1 or any(e.op != "apply" or e.name != first.name for e in held):
        return []
    fixed = _fixed(op, first)
    if all(e is first for e in held):
        return fixed
    parts = [without_constant(e.args[0]) for e in held]
    offsets = sorted({constant for constant, _ in parts})
    if any(rest is not parts[0][1] for _, rest in parts) or offsets[-1] - offsets[0] + 1 != len(offsets):
        return []
    start, here = parts[0][1], own(flow.tables.tensor_axes[tensor][0])
    coordinate = np.array([constant for constant, _ in parts], dtype=np.int64)
    element = E.apply(first.name, here, lo=op.symbol.lo, hi=op.symbol.hi)
    elsewhere = here.lt(start + offsets[0]), here.gt(start + offsets[-1])
    found = []
    for fact in stated_facts:
        general = _moved(flow, fact, coordinate, here - start, {op.symbol: element})
        if general is not None:
            found.append(E.lor(*elsewhere, general))
    return found


def used(kernel: Kernel) -> frozenset[Expr]:
    """Variables of all index expressions but what is said about each symbol itself."""
    found: set[Expr] = set()
    for op in ops.walk(kernel.body):
        free = frozenset[Expr]().union(*(e.free() for e in op.mentioned))
        found |= free - {op.symbol} if isinstance(op, ops.Symbol) else free
    return frozenset(found)


def meant(flow: KernelWalk, op: ops.Symbol) -> list[Expr]:
    """The symbol is the element it stands for, where that is the same in all threads."""
    held = flow.threads.symbols[op.symbol]
    return [op.symbol.eq(held.flat[0])] if all(e is held.flat[0] for e in held.flat) else []


def _fixed(op: ops.Symbol, element: Expr) -> list[Expr]:
    """A single number, said of the element itself: bounds of an expression are lost where it is written anew."""
    if op.symbol.lo is None or op.symbol.lo != op.symbol.hi:
        return []
    return [E.apply(element.name, *element.args).eq(op.symbol.lo)]


def _moved(
    flow: KernelWalk, e: Expr, coordinate: NDArray[np.int64], along: Expr, symbols: dict[Expr, Expr | int]
) -> Expr | None:
    """`e` with what moves from thread to thread as the coordinate does written as a function of it."""
    if e in symbols:
        return E.as_expr(symbols[e])
    if not symbols.keys() & e.free():
        spread = flow.threads.spread(e)
        if spread.rest is not None and not e.boolean:
            offsets = spread.offsets[flow.active]
            if bool((offsets == offsets[0]).all()):
                return spread.rest + int(offsets[0])
            left = offsets - coordinate
            if bool((left == left[0]).all()):
                return along + spread.rest + int(left[0])
    if not e.args:
        return None
    args = [_moved(flow, arg, coordinate, along, symbols) for arg in e.args]
    return E.rebuild(e, tuple(a for a in args if a is not None)) if None not in args else None
