"""Rule `covers`: every element of an output is written exactly once over the whole grid.

Proved: the elements one workgroup writes in one pass of its loops form a box of offsets, each once; the boxes of
different blocks and iterations start at multiples of its size; and distinct (block, iteration) give distinct boxes,
all of which together reach every element. Either the structure shows this (along each axis the start is a number whose
digits are blocks and turns of loops, `store_tiling`, if need be after `grid_maps` has taken the map of the grid apart),
or the prover shows that the map from blocks to boxes is injective and their numbers agree. Several boxes of a workgroup
join up along one axis (`store_tiling.joined`); tiles whose ends are loaded numbers are a partition by what is stated of
these (`partition`).

Lanes of one wave that store the same element by one instruction count once if they hold the same by their tags (an
owner with copies).

Implied for the output of a kernel that says what it computes; stated by `ag.check.covers(C)` for others. An output
that atomics update is `unknown`: several updates of one element are not overwrites. A refutation is a launch executed
in full by the interpreter, and an element it wrote never or twice; for updated outputs, an element far from the
specification.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from argus.check.domain.records import Tables
from argus.check.domain.tags import Tags
from argus.check.events import ProgramPoint
from argus.check.obligations import WHOLE_KERNEL
from argus.check.rules import grid_maps
from argus.check.rules.rule import Rule
from argus.check.rules.store_tiling import DIFFERENT, NO_BOX, REMAPPED, full_box, harmless, joined, tiled
from argus.check.rules.store_turns import BLOCK, Counts, StoreBox, either, numbered_turns, store_box
from argus.check.solve.prover import Prover
from argus.check.terms.atoms import UNKNOWN, own
from argus.check.transfer.computed_places import DATA
from argus.check.transfer.memory_accesses import as_amounts, kept_inside, target, threads_at_edge
from argus.check.walk import KernelWalk
from argus.ir import ops
from argus.ir.ops import Access, Tensor
from argus.ir.types import Span, Value
from argus.layout import expr as E
from argus.layout.expr import Expr

UPDATED = "it is updated by atomics, and how often each element should be is not known"
NOTHING = "nothing is stored to it"


@dataclass(frozen=True, slots=True)
class Written:
    """One store: per axis the offsets of all active elements, and the symbolic start."""

    op: ops.Store | ops.Atomic
    place: ProgramPoint
    rests: tuple[Expr, ...]
    offsets: NDArray[np.int64]
    problem: str = ""
    kept: Expr = E.TRUE
    """Where the store's guard lets it through, as a condition on own coordinates."""


class Covers(Rule):
    """Listens to stores; decides per tensor."""

    name = "covers"

    def begin(self, flow: KernelWalk) -> None:
        super().begin(flow)
        self.stores: list[tuple[Tensor, Written]] = []
        self.asked: dict[Tensor, tuple[Span, int]] = {}
        self.doubts: dict[Tensor, str | None] = {}
        if flow.spec is not None:
            self.asked[flow.spec.output] = (flow.spec.output.span, -1)

    def stated(self, op: ops.Check, place: ProgramPoint, values: Mapping[Value, Tags]) -> None:
        if op.rule == "covers":
            self.settle(op, "stated", "structural")
            for target in op.targets:
                if isinstance(target, Tensor):
                    self.asked[target] = (op.span, op.id)

    def global_store(self, op: ops.Store | ops.Atomic, place: ProgramPoint, access: Access, value: Tags) -> None:
        tensor = access.memory
        assert isinstance(tensor, Tensor)
        written = self._written(op, place, access, tensor, value)
        self.stores.append((tensor, written))
        self.settle(op, "counted", "enumeration", [written.problem] if written.problem else [])

    def _written(
        self, op: ops.Store | ops.Atomic, place: ProgramPoint, access: Access, tensor: Tensor, value: Tags
    ) -> Written:
        nothing = np.zeros((0, len(tensor.axes)), dtype=np.int64)
        spec = self.flow.spec
        adds = spec is not None and spec.update is not None and tensor is spec.output
        if isinstance(op, ops.Atomic) and not (adds and spec is not None and op.fn == spec.update):
            return Written(op, place, (), nothing, UPDATED)
        seen = as_amounts(self.flow, op, place, access, value)
        if seen is None:
            return Written(op, place, (), nothing, UPDATED)
        access = seen
        if self.flow.entangled:  # a branch that only some threads take is a guard
            guards = self.flow.entangled if access.guard is None else (access.guard, *self.flow.entangled)
            access = replace(access, guard=E.land(*guards))
        aim = target(self.flow, op, access)
        active = place.active & aim.active
        kept = E.TRUE
        if aim.shared is not E.TRUE or aim.own is not None:
            chosen = threads_at_edge(self.flow, access)
            inside = kept_inside(self.flow, access, aim) if chosen is None and aim.own is not None else None
            if inside is not None:
                chosen, kept = inside
            if chosen is None:
                return Written(op, place, (), nothing, "it is stored only under a condition on sizes or data")
            active = active & chosen
        records = np.unique(aim.case.record[active])
        if len(records) != 1 or self.flow.tables[int(records[0])].kind in ("lost", "zero"):
            return Written(op, place, (), nothing, "the coordinates of a store differ between threads and sizes")
        axes = list(spec.axes if spec is not None and adds else self.flow.tables.tensor_axes[tensor])
        places = aim.case.offset[..., axes].astype(np.int64)
        stored = np.broadcast_to(active[..., None], places.shape[:-1])
        if not isinstance(op, ops.Atomic):
            stored = _without_copies(self.flow.tables, stored, places, self.flow.prune(value))
        offsets = places[stored]
        numbers = [self.flow.tables[int(records[0])].rests[a] for a in axes]
        return Written(op, place, tuple(self.flow.tables.rests[n] for n in numbers), offsets, kept=kept)

    def finish(self) -> None:
        flow = self.flow
        for tensor in self.asked:
            stores = self.stores_to(tensor)
            doubt = NOTHING if not stores else prove(flow, _seen(flow, tensor), stores)
            what, doubts = f"{tensor.name}: every element once", [] if doubt is None else [doubt]
            flow.ledger.settle(WHOLE_KERNEL, self.name, what, flow.prover.reason("enumeration"), doubts)
            self.doubts[tensor] = doubt

    def stores_to(self, tensor: Tensor) -> list[Written]:
        return [written for stored, written in self.stores if stored is tensor]


def _without_copies(
    tables: Tables, active: NDArray[np.bool_], places: NDArray[np.int64], value: Tags
) -> NDArray[np.bool_]:
    """Of lanes of a wave that store the same element by one instruction, and hold the same by their tags, the first.
    A tag says what is held only if its term is known."""
    kept = active.copy()
    for wave, mask in enumerate(active):
        found, first, group = np.unique(places[wave][mask], axis=0, return_index=True, return_inverse=True)
        if len(found) == len(group):
            continue
        for case in value.cases:
            if any(tables[int(n)].term == UNKNOWN for n in np.unique(case.record[wave][mask])):
                return active
            tag = np.concatenate([case.record[wave][mask][:, None], case.offset[wave][mask]], axis=1)
            if len(np.unique(np.concatenate([group.reshape(-1, 1), tag], axis=1), axis=0)) != len(found):
                return active
        chosen = np.zeros(len(group), dtype=np.bool_)
        chosen[first] = True
        kept[wave][mask] = chosen
    return kept


def _seen(flow: KernelWalk, tensor: Tensor) -> Tensor:
    """The tensor; where amounts are added to it by index, the amounts (`scatter`)."""
    if flow.spec is None or flow.spec.update is None or tensor is not flow.spec.output:
        return tensor
    return replace(tensor, axes=tuple(flow.tables.axis_names[a] for a in flow.spec.axes), shape=flow.spec.shape)


def prove(flow: KernelWalk, tensor: Tensor, stores: list[Written]) -> str | None:
    """None when the stores cover the tensor exactly once; else what is missing for the proof."""
    for store in stores:
        if store.problem:
            return store.problem
    launched = Prover(flow.kernel.requires)  # without blocks, of which there may be none
    if any(launched.holds((), extent.ge(1)) is not True for extent in flow.kernel.grid):
        return "there may be no block that stores it"
    if {store.kept for store in stores} != {E.TRUE}:
        return partition(flow, tensor, stores)
    boxes = []
    for store in stores:
        box = store_box(flow, store.op, store.place, store.rests, store.offsets)
        if box is None:
            return "the number of boxes is not known"
        boxes.append(box)
    boxes = either(boxes)
    groups = [[box for box in boxes if box.starts == start] for start in dict.fromkeys(box.starts for box in boxes)]
    return _tiling(flow, tensor, groups[0]) if len(groups) == 1 else joined(flow, tensor, groups)


def _tiling(flow: KernelWalk, tensor: Tensor, boxes: list[StoreBox]) -> str | None:
    counts = boxes[0].counts
    if any(box.counts != counts for box in boxes):
        return "its stores are on different paths"
    full = full_box(np.concatenate([box.offsets for box in boxes]))
    if full is None:
        return NO_BOX
    low, size = full
    starts = [E.as_expr(start + int(n)) for start, n in zip(boxes[0].starts, low, strict=True)]
    doubt = next((d for box in boxes if (d := harmless(flow, tensor, box)) is not None), None)
    if doubt is not None:
        return doubt
    doubt = tiled(flow, tensor.axes, list(tensor.shape), counts, starts, size)
    persistent = numbered_turns(counts, starts) if doubt == REMAPPED else None
    if persistent is not None:
        counts, starts = persistent
    if doubt != REMAPPED or any(n.free() & counts.keys() for n in counts.values()):
        return doubt
    if all(_whole(start, width) for start, width in zip(starts, size, strict=True)):
        tiles = tuple(start // width for start, width in zip(starts, size, strict=True))
        numbered = grid_maps.plain(flow.prover, counts, tiles)
        if numbered is not None:
            extents, tiles = numbered
            starts = [tile * width for tile, width in zip(tiles, size, strict=True)]
            doubt = tiled(flow, tensor.axes, list(tensor.shape), extents, starts, size)
            if doubt is None:
                return None
    return _injective(flow, tensor, counts, starts, size)


def partition(flow: KernelWalk, tensor: Tensor, stores: list[Written]) -> str | None:
    """Tiles whose ends are data. Block w takes the tile i = Order(w), rows Row(i) … Row(i + 1) - 1. These are all rows,
    each once, if Row begins with 0, ends with the extent and never falls, and no two blocks take the same tile, which
    an inverse shows: ProgramPoint(Order(w)) = w. All of that has to be stated of the data, in every block."""
    full = full_box(np.concatenate([store.offsets for store in stores]))
    if len({store.rests for store in stores}) != 1:
        return DIFFERENT
    if len({store.place.facts for store in stores}) != 1:
        return "its stores are on different paths"
    if full is None:
        return NO_BOX
    size, starts = full[1], [rest + int(n) for rest, n in zip(stores[0].rests, full[0], strict=True)]
    kept, facts = stores[0].kept, (*stores[0].place.facts, *flow.everywhere_facts)
    if any(store.kept is not kept or store.place.loops for store in stores):
        return "its stores are kept back by different conditions on data"
    if not all(map(flow.is_stated, facts)):
        return "it is stored only under a condition on sizes or data"
    axes = flow.tables.tensor_axes[tensor] if flow.spec is None or tensor in flow.tables.tensor_axes else flow.spec.axes
    moved = [n for n, axis in enumerate(axes) if own(axis) in kept.free()]
    start = starts[moved[0]] if len(moved) == 1 else E.const(0)
    if start.op != "apply" or len(start.args) != 1:
        return "it is stored only under a condition on sizes or data"
    (axis,), tile = moved, start.args[0]
    following = E.apply(start.name, tile + 1)

    def holds(goal: Expr) -> bool:
        return flow.prover.holds(facts, goal) is True

    here = own(axes[axis])
    if not (holds(E.lor(E.lnot(kept), here.lt(following))) and holds(E.lor(kept, here.ge(following)))):
        return "where a tile ends is not where the next one begins"
    if not holds(E.land(start.le(following), following.le(start + size[axis]))):
        return "a tile may be longer than what one workgroup writes"
    movers = dict(zip(BLOCK, flow.kernel.grid, strict=True))
    taking = [v for v in movers if _chooses(flow, facts, v, tile)]
    if len(taking) != 1:
        return "two blocks may take the same tile"
    count = movers.pop(taking[0])
    ends = E.apply(start.name, E.const(0)).eq(0), E.apply(start.name, count).eq(tensor.shape[axis])
    if not holds(E.land(tile.ge(0), tile.lt(count))) or not all(holds(end) for end in ends):
        return "the tiles may not be all there are, or not reach from the first row to the last"
    rest = [n for n in range(len(starts)) if n != axis]
    names, shape = tuple(tensor.axes[n] for n in rest), [tensor.shape[n] for n in rest]
    return tiled(flow, names, shape, movers, [starts[n] for n in rest], [size[n] for n in rest])


def _chooses(flow: KernelWalk, facts: tuple[Expr, ...], block: Expr, tile: Expr) -> bool:
    """Different blocks along this axis of the grid have different tiles: the tile is the block, or leads back to it."""
    if tile is block:
        return True
    if block not in tile.free():
        return False
    back = [E.apply(DATA + t.name, tile) for t in flow.kernel.tensors if len(t.axes) == 1 and t.dtype.kind != "float"]
    return any(flow.prover.holds(facts, place.eq(block)) is True for place in back)


def _whole(start: Expr, width: int) -> bool:
    rest = start % width
    return rest.op == "const" and rest.value == 0


def _injective(flow: KernelWalk, tensor: Tensor, movers: Counts, starts: list[Expr], size: list[int]) -> str | None:
    """Boxes by an arbitrary map of blocks: injective, aligned, inside, and as many as there are tiles."""
    other = {v: E.var(f"{v.name}_other", 0, v.hi) for v in movers}
    facts = [c for v, n in movers.items() for c in (v.lt(n), other[v].lt(n))]
    same = E.land(*(s.eq(s.subst(dict(other))) for s in starts))
    differ = E.lor(*(v.ne(o) for v, o in other.items()))
    if flow.prover.possible((*facts, same, differ)) is not False:
        return "two blocks may write the same box"
    tiles: Expr = E.const(1)
    boxes: Expr = E.const(1)
    last = {v: n - 1 for v, n in movers.items()}
    for start, extent, width in zip(starts, tensor.shape, size, strict=True):
        fits = E.land((start % width).eq(0), start.ge(0), (start + width).le(extent), (extent % width).eq(0))
        if flow.prover.holds(tuple(facts), fits) is True:
            tiles = tiles * (extent // width)
            continue
        # Boxes may reach past the end: a bijection with a grid of tiles that starts with the last block's box ends.
        reach = start.subst(last) + width
        fits = E.land((start % width).eq(0), start.ge(0), (start + width).le(reach), reach.ge(extent))
        if flow.prover.holds(tuple(facts), fits) is not True:
            return "a box may leave the tensor or its grid"
        tiles = tiles * (reach // width)
    for count in movers.values():
        boxes = boxes * count
    if boxes is not tiles and flow.prover.holds((), boxes.eq(tiles)) is not True:
        return "there may be fewer boxes than tiles"
    return None
