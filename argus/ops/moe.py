"""`moe(…)`: a mixture of experts in fp8 with block scales: gate and up, SiLU, down, the weighted sum over experts.

    h[t, s] = silu(x[t] @ gate[e].T) * (x[t] @ up[e].T)      e = topk_ids[t, s]
    out[t]  = sum over s of topk_weights[t, s] * (quantised(h[t, s]) @ down[e].T)

Four launches: the gathered gate and up products (bf16), their quantisation to fp8 by blocks of 128, the down product
(bf16), and a sum over a token's experts in a fixed order: the same bits every time, no atomics.

Rows are sorted by expert on the host (`routed`, numpy): each expert's rows are padded to whole blocks, a padding row
has the token number T, reads zeros and is used by nobody; experts without tokens have no rows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from argus.ops.arrays import blank_like, element, filled_like, given, shape, whole_numbers
from argus.ops.choice import Choice, NoKernel, reachable, table
from argus.ops.fp8 import BLOCK, DEPTH, ROWS, checked_scales, quantise, steps, weight_extents, weights_of
from argus.ops.launch import run

MOST_TOPK = 8
CHIPLETS = 8
WIDEST = 256  # columns of a tile; where dim is no multiple, half as many


@dataclass(frozen=True, slots=True)
class SortedRouting:
    """Rows in the order of the kernels. `tokens`: of each sorted row (T: padding); `experts`: of each block of rows;
    `slots`: where the row of a token's s-th expert went."""

    block: int
    tokens: npt.NDArray[np.int32]
    experts: npt.NDArray[np.int32]
    slots: npt.NDArray[np.int32]


def routed(topk_ids: npt.NDArray[Any], experts: int, block: int, dealt: bool = True) -> SortedRouting:
    """The rows of every expert together, in order of tokens, padded to blocks of `block` rows.

    Workgroup p of a launch runs on chiplet p % 8 and works on block p of a group: so the blocks are dealt out, each
    chiplet a run of neighbours, which share an expert and its weights. Kernels that order workgroups themselves take
    them sorted (`dealt=False`).
    """
    tokens, topk = topk_ids.shape
    chosen = topk_ids.reshape(-1).astype(np.int64)
    order = np.argsort(chosen, kind="stable")
    counts = np.bincount(chosen, minlength=experts)
    blocks = -(-counts // block)
    first = np.concatenate([[0], np.cumsum(blocks)])
    before = np.concatenate([[0], np.cumsum(counts)])[:-1]
    sorted_experts = chosen[order]
    rank = np.arange(len(order)) - before[sorted_experts]
    order_of = _dealt(int(first[-1])) if dealt else np.arange(first[-1])
    at = np.argsort(order_of)[first[sorted_experts] + rank // block]
    place = at * block + rank % block
    rows = np.full(first[-1] * block, tokens, np.int32)
    rows[place] = order // topk
    slots = np.empty(len(order), np.int32)
    slots[order] = place
    of_block = np.repeat(np.arange(experts), blocks)[order_of].astype(np.int32)
    return SortedRouting(block, rows, of_block, slots.reshape(tokens, topk))


def _dealt(blocks: int) -> npt.NDArray[np.int64]:
    """The sorted block at each place: place p belongs to chiplet p % 8, whose blocks are neighbours."""
    place = np.arange(blocks)
    each, more = divmod(blocks, CHIPLETS)
    chiplet = place % CHIPLETS
    return chiplet * each + np.minimum(chiplet, more) + place // CHIPLETS


@dataclass(frozen=True, slots=True)
class LayerPlan:
    """The launches of a layer: rows of a block, and the kernels."""

    block: int
    gate_up: Choice
    down: Choice
    combine: Choice


def choose_moe(tokens: int, experts: int, topk: int, dim: int, inter: int) -> LayerPlan:
    """The kernels for a layer: the row of the table nearest in rows per expert."""
    for name, size in (("dim", dim), ("inter", inter)):
        if size < BLOCK or size % BLOCK:
            nearest = max(BLOCK, BLOCK * round(size / BLOCK))
            raise NoKernel(f"moe needs {name} in multiples of {BLOCK}, not {size}; nearest is {nearest}")
    if not 1 <= topk <= MOST_TOPK:
        raise NoKernel(f"moe takes 1 to {MOST_TOPK} experts per token, not {topk}; nearest is {MOST_TOPK}")
    if tokens < 1 or experts < 1:
        raise NoKernel(f"moe needs tokens and experts, not {tokens} and {experts}")
    rows = table("moe")["moe"]
    each = max(1.0, tokens * topk / experts)
    row = min(rows, key=lambda r: abs(math.log2(each / r["rows"])))
    common: Mapping[str, Any] = {"BM": row["BM"]}
    narrow: Mapping[str, Any] = {} if dim % WIDEST == 0 else {"TN": 1}
    most = row.get("TURN", 4)
    return LayerPlan(
        row["BM"],
        Choice("fp8_gemm", "moe_gate_up", _fitting({**common, **row["gate_up"], **steps(dim, most)})),
        Choice("fp8_gemm", "moe_down", _fitting({**common, **row["down"], **narrow, **steps(inter, most)})),
        Choice("moe", "combine", {"TOPK": topk}),
    )


def _fitting(knobs: Mapping[str, Any]) -> dict[str, Any]:
    """Without AHEAD where the kernel does not have it: in turns of two, and where scales come one block at a time."""
    possible = knobs["WIDE"] and knobs["TURN"] == 4
    return {name: value for name, value in knobs.items() if name != "AHEAD" or possible}


@dataclass(frozen=True, slots=True)
class Operands:
    """Operands of a layer that fit together, weights arranged; `like`: x as it was given, whose kind the result has."""

    like: Any
    x: Any
    x_scales: Any | None
    gate_up: Any
    down: Any
    gate_up_scales: Any
    down_scales: Any
    ids: npt.NDArray[Any]
    weights: Any
    tokens: int
    experts: int
    dim: int
    inter: int

    @property
    def empty(self) -> bool:
        """Nothing is added up: the result is empty or zeros."""
        return 0 in (self.tokens, self.dim, self.inter, self.ids.shape[1])


@dataclass(frozen=True, slots=True)
class Launched:
    """What the launches of a layer leave, in their order; each can be judged by the ones before it."""

    routing: SortedRouting
    x: Any
    x_scales: Any
    hidden: Any
    q: Any
    q_scales: Any
    y: Any
    out: Any


def moe(
    x: Any,
    w_gate_up: Any,
    w_down: Any,
    gate_up_scales: Any,
    down_scales: Any,
    topk_ids: Any,
    topk_weights: Any,
    *,
    x_scales: Any | None = None,
    device: str = "auto",
) -> Any:
    """bf16 [T, dim]. x: bf16 [T, dim], or fp8 with x_scales [T, dim / 128]. w_gate_up: fp8 [E, 2 * inter, dim], gate
    rows first; w_down: fp8 [E, dim, inter]; both plain or arranged; their scales one per 128 x 128."""
    checked = operands(x, w_gate_up, w_down, gate_up_scales, down_scales, topk_ids, topk_weights, x_scales=x_scales)
    if checked.empty:
        return filled_like(x, shape(x), "bf16", 0.0)
    return launched(checked, device).out


def operands(
    x: Any,
    w_gate_up: Any,
    w_down: Any,
    gate_up_scales: Any,
    down_scales: Any,
    topk_ids: Any,
    topk_weights: Any,
    *,
    x_scales: Any | None = None,
) -> Operands:
    """The operands of `moe`, if they fit together."""
    sizes = moe_sizes(x, w_gate_up, w_down, gate_up_scales, down_scales, topk_ids, topk_weights, x_scales=x_scales)
    tokens, experts, dim, inter = sizes
    ids = whole_numbers(topk_ids, "topk_ids")
    if ids.size and (ids.min() < 0 or ids.max() >= experts):
        raise NoKernel(f"topk_ids names expert {int(ids.max())} or {int(ids.min())}; there are {experts}, from 0")
    return Operands(
        x,
        given(x, "x"),
        None if x_scales is None else given(x_scales, "x_scales"),
        given(weights_of(w_gate_up, "w_gate_up", 3), "w_gate_up"),
        given(weights_of(w_down, "w_down", 3), "w_down"),
        given(gate_up_scales, "gate_up_scales"),
        given(down_scales, "down_scales"),
        ids,
        given(topk_weights, "topk_weights"),
        tokens,
        experts,
        dim,
        inter,
    )


def moe_sizes(
    x: Any,
    w_gate_up: Any,
    w_down: Any,
    gate_up_scales: Any,
    down_scales: Any,
    topk_ids: Any,
    topk_weights: Any,
    *,
    x_scales: Any | None = None,
) -> tuple[int, int, int, int]:
    """(tokens, experts, dim, inter) of operands that fit together; nothing but types and extents is asked of them."""
    if len(shape(x)) != 2:
        raise NoKernel(f"x is [tokens, dim], not {list(shape(x))}")
    wanted = "bf16" if x_scales is None else "fp8"
    if element(x, "x") != wanted:
        with_scales = "without" if x_scales is None else "with"
        raise NoKernel(f"x {with_scales} scales must be {wanted}, not {element(x, 'x')}")
    tokens, dim = shape(x)
    experts, rows, k = weight_extents(w_gate_up, "w_gate_up", 3)
    inter = rows // 2
    if k != dim or rows % 2 or weight_extents(w_down, "w_down", 3) != (experts, dim, inter):
        raise NoKernel(
            f"x is [{tokens}, {dim}], w_gate_up {list(shape(w_gate_up))} and w_down {list(shape(w_down))}; they are "
            "[T, dim], [E, 2 * inter, dim] and [E, dim, inter]"
        )
    chosen = shape(topk_ids)
    if shape(topk_weights) != chosen or element(topk_weights, "topk_weights") != "f32" or len(chosen) != 2:
        raise NoKernel("topk_ids and topk_weights are [T, topk], whole numbers and f32")
    if chosen[0] != tokens:
        raise NoKernel(f"topk_ids is for {chosen[0]} tokens, x has {tokens}")
    kb, ib = dim // BLOCK, inter // BLOCK
    if x_scales is not None:
        checked_scales(x_scales, "x_scales", (tokens, kb))
    checked_scales(gate_up_scales, "gate_up_scales", (experts, 2 * ib, kb))
    checked_scales(down_scales, "down_scales", (experts, kb, ib))
    return tokens, experts, dim, inter


def launched(of: Operands, device: str = "auto") -> Launched:
    """The four launches of a layer, and the quantisation of x if it is bf16."""
    tokens, experts, dim, inter = of.tokens, of.experts, of.dim, of.inter
    plan = choose_moe(tokens, experts, of.ids.shape[1], dim, inter)
    routing = routed(of.ids, experts, plan.block)
    padded, blocks = len(routing.tokens), len(routing.experts)
    reachable(
        {
            "the array of all experts' rows": 2 * padded * max(dim, inter),
            "the array of gate and up weights": 2 * experts * inter * dim,
        },
        "take fewer tokens or experts",
    )
    x, x_scales = quantise(of.x, device=device) if of.x_scales is None else (of.x, of.x_scales)
    hidden = blank_like(of.x, (padded, inter), "bf16")
    kb, ib = dim // BLOCK, inter // BLOCK
    run(
        plan.gate_up,
        {
            "X": x,
            "sx": x_scales,
            "token": routing.tokens,
            "expert": routing.experts,
            "W": of.gate_up.reshape(experts, 2, inter // ROWS, dim // DEPTH, ROWS, DEPTH),
            "sw": of.gate_up_scales.reshape(experts, 2, ib, kb),
            "H": hidden,
        },
        {"T": tokens, "K": dim, "Kb": kb, "R": padded, "P": blocks, "E": experts, "I": inter, "Ib": ib}
        | {"It": inter // ROWS, "Kc": dim // DEPTH},
        device=device,
    )
    q, q_scales = quantise(hidden, device=device)
    y = blank_like(of.x, (padded, dim), "bf16")
    run(
        plan.down,
        {"Q": q, "sq": q_scales, "expert": routing.experts, "W": of.down, "sw": of.down_scales, "Y": y},
        {"R": padded, "P": blocks, "K": inter, "Kb": ib, "E": experts, "N": dim, "Nb": kb}
        | {"Nt": dim // ROWS, "Kc": inter // DEPTH},
        device=device,
    )
    out = blank_like(of.like, (tokens, dim), "bf16")
    run(
        plan.combine,
        {"Y": y, "slot": routing.slots, "weight": of.weights, "out": given(out, "out")},
        {"T": tokens, "R": padded, "N": dim},
        device=device,
    )
    return Launched(routing, x, x_scales, hidden, q, q_scales, y, out)
