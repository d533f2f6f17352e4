"""Matrix products with their chain: `gemm_f32`, or `matvec` for one column without a chain.

Operands are taken as they are stored, by rows or by k; anything else is copied. A product with one matrix for the whole
batch has more rows instead of a batch.
"""

from __future__ import annotations

import math

from argus.gfx942.chip import CUS
from argus.ir.kernel import KnobValue
from argus.ops.choice import choose_walk
from argus.plan.graph import Node, PlanError
from argus.plan.grouping import NAMES, Group, kind_of
from argus.plan.maps import step_knobs, step_scalars
from argus.plan.planning import Planning
from argus.plan.views import View, permuted, reshaped


def matmul(planner: Planning, group: Group, node: Node) -> View:
    """One product, batched or not, with the chain after it."""
    if node.dtype != "f32":
        raise PlanError(
            "ARG-P102", f"products of {node.dtype} with a chain: not yet; nearest is f32", node.name, node.line
        )
    left, right = (planner.at(name) for name in node.inputs)
    k, n = right.shape[-2], right.shape[-1]
    if len(right.shape) == 2:
        left = planner.row_major(left, node.dtype, (node.name,)) if len(left.shape) > 2 else left
        flat = reshaped(left, (math.prod(left.shape[:-1]), k)) if len(left.shape) > 2 else left
        assert flat is not None
        z, m, left = 1, math.prod(node.shape[:-1]), flat
    else:
        if left.shape[:-2] != right.shape[:-2]:
            stated = f"a product of {list(left.shape)} and {list(right.shape)} has no template"
            raise PlanError("ARG-P104", f"{stated}; nearest is one batch for both", node.name, node.line)
        z, m = math.prod(left.shape[:-2]), left.shape[-2]
    a, a_by_k = stored(planner, left, node)
    b, b_rows = stored(planner, right, node)
    if n == 1 and z == 1 and not group.steps and not a_by_k and group.triangle == "none":
        return matvec(planner, group, a, b, (m, k))
    knobs = product_knobs(z, m, n, k, a_by_k, not b_rows)
    arguments = {"A": a, "B": b}
    for name, operand in zip(NAMES, group.operands, strict=False):
        kind = kind_of(operand.spans, (1, n, m * n, z * m * n)) if node.op == "matmul" else None
        if kind is None:
            raise PlanError("ARG-P104", f"{operand.value} has axes that no epilogue has", node.name, node.line)
        knobs[f"HAS_{name}"] = kind
        arguments[name] = planner.row_major(planner.at(operand.value), "f32", (operand.value,))
    knobs |= step_knobs(group.steps)
    if group.triangle != "none":
        knobs["TRIANGLE"] = group.triangle
    result = planner.temporary(node.shape, node.dtype)
    sizes = {"Z": z, "M": m, "N": n, "K": k}
    arguments["C"] = result
    planner.emit("gemm_f32", "gemm_f32", knobs, sizes, arguments, step_scalars(group.steps), tuple(group.nodes))
    return result


def stored(planner: Planning, view: View, node: Node) -> tuple[View, bool]:
    """An operand as it lies, and whether its last axis is not the one that lies together; copied if neither does."""
    if view.row_major:
        return view, False
    axes = len(view.shape)
    turned = permuted(view, (*range(axes - 2), axes - 1, axes - 2))
    if turned.row_major:
        return turned, True
    return planner.row_major(view, node.dtype, (node.name,)), False


def product_knobs(z: int, m: int, n: int, k: int, a_by_k: bool, b_by_k: bool) -> dict[str, KnobValue]:
    """Tiles of 128 x 128, or of 64 where these leave compute units without work; the widest access that fits."""
    along = [n, *([] if a_by_k and b_by_k else [k]), *([m] if a_by_k else [])]
    tiles = z * -(-m // 128) * -(-n // 128)
    few = tiles < CUS or min(m, n) <= 64
    side = 64 if few else 128
    return {"BM": side, "BN": side, "A_BY_K": a_by_k, "B_BY_K": b_by_k, "WIDTH": 4 * math.gcd(4, *along)}


def matvec(planner: Planning, group: Group, a: View, b: View, extents: tuple[int, int]) -> View:
    """A matrix times a vector."""
    m, k = extents
    choice = choose_walk("matvec", "matvec", 1, k, "f32")
    result = planner.temporary(planner.graph.nodes[group.head].shape, "f32")
    planner.emit(
        "matvec", "matvec", choice.knobs, {"M": m, "N": k}, {"A": a, "x": b, "y": result}, nodes=tuple(group.nodes)
    )
    return result
