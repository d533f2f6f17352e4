"""`argus doctor`: what it says of this machine, and of one with a GPU (a stub); never run on a chip."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from argus.agent.judge.measure import MeasuringBench
from argus.cli import doctor
from argus.cli.main import main
from argus.cli.self_test import CASES as DOCTORS_CASES
from argus.cli.self_test import SelfTestCase, self_test
from argus.device.guards import check_sizes
from argus.device.hip_calls import HipCalls, HipError
from argus.lang import read
from tests.device.stub_hip import StubHip

KERNELS = Path(__file__).parents[2] / "argus" / "kernels"
CASES = (SelfTestCase("vadd", {"N": 1000}, {"N": 4096}),)


@pytest.mark.parametrize("case", DOCTORS_CASES, ids=lambda case: case.kernel)
def test_the_doctors_cases_are_launches(case: SelfTestCase) -> None:
    kernel = read(KERNELS / f"{case.kernel}.py", kernel=case.kernel)
    for sizes in (case.small, case.timed):
        check_sizes(kernel, sizes)


def steady(stub: StubHip) -> MeasuringBench:
    """A bench whose host clock gives every launch 2 ms; the stub's events say 1.25."""
    ticks = itertools.count()
    return MeasuringBench(stub, clock=lambda: 2e-3 * next(ticks), flush_bytes=1 << 12)


def test_without_a_gpu(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    monkeypatch.setenv("ARGUS_HIP_LIBRARY", "libnothere.so")
    monkeypatch.setenv("ARGUS_CACHE", str(tmp_path))
    (tmp_path / "ab" / "abcd").mkdir(parents=True)
    (tmp_path / "ab" / "abcd" / "object.hsaco").write_bytes(bytes(2048))
    (tmp_path / "proofs").mkdir()
    assert main(["doctor"]) == 0
    out = capsys.readouterr().out
    assert "no HIP runtime: tried libnothere.so" in out
    assert f"objects        1 files, 2.0 KiB in {tmp_path}" in out
    assert "self-test      not run: no gfx942" in out
    assert "llvmlite" in out


def test_the_self_test_sets_simulated_beside_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    stub = StubHip()
    (found,) = self_test(stub, CASES, steady(stub))
    assert found["right"], found
    assert found["measured"] == pytest.approx({"microseconds": 1250, "p10": 1250, "p90": 1250})
    simulated = found["simulated"]
    assert simulated["low"] < simulated["microseconds"] < simulated["high"]
    assert found["ratio"] == pytest.approx(1250 / simulated["microseconds"])
    assert found["ratio_low"] == pytest.approx(1250 / simulated["high"])
    assert found["ratio_low"] < found["ratio"] < found["ratio_high"]
    assert not stub.memory


def test_a_wrong_chip_is_found(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A GPU that computes something else, or fails, is broken: exit 1, and the line says so."""
    stub = StubHip()
    real = stub.copy_out
    stub.copy_out = lambda pointer, size: bytes(byte ^ 64 for byte in real(pointer, size))  # type: ignore[method-assign]

    def tested(calls: HipCalls, cases: object, bench: MeasuringBench) -> list[dict[str, object]]:
        return self_test(calls, CASES, steady(stub))

    monkeypatch.setattr(doctor, "load", lambda: stub)
    monkeypatch.setattr(doctor, "self_test", tested)
    assert main(["doctor"]) == 1
    out = capsys.readouterr().out
    assert "GPU 0          AMD Instinct MI300X, gfx90a:sramecc+:xnack-, 192.0 GiB, no gfx942: not used" in out
    assert "HIP            6.3.42133, stub_hip.py (stub)" in out
    assert "vadd N=4096: WRONG" in out
    assert "measured/simulated" in out

    def fails(*_: object) -> None:
        raise HipError("hipModuleLaunchKernel: out of memory (2)")

    stub.launch = fails  # type: ignore[method-assign]
    assert main(["doctor"]) == 1
    assert "out of memory" in capsys.readouterr().out
    assert main(["doctor", "--no-run"]) == 0
    assert "self-test      not run: --no-run" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("version", "spec", "fits"),
    [("0.50.3", "==0.50.*", True), ("0.5.0", "==0.50.*", False), ("2.10.1", ">=2.9", True), ("2.1", ">=2.1.1", False),
     ("2.13.0+cpu", "==2.13.0", True), ("2.13.1", "==2.13.0", False)],
)  # fmt: skip
def test_versions_are_compared_as_numbers(version: str, spec: str, fits: bool) -> None:
    assert doctor.fits_spec(version, spec) is fits


def test_a_missing_package_is_named_with_its_extra() -> None:
    wanted = ["numpy>=2.1", "nothere==1.0 ; extra == 'more'", 'other==1.* ; extra == "less"', "gone>=3"]
    found = {"packages": list(doctor._packages(wanted)), "self_test": None}
    assert [p["extra"] for p in found["packages"]] == [None, "more", "less", None]
    assert doctor.broken(found) == ["gone"]
    assert list(doctor._extras(found["packages"]))[1] == (
        "more lacks nothere MISSING (pip install 'argus-kernels[more]')"
    )
