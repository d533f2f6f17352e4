"""The mixture of experts against float64: each launch on its own operands, the whole layer, hostile routing, proofs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from argus import ops
from argus.check import check
from argus.ir.passes.schedule import scheduled
from argus.ops.fp8 import DEPTH, ROWS, arranged, steps
from argus.ops.moe import Launched, choose_moe, launched, operands, routed
from argus.ops.moe_reference import (
    BF16,
    FP8,
    ROUTINGS,
    activated,
    blocks,
    combined,
    down,
    gate_up,
    judged,
    product,
    quantised,
    routing,
    share,
)
from tests.kernels.running import kernel_of, run

SMALL: dict[str, Any] = {"BM": 32, "WAVES": 4, "ROOM": 2}
FEW: dict[str, Any] = {"BM": 32, "WAVES": 2, "GROUP": 0, "AHEAD": 2}


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
        pytest.param("uniform", FEW, id="two-steps-ahead"),
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
        assert share(h[at], *gate_up(padded[route.tokens[at]], w.meaning[expert])) <= 1


@pytest.mark.parametrize("knobs", [SMALL, FEW], ids=["small", "two-steps-ahead"])
def test_down(knobs: dict[str, Any]) -> None:
    experts, dim, inter = 4, 512, 512
    dice = np.random.default_rng(2)
    route = routed(routing("skewed", 60, experts, 2), experts, 32)
    rows = len(route.tokens)
    q = blocks(dice.standard_normal((rows, inter)), 1)
    w = weights(dice, experts, dim, inter, hostile=True)
    y = np.full((rows, dim), np.nan, BF16)
    arrays = {"Q": q.values, "sq": q.scales, "expert": route.experts, "W": arranged(w.values), "sw": w.scales, "Y": y}
    sizes = {"R": rows, "P": len(route.experts), "K": inter, "Kb": inter // 128, "E": experts}
    sizes |= {"N": dim, "Nb": dim // 128, "Nt": dim // ROWS, "Kc": inter // DEPTH}
    run(kernel_of("fp8_gemm", "moe_down", {**knobs, **steps(inter)}), sizes, arrays, checked=False)
    for block, expert in enumerate(route.experts):
        at = slice(block * 32, (block + 1) * 32)
        assert share(y[at], *down(q.meaning[at], w.meaning[expert])) <= 1


def test_quantise() -> None:
    dice = np.random.default_rng(3)
    h = (dice.standard_normal((37, 128)) * 10.0 ** dice.integers(-20, 20, (37, 1))).astype(BF16)
    h[5] = 0.0
    h[6, 1:] = -0.0
    q, s = np.zeros(h.shape, FP8), np.zeros(37, np.float32)
    run(kernel_of("moe", "quantise", {}), {"B": 37}, {"H": h, "Q": q, "s": s})
    assert quantised(h, q, s[:, None]) <= 1


def test_combine() -> None:
    dice = np.random.default_rng(4)
    y = dice.standard_normal((30, 264)).astype(BF16)
    slot = dice.integers(0, 30, (9, 3)).astype(np.int32)
    weight = dice.standard_normal((9, 3)).astype(np.float32)
    out = np.full((9, 264), np.nan, BF16)
    arrays = {"Y": y, "slot": slot, "weight": weight, "out": out}
    run(kernel_of("moe", "combine", {"TOPK": 3}), {"T": 9, "R": 30, "N": 264}, arrays)
    assert share(out, *combined(y.astype(np.float64), slot, weight)) <= 1


def whole(kind: str, device: str, sizes: tuple[int, int, int, int, int]) -> None:
    tokens, experts, topk, dim, inter = sizes
    dice = np.random.default_rng(5)
    x = dice.standard_normal((tokens, dim)).astype(BF16)
    first, second = weights(dice, experts, 2 * inter, dim, False), weights(dice, experts, dim, inter, False)
    ids = routing(kind, tokens, experts, topk)
    by = dice.random((tokens, topk)).astype(np.float32)
    given = (x, first.values, second.values, first.scales, second.scales, ids, by)
    made = launched(operands(*given), device)
    shares = judged(made, x, first.meaning, second.meaning, ids, by)
    assert max(shares.values()) <= 1, shares
    assert ops.moe(*given, device=device).tobytes() == made.out.tobytes()


@pytest.mark.parametrize("kind", ROUTINGS)
def test_whole_layer(kind: str) -> None:
    whole(kind, "jit", (60, 6, 2, 384, 128) if kind == "skewed" else (60, 6, 2, 512, 256))


@pytest.mark.parametrize(
    "sizes",
    [(1, 32, 4, 512, 512), (7, 32, 4, 384, 128), (33, 6, 4, 512, 256), (67, 4, 4, 512, 256)],
    ids=["one-token", "odd-scale-blocks", "blocks-of-64", "blocks-of-96"],
)
def test_whole_layer_of_few_tokens(sizes: tuple[int, int, int, int, int]) -> None:
    whole("uniform", "jit", sizes)


def test_few_tokens_take_workgroups_in_rows_and_two_steps_ahead() -> None:
    one, some = choose_moe(1, 32, 4, 7168, 2048), choose_moe(64, 32, 4, 7168, 2048)
    assert [plan.gate_up.knobs["GROUP"] for plan in (one, some)] == [0, 0]
    assert one.gate_up.knobs["AHEAD"] == one.down.knobs["AHEAD"] == 2
    assert "AHEAD" not in some.gate_up.knobs
    odd = choose_moe(1, 32, 4, 384, 640)
    assert "AHEAD" not in {*odd.gate_up.knobs, *odd.down.knobs}


def test_cleared() -> None:
    out = np.full((37, 128), np.nan, BF16)
    run(kernel_of("moe", "cleared", {}), {"B": 37}, {"out": out})
    assert not out.astype(np.float32).any()


TOKENS, EXPERTS, DIM, INTER = 8, 2, 512, 2048
IDS = np.stack([np.arange(TOKENS) % 2, 1 - np.arange(TOKENS) % 2], axis=1)


def modelled(x: Any, up: Any, low: Any, by: Any, fault: str = "") -> Launched:
    """The launches of a layer in float64, rounded where the kernels round; with one fault."""
    route = routed(IDS, EXPERTS, 32)
    first, second = up.meaning.copy(), low.meaning.copy()
    if fault == "gate weights 1 % too large":
        first[:, :INTER] *= 1.01
    elif fault == "down weights 1 % too large":
        second *= 1.01
    elif fault == "32 columns of x dropped":
        first[:, :, 64:96] = 0
    elif fault == "32 columns of the activation dropped":
        second[:, :, 1024:1056] = 0
    elif fault == "a scale of the other expert":
        second[1, :128, :128] *= low.scales[0, 0, 0] / low.scales[1, 0, 0]
    q_x = blocks(x, 1)
    padded = np.concatenate([q_x.meaning, np.zeros((1, DIM))])[route.tokens]
    hidden, y = np.zeros((len(route.tokens), INTER), BF16), np.zeros((len(route.tokens), DIM), BF16)
    for number, expert in enumerate(route.experts):
        at = slice(32 * number, 32 * number + 32)
        hidden[at] = activated(*np.split(product(padded[at], first[expert])[0], 2, axis=1)).astype(BF16)
    q = blocks(hidden, 1)
    scales = np.roll(q.scales, 1, axis=1) if fault == "scales of the next block" else q.scales
    for number, expert in enumerate(route.experts):
        at = slice(32 * number, 32 * number + 32)
        y[at] = product(q.meaning[at], second[expert])[0].astype(BF16)
    terms = by.astype(np.float64)[..., None] * y.astype(np.float64)[route.slots]
    out = (terms[:, :1] if fault == "an expert left out" else terms).sum(1).astype(BF16)
    return Launched(route, q_x.values, q_x.scales, hidden, q.values, scales, y, out)


@pytest.mark.parametrize(
    ("fault", "launch"),
    [
        ("", ""),
        ("gate weights 1 % too large", "gate and up"),
        ("32 columns of x dropped", "gate and up"),
        ("scales of the next block", "quantise"),
        ("down weights 1 % too large", "down"),
        ("32 columns of the activation dropped", "down"),
        ("a scale of the other expert", "down"),
        ("an expert left out", "combine"),
    ],
)
def test_faults_of_a_layer_with_long_sums_are_found(fault: str, launch: str) -> None:
    dice = np.random.default_rng(8)
    x = dice.standard_normal((TOKENS, DIM)).astype(BF16)
    up, low = (weights(dice, EXPERTS, n, k, False) for n, k in ((2 * INTER, DIM), (DIM, INTER)))
    low.scales[0, 0, 0] *= 1.05
    low.meaning[0, :128, :128] *= 1.05
    by = dice.random(IDS.shape).astype(np.float32)
    shares = judged(modelled(x, up, low, by, fault), x, up.meaning, low.meaning, IDS, by)
    wrong = {name for name, of in shares.items() if of > 1}
    assert launch in wrong if fault else not wrong, shares


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
        pytest.param("fp8_gemm", "moe_gate_up", FEW, id="gate-up-two-steps-ahead"),
        pytest.param("fp8_gemm", "moe_down", FEW, id="down-two-steps-ahead"),
        pytest.param("moe", "quantise", {}, id="quantise"),
        pytest.param("moe", "combine", {}, id="combine"),
        pytest.param("fp8_gemm", "moe_gate_up", {"BM": 96, "GROUP": 0}, id="gate-up-96", marks=pytest.mark.full),
        pytest.param("fp8_gemm", "moe_gate_up", {}, id="gate-up-large", marks=pytest.mark.full),
        pytest.param("fp8_gemm", "moe_down", {}, id="down-large", marks=pytest.mark.full),
    ],
)
def test_proved(file: str, name: str, knobs: dict[str, Any]) -> None:
    report = check(scheduled(kernel_of(file, name, knobs)))
    assert [v.rule for v in report.verdicts if v.status != "proved"] == []
    assert {"in_bounds", "covers", "reduced", "value"} <= {v.rule for v in report.verdicts}


def test_zeros_are_proved() -> None:
    report = check(scheduled(kernel_of("moe", "cleared", {})))
    assert [v.rule for v in report.verdicts if v.status != "proved"] == []


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
    with pytest.raises(ops.NoKernel, match=says):
        choose_moe(*sizes)


def test_wrong_operands_are_named() -> None:
    x = np.zeros((4, 256), BF16)
    up, down = np.zeros((2, 256, 256), FP8), np.zeros((2, 256, 128), FP8)
    up_scales, down_scales = np.ones((2, 2, 2), np.float32), np.ones((2, 2, 1), np.float32)
    share = np.ones((4, 1), np.float32)
    with pytest.raises(ops.NoKernel, match="names expert 2"):
        ops.moe(x, up, down, up_scales, down_scales, np.full((4, 1), 2), share)
    with pytest.raises(ops.NoKernel, match="w_down"):
        ops.moe(x, up, down[:, :128], up_scales, down_scales, np.zeros((4, 1), int), share)
    with pytest.raises(ops.NoKernel, match="for 3 tokens"):
        ops.moe(x, up, down, up_scales, down_scales, np.zeros((3, 1), int), share[:3])
