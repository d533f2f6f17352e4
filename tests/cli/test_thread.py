"""One kernel through the whole house: source, check, code object, machine, clock — as a user calls it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from argus import machine
from argus.cli.main import main

KERNELS = Path(__file__).parents[2] / "argus" / "kernels"
GEMM = KERNELS / "gemm.py"
VADD = KERNELS / "vadd.py"


@pytest.fixture
def wrong_gemm(tmp_path: Path) -> Path:
    """The GEMM with one change: A's fragments are read with another swizzle than they were written with."""
    source = GEMM.read_text()
    layout = 'ag.Layout(row=(BM, 128), chunk=(8, 16), e=(8, 2), k=("chunk", "e"))'
    assert f'LDS_A = {layout}.xor(chunk="row[0:3]")' in source
    assert source.count("sA.load(FRAG") == 1
    source = source.replace("LDS_B = ", f'READ_A = {layout}.xor(chunk="row[1:4]")\nLDS_B = ', 1)
    source = source.replace("sA.load(FRAG", "sA.view(READ_A).load(FRAG")
    path = tmp_path / "wrong_gemm.py"
    path.write_text(source)
    return path


def output(capsys: pytest.CaptureFixture[str]) -> dict[str, object]:
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("extra", [[], ["--set", "BM=64"], ["--set", "BM=64,BN=64"], ["--set", "BN=64"]])
def test_gemm_is_proved_with_every_knob(extra: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(GEMM), "--json", *extra]) == 0
    verdicts = output(capsys)["verdicts"]
    assert {v["rule"] for v in verdicts} >= {"conform", "race_free"}
    assert {v["status"] for v in verdicts} == {"proved"}


@pytest.mark.parametrize(
    "extra",
    [[], ["--set", "BM=64"], ["--shape", "M=128,N=384,K=64"], ["--set", "BN=64", "--shape", "M=128,N=64,K=192"]],
)
def test_gemm_matches_its_specification(extra: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", str(GEMM), "--json", *extra]) == 0
    result = output(capsys)
    assert result["reports"] == []
    assert result["comparison"]["wrong"] == 0
    assert result["comparison"]["elements"] == result["shape"]["M"] * result["shape"]["N"]


def test_gemm_object_equals_numpy_directly(tmp_path: Path) -> None:
    """Without our specification language in between: bf16 inputs, float64 matrix product, one bf16 rounding."""
    assert main(["compile", str(GEMM), "-o", str(tmp_path)]) == 0
    import ml_dtypes

    rng = np.random.default_rng(3)
    a, b = (rng.standard_normal((128, 192)).astype(ml_dtypes.bfloat16) for _ in range(2))
    c = np.zeros((128, 128), ml_dtypes.bfloat16)
    m, n, k = (np.int32(x) for x in (128, 128, 192))
    launched = machine.load(tmp_path / "gemm.hsaco").kernel("gemm")
    names = [arg.name for arg in launched.info.args]
    values = {"A": a, "B": b, "C": c, "M": m, "N": n, "K": k}
    launched(1, 256, *(values[name] for name in names), checks="all", stop=True)
    want = a.astype(np.float64) @ b.astype(np.float64).T
    np.testing.assert_allclose(c.astype(np.float64), want, rtol=2**-8, atol=1e-4)


def test_vadd_runs_with_a_ragged_end(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", str(VADD), "--json", "--shape", "N=3000"]) == 0
    assert output(capsys)["comparison"]["elements"] == 3000


def test_other_swizzle_on_one_side_is_refuted_with_thread_element_and_line(
    wrong_gemm: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", str(wrong_gemm), "--json"]) == 1
    refuted = [v for v in output(capsys)["verdicts"] if v["status"] == "refuted"]
    assert [v["rule"] for v in refuted] == ["conform"]
    example = refuted[0]["counterexample"]
    line = wrong_gemm.read_text().splitlines()[example["program_point"]["line"] - 1]
    assert "ag.mfma" in line
    left, right = example["operands"]
    assert {left["tag"]["tensor"], right["tag"]["tensor"]} == {"A", "B"}
    assert left["tag"]["coords"]["K"] != right["tag"]["coords"]["K"]
    for operand in (left, right):
        assert operand["lane"] == operand["thread"] % 64
        assert "element" in operand
        stored = wrong_gemm.read_text().splitlines()[operand["written_at"]["line"] - 1]
        assert ".store(" in stored


def test_refuted_kernel_does_not_get_past_the_gate(wrong_gemm: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert main(["compile", str(wrong_gemm), "-o", str(out)]) == 1
    assert not out.exists()
    assert main(["run", str(wrong_gemm)]) == 1


def test_forced_through_it_gives_wrong_numbers(wrong_gemm: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", str(wrong_gemm), "--force", "--json"]) == 1
    result = output(capsys)
    assert result["comparison"]["wrong"] > 10_000
    assert result["reports"] == []


def test_time_says_simulated_and_attributes_to_source_lines(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["time", str(GEMM), "--json", "--shape", "M=256,N=256,K=256"]) == 0
    result = output(capsys)
    assert result["launch"]["label"].startswith("simulated MI300X")
    assert result["launch"]["cycles"] > 0
    executed = [row for row in result["unit"]["instructions_by_pc"] if row["executed"]]
    matrix = [row for row in executed if row["text"].startswith("v_mfma")]
    line = next(n for n, text in enumerate(GEMM.read_text().splitlines(), 1) if "ag.mfma(b" in text)
    assert matrix
    assert all(row["source"] == f"gemm.py:{line}" for row in matrix)


def test_mfma_clocks_bound_the_time(capsys: pytest.CaptureFixture[str]) -> None:
    """Twice the K takes at least the matrix instructions it adds longer: 4 waves on 4 SIMDs, 32 x 32 clocks a step."""
    cycles = []
    for k in (128, 256):
        assert main(["time", str(GEMM), "--json", "--shape", f"M=128,N=128,K={k}"]) == 0
        cycles.append(output(capsys)["unit"]["cycles"])
    assert cycles[1] - cycles[0] >= 2 * 32 * 32


def test_ir_prints(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ir", str(GEMM)]) == 0
    text = capsys.readouterr().out
    assert text.count("mfma mfma_32x32x8_bf16") == 32
    assert "barrier" in text


@pytest.mark.parametrize(
    ("command", "code", "words"),
    [
        (["check", "/does/not/exist.py"], 2, "exist"),
        (["check", str(GEMM), "--set", "BM=77"], 2, "77"),
        (["check", str(GEMM), "--set", "NOPE=1"], 2, "NOPE"),
        (["run", str(GEMM), "--shape", "K=100"], 2, "K%64 == 0"),
        (["run", str(GEMM), "--shape", "Q=1"], 2, "Q"),
        (["run", str(GEMM), "--shape", "M=x"], 2, "whole number"),
        (["run", str(GEMM), "--shape", "M=1048576,N=128,K=4096"], 2, "bytes"),
        (["check", str(GEMM), "--shape", "Q=1"], 2, "Q"),
        (["check", str(GEMM), "--shape", "K=100"], 2, "K%64 == 0"),
        (["check", str(GEMM), "--show", "56", "--shape", "Q=1"], 2, "Q"),
        (["ir", str(GEMM), "--shape", "Q=1"], 2, "Q"),
        (["compile", str(GEMM), "--shape", "M=x"], 2, "whole number"),
        (["explain", "XX999"], 2, "XX999"),
        (["layout", "Layout(row=(2,"], 2, "layout"),
    ],
)
def test_mistakes_end_in_a_sentence(
    command: list[str], code: int, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(command) == code
    captured = capsys.readouterr()
    assert words in captured.err
    assert "Traceback" not in captured.err


def test_not_python_is_not_a_program(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "broken.py"
    path.write_text("def gemm(:\n")
    for verb in ("check", "ir", "compile", "run", "time"):
        assert main([verb, str(path)]) == 2
        assert "error" in capsys.readouterr().err


def test_a_foreign_object_that_is_no_object(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "cut.hsaco"
    path.write_bytes(b"\x7fELF" + bytes(20))
    assert main(["run", str(path), "--grid", "1", "--block", "64"]) == 2
    assert "error" in capsys.readouterr().err


def test_layout_verb_shows_table_and_picture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["layout", f"{GEMM}:LDS_A", "--set", "BM=64"]) == 0
    assert "row" in capsys.readouterr().out
    picture = tmp_path / "lds.svg"
    assert main(["layout", 'Layout(row=(8, 16), e=(8, 2)).xor(e="row[0:1]")', "--svg", str(picture)]) == 0
    assert picture.read_text().startswith("<svg")
