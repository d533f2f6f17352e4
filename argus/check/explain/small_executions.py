"""Small executions, tried one after another, where a solver gives no counterexample.

Sizes come from a short list of small and awkward numbers (1, 2, 3, 5, 8, ... and what divisors in requirements and loop
bounds suggest), kept if the kernel allows them, smallest first; blocks are the corners of the grid; loop counters are
0 to 3.

    for execution in executions(kernel, place): ...         every one satisfies the facts of the place

`interference` is the dynamic test of where an output element's value comes from: it changes one row of an input and
looks which outputs change. Both only ever *find* wrong executions; that nothing is found proves nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import product

import numpy as np

from argus.check.events import ProgramPoint
from argus.check.executed.inputs import places
from argus.check.explain.search_budget import may_search
from argus.check.explain.witness import BLOCK, MAX_BLOCKS, Execution, allocatable, inputs, is_index
from argus.check.solve.limits import spend
from argus.ir import interp, ops
from argus.ir.kernel import Kernel
from argus.ir.ops import Tensor
from argus.layout import expr as E
from argus.layout.expr import Expr, ExprError

SMALL = (1, 2, 3, 5, 8)
MAX_SIZES = 60
MAX_COUNTER = 4
MAX_CHOICES = 14
MAX_COMBINATIONS = 20000
MANY_BLOCKS = 64
"""Blocks of a launch of kernels whose smallest launch has more than `MAX_BLOCKS`."""
LARGE = 4096
"""A size that cannot be larger is tried at its largest."""


def launches(kernel: Kernel, limit: int = MAX_SIZES) -> list[dict[str, int]]:
    """Small sizes the kernel allows, with a grid that is not empty and not large; none when no search is paid for."""
    if not may_search():
        return []
    return _launches(kernel, limit, MAX_BLOCKS) or _launches(kernel, limit, MANY_BLOCKS)


@lru_cache(maxsize=16)
def _launches(kernel: Kernel, limit: int, blocks: int) -> list[dict[str, int]]:
    given = _given(kernel)
    free = [symbol for symbol in kernel.shapes if symbol not in given]
    choices = fewer([_choices(kernel, symbol) for symbol in free])
    found: list[dict[str, int]] = []
    for values in sorted(_complete(kernel, given, free, choices), key=lambda v: (sum(v), v)):
        sizes = {symbol.name: n for symbol, n in zip(kernel.shapes, values, strict=True)}
        if _allowed(kernel, sizes, blocks):
            found.append(sizes)
            if len(found) >= limit:
                break
    return found


def fewer(choices: list[list[int]]) -> list[list[int]]:
    """At most `MAX_COMBINATIONS`: all lists shortened to two values, then those of the last sizes (strides) to one."""
    while math.prod(map(len, choices)) > MAX_COMBINATIONS and max(map(len, choices)) > 2:
        choices = [c if len(c) <= 2 else c[:-1] for c in choices]
    for at in reversed(range(len(choices))):
        if math.prod(map(len, choices)) > MAX_COMBINATIONS:
            choices[at] = choices[at][:1]
    return choices


def _given(kernel: Kernel) -> dict[Expr, Expr]:
    """Sizes that an equation among the requirements gives, as expressions of others: P of `P == R // 64`."""
    given: dict[Expr, Expr] = {}
    for r in kernel.requires:
        if r.op != "eq":
            continue
        factors, constant = E.linear(r.args[0] - r.args[1])
        for symbol in kernel.shapes:
            factor = factors.get(symbol)
            if factor not in (1, -1) or symbol in given:
                continue
            others = sum((c * v for v, c in factors.items() if v is not symbol), E.const(constant))
            value = E.as_expr(-factor * others).subst(dict(given))
            if symbol not in value.free():
                given = {s: e.subst({symbol: value}) for s, e in given.items()} | {symbol: value}
                break
    return given


def _complete(
    kernel: Kernel, given: Mapping[Expr, Expr], free: list[Expr], choices: list[list[int]]
) -> Iterator[tuple[int, ...]]:
    """Values of all sizes."""
    for values in product(*choices):
        env = {symbol.name: n for symbol, n in zip(free, values, strict=True)}
        yield tuple(int(E.evaluate(given[s], env)) if s in given else env[s.name] for s in kernel.shapes)


def varied(kernel: Kernel) -> list[dict[str, int]]:
    """The smallest launch, and the smallest with several blocks in each direction, and in two at once."""
    found = launches(kernel, 400)
    grids = [tuple(int(E.evaluate(g, sizes)) for g in kernel.grid) for sizes in found]
    wishes = ((1, 1, 1), (2, 1, 1), (1, 2, 1), (2, 2, 1), (1, 1, 2))
    chosen = []
    for wish in wishes:
        fitting = [
            s for s, grid in zip(found, grids, strict=True) if all(n >= w for n, w in zip(grid, wish, strict=True))
        ]
        chosen += [sizes for sizes in fitting[:1] if sizes not in chosen]
    return chosen


def ragged(kernel: Kernel) -> list[dict[str, int]]:
    """For each size that need not be a multiple of what divides it, the smallest launch where most is left over."""
    found, given = launches(kernel, 400), _given(kernel)
    chosen: list[dict[str, int]] = []
    for symbol in kernel.shapes:
        unit = largest_unit(kernel, symbol)
        left = [sizes[symbol.name] % unit for sizes in found]
        if symbol not in given and any(left):
            sizes = found[left.index(max(left))]
            chosen += [sizes] if sizes not in chosen else []
    return chosen


def beyond(kernel: Kernel) -> list[dict[str, int]]:
    """For each size, the smallest launch with more than one tile of it and something left over."""
    found, given = launches(kernel, 400), _given(kernel)
    chosen: list[dict[str, int]] = []
    for symbol in kernel.shapes:
        unit = largest_unit(kernel, symbol)
        several = [s for s in found if s[symbol.name] > unit and s[symbol.name] % unit]
        if symbol not in given and several and several[0] not in chosen:
            chosen.append(several[0])
    return chosen


def longest(kernel: Kernel) -> list[dict[str, int]]:
    """For each size that bounds a loop, the smallest launch in which the loop runs longest."""
    found = launches(kernel, 400)
    bounds = [e for op in ops.walk(kernel.body) if op.control is ops.Control.LOOP for e in op.expressions]
    chosen: list[dict[str, int]] = []
    for symbol in kernel.shapes:
        if found and any(symbol in bound.free() for bound in bounds):
            most = max(sizes[symbol.name] for sizes in found)
            sizes = next(sizes for sizes in found if sizes[symbol.name] == most)
            chosen += [sizes] if sizes not in chosen else []
    return chosen


def larger(kernel: Kernel) -> list[dict[str, int]]:
    """The launch with every size at its second smallest value, if the kernel allows it."""
    if not may_search():
        return []
    given = _given(kernel)
    free = [symbol for symbol in kernel.shapes if symbol not in given]
    choices = [_choices(kernel, symbol)[:2][-1:] for symbol in free]
    found = [
        dict(zip((s.name for s in kernel.shapes), v, strict=True)) for v in _complete(kernel, given, free, choices)
    ]
    return [sizes for sizes in found if _allowed(kernel, sizes, MAX_BLOCKS)]


def whole_tiles(kernel: Kernel) -> list[dict[str, int]]:
    """Launches with one whole tile of every size, and with almost two, where the kernel allows them: no guard switches
    a lane off. Strides have no gaps. A size that nothing counts is as long as a tile of the result's last axis."""
    if not may_search():
        return []
    given = _given(kernel)
    free = [symbol for symbol in kernel.shapes if symbol not in given]
    choices = {symbol: _choices(kernel, symbol) for symbol in free}
    if not all(choices.values()):
        return []
    counted = {v for e in (*kernel.grid, *_loop_bounds(kernel), *kernel.requires) for v in e.free()}
    width = max((_tile(kernel, t.shape[-1]) for t in kernel.tensors if t.written and t.shape), default=1)
    found = []
    for tiles in (1, 2):
        wanted = {}
        for symbol, values in choices.items():
            unit = largest_unit(kernel, symbol) if symbol in counted else width
            least = tiles * unit - (tiles - 1)
            wanted[symbol] = next((v for v in values if v >= least), max(values[-1], min(least, symbol.hi or least)))
        found.append(_without_gaps(kernel, given, wanted))
    return [sizes for sizes in found if _allowed(kernel, sizes, MAX_BLOCKS)]


def _without_gaps(kernel: Kernel, given: Mapping[Expr, Expr], wanted: dict[Expr, int]) -> dict[str, int]:
    """All sizes, with strides that follow from them; strides may be sizes of other tensors."""
    for _ in range(2):
        values = next(_complete(kernel, given, list(wanted), [[value] for value in wanted.values()]))
        sizes = {symbol.name: value for symbol, value in zip(kernel.shapes, values, strict=True)}
        wanted |= {symbol: value for symbol, value in _dense_strides(kernel, sizes).items() if symbol in wanted}
    return sizes


def _dense_strides(kernel: Kernel, sizes: Mapping[str, int]) -> dict[Expr, int]:
    """Values of sizes that are strides, with which tensors have no gaps."""
    found: dict[Expr, int] = {}
    for tensor in kernel.tensors:
        step = 1
        for extent, stride in zip(reversed(tensor.shape), reversed(tensor.strides), strict=True):
            if stride in kernel.shapes:
                found[stride] = max(step, found.get(stride, 0))
            step = (found[stride] if stride in found else int(E.evaluate(stride, sizes))) * int(
                E.evaluate(extent, sizes)
            )
    return found


def stated(kernel: Kernel) -> list[dict[str, int]]:
    """The author's example: strides among the sizes are there far enough apart to tell elements of a view apart."""
    sizes = dict(kernel.example)
    complete = may_search() and all(symbol.name in sizes for symbol in kernel.shapes)
    return [sizes] if complete and _allowed(kernel, sizes, MANY_BLOCKS) else []


def _tile(kernel: Kernel, extent: Expr) -> int:
    return max((largest_unit(kernel, symbol) for symbol in extent.free()), default=1)


def _loop_bounds(kernel: Kernel) -> list[Expr]:
    return [e for op in ops.walk(kernel.body) if isinstance(op, ops.For) for e in (op.lo, op.hi)]


def largest_unit(kernel: Kernel, symbol: Expr) -> int:
    """The largest number that divides this size somewhere: its tile."""
    return max(_units(kernel, symbol))


def _units(kernel: Kernel, symbol: Expr) -> set[int]:
    """Constants that divide this symbol (or one tied to it by an equation) in requirements, grid and loop bounds."""
    equal = {v for r in kernel.requires if r.op == "eq" and symbol in r.free() for v in r.free()} | {symbol}
    units = {1}
    for e in (*kernel.requires, *kernel.grid, *_loop_bounds(kernel)):
        for node in E.postorder(e):
            if node.op in ("mod", "floordiv") and node.args[1].op == "const" and equal & node.args[0].free():
                units.add(abs(node.args[1].value))
    return units


def _choices(kernel: Kernel, symbol: Expr) -> list[int]:
    """Small numbers, and multiples of its units; only those that the requirements about this symbol alone allow."""
    units = _units(kernel, symbol)
    largest = max(units)
    low = max(1, symbol.lo if symbol.lo is not None else 0)
    values = {u * (n + (low - 1) // u) for u in units for n in (1, 2, 3)} | {low - 1 + n for n in SMALL}
    values |= {v + low // largest * largest for v in (largest + 1, largest + 8, largest - 1)}
    if symbol.hi is not None and symbol.hi <= LARGE:
        values.add(symbol.hi // largest * largest)
    own = [r for r in kernel.requires if r.free() == frozenset((symbol,))]
    allowed = (v for v in values if v >= low and (symbol.hi is None or v <= symbol.hi))
    return sorted(v for v in allowed if all(_true(r, {symbol.name: v}) for r in own))[:MAX_CHOICES]


def _allowed(kernel: Kernel, sizes: Mapping[str, int], blocks: int) -> bool:
    if not all(within(symbol, sizes[symbol.name]) for symbol in kernel.shapes):
        return False
    try:
        if not all(E.evaluate(r, sizes) for r in kernel.requires):
            return False
        grid = [int(E.evaluate(g, sizes)) for g in kernel.grid]
    except ExprError:
        return False
    return min(grid) >= 1 and int(np.prod(grid)) <= blocks and allocatable(kernel, sizes)


def within(symbol: Expr, value: int) -> bool:
    """A size is inside the bounds that it has by itself; one that an equation gives need not be."""
    return (symbol.lo is None or value >= symbol.lo) and (symbol.hi is None or value <= symbol.hi)


def executions(kernel: Kernel, place: ProgramPoint) -> Iterator[Execution]:
    """Executions that reach a place, smallest sizes first."""
    counters = sorted({v for _, value in place.loops for v in value.free()} - set(kernel.shapes), key=lambda v: v.name)
    counters = [v for v in counters if v not in BLOCK]
    for sizes in launches(kernel):
        grid = [int(E.evaluate(g, sizes)) for g in kernel.grid]
        for corner in product(*(sorted({0, n - 1}) for n in grid)):
            for values in product(range(MAX_COUNTER), repeat=len(counters)):
                block = (corner[0], corner[1], corner[2])
                env = {**sizes, **{v.name: b for v, b in zip(BLOCK, block, strict=True)}}
                env |= {v.name: n for v, n in zip(counters, values, strict=True)}
                spend(len(place.facts))
                if all(_true(f, env) for f in place.facts):
                    loops = {var.name: int(E.evaluate(value, env)) for var, value in place.loops}
                    yield Execution(sizes, block, loops)


def _true(fact: Expr, env: Mapping[str, int]) -> bool:
    try:
        return bool(E.evaluate(fact, env))
    except ExprError:
        return False


def overlaps(tensor: Tensor, sizes: Mapping[str, int]) -> bool:
    """Several elements are one place in memory."""
    found = places(tensor, sizes)
    return len(np.unique(found)) < len(found)


def interference(
    kernel: Kernel,
    output: Tensor,
    tensor: Tensor,
    axis: int,
    position: int,
    candidates: Iterable[dict[str, int]],
) -> tuple[dict[str, int], tuple[int, ...], int] | None:
    """An output element that changes with the input's row `value` on `axis` although its own `position` is another.

    Returns (sizes, index of the output element, value).
    """
    for sizes in candidates:
        if overlaps(tensor, sizes) or is_index(kernel, tensor, sizes):  # a row of it is also part of other rows
            continue
        extent = interp.extents(tensor, sizes)[axis]
        base = _outputs(kernel, output, inputs(kernel, sizes), sizes)
        for value in sorted({0, 1, extent // 2, extent - 1} & set(range(extent))):
            arrays = inputs(kernel, sizes)
            arrays[tensor.name][(slice(None),) * axis + (value,)] += 5
            after = _outputs(kernel, output, arrays, sizes)
            if base is None or after is None:
                break
            same = (base == after) | (np.isnan(base) & np.isnan(after))
            changed = np.argwhere(~same)
            wrong = changed[changed[:, position] != value] if len(changed) else changed
            if len(wrong):
                return sizes, tuple(int(v) for v in wrong[0]), value
    return None


def _outputs(
    kernel: Kernel, output: Tensor, arrays: Mapping[str, np.ndarray], sizes: Mapping[str, int]
) -> np.ndarray | None:
    if not may_search(1):
        return None
    try:
        outcome = interp.run(kernel, arrays, sizes)
    except (interp.InterpError, ExprError):
        return None
    return np.asarray(outcome.arrays[output.name]).astype(np.float64)
