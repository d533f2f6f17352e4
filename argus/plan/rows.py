"""Reductions and softmax: over rows, over a middle axis, over everything.

The axes of a reduction that lie together become one axis K of [A, K, C]; several groups of axes are reduced one after
the other. With C = 1 that is a reduction of rows, which a long single row is cut into first. Softmax over an axis that
is not the last reads a copy in which it is, and its result is a view of that order.
"""

from __future__ import annotations

import math

from argus.ir.kernel import KnobValue
from argus.ops.choice import BYTES, choose_rows
from argus.plan.graph import Node, PlanError
from argus.plan.grouping import Group
from argus.plan.maps import copied
from argus.plan.planning import Planning
from argus.plan.views import View, permuted, reshaped

LONGEST = 1 << 16
"""Elements of a row above which fewer than `ENOUGH` rows are cut into pieces."""
ENOUGH = 64


def reduced(planner: Planning, group: Group, node: Node) -> View:
    """Sum, mean, maximum, minimum or logsumexp over some axes; f32."""
    kind, dims = node.attributes["kind"], tuple(sorted(node.attributes["dims"]))
    view = planner.row_major(planner.at(node.inputs[0]), dtype_of(planner, node), (node.name,))
    dtype = dtype_of(planner, node)
    shape = list(view.shape)
    runs: list[list[int]] = []
    for dim in dims:
        if runs and all(shape[between] == 1 for between in range(runs[-1][-1] + 1, dim)):
            runs[-1].append(dim)
        else:
            runs.append([dim])
    if kind == "logsumexp" and (len(runs) > 1 or math.prod(shape[runs[-1][-1] + 1 :]) > 1):
        view, runs = last_in_order(planner, view, dims, dtype, node)
        shape = list(view.shape)
    for run in reversed(runs):
        a, k = math.prod(shape[: run[0]]), math.prod(shape[run[0] : run[-1] + 1])
        c = math.prod(shape[run[-1] + 1 :])
        view = one_run(planner, view, (a, k, c), kind, dtype, group)
        dtype = "f32"
        for dim in run:
            shape[dim] = 1
    made = reshaped(view, node.shape)
    assert made is not None
    return as_type(planner, made, node)


def dtype_of(planner: Planning, node: Node) -> str:
    return planner.graph.nodes[node.inputs[0]].dtype


def as_type(planner: Planning, view: View, node: Node) -> View:
    """An f32 result in the element type of its node."""
    if node.dtype == "f32":
        return view
    result = planner.temporary(node.shape, node.dtype)
    copied(planner, view, result, node, given="f32")
    return result


def last_in_order(
    planner: Planning, view: View, dims: tuple[int, ...], dtype: str, node: Node
) -> tuple[View, list[list[int]]]:
    """A copy in which the axes stand last."""
    others = [dim for dim in range(len(view.shape)) if dim not in dims]
    made = planner.row_major(permuted(view, (*others, *dims)), dtype, (node.name,))
    return made, [list(range(len(others), len(view.shape)))]


def one_run(planner: Planning, view: View, extents: tuple[int, int, int], kind: str, dtype: str, group: Group) -> View:
    """The reduction over the middle of [A, K, C]."""
    a, k, c = extents
    nodes = tuple(group.nodes)
    if c > 1:
        result = planner.temporary((a, c), "f32")
        size = BYTES[dtype]
        knobs: dict[str, KnobValue] = {"DTYPE": dtype, "OP": kind, "WIDTH": size * math.gcd(4, c)}
        sizes = {"A": a, "K": k, "C": c}
        planner.emit("reduce_axis", "reduce_axis", knobs, sizes, {"X": view, "Y": result}, nodes=nodes)
        return result
    pieces = cut(a, k) if kind != "logsumexp" else 1
    if pieces > 1:
        view = over_rows(planner, view, (a * pieces, k // pieces), kind, dtype, nodes)
        k, dtype = pieces, "f32"
    return over_rows(planner, view, (a, k), kind, dtype, nodes)


def cut(rows: int, length: int) -> int:
    """Into how many pieces few and long rows are cut: the largest of some numbers that divides them."""
    if rows >= ENOUGH or length <= LONGEST:
        return 1
    return next((pieces for pieces in range(4096, 1, -1) if length % pieces == 0), 1)


def over_rows(
    planner: Planning, view: View, extents: tuple[int, int], kind: str, dtype: str, nodes: tuple[str, ...]
) -> View:
    m, n = extents
    result = planner.temporary((m,), "f32")
    if kind == "logsumexp":
        file, choice = "logsumexp", choose_rows("softmax", n, dtype)
        kernel, written = choice.kernel.replace("softmax", "logsumexp"), "L"
    else:
        choice = choose_rows("rowreduce", n, dtype, kind)
        file, kernel, written = "rowreduce", choice.kernel, "Y"
    planner.emit(file, kernel, choice.knobs, {"M": m, "N": n}, {"X": view, written: result}, nodes=nodes)
    return result


def cross_entropy(planner: Planning, group: Group, node: Node) -> View:
    """The logarithm of softmax at each row's target, negated; its mean or sum over the rows, or every row's."""
    x, target = (planner.graph.nodes[name] for name in node.inputs)
    m, n = x.shape
    choice = choose_rows("softmax", n, x.dtype)
    kernel = choice.kernel.replace("softmax", "cross_entropy")
    terms = planner.temporary((m,), "f32")
    places = planner.at(target.name)
    if not places.row_major:
        stated = "targets that are a view have no template; nearest are those in row-major order"
        raise PlanError("ARG-G104", stated, node.name, node.line)
    arguments = {"X": planner.row_major(planner.at(x.name), x.dtype, (node.name,)), "Y": places, "P": terms}
    knobs = {**choice.knobs, "INDEX": target.dtype}
    planner.emit("cross_entropy", kernel, knobs, {"M": m, "N": n}, arguments, nodes=tuple(group.nodes))
    kind = node.attributes["kind"]
    found = terms if kind == "none" else one_run(planner, terms, (1, m, 1), kind, "f32", group)
    made = reshaped(found, node.shape)
    assert made is not None
    return as_type(planner, made, node)


def softmax(planner: Planning, group: Group, node: Node) -> View:
    """Softmax, or its logarithm, over one axis."""
    dim, rank = node.attributes["dim"], len(node.shape)
    order = [*(d for d in range(rank) if d != dim), dim]
    x = planner.row_major(permuted(planner.at(node.inputs[0]), order), node.dtype, (node.name,))
    n = node.shape[dim]
    m = node.elements // n
    choice = choose_rows("softmax", n, node.dtype)
    file = "softmax" if node.op == "softmax" else "logsumexp"
    kernel = choice.kernel.replace("softmax", node.op)
    result = planner.temporary(x.shape, node.dtype)
    planner.emit(file, kernel, choice.knobs, {"M": m, "N": n}, {"X": x, "Y": result}, nodes=tuple(group.nodes))
    return permuted(result, [order.index(d) for d in range(rank)])
