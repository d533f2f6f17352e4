"""Reductions and softmax: over rows, over a middle axis, over everything.

The axes of a reduction that lie together become one axis K of [A, K, C]; several groups of axes are reduced one after
the other. With C = 1 that is a reduction of rows, which a long single row is cut into first. Softmax and logsumexp over
an axis that is not the last are of the middle axis, too (`axissoftmax`), up to HELD elements; over a longer one they
read a copy in which it is the last, and the result of softmax is a view of that order.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from argus.ir.kernel import KnobValue
from argus.ops.choice import BYTES, choose_rows, choose_walk
from argus.plan.graph import Node, PlanError
from argus.plan.grouping import NAMES, Group, chain_kinds
from argus.plan.maps import copied, step_knobs, step_scalars
from argus.plan.planning import Planning
from argus.plan.views import View, permuted, reshaped

LONGEST = 1 << 16
"""Elements of a row above which fewer than `ENOUGH` rows are cut into pieces."""
ENOUGH = 64
COLUMNS, FULL = 256, 1024
"""Columns of a workgroup that reduces a middle axis, and workgroups below which the axis is cut."""
LEAST, LONG = 32, 512
"""Elements of a column that a workgroup has at least after that, and of a column that is cut."""
HELD = 128
"""Elements of a middle axis that `axissoftmax` has in registers."""


def reduced(planner: Planning, group: Group, node: Node) -> View:
    """Sum, mean, maximum, minimum or logsumexp over some axes; f32."""
    if group.before is not None:
        return after_maps(planner, group, group.before, node)
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
    inner = math.prod(shape[runs[-1][-1] + 1 :])
    middle = len(runs) == 1 and math.prod(shape[runs[0][0] : runs[0][-1] + 1]) <= HELD
    if kind == "logsumexp" and (len(runs) > 1 or (inner > 1 and not middle)):
        view, runs = last_in_order(planner, view, dims, dtype, node)
        shape = list(view.shape)
    for run in reversed(runs):
        a, k = math.prod(shape[: run[0]]), math.prod(shape[run[0] : run[-1] + 1])
        c = math.prod(shape[run[-1] + 1 :])
        view = one_run(planner, view, (a, k, c), kind, dtype, group, node.dtype if run is runs[0] else "f32")
        dtype = "f32"
        for dim in run:
            shape[dim] = 1
    made = reshaped(view, node.shape)
    assert made is not None
    return as_type(planner, made, node) if kind == "logsumexp" else made


WHOLE = {"n": "mn", "ac": "c"}
"""What the axes of an operand of one row, or of the columns of one matrix, are when these are cut."""


def after_maps(planner: Planning, group: Group, chain: Group, node: Node) -> View:
    """A reduction that takes its elements through a chain of maps."""
    found = chain_kinds(planner.graph, chain, node)
    assert found is not None, "the chain was put into the group because its operands fit"
    (a, k, c), kinds = found
    head = planner.graph.nodes[chain.head]
    kind, outer = node.attributes["kind"], node.elements // c
    if a == 1 or set(kinds) <= {"one", "mn", "c", "akc"}:
        pieces = cut(a, k) if c == 1 else cut_columns(a, k, c)
        a, k = a * pieces, k // pieces
        kinds = [WHOLE.get(each, each) if pieces > 1 else each for each in kinds]
    knobs: dict[str, KnobValue] = {f"HAS_{name}": each for name, each in zip(NAMES, kinds, strict=False)}
    knobs |= step_knobs(chain.steps, node.dtype)
    arguments = {
        name: planner.row_major(planner.at(value), head.dtype, (value,))
        for name, value in zip(("X", *NAMES), (chain.head, *(each.value for each in chain.operands)), strict=False)
    }
    dtype = "f32" if a > outer else node.dtype
    knobs |= {"OP": kind, "RESULT": dtype}
    result = walked(planner, (a, k, c), head.dtype, knobs, arguments, step_scalars(chain.steps), tuple(group.nodes))
    if a > outer:
        result = one_run(planner, result, (outer, a // outer, c), kind, "f32", group, node.dtype)
    made = reshaped(result, node.shape)
    assert made is not None
    return made


def walked(
    planner: Planning, extents: tuple[int, int, int], dtype: str, knobs: Mapping[str, KnobValue],
    arguments: Mapping[str, View], scalars: Mapping[str, float], nodes: tuple[str, ...],
) -> View:  # fmt: skip
    """A launch of `chain_rows` or `chain_axis` over the middle of [A, K, C]; its result in the type that knobs say."""
    a, k, c = extents
    result = planner.temporary((a, c), str(knobs["RESULT"]))
    given = {**arguments, "Y": result}
    if c > 1:
        wide: dict[str, KnobValue] = {"DTYPE": dtype, "WIDTH": BYTES[dtype] * math.gcd(4, c)}
        planner.emit("chain_axis", "chain_axis", {**wide, **knobs}, {"A": a, "K": k, "C": c}, given, scalars, nodes)
    else:
        choice = choose_walk("chain_rows", "chain_rows", 1, k, dtype)
        planner.emit("chain_rows", "chain_rows", {**choice.knobs, **knobs}, {"M": a, "N": k}, given, scalars, nodes)
    return result


def dtype_of(planner: Planning, node: Node) -> str:
    return planner.graph.nodes[node.inputs[0]].dtype


def as_type(planner: Planning, view: View, node: Node) -> View:
    """A result in f32 in the element type of its node."""
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


def one_run(
    planner: Planning, view: View, extents: tuple[int, int, int], kind: str, dtype: str, group: Group,
    result: str = "f32",
) -> View:  # fmt: skip
    """The reduction over the middle of [A, K, C], in the element type `result`; of logsumexp in f32."""
    a, k, c = extents
    nodes = tuple(group.nodes)
    if kind == "logsumexp" and c > 1:
        made = planner.temporary((a, c), "f32")
        sizes = {"A": a, "K": k, "C": c}
        planner.emit("axissoftmax", "logsumexp_axis", held(k, c, dtype), sizes, {"X": view, "L": made}, nodes=nodes)
        return made
    pieces = 1 if kind == "logsumexp" else cut(a, k) if c == 1 else cut_columns(a, k, c)
    if pieces > 1:
        view = one_run(planner, view, (a * pieces, k // pieces, c), kind, dtype, group)
        k, dtype = pieces, "f32"
    if c > 1 and result == "f32":
        made = planner.temporary((a, c), "f32")
        knobs: dict[str, KnobValue] = {"DTYPE": dtype, "OP": kind, "WIDTH": BYTES[dtype] * math.gcd(4, c)}
        planner.emit("reduce_axis", "reduce_axis", knobs, {"A": a, "K": k, "C": c}, {"X": view, "Y": made}, nodes=nodes)
        return made
    if kind != "logsumexp" and result != "f32":
        return walked(planner, (a, k, c), dtype, {"OP": kind, "RESULT": result}, {"X": view}, {}, nodes)
    return over_rows(planner, view, (a, k), kind, dtype, nodes)


def cut(rows: int, length: int) -> int:
    """Into how many pieces few and long rows are cut: the largest of some numbers that divides them."""
    if rows >= ENOUGH or length <= LONGEST:
        return 1
    return next((pieces for pieces in range(4096, 1, -1) if length % pieces == 0), 1)


def cut_columns(a: int, k: int, c: int) -> int:
    """Into how many pieces columns are cut, where there are few: the fewest that fill the chip and divide them."""
    wide = a * -(-c // COLUMNS)
    if k < LONG:
        return 1
    able = [pieces for pieces in range(1, k // LEAST + 1) if k % pieces == 0]
    return next((pieces for pieces in able if pieces * wide >= FULL), able[-1])


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
    if kind != "none":
        made = reshaped(one_run(planner, terms, (1, m, 1), kind, "f32", group, node.dtype), node.shape)
        assert made is not None
        return made
    made = reshaped(terms, node.shape)
    assert made is not None
    return as_type(planner, made, node)


def held(k: int, c: int, dtype: str) -> dict[str, KnobValue]:
    """Knobs of `axissoftmax` for columns of k elements, c of them side by side."""
    depth = next(depth for depth in (1, 2, 4, 8, 16, 32) if 4 * depth >= k)
    return {"DTYPE": dtype, "DEPTH": depth, "WIDTH": BYTES[dtype] * math.gcd(4, c)}


def softmax(planner: Planning, group: Group, node: Node) -> View:
    """Softmax, or its logarithm, over one axis."""
    dim, rank = node.attributes["dim"], len(node.shape)
    c = math.prod(node.shape[dim + 1 :])
    if node.op == "softmax" and c > 1 and node.shape[dim] <= HELD:
        x = planner.row_major(planner.at(node.inputs[0]), node.dtype, (node.name,))
        result = planner.temporary(node.shape, node.dtype)
        sizes = {"A": math.prod(node.shape[:dim]), "K": node.shape[dim], "C": c}
        knobs = held(node.shape[dim], c, node.dtype)
        planner.emit("axissoftmax", "softmax_axis", knobs, sizes, {"X": x, "Y": result}, nodes=tuple(group.nodes))
        return result
    order = [*(d for d in range(rank) if d != dim), dim]
    given = planner.at(node.inputs[0])
    dtype = planner.stored(given)
    x = planner.row_major(permuted(given, order), dtype, (node.name,))
    n = node.shape[dim]
    m = node.elements // n
    choice = choose_rows("softmax", n, dtype)
    file = "softmax" if node.op == "softmax" else "logsumexp"
    kernel = choice.kernel.replace("softmax", node.op)
    result = planner.temporary(x.shape, node.dtype)
    knobs = {**choice.knobs, **({"RESULT": node.dtype} if dtype != node.dtype else {})}
    planner.emit(file, kernel, knobs, {"M": m, "N": n}, {"X": x, "Y": result}, nodes=tuple(group.nodes))
    return permuted(result, [order.index(d) for d in range(rank)])
