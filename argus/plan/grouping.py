"""Which nodes become one launch: a head and the chain of elementwise steps after it.

    head matmul, steps add_U gelu        y = gelu(x @ w + bias) is one launch
    head x, steps save sigmoid mul_saved y = x * sigmoid(x)

The head is a node that is no map (a matrix product, a softmax, ...), or the value that a chain of maps starts from. A
step is appended if the value before it has no other use, or if all its uses lie on the chain: it is then kept (`save`).
Operands of steps are values made elsewhere, at most three; each has elements for some of the axes. Which, is said by
spans of the result's elements in row-major order: [1, N) is the last axis, [N, M * N) the one before. So a reshape on
the way changes nothing.

A chain of maps whose value only a reduction needs is computed by the reduction's launch (`before`), as far as its
operands have whole axes of [A, K, C], where K is what is reduced.

Groups are emitted in the order of their last nodes; every operand of a group is made before that.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from argus.plan.choices import Choices, ShapeClass
from argus.plan.graph import BINARY, FLOATS, SOURCES, UNARY, VIEWS, Graph, Node, Shape

MOST_STEPS, MOST_OPERANDS = 8, 3
NAMES = ("U", "V", "W")
PRODUCT = {"one": "one", "n": "n", "m": "m", "mn": "mn", "zmn": "zmn"}
IMAGES = {"one": "one", "m": "go", "zm": "ngo", "zmn": "all"}
"""Of [N, C, pixels]: one number, one per channel, one per channel of an image, one per element."""
WINDOWS = {"one": "one", "zmn": "all"}
COLUMNS = {"one": "one", "n": "c", "m": "b", "mn": "bc"}
"""Of a matrix whose columns are normalized."""

CHAINED = ("sum", "mean", "max", "min")
"""Reductions that take their elements through a chain."""
CHAINED_ROWS = {"one": "one", "z": "m", "m": "n", "zmn": "mn"}
CHAINED_AXIS = {"one": "one", "n": "c", "zn": "ac", "zmn": "akc"}
"""What `chain_rows` and `chain_axis` call the axes of an operand, of [A, K, C] as z, m, n."""

Spans = tuple[tuple[int, int], ...]


class ChainStep(NamedTuple):
    """A step as the kernels name it, and its parameter."""

    name: str
    p: float = 0.0


class ChainOperand(NamedTuple):
    """A value that steps use, and the spans of the result along which it has elements."""

    value: str
    spans: Spans


@dataclass
class Group:
    """`head`: the node computed first, or the value the chain starts from; `tail`: the value after the last step."""

    head: str
    nodes: list[str]
    tail: str
    steps: list[ChainStep] = field(default_factory=list)
    operands: list[ChainOperand] = field(default_factory=list)
    axes: tuple[int, ...] | None = None
    """Boundaries between the axes of the head's kernel; None: any, at most three axes."""
    kinds: Mapping[str, str] = field(default_factory=dict)
    """With `axes`: along which of them operands may have elements (`kind_of`), and what the kernel calls that."""
    triangle: str = "none"
    inner: bool = False
    """Whether head is a value that exists before: a chain of maps alone."""
    spans: Spans | None = None
    """Where the head is broadcast: along which elements of the result it has elements of its own."""
    possible: bool = True
    """Whether the kernels can do its first map."""
    before: Group | None = None
    """The chain of maps that a reduction takes its elements through."""


def grouped(graph: Graph, choices: Choices | None = None) -> list[Group]:
    """All groups, in the order they are launched."""
    choices = choices or Choices()
    taken: set[str] = set()
    groups: list[Group] = []
    for node in graph.nodes.values():
        if node.name in taken or node.op in SOURCES or node.op in VIEWS or node.op == "full":
            continue
        group = _started(graph, node)
        if group.axes is not None or (group.inner and group.possible):
            extended(graph, group, taken)
            if not group.inner and group.steps and not _fused(graph, group, choices):
                group = _started(graph, node)
        taken |= set(group.nodes)
        groups.append(group)
    groups = absorbed(graph, groups, choices)
    order = {name: number for number, name in enumerate(graph.nodes)}
    return sorted(groups, key=lambda g: order[g.nodes[-1]])


EITHER = ({"fused": True}, {"fused": False})


def _fused(graph: Graph, group: Group, choices: Choices) -> bool:
    """Whether the chain after a head is computed in its launch."""
    head = graph.nodes[group.head]
    operands = " ".join(str(list(graph.nodes[name].shape)) for name in head.inputs)
    shape: ShapeClass = {"head": head.op, "dtype": head.dtype, "operands": operands, "steps": _words(group.steps)}
    alone = group.triangle != "none"  # that half of a matrix is left out, no launch does alone
    able = EITHER[:1] if alone else EITHER
    return bool(choices.take("fuse-chain", shape, EITHER[0], lambda: able)["fused"])


def _words(steps: list[ChainStep]) -> str:
    return " ".join(step.name for step in steps)


def absorbed(graph: Graph, groups: list[Group], choices: Choices) -> list[Group]:
    """The groups, with chains of maps that only a reduction needs put into its group."""
    made = {group.tail: group for group in groups if group.inner and group.possible}
    for group in groups:
        node = graph.nodes[group.head]
        if group.inner or node.op != "reduce" or node.attributes["kind"] not in CHAINED:
            continue
        chain = made.get(node.inputs[0])
        found = chain_kinds(graph, chain, node) if chain is not None and _only_for(graph, chain, node) else None
        if chain is None or found is None:
            continue
        (a, k, c), kind = found[0], str(node.attributes["kind"])
        shape: ShapeClass = {"kind": kind, "dtype": node.dtype, "a": a, "k": k, "c": c, "steps": _words(chain.steps)}
        if choices.take("fuse-reduction", shape, EITHER[0], lambda: EITHER)["fused"]:
            group.before, group.nodes = chain, [*chain.nodes, *group.nodes]
            groups = [other for other in groups if other is not chain]
    return groups


def _only_for(graph: Graph, chain: Group, node: Node) -> bool:
    used = chain.tail in graph.outputs or graph.consumers[chain.tail] != (node.name,)
    types = {graph.nodes[name].dtype for name in (chain.head, *(operand.value for operand in chain.operands))}
    return not used and chain.spans is None and len(types) == 1


def chain_kinds(graph: Graph, chain: Group, node: Node) -> tuple[tuple[int, int, int], list[str]] | None:
    """A, K and C of a reduction, and which of these axes the operands of the chain before it have; None if they have
    others, or if its axes are apart. A reduction of everything is of rows, as long as operands have their last axis."""
    dims, shape = sorted(node.attributes["dims"]), graph.nodes[chain.tail].shape
    first, last = dims[0], dims[-1]
    if any(extent > 1 for dim, extent in enumerate(shape) if first < dim < last and dim not in dims):
        return None
    a, k, c = math.prod(shape[:first]), math.prod(shape[first : last + 1]), math.prod(shape[last + 1 :])
    if a == c == 1:
        points = boundaries(chain.operands, k)
        if points is None or len(points) > 3:
            return None
        k = points[1] if len(points) == 3 else k
        a = points[-1] // k
    ends = (c, c * k, a * c * k)
    kinds = [kind_of(operand.spans, (1, *ends)) for operand in chain.operands]
    known = CHAINED_ROWS if c == 1 else {**CHAINED_AXIS, **({"mn": "akc"} if a == 1 else {})}
    if any(kind not in known for kind in kinds):
        return None
    return (a, k, c), [known[kind] for kind in kinds if kind is not None]


def _started(graph: Graph, node: Node) -> Group:
    if not node.elementwise:
        axes: tuple[int, ...] | None = None
        kinds: dict[str, str] = {}
        if node.op == "matmul":
            n = node.shape[-1]
            batched = len(graph.nodes[node.inputs[1]].shape) > 2
            axes, kinds = (1, n, n * node.shape[-2] if batched else node.elements, node.elements), PRODUCT
        elif node.op in ("convolution", "conv_transpose", "pool") and len(node.shape) > 2:
            pixels = math.prod(node.shape[2:])
            axes, kinds = (1, pixels, node.shape[1] * pixels, node.elements), {**_images(node)}
        elif node.op == "batch_norm" and len(node.shape) == 2:
            axes, kinds = (1, node.shape[1], node.elements, node.elements), COLUMNS
        return Group(node.name, [node.name], node.name, axes=axes, kinds=kinds)
    start = max(
        dict.fromkeys(node.inputs), key=lambda name: (graph.nodes[name].elements, graph.nodes[name].op != "expand")
    )
    if node.op in UNARY:
        start = unexpanded(graph, start).name
    group = Group(start, [], start, inner=True)
    if graph.nodes[start].elements != node.elements:
        group.spans = spans_of(graph.nodes[start].shape, node.shape)
    if not _appended(graph, group, node):
        group.nodes.append(node.name)
        group.tail, group.possible = node.name, False
    return group


def _images(node: Node) -> dict[str, str]:
    """Kinds of operands; with one image, all channels and pixels are all elements."""
    kinds = WINDOWS if node.op == "pool" else IMAGES
    return {**kinds, "mn": "all"} if node.shape[0] == 1 else dict(kinds)


def extended(graph: Graph, group: Group, taken: set[str]) -> None:
    """Append what can be computed along with the group and is in no other one."""
    while group.tail not in graph.outputs:
        users = [graph.nodes[name] for name in graph.consumers[group.tail]]
        if any(user.name in taken for user in users):
            return
        if len(users) == 1 and users[0].op == "view":
            group.nodes.append(users[0].name)
            group.tail = users[0].name
        elif len(users) == 1 and users[0].op == "triangle" and group.kinds is PRODUCT and len(users[0].shape) == 2:
            group.nodes.append(users[0].name)
            group.tail, group.triangle = users[0].name, users[0].attributes["side"]
            return
        elif len(users) == 1 and users[0].elementwise:
            if not _appended(graph, group, users[0]):
                return
        elif len(users) > 1:
            if not _kept(graph, group, users, taken):
                return
        else:
            return


def _kept(graph: Graph, group: Group, users: list[Node], taken: set[str]) -> bool:
    """Append a chain on which all uses of the tail lie; the tail is kept for them."""
    for first in users:
        trial = Group(
            group.head,
            [*group.nodes],
            group.tail,
            [*group.steps, ChainStep("save")],
            [*group.operands],
            group.axes,
            group.kinds,
        )
        left = {user.name for user in users}
        here = first
        while here.elementwise and _appended(graph, trial, here, group.tail):
            left -= {here.name}
            if not left:
                group.nodes, group.tail = trial.nodes, trial.tail
                group.steps, group.operands = trial.steps, trial.operands
                return True
            after = graph.consumers[here.name]
            if len(after) != 1 or here.name in graph.outputs or after[0] in taken:
                break
            here = graph.nodes[after[0]]
    return False


def _appended(graph: Graph, group: Group, node: Node, saved: str = "") -> bool:
    """Append one map to the chain, if the kernels can do it."""
    tail = graph.nodes[group.tail]
    if group.axes is not None and node.dtype != tail.dtype:
        return False
    if node.elements != tail.elements and not (group.spans is not None and group.tail == group.head):
        return False
    operands = [*group.operands]
    steps: list[ChainStep] | None
    if node.op in UNARY:
        steps = [] if node.op == "none" else [ChainStep(node.op, float(node.attributes.get("p", 0.0)))]
    elif node.op in BINARY:
        if not saved and group.inner and group.head in node.inputs and group.tail != group.head:
            return _with_head(graph, group, node)
        if node.inputs[0] == node.inputs[1]:
            steps = _of_itself(group, node, saved)
        else:
            found = _binary(graph, node, group, saved, operands)
            steps = None if found is None else [found]
        if steps is None:
            return False
    else:
        return False
    if len(group.steps) + len(steps) > MOST_STEPS or len(operands) > MOST_OPERANDS:
        return False
    if not _fit(group, operands, node.elements):
        return False
    group.steps += steps
    group.operands = operands
    group.nodes.append(node.name)
    group.tail = node.name
    return True


def _of_itself(group: Group, node: Node, saved: str) -> list[ChainStep] | None:
    """An operation of a value with itself."""
    known = {"add": [ChainStep("scale", 2.0)], "mul": [ChainStep("square")], "min": [], "max": []}
    if node.op in known:
        return known[node.op]
    if saved or any(step.name == "save" for step in group.steps):
        return None
    return [ChainStep("save"), ChainStep(f"{node.op}_saved")]


def _with_head(graph: Graph, group: Group, node: Node) -> bool:
    """Append a map that uses the value the chain starts from: it is kept, if nothing else is."""
    kept = [number for number, step in enumerate(group.steps) if step.name == "save"]
    if kept not in ([], [0]) or len(group.steps) >= MOST_STEPS:
        return False
    if not kept:
        group.steps.insert(0, ChainStep("save"))
    return _appended(graph, group, node, group.head)


def _binary(graph: Graph, node: Node, group: Group, saved: str, operands: list[ChainOperand]) -> ChainStep | None:
    """Operands have the type of the head; in a chain of maps alone, one type that may be another."""
    left, right = node.inputs
    other, turned = (right, False) if left == group.tail else (left, True)
    name = f"r{node.op}" if turned and node.op in ("sub", "div") else node.op
    if other == saved:
        return ChainStep(f"{name}_saved")
    source = unexpanded(graph, other)
    like = operands[0].value if group.inner and operands else group.head
    if source.dtype not in FLOATS or (source.dtype != graph.nodes[like].dtype and (operands or not group.inner)):
        return None
    operand = ChainOperand(source.name, spans_of(source.shape, node.shape))
    if operand not in operands:
        operands.append(operand)
    number = operands.index(operand)
    return ChainStep(f"{name}_{NAMES[number]}") if number < MOST_OPERANDS else None


def unexpanded(graph: Graph, name: str) -> Node:
    """The value that an expanded one is broadcast from."""
    source = graph.nodes[name]
    while source.op == "expand":
        source = graph.nodes[source.inputs[0]]
    return source


def spans_of(shape: Shape, result: Shape) -> Spans:
    """Along which elements of the result, counted from the last, a broadcast operand has elements of its own."""
    aligned = (1,) * (len(result) - len(shape)) + shape
    found: list[tuple[int, int]] = []
    low = 1
    for have, extent in zip(reversed(aligned), reversed(result), strict=True):
        if have == extent and extent > 1:
            if found and found[-1][1] == low:
                found[-1] = (found[-1][0], low * extent)
            else:
                found.append((low, low * extent))
        low *= extent
    return tuple(found)


def broadcast_head(group: Group) -> list[ChainOperand]:
    """The head as an operand, where it is broadcast."""
    return [] if group.spans is None else [ChainOperand(group.head, group.spans)]


def boundaries(operands: list[ChainOperand], elements: int) -> tuple[int, ...] | None:
    """Where axes must end so that every operand has whole axes; None if two of them do not fit together."""
    points = sorted({1, elements, *(edge for operand in operands for span in operand.spans for edge in span)})
    if any(high % low for low, high in pairwise(points)):
        return None
    return tuple(points)


def _fit(group: Group, operands: list[ChainOperand], elements: int) -> bool:
    if group.axes is None:
        points = boundaries([*operands, *broadcast_head(group)], elements)
        return points is not None and len(points) <= 4
    return all(kind_of(operand.spans, group.axes) in group.kinds for operand in operands)


def operand_kind(group: Group, operand: ChainOperand) -> str:
    """What the head's kernel calls the axes of an operand."""
    assert group.axes is not None
    found = kind_of(operand.spans, group.axes)
    assert found is not None
    return group.kinds[found]


def kind_of(spans: Spans, axes: tuple[int, ...]) -> str | None:
    """The axes of a product's result along which an operand has elements; `axes`: their ends 1, N, M * N, Z * M * N."""
    _, n, mn, zmn = axes
    named = {"z": (mn, zmn), "m": (n, mn), "n": (1, n)}
    kept = [name for name, (low, high) in named.items() if high > low]
    covered = [name for name in kept if any(a <= named[name][0] and named[name][1] <= b for a, b in spans)]
    total = sum(1 for a, b in spans for low, high in named.values() if high > low and a <= low and high <= b)
    inside = all(a in axes and b in axes for a, b in spans)
    if not inside or total != len(covered):
        return None
    if set(covered) == {"m", "n"} or (set(covered) == set(kept) and "z" in kept):
        return "zmn" if "z" in covered else "mn"
    return "".join(covered) or "one"
