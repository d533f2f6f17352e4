"""`argus bench`: tables say what is simulated, published and not comparable; times are kept; bad words are refused."""

from __future__ import annotations

import math
from dataclasses import replace
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest

from argus.bench import aiter_matmul, aiter_objects, attention, kept, moe, triton_few
from argus.bench.contestant import Contestant
from argus.bench.gemm import GemmRow, published, summary, table
from argus.bench.kept import Kept, Timed
from argus.bench.memory import FAMILIES, chosen
from argus.bench.others import Best, best_triton
from argus.bench.triton_matmul import FULL, QUICK
from argus.bench.verdict import verdict
from argus.cli.main import main
from argus.clock.launch import Launch, estimate
from argus.clock.model import Resources, time_waves
from argus.clock.paired import Paired, decided
from argus.clock.parameters import Parameters
from argus.clock.program import Op, Unit, Wave
from argus.clock.uncertainty import Interval, Regime, residuals
from argus.ops.moe import routed
from argus.ops.moe_reference import routing


def _launch() -> Launch:
    op = Op(0, 0, "v_mov_b32", Unit.VALU, follow=4)
    timing = time_waves([op], {0: [Wave(0, 0, [op] * 100, [None] * 100)]}, Resources(vgprs=32))
    return estimate(timing, 304)


LAUNCH = _launch()
DENSE = Interval(186.0, 231.0, Regime.GEMM)
FASTER = decided(math.log(2 / 3), [], 0.07)


def row(triton_us: float | None, verdict: Paired | None = None) -> GemmRow:
    shape = (4096, 4096, 4096)
    others = {} if triton_us is None else {"Triton": Best(triton_us, "256x256x64", 48, ())}
    return GemmRow(shape, Timed(200.0, 1400.0, "", DENSE), "matmul BM=256", others, verdict, published(*shape))


def test_tflops_are_of_the_product_not_of_the_instructions() -> None:
    assert row(None).tflops(200.0) == pytest.approx(2 * 4096**3 / 200e-6 * 1e-12)


def test_a_slow_baseline_is_marked() -> None:
    known = published(4096, 4096, 4096)["Triton"]
    same = 2 * 4096**3 / known * 1e-6
    assert row(same).comparable()
    assert not row(same / 0.89).comparable()
    assert "not comparable" in table([row(same / 0.89)])
    assert "not comparable" not in table([row(same)])


def test_the_table_labels_its_columns() -> None:
    text = table([row(300.0, FASTER)])
    assert "simulated" in text
    assert "published" in text
    assert "faster, 0.67 (0.59 to 0.75)" in text
    assert "200.0 (186.0 to 231.0)" in text
    assert "613" in text
    assert "48 tried" in text
    assert published(4096, 4096, 128) == {}


def test_the_summary_names_the_worst_shape_and_counts_verdicts() -> None:
    assert "geometric mean 1.22, least 1.00 at" in summary([row(300.0), replace(row(200.0), shape=(1, 2, 3))])
    tie = decided(math.log(0.98), [], 0.05)
    assert summary([row(300.0, FASTER), row(204.0, tie)]).endswith("; faster at 1, tie at 1, slower at 0")
    assert summary([row(None)]) == "no other was simulated"


class Slowed:
    """A contestant whose every launch takes that many times `LAUNCH`."""

    def __init__(self, factor: float) -> None:
        self.factor = factor
        self.asked = 0

    def launches(self, parameters: object = None, protocol: str = "stream") -> list[Launch]:
        self.asked += 1
        assert protocol == "graph"
        took = self.factor * LAUNCH.sustained.microseconds
        return [replace(LAUNCH, sustained=replace(LAUNCH.sustained, microseconds=took))]


def test_a_verdict_without_clocks_is_that_of_the_spread_between_families() -> None:
    spread = residuals()[Regime.GEMM].family_spread * math.sqrt(2) * 1.645
    for ratio, said in ((math.exp(-1.1 * spread), "faster"), (math.exp(-0.9 * spread), "tie"), (2.0, "slower")):
        mine = Timed(200.0 * ratio, 1400.0, interval=DENSE)
        best = Best(200.0, "256x256x64", 48, (), DENSE)
        found = verdict(mine, best, lambda: pytest.fail("nothing is timed again"), clocks=0)
        assert found is not None
        assert found.verdict == said
        assert found.ratio == pytest.approx(ratio)
    assert verdict(Timed(1.0, 1.0), best, lambda: pytest.fail("nothing is timed again"), clocks=0) is None


def test_a_verdict_with_clocks_times_both_under_each() -> None:
    one, other = Slowed(1.0), Slowed(3.0)
    mine, best = Timed(1.0, 1.0, interval=DENSE), Best(1.0, "", 1, (), DENSE)
    found = verdict(mine, best, lambda: (one, other), clocks=3, protocol="graph")  # type: ignore[arg-type,return-value]
    assert found is not None
    assert (found.verdict, found.clocks) == ("faster", 3)
    assert one.asked == other.asked == 4


def test_configurations() -> None:
    assert len(set(FULL)) >= 40
    assert {config.warps for config in FULL} == {4, 8}
    assert {config.nonkdim for config in FULL} == {16, 32}
    for varied in ("stages", "xcds", "buffer", "pingpong", "group", "bk"):
        assert len({getattr(config, varied) for config in FULL}) > 1
    assert len(QUICK) < 5


class Fixed:
    """A contestant of one launch with a known time."""

    def __init__(self) -> None:
        self.made = 0

    def __call__(self) -> Contestant:
        self.made += 1
        if self.made > 2:
            raise ValueError("no third one\nsecond line")
        return self  # type: ignore[return-value]

    def launches(self, parameters: Parameters, protocol: str) -> list[Launch]:
        assert protocol == "stream"
        return [LAUNCH]


def test_times_are_kept_until_the_clock_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, make = Kept(tmp_path), Fixed()
    assert store.time("x at 8", make, ValueError) == Timed.of([LAUNCH])
    assert store.time("x at 8", make, ValueError) == Timed.of([LAUNCH])
    assert make.made == 1
    monkeypatch.setattr(kept, "clock_digest", lambda: "another clock")
    assert store.time("x at 8", make, ValueError).us == LAUNCH.sustained.microseconds
    assert make.made == 2
    assert store.time("y at 8", make, ValueError).why == "no third one"
    assert len(list(tmp_path.iterdir())) == 3


def test_what_another_try_may_do_better_is_not_kept(tmp_path: Path) -> None:
    def absent() -> Contestant:
        aiter_objects.kernel(tmp_path, "none.co")
        raise AssertionError

    store = Kept(tmp_path / "times")
    assert store.time("x", absent, aiter_objects.AiterError).why.startswith("AITER none.co: No such file")
    assert not (tmp_path / "times").exists()


def test_an_object_is_named_by_its_bytes(tmp_path: Path) -> None:
    names = [aiter_objects.named(tmp_path, "a.co")]
    for content in (b"one", b"two"):
        (tmp_path / "a.co").write_bytes(content)
        names.append(aiter_objects.named(tmp_path, "a.co"))
    assert len(set(names)) == 3
    with pytest.raises(aiter_objects.MissingError):
        aiter_objects.kernel(tmp_path, "a.co")


def test_without_triton_its_column_stays_empty(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def absent(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", absent)
    for rows in (
        lambda: moe._configurations(4096, "full", Kept(None)),
        lambda: attention._configurations(8192, "full", Kept(None)),
    ):
        assert best_triton(rows, lambda config: Timed(1.0, 1.0)) == {}
    assert "triton is not installed" in capsys.readouterr().err


def test_blocks_for_kernels_that_order_them_are_sorted() -> None:
    ids = routing("uniform", 256, 8, 2)
    dealt, plain = routed(ids, 8, 32), routed(ids, 8, 32, dealt=False)
    assert (np.diff(plain.experts) >= 0).all()
    assert sorted(dealt.experts) == plain.experts.tolist()
    for route in (dealt, plain):
        assert (route.tokens[route.slots] == np.arange(256)[:, None]).all()
        assert (route.experts[route.slots // 32] == ids).all()


def test_objects_are_found_by_name(tmp_path: Path) -> None:
    folder = tmp_path / "bf16gemm"
    folder.mkdir()
    for name in ("64x64_pf3_splitk", "128x64_bshuffle_splitk", "64x64_splitk_clean"):
        (folder / f"bf16gemm_fp32bf16_tn_{name}.co").write_bytes(b"")
    found = aiter_matmul.objects(tmp_path)
    assert [(o.name, o.tile_m, o.shuffled) for o in found] == [
        ("128x64_bshuffle_splitk", 128, True),
        ("64x64_pf3_splitk", 64, False),
    ]
    with pytest.raises(aiter_matmul.AiterError, match="there are no bf16gemm"):
        aiter_matmul.objects(tmp_path / "bf16gemm")


def test_arguments_of_the_objects() -> None:
    a, b, d = np.zeros((3, 64), np.uint16), np.zeros((128, 64), np.uint16), np.zeros((3, 128), np.float32)
    args = aiter_matmul.arguments(d, a, b, 3, 128, 64, splits=2, bias=a)
    assert [int(v) for v in args[6:19]] == [512, 0, 512, 0, 128, 0, 128, 0, 3, 128, 64, 2, 0]
    assert int(args[20]) == 1
    assert aiter_matmul.grid(64, 100, 128, 2) == (2, 2, 2)


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_has_a_kernel_and_counts_its_bytes(family: str) -> None:
    choice, sizes, moved = chosen(family, 64, 128, "bf16")
    assert choice.path.exists()
    assert sizes
    least = 64 * 128 * 2
    assert least < moved <= 3 * least


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["bench", "sorting"], "there is no family 'sorting'"),
        (["bench", "gemm", "--shape", "M=4"], "--shape takes M"),
        (["bench", "gemm", "--shape", "M=4,N=4"], "gemm needs K"),
        (["bench", "gemm", "--shape", "M=x,N=4,K=4"], "whole number"),
        (["bench", "gemm", "--clocks", "-1"], "--clocks takes 0 or more"),
        (["bench", "gemm", "--write"], "--write goes with --search"),
        (["bench", "add", "--ablate"], "--ablate is for gemm, softmax"),
    ],
)
def test_mistakes_end_in_a_sentence(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    assert said in capsys.readouterr().err


def test_few_rows_have_configurations_of_their_own() -> None:
    for rows in (1, 16, 33, 128):
        every = triton_few.fitting(rows)
        assert len({config.text() for config in every}) >= 40
        assert all(rows <= config.bm < max(2 * rows, 17) for config in every)
        assert {config.split for config in every} == {1, 2, 4, 8}
