"""`argus bench`: the table says what is simulated, published and not comparable; bad words are refused."""

from __future__ import annotations

import pytest

from argus.bench.gemm import Row, published, table
from argus.bench.memory import FAMILIES, chosen
from argus.bench.triton_matmul import FULL, QUICK
from argus.cli.main import main


def row(triton_us: float | None, wins: float | None = None) -> Row:
    shape = (4096, 4096, 4096)
    return Row(shape, 200.0, 1400.0, "matmul BM=256", triton_us, "256x256x64", wins, published(*shape), ())


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
    text = table([row(300.0, wins=0.95)])
    assert "simulated" in text
    assert "published" in text
    assert "95 %" in text
    assert "613" in text
    assert published(4096, 4096, 128) == {}


def test_configurations() -> None:
    assert len(set(FULL)) >= 40
    assert {config.warps for config in FULL} == {4, 8}
    assert {config.nonkdim for config in FULL} == {16, 32}
    assert len(QUICK) < 5


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
        (["bench", "softmax", "--shape", "M=4,N=1000000"], "the longest are 65536"),
    ],
)
def test_mistakes_end_in_a_sentence(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    assert said in capsys.readouterr().err
