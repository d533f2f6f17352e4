"""Scans over a named axis: sums, products, maxima and minima of all elements up to an element's own coordinate.

    x over n, a lane holds n = 256*p + 4*lane + e; x.cumsum("n"):
        registers   a lane's four neighbours one after another: x0, x0+x1, x0+x1+x2, all four
        lanes       the lanes' totals in six steps: lane 13 (binary 1101) takes lane 12's, lanes 8..11's, lanes 0..7's
        runs        the total of all lanes of p = 0 goes to p = 1, and so on

Registers that a lane holds next to each other are a *run*. The elements of a run, lane after lane, are neighbours in
the order of the axis; run follows run. `order` finds runs and the bits of the lane number that count lanes, and checks
the result against the coordinates of all lanes and waves: what comes out is exactly the order of the coordinates.

A step of the lanes' scan concerns one bit of the lane number. A lane that has the bit set takes what the last lane
without it holds, of those that agree on the bits above: (lane & ~bit) | lower bits. Backwards it is the first lane with
the bit. So every step is one exchange by and/or of the lane number, whichever bits count.

What it cannot do: elements in different waves (they meet in LDS, as for reductions), or an order of lanes that is not
the order of some bits of their numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import inf

import numpy as np

from argus.ir.kernel import WAVE
from argus.ir.maps import MAPS
from argus.ir.types import DType, Value, boolean, i32
from argus.lang import tiles
from argus.lang.context import ReadContext
from argus.lang.distribution import Distribution, DistributionForm
from argus.lang.reduce import LaneTable, lane_tables
from argus.lang.values import Tile
from argus.layout import expr as E
from argus.layout.expr import Expr

MAP_OF = {"cumsum": "add", "cumprod": "mul", "cummax": "max", "cummin": "min"}
Runs = tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class ScanOrder:
    """The elements of each result row as runs of registers, first run first; `bits` of the lane number count the lanes
    of a run, the lowest first."""

    rows: tuple[Runs, ...]
    bits: tuple[int, ...]

    @property
    def mask(self) -> int:
        return sum(self.bits)


def scan(ctx: ReadContext, tile: Tile, fn: str, axis: str, exclusive: bool, reverse: bool, in_wave: bool) -> Tile:
    """Every element with all before it along the axis (`reverse`: behind it); `exclusive`: without itself."""
    if not MAPS[fn].has(tile.dtype.kind, tile.dtype.name):
        raise ctx.error("AG413", fn=fn, dtype=tile.dtype, kinds=", ".join(sorted(MAPS[fn].kinds)))
    if tile.dtype.bits < 32:
        raise ctx.error("AG413", fn="a scan", dtype=tile.dtype, kinds="elements of 32 or 64 bits")
    found = order(ctx, tile, axis, in_wave)
    ctx.spend(tile.count * (2 + len(found.bits)))
    rows = [[run[::-1] for run in row[::-1]] for row in found.rows] if reverse else found.rows
    neutral = neutral_element(fn, tile.dtype)
    runs = [run for row in rows for run in row]
    inside = _within_runs(ctx, tile, fn, runs)
    totals = tiles.collect(ctx, [prefix[-1] for prefix in inside])
    before, whole = _over_lanes(ctx, fn, totals, found.bits, neutral, reverse)
    starts = _over_runs(ctx, fn, before, whole, [len(row) for row in rows], found.mask, neutral, reverse)
    made: dict[int, tiles.Element] = {}
    for k in range(max(len(run) for run in runs)):
        here = [n for n, run in enumerate(runs) if len(run) > k]
        base = tiles.collect(ctx, [starts[n] for n in here])
        if exclusive and k == 0:
            value = base
        else:
            value = ctx.b.map(fn, base, tiles.collect(ctx, [inside[n][k - exclusive] for n in here]))
        made |= {runs[n][k]: (value, j) for j, n in enumerate(here)}
    items = [made[i] for i in range(tile.count)]
    chunk = tile.chunk
    pieces = tuple(tiles.collect(ctx, items[i : i + chunk]) for i in range(0, len(items), chunk))
    return Tile(tile.dtype, tile.dist, pieces)


def end(ctx: ReadContext, tile: Tile, axis: str, last: bool, in_wave: bool) -> Tile:
    """The element at the last (or first) coordinate of the axis, in every lane, without the axis."""
    found = order(ctx, tile, axis, in_wave)
    items = tiles.elements(tile)
    value = tiles.collect(ctx, [items[row[-1][-1] if last else row[0][0]] for row in found.rows])
    if found.bits:
        ctx.need_all_lanes("an element of another lane")
        value = ctx.b.lanes(value, _outermost(ctx.lane, found.mask, last))
    kept = tuple(a for a in tile.dist.axes if a != axis)
    keys = [tuple(tile.dist.coords(row[0][0])[a] for a in kept) for row in found.rows]
    digits = (("g", len(keys)),) if len(keys) > 1 else ()
    dist = Distribution(digits, kept, DistributionForm(lambda i: keys[i]), tuple(range(len(keys))))
    return Tile(tile.dtype, dist, (value,))


def neutral_element(fn: str, dtype: DType) -> float | int:
    """What changes nothing."""
    if fn in ("add", "mul"):
        return 0 if fn == "add" else 1
    if dtype.kind == "float":
        return -inf if fn == "max" else inf
    low = -(1 << (dtype.bits - 1)) if dtype.kind == "int" else 0
    return low if fn == "max" else low + (1 << dtype.bits) - 1


# -- the three levels ------------------------------------------------------------------------------------------------


def _within_runs(ctx: ReadContext, tile: Tile, fn: str, runs: list[tuple[int, ...]]) -> list[list[tiles.Element]]:
    """For each run, its elements with those before them in the same run and lane."""
    items = tiles.elements(tile)
    made = [[items[run[0]]] for run in runs]
    for k in range(1, max(len(run) for run in runs)):
        here = [n for n, run in enumerate(runs) if len(run) > k]
        before = tiles.collect(ctx, [made[n][-1] for n in here])
        value = ctx.b.map(fn, before, tiles.collect(ctx, [items[runs[n][k]] for n in here]))
        for j, n in enumerate(here):
            made[n].append((value, j))
    return made


def _over_lanes(
    ctx: ReadContext, fn: str, totals: Value, bits: tuple[int, ...], neutral: float | int, reverse: bool
) -> tuple[Value | None, Value]:
    """What the lanes before a lane hold together (None: there are no others), and that with its own."""
    before: Value | None = None
    if bits:
        ctx.need_all_lanes("a scan over lanes")
    for n, bit in enumerate(bits):
        lower, lane = sum(bits[:n]), ctx.lane
        source = (lane | bit) & E.const(WAVE - 1 - lower) if reverse else (lane & E.const(WAVE - 1 - bit)) | lower
        moved = ctx.b.lanes(totals, source)
        taken = _chosen(ctx, (lane & bit).eq(0) if reverse else (lane & bit).ne(0), moved, neutral)
        before = taken if before is None else ctx.b.map(fn, before, taken)
        totals = ctx.b.map(fn, totals, taken)
    return before, totals


def _chosen(ctx: ReadContext, condition: Expr, value: Value, neutral: float | int) -> Value:
    """The value where the condition on the lane holds, else what changes nothing."""
    number = ctx.b.index(E.select(condition, E.const(1), E.const(0)))
    test = ctx.b.map("ne", number, ctx.b.constant(0, i32, 1))
    mask = test if value.count == 1 else ctx.b.registers((test,), ((0, 0),) * value.count)
    assert mask.dtype == boolean
    return ctx.b.map("select", mask, value, ctx.b.constant(neutral, value.dtype, value.count))


def _over_runs(
    ctx: ReadContext, fn: str, before: Value | None, whole: Value, lengths: list[int], mask: int,
    neutral: float | int, reverse: bool,
) -> list[tiles.Element]:  # fmt: skip
    """For every run of every row, what stands before it in its lane: lanes before it, and whole runs before it."""
    made: list[tiles.Element] = []
    ends = ctx.b.lanes(whole, _outermost(ctx.lane, mask, not reverse)) if mask and max(lengths) > 1 else whole
    number = 0
    for length in lengths:
        runs: tiles.Element | None = None
        for _ in range(length):
            own = None if before is None else (before, number)
            made.append(_joined(ctx, fn, runs, own, whole.dtype, neutral))
            runs = _joined(ctx, fn, runs, (ends, number), whole.dtype, neutral)
            number += 1
    return made


def _joined(
    ctx: ReadContext, fn: str, x: tiles.Element | None, y: tiles.Element | None, dtype: DType, neutral: float | int
) -> tiles.Element:
    if x is None or y is None:
        one = x or y
        return one if one is not None else (ctx.b.constant(neutral, dtype, 1), 0)
    return ctx.b.map(fn, tiles.collect(ctx, [x]), tiles.collect(ctx, [y])), 0


def _outermost(lane: Expr, mask: int, last: bool) -> Expr:
    """The last (or first) of the lanes that agree on the bits that are not counted."""
    return (lane | mask) if last else lane & E.const(WAVE - 1 - mask)


# -- the order of the elements -----------------------------------------------------------------------------------------


def order(ctx: ReadContext, tile: Tile, axis: str, in_wave: bool) -> ScanOrder:
    """The elements in the order of the axis. An error where registers, lanes and runs do not give one."""
    dist = tile.dist
    if axis not in dist.axes:
        raise ctx.error("AG407", name=axis, axes=", ".join(dist.axes) or "none", methods=", ".join(MAP_OF))
    kept = tuple(a for a in dist.axes if a != axis)
    stays, places = lane_tables(ctx, dist, kept), lane_tables(ctx, dist, (axis,))[..., 0]
    if not in_wave and bool((places != places[:, :1]).any()):
        raise ctx.error("AG421", axes=axis)
    rows: dict[tuple[Expr, ...], list[int]] = {}
    for i in range(dist.count):
        coords = dist.coords(i)
        rows.setdefault(tuple(coords[a] for a in kept), []).append(i)
    bits = _lane_bits(stays, places)
    made = ScanOrder(tuple(_runs(places, row, sum(bits)) for row in rows.values()), bits)
    if not _complete(made, stays, places):
        raise ctx.error("AG423", axis=axis)
    return made


def _lane_bits(stays: LaneTable, places: LaneTable) -> tuple[int, ...]:
    """Bits of the lane number that lead to other elements of the same rows, in the order of their coordinates."""
    lanes = np.arange(WAVE)
    found: list[tuple[int, int]] = []
    for bit in (1 << n for n in range(WAVE.bit_length() - 1)):
        other = lanes ^ bit
        if bool((stays == stays[:, :, other]).all()) and bool((places != places[:, :, other]).any()):
            found.append((int(places[0, 0, bit] - places[0, 0, 0]), bit))
    return tuple(bit for _, bit in sorted(found))


def _runs(places: LaneTable, row: list[int], mask: int) -> Runs:
    """The registers of a row in the order of lane 0, cut where elements of other lanes stand between two."""
    ranked = sorted(row, key=lambda i: int(places[i, 0, 0]))
    others = places[row][:, 0, [lane for lane in range(1, WAVE) if lane & ~mask == 0]]
    runs = [[ranked[0]]]
    for x, y in pairwise(ranked):
        if bool(((others > places[x, 0, 0]) & (others < places[y, 0, 0])).any()):
            runs.append([y])
        else:
            runs[-1].append(y)
    return tuple(map(tuple, runs))


def _complete(made: ScanOrder, stays: LaneTable, places: LaneTable) -> bool:
    """Run after run, lane after lane, register after register: one row with all its elements, coordinates growing; in
    every wave, and for all lanes that agree on the bits that are not counted."""
    count, waves, _ = places.shape
    number = np.broadcast_to(np.arange(waves)[None, :, None, None], (count, waves, WAVE, 1))
    keys = np.concatenate([number, stays], axis=-1).reshape(count * waves * WAVE, -1)
    _, row_of = np.unique(keys, axis=0, return_inverse=True)
    different = np.unique(np.stack([row_of.reshape(-1), places.reshape(-1)]), axis=1)
    held = np.bincount(different[0])
    rows = row_of.reshape(places.shape)
    bits = made.bits
    ranks = [sum(bit for n, bit in enumerate(bits) if rank >> n & 1) for rank in range(1 << len(bits))]
    for runs in made.rows:
        for first in (lane for lane in range(WAVE) if lane & made.mask == 0):
            line = np.array([(i, first | rank) for run in runs for rank in ranks for i in run])
            where, which = places[line[:, 0], :, line[:, 1]], rows[line[:, 0], :, line[:, 1]]
            growing = bool((where[1:] > where[:-1]).all()) and bool((which == which[0]).all())
            if not growing or bool((held[which[0]] != len(line)).any()):
                return False
    return True
