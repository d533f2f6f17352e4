"""`argus time` on objects, `argus compare`, `argus clock`: as a user calls them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from argus.cli.main import main
from argus.clock import PARAMETERS

KERNELS = Path(__file__).parents[2] / "argus" / "kernels"
GEMM, VADD = KERNELS / "gemm.py", KERNELS / "vadd.py"
ROW = {
    "role": "validate",
    "family": "f",
    "program": "p",
    "shape": "s",
    "flops": 1e12,
    "bytes": 1e8,
    "element": "bf16",
    "microseconds": 2000.0,
    "protocol": "stream",
    "launches": [{"profile": {"compute": [[2100, 3e6]], "matrix": {"bf16": 2e6}, "valu": 1e6, "fabric_bytes": 1e8}}],
}


@pytest.fixture
def vadd(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    assert main(["compile", str(VADD), "-o", str(tmp_path)]) == 0
    capsys.readouterr()
    return next(tmp_path.rglob("*.hsaco"))


def _object(path: Path) -> list[str]:
    arrays = ["--arg", "f32[65536]:normal", "--arg", "f32[65536]:normal", "--arg", "f32[65536]", "--arg", "i32=65536"]
    return [str(path), "--grid", "64", "--block", "256", *arrays]


def test_an_object_takes_as_long_as_the_file_it_came_from(vadd: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = []
    for command in (["time", str(VADD), "--shape", "N=65536", "--json"], ["time", *_object(vadd), "--json"]):
        assert main(command) == 0
        found.append(json.loads(capsys.readouterr().out))
    assert found[0]["launch"]["grid"] == found[1]["launch"]["grid"]
    assert found[0]["launch"]["cycles"] == found[1]["launch"]["cycles"]
    assert found[1]["launch"]["label"].startswith("simulated MI300X")


def test_stated_and_sustained_clock(capsys: pytest.CaptureFixture[str]) -> None:
    shape = ["--shape", "M=128,N=128,K=128", "--json"]
    times = []
    for clock in ("2100", "1000"):
        assert main(["time", str(GEMM), *shape, "--device-clock", clock]) == 0
        launch = json.loads(capsys.readouterr().out)["launch"]
        assert launch["clock_mhz"] == float(clock)
        assert launch["sustained"]["clock_mhz"] == 2100
        times.append(launch["microseconds"])
    assert times[1] > 1.5 * times[0]


def test_page_and_trace(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page, trace = tmp_path / "out.html", tmp_path / "out.json"
    command = ["time", str(GEMM), "--shape", "M=128,N=128,K=128", "--html", str(page), "--trace", str(trace)]
    assert main(command) == 0
    text = capsys.readouterr().out
    assert "what would help" in text
    assert re.search(r"^occupancy +1 of \d possible workgroups", text, re.MULTILINE)
    assert re.search(r"^rooflines +matrix \d+ %  L2 \d+ %", text, re.MULTILINE)
    assert re.search(r"[\d.]+ µs \([\d.]+ to [\d.]+, small or latency-bound\) at the sustained clock", text)
    assert "sustained clock" in text
    assert "gemm.py" in page.read_text()
    assert json.loads(trace.read_text())["traceEvents"]


def test_compare_says_who_is_faster(capsys: pytest.CaptureFixture[str]) -> None:
    """The kernel with a quarter of the K does a part of the other's work, so no plausible clock prefers the other."""
    small, large = (f"{GEMM} --shape M=128,N=128,K={k}" for k in (256, 1024))
    assert main(["compare", small, large, "--clocks", "3", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["label"].startswith("simulated")
    first, second = found["rows"]
    assert first["against_fastest"] is None
    assert second["against_fastest"]["verdict"] == "slower"
    assert 1 < second["against_fastest"]["low"] < second["against_fastest"]["ratio"]
    assert first["interval"]["low"] < first["sustained_microseconds"] < first["interval"]["high"]
    assert first["interval"]["regime"] == "small or latency-bound"


def test_the_same_twice_is_a_tie(capsys: pytest.CaptureFixture[str]) -> None:
    same = f"{GEMM} --shape M=128,N=128,K=256"
    assert main(["compare", same, same, "--clocks", "2"]) == 0
    text = capsys.readouterr().out
    assert "tie: 1.00x the time (1.00 to 1.00)" in text
    assert "small or latency-bound)" in text


def test_the_protocol_decides_the_floor(capsys: pytest.CaptureFixture[str]) -> None:
    times = {}
    for protocol in ("graph", "stream"):
        assert main(["time", str(VADD), "--shape", "N=65536", "--protocol", protocol, "--json"]) == 0
        launch = json.loads(capsys.readouterr().out)["launch"]
        assert launch["protocol"] == protocol
        times[protocol] = launch["sustained"]["microseconds"]
    floors = {name: PARAMETERS[f"launch_floor_{name}"] for name in times}
    assert times["stream"] - times["graph"] == pytest.approx(floors["stream"] - floors["graph"], abs=0.05)


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (["compare", "a.py"], "at least two"),
        (["compare", "a.py --nonsense", "b.py"], "unrecognized"),
        (["compare", "'a.py", "b.py"], "quotation"),
        (["time", str(GEMM), "--device-clock", "9000"], "--device-clock takes"),
        (["clock", "fit", "no-such-file"], "no-such-file"),
    ],
)
def test_mistakes_are_answered(command: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(command) == 2
    assert words.lower() in capsys.readouterr().err.lower()


def test_an_object_needs_its_launch(vadd: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["time", str(vadd)]) == 2
    assert "--grid and --block" in capsys.readouterr().err


def test_clock_validate_and_fit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text("\n".join(json.dumps({**ROW, "role": role}) for role in ("fit", "validate")))
    assert main(["clock", "validate", str(path)]) == 0
    text = capsys.readouterr().out
    assert "| p | s | dense GEMM | 2000.0 |" in text
    assert all(word in text for word in ("90th percentile", "left out", "inside the interval"))
    assert main(["clock", "fit", str(path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["after"] <= found["before"]
    path.write_text(json.dumps(ROW))
    assert main(["clock", "fit", str(path)]) == 2
