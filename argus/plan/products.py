"""Matrix products with their chain: `gemm_f32`, `matmul_chain` for bf16 and f16; `matvec` for one column without chain.

A triangle of a product of 2-byte types is `matmul_triangle`, which does not compute the tiles beside it.

Operands are taken as they are stored, by rows or by k; anything else is copied. A product with one matrix for the whole
batch (by its shape, or broadcast) has more rows instead of a batch; other batches are one launch. Products of 2-byte
types with few elements and a long K are divided along K (`split`, then `combine`), if nothing follows them. Where rows
of their operands would be loaded by single elements, and often enough, they are copied to longer rows first
(`aligned`). Tiles, parts and copies are decision points (`product_tiles`). f32 products use the xf32 instructions only
if the caller allows it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from argus.gfx942.chip import CUS
from argus.ir.kernel import KnobValue
from argus.ops.choice import BYTES, choose_walk, matmul_with
from argus.plan import product_tiles
from argus.plan.choices import Alternative
from argus.plan.graph import Node, PlanError
from argus.plan.grouping import NAMES, Group, kind_of
from argus.plan.maps import copied, step_knobs, step_scalars
from argus.plan.planning import Planning
from argus.plan.product_tiles import rounded
from argus.plan.views import View, permuted, reshaped

ROUND = 1024
"""What parts of a product are multiples of, as far as they are that long."""


@dataclass(frozen=True, slots=True)
class Factors:
    """Operands of a product as they are stored: [Z, M, K] or by k, [Z, K, N] by k or not."""

    a: View
    b: View
    a_by_k: bool
    b_by_k: bool
    z: int
    m: int
    n: int
    k: int
    shared: bool = False
    """A is one matrix for the whole batch."""
    longer: bool = False
    """Operands are copies with rows of `ALIGNED` elements and zeros behind K; `k` is theirs."""

    @property
    def width(self) -> int:
        """Bytes of the widest access to both operands, of 2-byte types."""
        along = (self.m if self.a_by_k else self.k, self.n if self.b_by_k else self.k)
        return 16 if self.longer else 2 * math.gcd(8, *along)


def matmul(planner: Planning, group: Group, node: Node) -> View:
    """One product, batched or not, with the chain after it."""
    found = factors(planner, node, group)
    alone = not group.steps and group.triangle == "none"
    if found.n == 1 and found.z == 1 and alone and not found.a_by_k:
        return matvec(planner, group, node, found)
    if alone and found.z == 1 and node.dtype != "f32":
        tile = product_tiles.split(planner, found)
        if tile["SPLITS"] != 1:
            return divided(planner, group, node, found, tile)
    knobs: dict[str, KnobValue] = {}
    arguments: dict[str, View] = {}
    for name, operand in zip(NAMES, group.operands, strict=False):
        axes = (1, found.n, found.m * found.n, found.z * found.m * found.n)
        knobs[f"HAS_{name}"] = kind_of(operand.spans, axes) or "none"
        arguments[name] = planner.row_major(planner.at(operand.value), node.dtype, (operand.value,))
    knobs |= step_knobs(group.steps, node.dtype)
    if group.triangle != "none":
        knobs["TRIANGLE"] = group.triangle
    wide = node.dtype != "f32" and scores(planner, group)
    result = planner.temporary(node.shape, "f32" if wide else node.dtype)
    knobs |= {"WIDE": True} if wide else {}
    scalars = step_scalars(group.steps)
    if found.z == 1 and not found.b_by_k and found.n * found.k * BYTES[node.dtype] >= planner.limit:
        return in_parts(planner, group, node, found, knobs, arguments, result)
    return whole_product(planner, group, node, found, knobs, {**arguments, "C": result}, scalars)


def scores(planner: Planning, group: Group) -> bool:
    """Whether the result goes into a softmax of its rows alone: exponentials of scores that were rounded to two bytes
    are off by as much as a score's last place, so such scores are kept in f32."""
    users = [planner.graph.nodes[name] for name in planner.graph.consumers[group.tail]]
    alone = len(users) == 1 and group.tail not in planner.graph.outputs
    return alone and users[0].op == "softmax" and users[0].attributes["dim"] == len(users[0].shape) - 1


def divided(planner: Planning, group: Group, node: Node, found: Factors, tile: Alternative) -> View:
    """A product whose workgroups share K; the parts of their sums, in f32, are added up by a launch of its own."""
    row = {"kernel": "split", "knobs": {**product_tiles.SPLIT_TILE, **tile}}
    m, n, k = found.m, found.n, found.k
    choice = matmul_with(row, m, n, k, node.dtype, a_by_k=found.a_by_k, b_by_k=found.b_by_k)
    assert choice.then is not None
    parts = planner.temporary((int(tile["SPLITS"]), m, n), "f32")
    result = planner.temporary(node.shape, node.dtype)
    nodes, sizes = tuple(group.nodes), {"M": m, "N": n, "K": k}
    planner.emit(choice.file, choice.kernel, choice.knobs, sizes, {"A": found.a, "B": found.b, "W": parts}, nodes=nodes)
    then, extents = choice.then, {"M": m, "N": n}
    planner.emit(then.file, then.kernel, then.knobs, extents, {"W": parts, "C": result}, nodes=nodes)
    return result


def in_parts(
    planner: Planning, group: Group, node: Node, found: Factors, knobs: Mapping[str, KnobValue],
    arguments: Mapping[str, View], result: View,
) -> View:  # fmt: skip
    """A product whose second operand is too large for one launch: some columns of the result at a time, each part made
    by itself and copied to its place."""
    most = (planner.limit - 1) // (found.k * BYTES[node.dtype])
    rows = -(-found.n // -(-found.n // max(most, 1)))  # parts of one size
    rows = min(most - most % ROUND, rows + -rows % ROUND) if most >= ROUND else most
    if rows < 1 or group.triangle != "none" or any(kind in ("mn", "zmn") for kind in knobs.values()):
        stated = f"a product of {found.n * found.k} elements with operands of all its elements has no template"
        raise PlanError("ARG-G103", f"{stated}; nearest are operands of rows or columns", node.name, node.line)
    for start in range(0, found.n, rows):
        n = min(rows, found.n - start)
        part = replace(found, b=_matrix(found.b, start, found.k), n=n)
        given = {
            name: _matrix(view, start, 1) if knobs[f"HAS_{name}"] == "n" else view for name, view in arguments.items()
        }
        made = planner.temporary((found.m, n), node.dtype)
        whole_product(planner, group, node, part, knobs, {**given, "C": made}, step_scalars(group.steps))
        sizes = {"Z": 1, "H": found.m, "W": n, "sZ": found.m * found.n, "sH": found.n}
        place = replace(result, offset=result.offset + start)
        planner.emit("pad", "pad", {"DTYPE": node.dtype}, sizes, {"X": made, "Y": place}, nodes=tuple(group.nodes))
    return result


def whole_product(
    planner: Planning, group: Group, node: Node, found: Factors, knobs: Mapping[str, KnobValue],
    arguments: Mapping[str, View], scalars: Mapping[str, float],
) -> View:  # fmt: skip
    """The launches of a product into `arguments["C"]`."""
    nodes, result = tuple(group.nodes), arguments["C"]
    if node.dtype == "f32":
        asked: dict[str, KnobValue] = {"XF32": True} if planner.allow_xf32 else {}
        knobs = {**f32_knobs(found), **asked, **knobs}
        sizes = {"Z": found.z, "M": found.m, "N": found.n, "K": found.k}
        planner.emit("gemm_f32", "gemm_f32", knobs, sizes, {"A": found.a, "B": found.b, **arguments}, scalars, nodes)
        return result
    found = aligned(planner, node, found)
    kinds = {key: "mn" if value == "zmn" and found.z == 1 else value for key, value in knobs.items()}
    narrow_product(planner, found, kinds, {"A": found.a, "B": found.b, **arguments}, scalars, node.dtype, nodes)
    return result


def narrow_product(
    planner: Planning, found: Factors, knobs: Mapping[str, KnobValue], arguments: Mapping[str, View],
    scalars: Mapping[str, float], dtype: str, nodes: tuple[str, ...],
) -> None:  # fmt: skip
    """The launch of a product of a 2-byte type, batched or not; `knobs`: its chain."""
    sizes, template = {"M": found.m, "N": found.n, "K": found.k}, "matmul_chain"
    if "TRIANGLE" in knobs:
        template, chosen = "matmul_triangle", product_tiles.triangle_knobs(found, dtype)
    else:
        chosen = product_tiles.narrow_knobs(planner.choices, found, dtype, knobs)
    if found.z > 1:
        sizes, chosen = {"Z": found.z, **sizes}, {**chosen, "BATCH": "shared" if found.shared else "both"}
    if found.longer:
        chosen |= {"LONGER": True, "STORE": 2 * math.gcd(4, found.n)}
        sizes |= {"Q": rounded(found.m)} if found.a_by_k else {}
        sizes |= {"P": rounded(found.n)} if found.b_by_k else {}
    planner.emit(template, template, {**chosen, **knobs}, sizes, arguments, scalars, nodes)


def aligned(planner: Planning, node: Node, found: Factors) -> Factors:
    """The operands, copied to longer rows where their elements would be loaded one by one, and often."""
    if not product_tiles.copied_first(planner, found):
        return found
    k = rounded(found.k)

    def copied_to(x: View, matrices: int, rows: int, row: int, by_k: bool) -> View:
        high, wide = (k, rounded(row)) if by_k else (rows, k)
        made = planner.filled((matrices, high, wide), node.dtype, 0.0, "padded")
        sizes = {"Z": matrices, "H": rows, "W": row, "sZ": high * wide, "sH": wide}
        planner.emit("pad", "pad", {"DTYPE": node.dtype}, sizes, {"X": x, "Y": made}, nodes=(node.name,))
        return made

    of_a = (found.k, found.m) if found.a_by_k else (found.m, found.k)
    of_b = (found.k, found.n) if found.b_by_k else (found.n, found.k)
    a = copied_to(found.a, 1 if found.shared else found.z, *of_a, found.a_by_k)
    b = copied_to(found.b, found.z, *of_b, found.b_by_k)
    return replace(found, a=a, b=b, k=k, longer=True)


def _matrix(view: View, number: int, elements: int) -> View:
    return replace(view, offset=view.offset + number * elements)


def factors(planner: Planning, node: Node, group: Group) -> Factors:
    """The operands of a product as its templates take them."""
    left, right = (planner.at(name) for name in node.inputs)
    k, n = right.shape[-2], right.shape[-1]
    every = (1, n, math.prod(left.shape[:-1]) * n, math.prod(left.shape[:-1]) * n)
    if _broadcast(right) and all(kind_of(operand.spans, every) in group.kinds for operand in group.operands):
        right = _one_matrix(right)
    left = _one_matrix(left) if _broadcast(left) and len(right.shape) > 2 else left
    shared = len(left.shape) == 2 and len(right.shape) > 2
    if len(right.shape) == 2:
        if len(left.shape) > 2:
            flat = reshaped(planner.row_major(left, node.dtype, (node.name,)), (math.prod(left.shape[:-1]), k))
            assert flat is not None
            left = flat
        z, m = 1, left.shape[-2]
    else:
        if not shared and left.shape[:-2] != right.shape[:-2]:
            stated = f"a product of {list(left.shape)} and {list(right.shape)} has no template"
            raise PlanError("ARG-G104", f"{stated}; nearest is one batch for both", node.name, node.line)
        z, m = math.prod(right.shape[:-2]), left.shape[-2]
    a, a_by_k = stored(planner, left, node)
    b, turned = stored(planner, right, node)
    return Factors(a, b, a_by_k, not turned, z, m, n, k, shared)


def _broadcast(view: View) -> bool:
    """Whether a batch is one matrix again and again."""
    batch = [step for extent, step in zip(view.shape[:-2], view.strides[:-2], strict=True) if extent > 1]
    return bool(batch) and not any(batch)


def _one_matrix(view: View) -> View:
    return replace(view, shape=view.shape[-2:], strides=view.strides[-2:])


def stored(planner: Planning, view: View, node: Node) -> tuple[View, bool]:
    """An operand as it lies, and whether its last axis is not the one that lies together; copied if neither does."""
    if view.row_major:
        return view, False
    axes = len(view.shape)
    turned = permuted(view, (*range(axes - 2), axes - 1, axes - 2))
    if turned.row_major:
        return turned, True
    return planner.row_major(view, node.dtype, (node.name,)), False


def f32_knobs(found: Factors) -> dict[str, KnobValue]:
    """Tiles of 128 x 128, or of 64 where these leave compute units without work; the widest access that fits."""
    both = found.a_by_k and found.b_by_k
    along = [found.n, *([] if both else [found.k]), *([found.m] if found.a_by_k else [])]
    tiles = found.z * -(-found.m // 128) * -(-found.n // 128)
    side = 64 if tiles < CUS or min(found.m, found.n) <= 64 else 128
    width = 4 * math.gcd(4, *along)
    shared: dict[str, KnobValue] = {"SHARED_A": True} if found.shared else {}
    return {"BM": side, "BN": side, "A_BY_K": found.a_by_k, "B_BY_K": found.b_by_k, "WIDTH": width, **shared}


def matvec(planner: Planning, group: Group, node: Node, found: Factors) -> View:
    """A matrix times a vector; the template's result is f32."""
    choice = choose_walk("matvec", "matvec", 1, found.k, node.dtype)
    made = planner.temporary(node.shape, "f32")
    arguments = {"A": found.a, "x": found.b, "y": made}
    planner.emit("matvec", "matvec", choice.knobs, {"M": found.m, "N": found.k}, arguments, nodes=tuple(group.nodes))
    if node.dtype == "f32":
        return made
    result = planner.temporary(node.shape, node.dtype)
    copied(planner, made, result, node, given="f32")
    return result
