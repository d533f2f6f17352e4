"""`argus bench attention`, `moe`, `fp8`: what the rows say, that Triton's layer computes the layer, bad words."""

from __future__ import annotations

import math
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from argus import machine
from argus.bench import attention, fp8, moe, moe_aiter, triton_attention, triton_few, triton_moe
from argus.bench.kept import Timed
from argus.bench.others import Best
from argus.cli.main import main
from argus.clock.paired import decided
from argus.clock.uncertainty import Interval, Regime
from argus.ops.moe import routed
from argus.ops.moe_reference import blocks, routing


def test_an_attention_row_takes_the_best_of_the_others() -> None:
    others = {"Triton": Best(1300.0, "128x32", 52, ()), "AITER": Best(1200.0, "fmha", 1, ())}
    row = attention.AttentionRow(4096, Timed(1000.0, 1250.0), "attention", others, decided(math.log(1 / 1.2), [], 0.03))
    assert row.ratio() == 1.2
    flops = 2 * 2 * 16 * 8 * 128 * sum(range(1, 4097))
    assert row.tflops(1000.0) == pytest.approx(flops / 1e9)
    text = attention.table([row])
    assert "1.20" in text
    assert "faster, 0.83 (0.79 to 0.88)" in text
    assert "simulated" in text


def test_a_layer_is_the_sum_of_its_launches() -> None:
    row = moe.MoeRow(1024, (Timed(3.0, 1.0), Timed(1.0, 1.0), Timed(2.0, 1.0), Timed(1.0, 1.0)))
    assert row.us == 7.0
    assert row.ratio() is None
    assert "866" in moe.table([row])
    assert "no other" in moe.summary([])


def test_aiters_layer_is_the_object_and_the_launches_around_it() -> None:
    layer = triton_moe.Layer(5, 256, 128, 4, 2)
    assert {name: sizes for name, (_, sizes) in moe_aiter.around(layer).items()} == {
        "cleared": {"B": 10}, "scales": {"M": 5, "N": 2},
    }  # fmt: skip
    parts = [Timed(5.0, 900.0, interval=Interval(4.0, 7.0, Regime.MEMORY)), Timed(1.0, 2100.0, interval=None)]
    whole = Timed.sum([parts[0], parts[0]])
    assert (whole.us, whole.mhz, whole.interval) == (10.0, 900.0, Interval(8.0, 14.0, Regime.MEMORY))
    assert Timed.sum(parts).interval is None


def test_a_row_says_which_of_aiters_objects_was_published_and_which_has_a_race() -> None:
    times = {"vs_32x128": (9.0, 8.0), "vs_32x256": (7.0, 6.0), moe_aiter.PUBLISHED_OBJECT: (8.0, 7.0)}
    aiter = {name: moe_aiter.LayerTime(Timed(all_, 1.0), Timed(alone, 1.0)) for name, (all_, alone) in times.items()}
    row = moe.MoeRow(16, (Timed(4.0, 1.0),) * 4, {"AITER": Best(7.0, "vs_32x256", 3, ())}, aiter=aiter)
    assert row.published_object is not None
    assert row.published_object.us == 8.0
    assert row.to_json()["aiter"]["vs_32x256"]["alone"]["us"] == 6.0
    assert "7 (vs_32x256, race; 3 tried) | 0.44 | - | 8 | 0.50 | -" in moe.table([row])


@pytest.mark.parametrize("tokens", moe.TOKENS)
def test_the_published_object_is_timed_where_its_walks_are_short(tokens: int) -> None:
    assert (moe_aiter.PUBLISHED_OBJECT in moe_aiter.objects(tokens)) == (tokens <= 4096)
    assert set(moe_aiter.objects(tokens)) <= set(moe_aiter.FUSED)


def test_an_fp8_row_without_objects_has_no_ratio() -> None:
    row = fp8.Fp8Row((64, 7168, 2048), Timed(10.0, 2000.0), "BM=32", None, None)
    assert row.ratio() is None
    assert fp8.table([row]).splitlines()[-1].count("-") >= 3


def test_there_are_forty_configurations_of_each_layer() -> None:
    assert len(set(triton_attention.CONFIGS)) >= 40
    assert len(set(triton_moe.FULL)) >= 40
    assert set(triton_attention.STRONG) <= set(triton_attention.CONFIGS)
    assert set(triton_moe.QUICK) <= set(triton_moe.FULL)


@pytest.mark.parametrize(
    "config", [triton_moe.MoeConfig(32, 64, 128, 4, 2, 16), triton_moe.MoeConfig(64, 256, 64, 4, 1, 32)]
)
def test_tritons_product_is_the_product(config: triton_moe.MoeConfig) -> None:
    pytest.importorskip("triton")
    dice = np.random.default_rng(0)
    tokens, k, n, experts = 24, 256, 256, 3
    x = blocks(dice.standard_normal((tokens, k)), 1)
    w = blocks(dice.standard_normal((experts, n, k)), 128)
    route = routed(routing("uniform", tokens, experts, 2), experts, config.bm)
    out = np.zeros((len(route.tokens), n), ml_dtypes.bfloat16)
    code, lds = triton_moe.product_object(config, gather=True)
    kernel = machine.load(code).kernel("product")
    more = lds - kernel.info.group_segment_fixed_size
    grid = len(route.experts) * n // config.bn
    numbers = (np.int32(v) for v in (tokens, len(out), n, k))
    args = (x.values, x.scales, w.values, w.scales, out, route.tokens, route.experts, *numbers, None, None)
    kernel((grid,), 64 * config.warps, *args, lds=more)
    for block, expert in enumerate(route.experts.tolist()):
        rows = slice(block * config.bm, (block + 1) * config.bm)
        inside = route.tokens[rows] < tokens
        want = x.meaning[route.tokens[rows][inside]] @ w.meaning[expert].T
        assert np.abs(out[rows][inside].astype(np.float64) - want).max() <= 2**-7 * np.abs(want).max()
        assert not out[rows][~inside].any()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["bench", "attention", "--shape", "M=4"], "--shape takes S=… here"),
        (["bench", "attention", "--shape", "S=100"], "multiples of 256"),
        (["bench", "moe", "--shape", "T=x"], "whole number"),
        (["bench", "fp8", "--ablate"], "not fp8"),
        (["bench", "moe", "--aiter", "/nowhere"], "no objects of AITER"),
    ],
)
def test_mistakes_end_in_a_sentence(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    assert said in capsys.readouterr().err


def test_the_objects_may_lie_in_a_checkout(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "hsa/gfx942/other").mkdir(parents=True)
    assert main(["bench", "fp8", "--aiter", str(tmp_path)]) == 2
    assert "no objects of AITER" in capsys.readouterr().err


@pytest.mark.parametrize("split", [1, 4])
def test_tritons_product_of_few_rows_is_the_product(split: int) -> None:
    pytest.importorskip("triton")
    dice = np.random.default_rng(0)
    m, n, k = 5, 128, 512
    a, b = (dice.standard_normal((rows, k)).astype(ml_dtypes.bfloat16) for rows in (m, n))
    config = triton_few.Few(16, 64, 128, 4, 2, split)
    code, lds = triton_few.compiled(config)
    kernel = machine.load(code).kernel("product")
    out = np.full((split, m, n), np.nan, np.float32 if split > 1 else ml_dtypes.bfloat16)
    sizes = [np.int32(size) for size in (m, n, k)]
    more = lds - kernel.info.group_segment_fixed_size
    kernel((n // 64, split), 256, a, b, out, *sizes, None, None, lds=more)
    want = a.astype(np.float64) @ b.astype(np.float64).T
    np.testing.assert_allclose(out.astype(np.float64).sum(axis=0), want, atol=2.0**-8 * np.abs(want).max())


def test_fused_objects_are_named_as_in_aiter() -> None:
    folder = "fmoe/silu/fmoe_bf16_blockscaleFp8_g1u1_"
    assert moe_aiter.object_path("novs_32x128") == f"{folder}novs_silu_1tg_32x128.co"
    assert moe_aiter.object_path("vs_psx_64x256") == f"{folder}vs_silu_1tg_psx_64x256.co"
