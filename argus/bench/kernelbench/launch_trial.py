"""Some workgroups of one launch at its full size, executed on drawn inputs and compared with its `computes`.

    LaunchTrial(plan, 3, TrialKernel.of(plan.launches[3]), seed=0, kind="structured").run()     a `LaunchSample`

The workgroups are chosen first (`stores`). The windows of the inputs that their elements depend on are drawn
(`argus.spec.windows`, `contents`) and put into device memory that holds nothing else (`sparse_launch`); then the code
object executes just these workgroups. What they write is compared with the specification there, within the bound that
is derived of the kernel's arithmetic, or that of f32 (`argus.check.rounding`); nothing beside it may change. Inputs of
whole numbers that make a sum exact (`exact_sums`) leave it the rounding of its own type alone.

Where a box of elements would cost more than `WINDOW` drawn elements or `WORK` terms, a part of it is compared: half of
its longest axis, and half of that. What it cannot do: atomics, and stores that data address (`NotSampled`).
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from argus.bench.kernelbench.contents import contents_of
from argus.bench.kernelbench.drawn import LARGEST_WHOLE, DrawKind
from argus.bench.kernelbench.exact_sums import exactly_summed
from argus.bench.kernelbench.sparse_launch import GRANULE, ONES, BufferSpan, SparseLaunch
from argus.bench.kernelbench.stores import NotSampled, store_sites, workgroups, written
from argus.check.rounding import ErrorBound, rounding
from argus.check.rounding.derived_comparison import EXACT, telling
from argus.check.rounding.narrowing import narrowed
from argus.compile.cache import compile_cached
from argus.device.guards import LaunchRefused, buffer_elements, check_sizes, numpy_dtype
from argus.ir.compile_error import CompileError
from argus.ir.float_formats import nearest
from argus.ir.kernel import Kernel
from argus.ir.types import DType
from argus.machine.errors import MachineError
from argus.machine.jit.errors import JitError
from argus.pipeline import program_of
from argus.plan.plan import Plan, PlannedLaunch
from argus.plan.views import View
from argus.spec import Bounded, ResultSpec, evaluate
from argus.spec.boxes import Box, boxes
from argus.spec.compare import ElementComparison, compare, half_ulp
from argus.spec.errors import SpecTooLarge
from argus.spec.extents import reduction_extent
from argus.spec.scans import scan_of
from argus.spec.tree import IndexReduction, SpecNode
from argus.spec.walk import children, open_indices
from argus.spec.windows import CutSpec, cut

Places = npt.NDArray[np.int64]
Array = npt.NDArray[Any]
Written = Mapping[str, Places]
"""Coordinates by tensor."""

WINDOW = 1 << 22
"""Elements of inputs that are drawn for one box of elements, and of an intermediate of its specification."""
WORK = 1 << 26
"""Terms of sums that are computed for one box."""
WORK_FIRST = 1 << 28
"""The same for the first workgroup, of which more is compared."""
ONE_ELEMENT = 1 << 25
"""Elements of inputs that a single element may depend on."""
DRAWN = 3 << 22
"""Elements of inputs after which no further workgroup of a launch is looked at, if there were `LEAST`."""
LEAST = 3
BOXES = 16
"""Boxes of one workgroup that are compared; of more, some are chosen by lot."""


class WrongAtFullSize(Exception):
    """A launch is wrong; the message says where."""


class Undefined(Exception):
    """The specification has no value for most of what was drawn."""


@dataclass
class LaunchSample:
    """What was seen of one launch: workgroups, elements with a finite value, and the largest error over its bound."""

    blocks: int = 0
    elements: int = 0
    worst: float = 0.0


@dataclass(frozen=True)
class TrialKernel:
    """A kernel with its code object, and the error bounds that are known of its results."""

    kernel: Kernel
    code: bytes
    bounds: Mapping[str, ErrorBound]

    @classmethod
    def of(cls, launch: PlannedLaunch) -> TrialKernel:
        """Compiled, not proved: that is asked elsewhere. A kernel without a code object cannot be right."""
        program = program_of(launch.path, launch.knobs, launch.kernel)
        bounds = {b.result: b for b in rounding(program.kernel).bounds if isinstance(b, ErrorBound)}
        try:
            return cls(program.read, compile_cached(program).object, bounds)
        except CompileError as error:
            raise WrongAtFullSize(f"it cannot be compiled: {str(error).splitlines()[0]}") from error

    @property
    def results(self) -> tuple[ResultSpec, ...]:
        assert self.kernel.computes is not None
        return self.kernel.computes.results

    def exact(self, shapes: Mapping[str, tuple[int, ...]], symbols: Mapping[str, float]) -> bool:
        """Whether inputs of small whole numbers make all results exact but for the rounding of their own type."""
        if narrowed(self.kernel):
            return False
        return all(exactly_summed(result, shapes, symbols, LARGEST_WHOLE) for result in self.results)


@dataclass
class ExpectedBox:
    """A box of elements of a result, what they should be, and the whole error that the kernel's rounding explains."""

    result: ResultSpec
    box: Box
    want: Bounded
    most: npt.NDArray[np.float64] | None


class LaunchTrial:
    """One launch with inputs of one kind."""

    def __init__(self, plan: Plan, number: int, ready: TrialKernel, seed: int, kind: DrawKind) -> None:
        self.launch, self.ready, self.seed, self.kind = plan.launches[number], ready, seed, kind
        kernel, sizes, views = ready.kernel, self.launch.sizes, self.launch.arguments
        try:
            check_sizes(kernel, sizes)
        except LaunchRefused as error:
            raise WrongAtFullSize(f"refused: {error}") from error
        spans = {
            t.name: BufferSpan(v.buffer, v.offset, buffer_elements(v.shape, v.strides))
            for t in kernel.tensors
            for v in (views[t.name],)
        }
        self.memory = SparseLaunch(kernel, ready.code, sizes, self.launch.scalars, spans)
        self.contents = {t.name: contents_of(plan, number, t.name, kernel, seed, kind) for t in kernel.tensors}
        self.shapes = {name: view.shape for name, view in views.items()}
        types = {scalar.name: scalar.dtype for scalar in kernel.scalars}
        self.symbols = {**sizes, **{name: as_passed(c, types[name]) for name, c in self.launch.scalars.items()}}
        self.dice = random.Random(f"{seed} {number} {kind}")
        self.drawn = 0

    def run(self) -> LaunchSample:
        """Raises `WrongAtFullSize`; `NotSampled` and `Undefined` where nothing can be said."""
        chosen = self._chosen()
        around = self._poisoned(chosen)
        work: list[ExpectedBox] = []
        ran: dict[int, Written] = {}
        for workgroup, parts in chosen.items():
            if len(ran) >= LEAST and self.drawn > DRAWN:
                break
            work += self._expected(parts, WORK if ran else WORK_FIRST)
            ran[workgroup] = parts
        _check_defined(work)
        before = {name: self.memory.granules(name, numbers) for name, numbers in around.items()}
        try:
            self.memory.run(list(ran))
        except MachineError as error:
            if isinstance(error, JitError):
                raise
            raise WrongAtFullSize(str(error)) from error
        found = [self._compared(part) for part in work]
        for name, numbers in around.items():
            self._check_untouched(name, numbers, before[name], [parts[name] for parts in ran.values() if name in parts])
        worst = max((c.worst for c in found if c.finite), default=0.0)
        return LaunchSample(len(ran), sum(c.finite for c in found), worst)

    # -- which elements ----------------------------------------------------------------------------------------------

    def _chosen(self) -> dict[int, dict[str, Places]]:
        """The workgroups to look at with what each writes; together they reach both ends of every axis."""
        kernel, sizes = self.ready.kernel, self.launch.sizes
        sites = store_sites(kernel)
        found = written(kernel, sizes, sites, workgroups(kernel, sizes, sites, self.seed))
        for name in {site.tensor.name for site in sites}:
            parts = [parts[name] for parts in found.values() if name in parts]
            if not parts:
                raise NotSampled(f"no workgroup was found that writes {name}")
            low, high = np.min([p.min(axis=0) for p in parts], axis=0), np.max([p.max(axis=0) for p in parts], axis=0)
            if low.any() or (high + 1 != self.shapes[name]).any():
                told = f"from {low.tolist()} to {high.tolist()} of {list(self.shapes[name])}"
                raise NotSampled(f"workgroups were found that write {name} {told}, and none beyond")
        return found

    def _poisoned(self, chosen: Mapping[int, Written]) -> dict[str, Places]:
        """Ones where something will be written, and around it; the granules by tensor."""
        found = {}
        for name in {name for parts in chosen.values() for name in parts}:
            coords = np.concatenate([parts[name] for parts in chosen.values() if name in parts])
            found[name] = self.memory.surround(name, places_of(self.launch.arguments[name], tuple(coords.T)))
        return found

    # -- what they should be -----------------------------------------------------------------------------------------

    def _expected(self, parts: Written, affordable: int) -> list[ExpectedBox]:
        """Boxes of what a workgroup writes with their specified values; their inputs are put into memory."""
        made = []
        for result in self.ready.results:
            found = boxes(parts[result.result]) if result.result in parts else []
            if len(found) > BOXES:
                found = [found[0], found[-1], *self.dice.sample(found[1:-1], BOXES - 2)]
            made += [self._specified(result, self._fitted(result, box, affordable)) for box in found]
        return made

    def _specified(self, result: ResultSpec, box: Box) -> ExpectedBox:
        """The box, or as much of it as can be evaluated."""
        while True:
            part = self._cut(result, box)
            arrays = {name: self._window(name, window) for name, window in part.windows.items()}
            positions = dict(zip(result.indices, box, strict=True))
            self.drawn += part.elements
            halves = _halves(box)
            try:
                want = evaluate(part.spec, arrays, self.symbols, positions, WINDOW if halves else ONE_ELEMENT)
            except SpecTooLarge:
                if not halves:
                    raise
                box = max(halves, key=lambda half: sum(map(len, half)))
                continue
            return ExpectedBox(result, box, want, self._most(part, arrays, positions, want))

    def _fitted(self, result: ResultSpec, box: Box, affordable: int) -> Box:
        """The box, or a part of it that depends on few enough elements and costs little enough."""

        def cost(box: Box) -> tuple[int, int]:
            extents = {index: len(places) for index, places in zip(result.indices, box, strict=True)}
            terms = max(_terms(result.expression, extents, self.shapes, self.symbols), default=0)
            return self._cut(result, box).elements, terms

        drawn, terms = cost(box)
        while drawn > WINDOW or terms > affordable:
            halves = _halves(box)
            if not halves:
                if drawn > ONE_ELEMENT:
                    raise NotSampled(f"one element of {result.result} depends on {drawn} elements of inputs")
                break
            box = min(halves, key=cost)
            drawn, terms = cost(box)
        return box

    def _cut(self, result: ResultSpec, box: Box) -> CutSpec:
        return cut(result, self.shapes, self.symbols, dict(zip(result.indices, box, strict=True)))

    def _window(self, name: str, window: Sequence[range]) -> Array:
        """The values of a window of an argument, also put into memory."""
        lines = np.ix_(*(np.arange(part.start, part.stop) for part in window))
        places = places_of(self.launch.arguments[name], lines)
        values = self.contents[name](places)
        if values.size:
            self.memory.put(name, places, values)
        return values

    def _most(
        self, part: CutSpec, arrays: Mapping[str, Array], positions: Mapping[str, Places], want: Bounded
    ) -> npt.NDArray[np.float64] | None:
        """The derived bound of the whole error; infinite where it tells nothing."""
        if self.kind == "whole":
            dtype = next(t.dtype for t in self.ready.kernel.tensors if t.name == part.spec.result)
            return half_ulp(numpy_dtype(dtype), np.abs(want.value))
        bound = self.ready.bounds.get(part.spec.result)
        if bound is None or want.residue is not None:
            return None
        known = {**{name: np.zeros(0, np.float32) for name in self.shapes}, **arrays}
        most = bound.at(part.spec, known, self.symbols, want.value, positions) + EXACT * np.abs(want.value)
        return np.where(telling(most, want.error, want.value), most, np.inf)

    # -- what they are -----------------------------------------------------------------------------------------------

    def _compared(self, part: ExpectedBox) -> ElementComparison:
        """Raises `WrongAtFullSize` where an element is not written or outside of its bound."""
        name, want, most = part.result.result, part.want, part.most
        got = self.memory.get(name, places_of(self.launch.arguments[name], np.ix_(*part.box)))
        raw = np.ascontiguousarray(got).reshape(-1).view(np.uint8).reshape(-1, got.dtype.itemsize)
        unwritten = np.flatnonzero((raw == ONES).all(axis=1))
        if len(unwritten) and not any(t.read for t in self.ready.kernel.tensors if t.name == name):
            raise WrongAtFullSize(f"{_element(part, int(unwritten[0]))} is not written")
        if most is not None:
            want = Bounded(want.indices, want.value, np.where(np.isfinite(most), most, want.error), want.residue)
        found = compare(got, want, most)
        if found.first_wrong is not None:
            where = _element(part, int(np.ravel_multi_index(found.first_wrong, got.shape)))
            told = f"{found.wrong} of {found.elements} elements are wrong, the first {where}"
            raise WrongAtFullSize(f"{told}: {found.got:g} instead of {found.want:g}")
        return found

    def _check_untouched(
        self, name: str, numbers: Places, before: npt.NDArray[np.uint8], coords: Sequence[Places]
    ) -> None:
        """Bytes beside what the workgroups write are what they were."""
        changed = before != self.memory.granules(name, numbers)
        for part in coords:
            places = places_of(self.launch.arguments[name], tuple(part.T))
            at, size = self.memory.bytes_of(name, places)
            for byte in range(size):
                changed[np.searchsorted(numbers, at // GRANULE), at % GRANULE + byte] = False
        if changed.any():
            raise WrongAtFullSize(f"{int(changed.sum())} bytes beside what is written to {name} are changed")


def places_of(view: View, coords: Sequence[Places]) -> Places:
    """Places in the buffer of coordinates, arrays of shapes that fit together."""
    total = np.full((), view.offset, np.int64)
    for coord, step in zip(coords, view.strides, strict=True):
        total = np.asarray(total + coord * np.int64(step), np.int64)
    return total


def _halves(box: Box) -> list[Box]:
    """The box with one axis half as long, for every axis that can be: the later half, unless the axis starts at 0."""
    return [
        (*box[:axis], places[(len(places) + 1) // 2 :] if places[0] else places[: len(places) // 2], *box[axis + 1 :])
        for axis, places in enumerate(box)
        if len(places) > 1
    ]


def as_passed(number: float, dtype: DType) -> float:
    """A scalar as the kernel gets it: 3.14 is 3.1400001 in f32."""
    return nearest(float(number), dtype) if dtype.kind == "float" else number


def _terms(
    node: SpecNode, extents: Mapping[str, int], shapes: Mapping[str, tuple[int, ...]], symbols: Mapping[str, float]
) -> Iterator[int]:
    """How many terms each reduction in a tree has, over the indices its terms depend on."""
    if isinstance(node, IndexReduction):
        extents = {**extents, node.index: reduction_extent(node, shapes, symbols)}
        scan = scan_of(node)
        body = node.body if scan is None else scan.body
        yield math.prod(extents[index] for index in open_indices(body) | {node.index})
    for child in children(node):
        yield from _terms(child, extents, shapes, symbols)


def _check_defined(work: Sequence[ExpectedBox]) -> None:
    """Raises `Undefined` where less than half has a value."""
    values = [np.isfinite(part.want.value) & np.isfinite(part.want.error) for part in work]
    has, total = sum(int(v.sum()) for v in values), sum(v.size for v in values)
    if 2 * has < total or not total:
        raise Undefined(f"only {has} of {total} elements have a finite value with the inputs that are drawn")


def _element(part: ExpectedBox, flat: int) -> str:
    at = np.unravel_index(flat, [len(places) for places in part.box])
    place = ", ".join(str(int(axis[i])) for axis, i in zip(part.box, at, strict=True))
    return f"{part.result.result}[{place}]"
