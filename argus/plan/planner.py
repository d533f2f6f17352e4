"""From a graph to a plan: every group of nodes becomes launches of kernels of the library.

    plan = planned(graph)

Each kind of head has a module that lowers it (`products`, `maps`, `rows`, `norms`, `windows`, `convolutions`,
`transposed`): it chooses a template, its knobs and sizes, and says where operands and result lie. A view costs nothing
as long as strides say it; what a template needs in row-major order and is not is copied first, by a launch of its own
(`reorder`). A launch that would reach 2 GiB of an array becomes several (`chunks`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache

from argus.device.guards import element_strides, tensor_shapes
from argus.ir.kernel import Kernel, KnobValue
from argus.lang.reader import read
from argus.ops.choice import KERNELS, LIMIT, NoKernel
from argus.plan import convolutions, joins, maps, norms, products, rows, scans, transposed, windows
from argus.plan.broadcast import fitted
from argus.plan.choices import Choices, shipped
from argus.plan.chunks import parts
from argus.plan.conv_tiles import NoTile
from argus.plan.decompose import decomposed
from argus.plan.graph import FLOATS, SOURCES, Graph, Node, PlanError, Shape, without_unused
from argus.plan.grouping import Group, grouped
from argus.plan.memory import placed
from argus.plan.plan import BufferKind, Plan, PlanBuffer, PlannedLaunch
from argus.plan.planning import Planning
from argus.plan.recognize import recognized
from argus.plan.views import View, expanded, merged, permuted, reshaped, sliced, whole
from argus.spec import spec_text

HEADS: Mapping[str, Callable[[Planning, Group, Node], View]] = {
    "matmul": products.matmul,
    "reduce": rows.reduced,
    "softmax": rows.softmax,
    "log_softmax": rows.softmax,
    "layer_norm": norms.layer_norm,
    "axis_norm": norms.axis_norm,
    "group_norm": norms.group_norm,
    "batch_norm": norms.batch_norm,
    "pool": windows.pooled,
    "convolution": convolutions.convolved,
    "conv_transpose": transposed.transposed,
    "scan": scans.scanned,
    "argreduce": scans.place,
    "cat": joins.joined,
    "batch_statistic": norms.batch_statistic,
    "cross_entropy": rows.cross_entropy,
}


def planned(graph: Graph, limit: int = LIMIT, *, allow_xf32: bool = False, choices: Choices | None = None) -> Plan:
    """The plan of a graph; raises `PlanError` where no template computes a node. `limit`: bytes a launch may reach;
    `allow_xf32`: f32 products may read their operands with 10 mantissa bits (docs/operators.md has their error);
    `choices`: other answers at the decision points than the library's table, which yields to the rules where it
    leads to no plan."""
    asked = Choices(shipped()) if choices is None else choices
    try:
        return _planned(graph, limit, allow_xf32, asked)
    except (PlanError, NoKernel):
        if choices is not None or not asked.departed:
            raise
        return _planned(graph, limit, allow_xf32, Choices())


def _planned(graph: Graph, limit: int, allow_xf32: bool, choices: Choices) -> Plan:
    graph = fitted(decomposed(without_unused(recognized(without_unused(graph)))))
    for node in graph.nodes.values():
        if node.op not in SOURCES:
            checked(node, [graph.nodes[name].dtype for name in node.inputs])
    planner = Planner(graph, limit, allow_xf32, choices)
    for group in grouped(graph, choices):
        planner.lower(group)
    outputs = {name: planner.output(name) for name in graph.outputs}
    buffers, arena = placed(planner.buffers, planner.launches)
    return Plan(tuple(planner.launches), buffers, graph.inputs, graph.parameters, outputs, arena)


def checked(node: Node, operands: list[str]) -> None:
    """Refuse element types and sizes that no template has."""
    kinds = [*operands, node.dtype]
    if node.op == "argreduce":
        kinds.remove("i64")
    if node.op == "scan" and len(operands) > 1:
        kinds.remove("bool")
    if node.op == "cross_entropy" and operands[1] in ("i32", "i64"):
        kinds.remove(operands[1])
    for dtype in kinds:
        if dtype not in FLOATS:
            stated = f"{node.op} of {dtype} has no template; nearest is f32"
            raise PlanError("ARG-G102", stated, node.name, node.line)
    if 0 in node.shape:
        raise PlanError("ARG-G103", f"{node.op} has no elements: {list(node.shape)}", node.name, node.line)


@cache
def kernel_of(file: str, kernel: str, knobs: tuple[tuple[str, KnobValue], ...]) -> Kernel:
    """The kernel with its knobs, as read; nothing is proved yet."""
    return read(KERNELS / f"{file}.py", settings=dict(knobs), kernel=kernel)


class Planner(Planning):
    """Buffers and launches so far."""

    def __init__(self, graph: Graph, limit: int, allow_xf32: bool, choices: Choices) -> None:
        self.graph, self.limit, self.allow_xf32, self.choices = graph, limit, allow_xf32, choices
        self.buffers: dict[str, PlanBuffer] = {}
        self.launches: list[PlannedLaunch] = []
        self.places: dict[str, View] = {}
        self.kept: dict[str, tuple[View, View]] = {}
        self._count = 0
        for node in graph.nodes.values():
            if node.op in SOURCES:
                kind: BufferKind = "input" if node.op == "input" else "parameter"
                stored = "u8" if node.dtype == "bool" else node.dtype
                self.buffers[node.name] = PlanBuffer(node.name, kind, stored, node.elements)
                self.places[node.name] = whole(node.name, node.shape)

    def lower(self, group: Group) -> None:
        """Emit the launches of a group and say where its result lies."""
        if group.inner:
            view = maps.chain(self, group)
        else:
            node = self.graph.nodes[group.head]
            if node.op not in HEADS:
                raise PlanError("ARG-G101", f"no template computes {node.op}", node.name, node.line)
            try:
                view = HEADS[node.op](self, group, node)
            except NoTile as error:
                raise PlanError("ARG-G103", str(error), node.name, node.line) from error
        tail = self.graph.nodes[group.tail]
        seen = reshaped(view, tail.shape)
        assert seen is not None, "a result that is followed by a reshape is row-major"
        self.places[group.tail] = seen

    def at(self, name: str) -> View:
        """Where a value lies; views are followed, and copied where no strides say them."""
        if name in self.places:
            return self.places[name]
        node = self.graph.nodes[name]
        if node.op == "full":
            self.places[name] = self.filled(node.shape, node.dtype, node.attributes["value"])
            return self.places[name]
        base = self.at(node.inputs[0])
        made = self._viewed(node, base)
        if made is None:
            made = reshaped(self.row_major(base, node.dtype, (name,)), node.shape)
            assert made is not None
        self.places[name] = made
        return made

    def _viewed(self, node: Node, base: View) -> View | None:
        at = node.attributes
        match node.op:
            case "view":
                return reshaped(base, node.shape)
            case "permute":
                return permuted(base, at["dims"])
            case "expand":
                return expanded(base, node.shape)
            case "slice":
                return sliced(base, at["dim"], at["start"], at["stop"], at["step"])
        raise PlanError("ARG-G101", f"{node.op} is used before it is made", node.name, node.line)

    def row_major(self, view: View, dtype: str, nodes: tuple[str, ...] = ()) -> View:
        """The view itself, or a copy of it in row-major order."""
        if view.row_major:
            return view
        axes = merged([(e, s) for e, s in zip(view.shape, view.strides, strict=True) if e > 1])
        if any(step == 0 for _, step in axes):
            stated = f"a copy of {view.text()} repeats elements; nearest is an operand that is not broadcast"
            line = self.graph.nodes[nodes[0]].line if nodes else ""
            raise PlanError("ARG-G104", stated, *nodes[:1], *([line] if nodes else []))
        result = self.temporary(view.shape, dtype)
        self._reordered(view, result, axes, dtype, nodes or ("copy",))
        return result

    def _reordered(
        self, view: View, result: View, axes: list[tuple[int, int]], dtype: str, nodes: tuple[str, ...]
    ) -> None:
        """Copies with the axes (extent, stride) of a view; `reorder` has four of them, outer ones are launches."""
        if len(axes) > 4:
            (extent, stride), *inner = axes
            each = math.prod(count for count, _ in inner)
            for at in range(extent):
                part = replace(view, offset=view.offset + at * stride)
                self._reordered(part, replace(result, offset=result.offset + at * each), inner, dtype, nodes)
            return
        axes = [(1, 1)] * (4 - len(axes)) + axes
        sizes = {name: axis[0] for name, axis in zip("ABCD", axes, strict=True)}
        sizes |= {f"x{name}": axis[1] for name, axis in zip("ABCD", axes, strict=True)}
        knobs: dict[str, KnobValue] = {"DTYPE": dtype, "RESULT": dtype}
        self.emit("reorder", "reorder", knobs, sizes, {"X": view, "Y": result}, nodes=nodes)

    def typed(self, name: str, dtype: str) -> View:
        """A value in row-major order and in an element type, converted where it has another."""
        node = self.graph.nodes[name]
        view = self.row_major(self.at(name), node.dtype, (name,))
        if node.dtype == dtype:
            return view
        result = self.temporary(node.shape, dtype)
        maps.copied(self, view, result, node, dtype)
        return result

    def stored(self, view: View) -> str:
        """The element type of a view's buffer: a value may be kept in f32 for the one that reads it."""
        return self.buffers[view.buffer].dtype

    def temporary(self, shape: Shape, dtype: str) -> View:
        self._count += 1
        name = f"t{self._count}"
        return self._buffer(PlanBuffer(name, "temporary", dtype, math.prod(shape)), shape)

    def filled(self, shape: Shape, dtype: str, fill: float, purpose: str = "filled") -> View:
        """An array that holds a number until a launch writes to it; constants of one kind are one buffer."""
        name = f"{purpose}_{dtype}_{math.prod(shape)}_{fill!r}".replace("-", "minus").replace(".", "_")
        if purpose == "padded":
            self._count += 1
            name = f"{name}_{self._count}"
        return self._buffer(PlanBuffer(name, "filled", dtype, math.prod(shape), fill), shape)

    def _buffer(self, buffer: PlanBuffer, shape: Shape) -> View:
        self.buffers.setdefault(buffer.name, buffer)
        return whole(buffer.name, shape)

    def emit(
        self,
        file: str,
        kernel: str,
        knobs: Mapping[str, KnobValue],
        sizes: Mapping[str, int],
        arguments: Mapping[str, View],
        scalars: Mapping[str, float] | None = None,
        nodes: tuple[str, ...] = (),
    ) -> None:
        """One launch. Shapes and strides of its arguments are the kernel's at these sizes; an argument that is not
        given is one the kernel does not use."""
        read_kernel = kernel_of(file, kernel, tuple(sorted(knobs.items())))
        shapes, strides = tensor_shapes(read_kernel, sizes), element_strides(read_kernel, sizes)
        views: dict[str, View] = {}
        for tensor in read_kernel.tensors:
            base = arguments.get(tensor.name) or self.filled(shapes[tensor.name], tensor.dtype.name, 0.0, "unused")
            views[tensor.name] = View(base.buffer, shapes[tensor.name], strides[tensor.name], base.offset)
        numbers = {s.name: float((scalars or {}).get(s.name, 0.0)) for s in read_kernel.scalars}
        writes = tuple(tensor.name for tensor in read_kernel.tensors if tensor.written)
        assert read_kernel.computes is not None
        text = spec_text(read_kernel.computes)
        for part, moved in parts(read_kernel, sizes, views, self.limit, self.choices):
            self.launches.append(PlannedLaunch(file, kernel, dict(knobs), part, moved, numbers, writes, nodes, text))

    def output(self, name: str) -> View:
        """Where an output of the graph lies: in a buffer of its own, row-major."""
        node, view = self.graph.nodes[name], self.at(name)
        buffer = self.buffers[view.buffer]
        if buffer.kind == "temporary" and view.row_major and buffer.elements == node.elements:
            self.buffers[view.buffer] = PlanBuffer(buffer.name, "output", buffer.dtype, buffer.elements)
            return view
        result = self.temporary(node.shape, node.dtype)
        self.buffers[result.buffer] = PlanBuffer(result.buffer, "output", node.dtype, node.elements)
        axes = view if view.row_major else self.row_major(view, node.dtype, (name,))
        maps.copied(self, axes, result, node)
        return result
