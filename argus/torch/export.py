"""From a PyTorch module to a graph: `torch.export`, then every ATen operator as nodes of `argus.plan.graph`.

    exported = graph_of(module, (x,))
    exported.graph                    the graph
    exported.state["weight"]          parameters and buffers by node name

Composite operators that templates know as a whole (`linear`, `softmax`, `group_norm`, `mish`, ...) are kept; the others
are decomposed by torch's own table. What has no counterpart is a `PlanError` that names the operator, the node, the
line of the module and, where there is one, the nearest form. Only what the outputs need is looked at; the new values of
buffers (running statistics) are among them, after the module's own outputs. A mask of dropout is an input that torch
draws before a run; a counter of calls is kept by who runs the plan.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch.export import default_decompositions, export
from torch.fx import Graph as FxGraph
from torch.fx import Node as FxNode

from argus.device.guards import TORCH_TYPES
from argus.plan.graph import Graph, Node, PlanError, Shape
from argus.torch.aten import ALIASES, CONVERTED, NEAREST, SECOND

TORCH = str(Path(torch.__file__).parent)
OTHER_TYPES = {"torch.int64": "i64", "torch.int32": "i32", "torch.bool": "bool", "torch.float64": "f64"}


@dataclass(frozen=True)
class ExportedGraph:
    """`state`: tensors by node name; `outputs`: names in the order the module returns them."""

    graph: Graph
    state: Mapping[str, torch.Tensor]
    updates: Mapping[str, str] = field(default_factory=dict)
    """Outputs that are new values of a parameter or an input, after the module's own."""
    counters: tuple[str, ...] = ()
    """Whole numbers among parameters and inputs that a call adds 1 to."""
    drawn: Mapping[str, float] = field(default_factory=dict)
    """The last inputs: ones and zeros that torch draws, with the probability of a one."""

    @property
    def results(self) -> tuple[str, ...]:
        """The module's own outputs."""
        return self.graph.outputs[: len(self.graph.outputs) - len(self.updates)]


def graph_of(module: torch.nn.Module, inputs: tuple[Any, ...]) -> ExportedGraph:
    """The graph of a module at these inputs; tensors without data (`meta`) do."""
    program = export(module, inputs).run_decompositions(kept_decompositions())
    tensors = {**program.constants, **program.state_dict}
    sources = {
        spec.arg.name: None if spec.kind.name == "USER_INPUT" else str(spec.target)
        for spec in program.graph_signature.input_specs
        if hasattr(spec.arg, "name")
    }
    signature = program.graph_signature
    changed = {**signature.buffers_to_mutate, **signature.user_inputs_to_mutate}
    places = {str(target): name for name, target in sources.items() if target is not None} | {n: n for n in sources}
    written = {str(name): places[str(target)] for name, target in changed.items()}
    return Conversion(program.graph, sources, tensors).made([str(n) for n in signature.user_outputs], written)


def kept_decompositions() -> dict[Any, Any]:
    """Torch's decompositions, without those of operators that are converted whole."""
    table = default_decompositions()
    return {op: table[op] for op in list(table) if _short(op) not in CONVERTED}


def _short(op: Any) -> str:
    return str(op).removeprefix("aten.").partition(".")[0]


class Conversion:
    """Nodes so far. Converters (`argus.torch.aten`) call `add` and `number`."""

    def __init__(self, graph: FxGraph, sources: Mapping[str, str | None], tensors: Mapping[str, Any]) -> None:
        """`sources`: placeholders, each an input or the name of one of the `tensors`."""
        self.graph, self.sources, self.tensors = graph, sources, tensors
        self.nodes: dict[str, Node] = {}
        self.names: dict[str, str] = {}
        self.state: dict[str, torch.Tensor] = {}
        self.inputs: list[str] = []
        self.parameters: list[str] = []
        self.masks: dict[str, float] = {}
        self.here: FxNode | None = None
        self._count = 0

    def made(self, wanted: list[str], written: Mapping[str, str] | None = None) -> ExportedGraph:
        """`wanted`: the outputs; `written`: other values, each the new one of a placeholder."""
        written = written or {}
        counters = {name for name in written if self._counts(name, written[name])}
        updated = [name for name in written if name not in counters]
        needed = self._needed({*wanted, *updated})
        for fx in self.graph.nodes:
            if fx.op == "placeholder":
                self._placeholder(fx)
            elif fx.op == "call_function" and fx.name in needed:
                self._call(fx)
        outputs = tuple(self.names[name] for name in (*wanted, *updated))
        graph = Graph(self.nodes, (*self.inputs, *self.masks), tuple(self.parameters), outputs)
        updates = {self.names[name]: self.names[written[name]] for name in updated}
        counted = tuple(self.names[written[name]] for name in written if name in counters)
        return ExportedGraph(graph, self.state, updates, counted, self.masks)

    def _counts(self, name: str, target: str) -> bool:
        """Whether a new value is a whole number more by one."""
        fx = next(node for node in self.graph.nodes if node.name == name)
        if fx.op != "call_function" or _short(fx.target) != "add":
            return False
        x, one = fx.args[:2]
        return isinstance(x, FxNode) and x.name == target and one == 1 and not fx.meta["val"].is_floating_point()

    def _needed(self, names: set[str]) -> set[str]:
        for fx in reversed(self.graph.nodes):
            if fx.name in names:
                names |= {source.name for source in fx.all_input_nodes}
        return names

    def _placeholder(self, fx: FxNode) -> None:
        target, value = self.sources.get(fx.name), fx.meta["val"]
        if not isinstance(value, torch.Tensor):
            return
        user = target is None
        name = fx.name if target is None else target.replace(".", "_")
        self.nodes[name] = Node(name, "input" if user else "parameter", (), {}, tuple(value.shape), dtype_of(value))
        self.names[fx.name] = name
        (self.inputs if user else self.parameters).append(name)
        if target is not None:
            found = self.tensors[target]
            assert isinstance(found, torch.Tensor)
            self.state[name] = found

    def _call(self, fx: FxNode) -> None:
        self.here = fx
        name = _short(fx.target)
        if fx.target is operator.getitem:
            source, index = fx.args
            assert isinstance(source, FxNode)
            key = (_short(source.target), index)
            if key in SECOND:
                self.names[fx.name] = SECOND[key](self, *source.args, **source.kwargs)
            elif index == 0:
                self.names[fx.name] = self.names[source.name]
            else:
                raise self.refused(f"result {index} of {key[0]} has no template; nearest is the first")
            return
        if name in ALIASES:
            self.names[fx.name] = self.name_of(fx.args[0])
            return
        if name not in CONVERTED:
            nearest = NEAREST.get(name, "")
            raise self.refused(f"{fx.target} has no template" + (f"; nearest is {nearest}" if nearest else ""))
        self.names[fx.name] = CONVERTED[name](self, *fx.args, **fx.kwargs)

    # -- what converters use -----------------------------------------------------------------------------------------

    @property
    def shape(self) -> Shape:
        """The shape of the node that is converted; of its first result, where there are several."""
        return tuple(self._value().shape)

    @property
    def dtype(self) -> str:
        return dtype_of(self._value())

    def _value(self) -> torch.Tensor:
        assert self.here is not None
        value = self.here.meta["val"]
        found = value[0] if isinstance(value, (tuple, list)) else value
        assert isinstance(found, torch.Tensor)
        return found

    def name_of(self, argument: Any) -> str:
        """The node of a tensor argument."""
        if isinstance(argument, FxNode):
            return self.names[argument.name]
        raise self.refused(f"{argument!r} is not a tensor")

    def node_of(self, argument: Any) -> Node:
        return self.nodes[self.name_of(argument)]

    def add(
        self, op: str, inputs: tuple[str, ...], shape: Shape | None = None, dtype: str = "", **attributes: Any
    ) -> str:
        """A node; its shape and element type are those of the result unless they are said."""
        assert self.here is not None
        self._count += 1
        name = self.here.name if self.here.name not in self.nodes else f"{self.here.name}.{self._count}"
        found = tuple(shape) if shape is not None else self.shape
        self.nodes[name] = Node(name, op, inputs, attributes, found, dtype or self.dtype, line_of(self.here))
        return name

    def drawn(self, share: float) -> str:
        """An input of ones and zeros of the result's shape, with this share of ones, that torch draws for every run."""
        name = f"drawn_{len(self.masks)}"
        self.nodes[name] = Node(name, "input", (), {}, self.shape, self.dtype)
        self.masks[name] = share
        return name

    def constant(self, value: float, shape: Shape) -> str:
        """A parameter that holds one number everywhere."""
        name = f"constant_{len(self.state)}"
        self.state[name] = torch.full(shape, value, dtype=self._value().dtype)
        self.nodes[name] = Node(name, "parameter", (), {}, shape, self.dtype)
        self.parameters.append(name)
        return name

    def refused(self, message: str) -> PlanError:
        assert self.here is not None
        return PlanError("ARG-G101", message, self.here.name, line_of(self.here))


def dtype_of(value: torch.Tensor) -> str:
    text = str(value.dtype)
    return TORCH_TYPES.get(text) or TORCH_TYPES.get(text.removeprefix("torch.")) or OTHER_TYPES.get(text, text)


def line_of(fx: FxNode) -> str:
    """The line of the module's source: the innermost frame that is not torch's."""
    frames = re.findall(r'File "([^"]+)", line (\d+)', str(fx.meta.get("stack_trace", "")))
    own = [(file, line) for file, line in frames if not file.startswith(TORCH)]
    return f"{own[-1][0].rsplit('/', 1)[-1]}:{own[-1][1]}" if own else ""
