"""The mixture of experts against float64: each launch on its own operands, the whole layer, hostile routing, proofs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from argus import ops
from argus.check import check
from argus.compile.schedule import scheduled
from argus.ops.fp8 import DEPTH, ROWS, arranged, steps
from argus.ops.moe import choose_moe, routed
from argus.ops.moe_reference import (
    BF16,
    FP8,
    LARGEST,
    LEAST,
    ROUND,
    ROUTINGS,
    UNIT,
    activated,
    blocks,
    layer,
    product,
    routing,
)
from tests.kernels.running import kernel_of, run

TINY = np.finfo(np.float32).tiny
SMALL: dict[str, Any] = {"BM": 32, "WAVES": 4, "ROOM": 2}


def weights(dice: np.random.Generator, experts: int, n: int, k: int, hostile: bool) -> Any:
    w = dice.standard_normal((experts, n, k)) / np.sqrt(k)
    if hostile:
        w[dice.random(w.shape) < 0.1] = -0.0
        w[0] *= 1e-6
    return blocks(w, 128)


@pytest.mark.parametrize(
    ("kind", "knobs"),
    [
        pytest.param("skewed", SMALL, id="skewed"),
        pytest.param("few experts", {"BM": 64, "GROUP": 1}, id="few-experts", marks=pytest.mark.full),
        pytest.param("one expert", {"BM": 128, "GROUP": 0}, id="one-expert", marks=pytest.mark.full),
    ],
)
def test_gate_up(kind: str, knobs: dict[str, Any]) -> None:
    tokens, experts, topk, dim, inter = 50, 5, 3, 512, 128
    dice = np.random.default_rng(1)
    x = blocks(dice.standard_normal((tokens, dim)) * 2.0 ** dice.integers(-6, 7, (tokens, 1)), 1)
    w = weights(dice, experts, 2 * inter, dim, hostile=True)
    route = routed(routing(kind, tokens, experts, topk), experts, knobs["BM"])
    rows = len(route.tokens)
    h = np.full((rows, inter), np.nan, BF16)
    arrays = {
        "X": x.values, "sx": x.scales, "token": route.tokens, "expert": route.experts,
        "W": arranged(w.values).reshape(experts, 2, inter // ROWS, dim // DEPTH, ROWS, DEPTH),
        "sw": w.scales.reshape(experts, 2, inter // 128, dim // 128), "H": h,
    }  # fmt: skip
    sizes = {"T": tokens, "K": dim, "Kb": dim // 128, "R": rows, "P": len(route.experts), "E": experts}
    sizes |= {"I": inter, "Ib": inter // 128, "It": inter // ROWS, "Kc": dim // DEPTH}
    run(kernel_of("fp8_gemm", "moe_gate_up", {**knobs, **steps(dim)}), sizes, arrays, checked=False)
    padded = np.concatenate([x.meaning, np.zeros((1, dim))])
    for block, expert in enumerate(route.experts):
        at = slice(block * knobs["BM"], (block + 1) * knobs["BM"])
        value, error = product(padded[route.tokens[at]], w.meaning[expert])
        (gate, up), (gate_error, up_error) = np.split(value, 2, axis=1), np.split(error, 2, axis=1)
        want = activated(gate, up)
        slack = 1.1 * gate_error * np.abs(up) + np.abs(activated(gate, np.ones_like(up))) * up_error
        bound = slack + gate_error * up_error + (ROUND + 16 * UNIT) * np.abs(want) + TINY
        assert np.all(np.abs(h[at].astype(np.float64) - want) <= bound)


def test_down() -> None:
    experts, dim, inter = 4, 512, 256
    dice = np.random.default_rng(2)
    route = routed(routing("skewed", 60, experts, 2), experts, 32)
    rows = len(route.tokens)
    q = blocks(dice.standard_normal((rows, inter)), 1)
    w = weights(dice, experts, dim, inter, hostile=True)
    y = np.full((rows, dim), np.nan, BF16)
    arrays = {"Q": q.values, "sq": q.scales, "expert": route.experts, "W": arranged(w.values), "sw": w.scales, "Y": y}
    sizes = {"R": rows, "P": len(route.experts), "K": inter, "Kb": inter // 128, "E": experts}
    sizes |= {"N": dim, "Nb": dim // 128, "Nt": dim // ROWS, "Kc": inter // DEPTH}
    run(kernel_of("fp8_gemm", "moe_down", {**SMALL, **steps(inter)}), sizes, arrays, checked=False)
    for block, expert in enumerate(route.experts):
        at = slice(block * 32, (block + 1) * 32)
        want, error = product(q.meaning[at], w.meaning[expert])
        assert np.all(np.abs(y[at].astype(np.float64) - want) <= error + ROUND * np.abs(want) + TINY)


def test_quantise() -> None:
    dice = np.random.default_rng(3)
    h = (dice.standard_normal((37, 128)) * 10.0 ** dice.integers(-20, 20, (37, 1))).astype(BF16)
    h[5] = 0.0
    h[6, 1:] = -0.0
    q, s = np.zeros(h.shape, FP8), np.zeros(37, np.float32)
    run(kernel_of("moe", "quantise", {}), {"B": 37}, {"H": h, "Q": q, "s": s})
    wide = h.astype(np.float64)
    want = np.maximum(np.abs(wide).max(1), LEAST) / LARGEST
    assert np.all(np.abs(s - want) <= 2 * UNIT * want)
    scaled = wide / want[:, None]
    low, high = ((scaled * f).astype(FP8).astype(np.float64) for f in (1 - 2.0**-21, 1 + 2.0**-21))
    got = q.astype(np.float64)
    assert np.all((np.minimum(low, high) <= got) & (got <= np.maximum(low, high)))


def test_combine() -> None:
    dice = np.random.default_rng(4)
    y = dice.standard_normal((30, 264)).astype(BF16)
    slot = dice.integers(0, 30, (9, 3)).astype(np.int32)
    weight = dice.standard_normal((9, 3)).astype(np.float32)
    out = np.full((9, 264), np.nan, BF16)
    arrays = {"Y": y, "slot": slot, "weight": weight, "out": out}
    run(kernel_of("moe", "combine", {"TOPK": 3}), {"T": 9, "R": 30, "N": 264}, arrays)
    terms = weight[..., None].astype(np.float64) * y.astype(np.float64)[slot]
    bound = 4 * UNIT * np.abs(terms).sum(1) + ROUND * np.abs(terms.sum(1)) + TINY
    assert np.all(np.abs(out.astype(np.float64) - terms.sum(1)) <= bound)


def whole(kind: str, device: str, sizes: tuple[int, int, int, int, int]) -> None:
    tokens, experts, topk, dim, inter = sizes
    dice = np.random.default_rng(5)
    x = dice.standard_normal((tokens, dim)).astype(BF16)
    up, down = weights(dice, experts, 2 * inter, dim, False), weights(dice, experts, dim, inter, False)
    ids = routing(kind, tokens, experts, topk)
    share = dice.random((tokens, topk)).astype(np.float32)
    out = ops.moe(x, up.values, down.values, up.scales, down.scales, ids, share, device=device)
    want, bound = layer(blocks(x, 1).meaning, up.meaning, down.meaning, ids, share)
    assert np.all(np.abs(out.astype(np.float64) - want) <= bound)
    assert np.abs(want).max() > 20 * bound.mean()


@pytest.mark.parametrize("kind", ROUTINGS)
def test_whole_layer(kind: str) -> None:
    whole(kind, "machine", (60, 6, 2, 384, 128) if kind == "skewed" else (60, 6, 2, 512, 256))


@pytest.mark.full
def test_whole_layer_under_the_checking_interpreter() -> None:
    whole("skewed", "checking", (20, 3, 2, 256, 128))


@pytest.mark.parametrize("kind", ROUTINGS)
def test_routing_puts_every_row_into_a_block_of_its_expert(kind: str) -> None:
    ids = routing(kind, 300, 7, 3)
    route = routed(ids, 7, 32)
    assert (route.tokens[route.slots] == np.arange(300)[:, None]).all()
    assert (route.experts[route.slots // 32] == ids).all()
    assert len(np.unique(route.slots)) == ids.size
    assert (route.tokens == 300).sum() == len(route.tokens) - ids.size
    assert set(route.experts) == set(np.unique(ids))
    assert len(route.tokens) <= ids.size + 31 * len(np.unique(ids))


@pytest.mark.parametrize(
    ("file", "name", "knobs"),
    [
        pytest.param("fp8_gemm", "moe_gate_up", SMALL, id="gate-up"),
        pytest.param("fp8_gemm", "moe_down", SMALL, id="down"),
        pytest.param("moe", "quantise", {}, id="quantise"),
        pytest.param("moe", "combine", {}, id="combine"),
        pytest.param("fp8_gemm", "moe_gate_up", {}, id="gate-up-large", marks=pytest.mark.full),
        pytest.param("fp8_gemm", "moe_down", {}, id="down-large", marks=pytest.mark.full),
    ],
)
def test_proved(file: str, name: str, knobs: dict[str, Any]) -> None:
    report = check(scheduled(kernel_of(file, name, knobs)))
    assert [v.rule for v in report.verdicts if v.status != "proved"] == []
    assert {"in_bounds", "covers", "reduced", "value"} <= {v.rule for v in report.verdicts}


@pytest.mark.parametrize(
    ("sizes", "says"),
    [
        ((8, 4, 2, 200, 128), "nearest is 256"),
        ((8, 4, 2, 256, 100), "nearest is 128"),
        ((8, 32, 9, 256, 128), "nearest is 8"),
        ((0, 4, 2, 256, 128), "tokens and experts"),
    ],
)
def test_unsupported_names_the_nearest(sizes: tuple[int, int, int, int, int], says: str) -> None:
    with pytest.raises(ops.Unsupported, match=says):
        choose_moe(*sizes)


def test_wrong_operands_are_named() -> None:
    x = np.zeros((4, 256), BF16)
    up, down = np.zeros((2, 256, 256), FP8), np.zeros((2, 256, 128), FP8)
    up_scales, down_scales = np.ones((2, 2, 2), np.float32), np.ones((2, 2, 1), np.float32)
    share = np.ones((4, 1), np.float32)
    with pytest.raises(ops.Unsupported, match="names expert 2"):
        ops.moe(x, up, down, up_scales, down_scales, np.full((4, 1), 2), share)
    with pytest.raises(ops.Unsupported, match="w_down"):
        ops.moe(x, up, down[:, :128], up_scales, down_scales, np.zeros((4, 1), int), share)
    with pytest.raises(ops.Unsupported, match="for 3 tokens"):
        ops.moe(x, up, down, up_scales, down_scales, np.zeros((3, 1), int), share[:3])
