"""The software-pipelined GEMM of the library: proved for every K, right at every edge of its pipeline, clean code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from argus.cli.main import main

FILE = str(Path(__file__).parents[2] / "argus" / "kernels" / "gemm_pipelined.py")


@pytest.mark.parametrize("waves", [4, 8])
def test_proved_with_symbolic_sizes(waves: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", FILE, "--json", "--set", f"WAVES={waves}"]) == 0
    verdicts = json.loads(capsys.readouterr().out)["verdicts"]
    assert {"conform", "race_free", "fresh", "in_bounds", "reduced", "covers"} <= {v["rule"] for v in verdicts}
    assert {v["status"] for v in verdicts} == {"proved"}


@pytest.mark.parametrize("k", [64, 128, 192])
def test_prologue_and_epilogue(k: int, capsys: pytest.CaptureFixture[str]) -> None:
    """One tile (no iteration at all), two, three: where a pipeline loses or repeats a tile."""
    assert main(["run", FILE, "--json", "--force", "--set", "WAVES=8", "--shape", f"M=256,N=256,K={k}"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["reports"], result["comparison"]["wrong"]) == ([], 0)


@pytest.mark.parametrize(("waves", "most", "matrix"), [(4, 230, 128), (8, 131, 64)])
def test_inner_loop(waves: int, most: int, matrix: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["compile", FILE, "-o", str(tmp_path), "--report", "--set", f"WAVES={waves}", "--force"]
    assert main(command) == 0
    loop = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("loop at"))
    words = loop.split()
    assert int(words[words.index("instructions,") - 1]) <= most
    assert f"{matrix * 32} matrix clocks" in loop
