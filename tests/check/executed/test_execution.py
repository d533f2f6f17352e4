"""A wrong proof is found by executing it: the rule `value` is made to believe everything, and nothing is proved."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from argus.check import proof_cache
from argus.check.executed import execute as execution
from argus.check.executed.execute import execute
from argus.check.executed.launches import STEPS, launches, steps
from argus.check.executed.outcome import NOT_ASKED
from argus.check.executed.tolerance import REORDERED, slack
from argus.check.rules.value import Valued
from argus.cli.main import main
from argus.ir.kernel import Kernel
from argus.ir.passes.insert_waits import insert_waits
from argus.ir.passes.schedule import scheduled
from argus.lang import read
from argus.pipeline import report_of
from argus.spec import Bounded, ResultSpec, SpecError

ROOT = Path(__file__).parents[3]
KERNELS = ROOT / "argus" / "kernels"

ELEMENTWISE = """
import argus as ag
from argus import {types}
T = ag.Owner(t=64, i="t")

@ag.kernel(threads=64, requires="N >= 1", computes="y[i] = {spec}", example=dict(N=64))
def f(x: ag.In["N", {x}], y: ag.Out["N", {y}]):
    p = ag.grid(ag.cdiv(N, 64))
    v = x[64 * p].load(T, width={width}, guard="shape")
    y[64 * p].store({code}, width={store}, guard="shape")
"""


def elementwise(spec: str, code: str, x: str = "f32", y: str = "f32") -> str:
    sizes = {"f32": 4, "i32": 4, "f16": 2, "bf16": 2, "i8": 1, "u8": 1, "i16": 2}
    types = ", ".join(sorted({x, y, "f32"}))
    return ELEMENTWISE.format(types=types, spec=spec, code=code, x=x, y=y, width=sizes[x], store=sizes[y])


def kernel_of(tmp_path: Path, text: str) -> Kernel:
    path = tmp_path / "kernel.py"
    path.write_text(text)
    return read(path)


@pytest.fixture
def credulous(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The rule `value` takes every term for the specified one."""
    monkeypatch.setattr(Valued, "_compare", lambda *args, **kwargs: "")
    monkeypatch.setenv("ARGUS_CACHE", str(tmp_path / "cache"))


WRONG = {
    "constant": elementwise("x[i] * 3.0", "v * 3.01"),
    "only negative": elementwise("abs(x[i])", "v"),
    "only at zero": elementwise("where(x[i] == 0, 1, x[i])", "v"),
    "not a number": elementwise("x[i]", "v + (v - v) * ag.log2(-abs(v))"),
    "whole numbers": elementwise("x[i] + 3000000", "v + 3000001", "i32", "i32"),
    "rounded in the middle": elementwise("x[i] * x[i]", "v * v * 1.5", "bf16", "bf16"),
}


@pytest.mark.usefixtures("credulous")
@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_proof_is_not_believed(name: str, tmp_path: Path) -> None:
    program = scheduled(kernel_of(tmp_path, WRONG[name]))
    report = report_of(program)
    assert report.status == "unknown"
    (verdict,) = [v for v in report.verdicts if v.status == "unknown"]
    assert verdict.rule == "value"
    assert verdict.reason.startswith("ARG-K101: a proof disagrees with its execution: on the interpreter y[")
    saved = Path(verdict.help.split("saved as ")[1].split(")")[0])
    launch = json.loads((saved / "launch.json").read_text())
    assert (saved / launch["file"]).read_text() == program.kernel.source
    assert launch["launch"]["sizes"]
    assert launch["launch"]["seed"]
    assert report_of(program).verdicts == report.verdicts  # kept, and never proved from there
    assert report_of(scheduled(read(saved / launch["file"])), kept=False).status == "unknown"


@pytest.mark.usefixtures("credulous")
def test_without_a_run_it_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "kernel.py"
    path.write_text(WRONG["constant"])
    assert main(["check", str(path), "--no-run"]) == 0
    assert f"executed nothing: {NOT_ASKED}" in capsys.readouterr().out
    assert main(["check", str(path), "--no-run", "--json"]) == 0
    nothing = {"launches": 0, "elements": 0, "skipped": NOT_ASKED, "left_out": ""}
    assert json.loads(capsys.readouterr().out)["executed"] == nothing
    assert main(["check", str(path)]) == 3  # the kept proof is executed now
    assert "ARG-K101" in capsys.readouterr().out


def test_what_was_executed_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARGUS_CACHE", str(tmp_path))
    program = scheduled(kernel_of(tmp_path, elementwise("x[i] * 3.0", "v * 3.0")))
    first = report_of(program)
    assert first.proved
    assert first.executed is not None
    assert first.executed.launches == 6

    def never(kernel: Kernel) -> None:
        raise AssertionError("executed again")

    monkeypatch.setattr("argus.check.executed.after_proof.execute", never)
    again = report_of(program)
    assert again.executed == first.executed
    assert proof_cache.NOTE in again.notes
    assert "executed 6 launches; " in again.render()


def test_a_failure_of_the_execution_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(kernel: Kernel) -> None:
        raise KeyError("an op nobody knows")

    monkeypatch.setattr("argus.check.executed.after_proof.execute", fails)
    program = scheduled(kernel_of(tmp_path, elementwise("x[i] * 3.0", "v * 3.0")))
    report = report_of(program, kept=False)
    assert report.proved
    assert report.executed is not None
    assert report.executed.skipped.startswith("internal: KeyError")


@pytest.mark.parametrize(
    ("file", "kernel"), [("gemm.py", None), ("softmax.py", "softmax"), ("vadd.py", None), ("transpose.py", None)]
)
def test_library_kernels_agree_within_the_budget(file: str, kernel: str | None) -> None:
    program = insert_waits(scheduled(read(KERNELS / file, kernel=kernel)).kernel)
    chosen = launches(program)
    assert sum(steps(program, one.sizes) for one in chosen[1:]) <= STEPS
    found = execute(program)
    assert found.problem is None
    assert found.launches == len(chosen) >= 4


def test_sizes_around_multiples_are_among_them(tmp_path: Path) -> None:
    sizes = {one.sizes["N"] for one in launches(kernel_of(tmp_path, elementwise("x[i]", "v")))}
    assert {1, 63, 65} <= sizes


def test_what_is_rounded_in_the_middle_has_more_slack(tmp_path: Path) -> None:
    plain = kernel_of(tmp_path, elementwise("x[i] * 2", "(v * 2.0).to(bf16)", "f32", "bf16"))
    assert slack(plain) == REORDERED
    narrow = kernel_of(
        tmp_path, elementwise("x[i] * 2", "v.to(bf16).to(f32) * 2.0", "f32", "f32").replace("f32\n", "bf16, f32\n", 1)
    )
    assert slack(narrow) == REORDERED * 2.0**16


def test_the_machine_confirms(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ARGUS_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "kernel.py"
    path.write_text(elementwise("x[i] * 3.0", "v * 3.0"))
    assert main(["check", str(path), "--run"]) == 0
    assert "executed 6 launches on simulated gfx942, checking interpreter" in capsys.readouterr().out
    path.write_text(elementwise("x[i] * 3.0", "v * 4.0"))
    assert main(["check", str(path), "--run"]) == 1
    said = capsys.readouterr().out
    assert "difference: the stored value is 1.33333 times what is specified" in said
    held = said.split("holds y[N=0] is ")[1].split(",")[0]
    assert f"replayed on simulated gfx942, checking interpreter: y[N=0] is {held} there" in said


@pytest.mark.parametrize(
    ("spec", "code", "x"),
    [("x[i]", "v * 3.0 / 3.0", "f32"), ("x[i]", "v.to(f32) * 1e-8 * 1e8", "f16"), ("-x[i]", "v * 7.0 / -7.0", "f32")],
)
def test_rounding_on_the_way_to_a_plain_number_is_no_disagreement(tmp_path: Path, spec: str, code: str, x: str) -> None:
    done = execute(insert_waits(scheduled(kernel_of(tmp_path, elementwise(spec, code, x=x))).kernel))
    assert done.launches
    assert done.problem is None


def _refusing(monkeypatch: pytest.MonkeyPatch, refused: set[str]) -> None:
    """Specifications of these results are too large for the evaluator."""
    usual = execution.evaluate

    def limited(stated: ResultSpec, *more: Any) -> Bounded:
        if stated.result in refused:
            raise SpecError("too large to compare")
        return usual(stated, *more)

    monkeypatch.setattr(execution, "evaluate", limited)


TWO_RESULTS = """
import argus as ag
from argus import f32
T = ag.Owner(t=64, i="t")

@ag.kernel(threads=64, requires="N >= 1", computes="y[i] = x[i] + x[i]; z[i] = x[i] * x[i]", example=dict(N=64))
def f(x: ag.In["N", f32], y: ag.Out["N", f32], z: ag.Out["N", f32]):
    p = ag.grid(ag.cdiv(N, 64))
    v = x[64 * p].load(T, width=4, guard="shape")
    y[64 * p].store(v + v, width=4, guard="shape")
    z[64 * p].store(v * v, width=4, guard="shape")
"""


@pytest.mark.parametrize("refused", [set(), {"y"}, {"z"}, {"y", "z"}])
def test_what_is_not_compared_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refused: set[str]) -> None:
    _refusing(monkeypatch, refused)
    found = execute(insert_waits(scheduled(kernel_of(tmp_path, TWO_RESULTS)).kernel))
    assert found.problem is None
    if len(refused) == 2:
        assert (found.launches, "too large to compare" in found.skipped) == (0, True)
        assert found.note().startswith("executed nothing")
    else:
        assert found.launches > 0
        assert ("value proved, not executed" in found.note()) is bool(refused)
        assert all(f"{result}: " in found.left_out for result in refused)
        assert found.to_json()["left_out"] == found.left_out


@pytest.mark.parametrize("stores", ["ag.log(ag.exp(v))", "(v + ag.exp2(v * 8.0)) - ag.exp2(v * 8.0)"])
def test_digits_that_may_be_lost_are_said(stores: str, tmp_path: Path) -> None:
    (verdict,) = [v for v in report_of(scheduled(kernel_of(tmp_path, elementwise("x[i]", stores)))).verdicts
                  if v.status == "unknown"]  # fmt: skip
    assert verdict.help.startswith("digits are lost (value of y: no bound of the rounding error: ")
