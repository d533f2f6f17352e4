"""The execution of a proof allows the kernel's own rounding and no more: right kernels agree, wrong ones do not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from argus.check import check
from argus.check.executed.execute import attempts, execute
from argus.check.executed.inputs import arrays
from argus.check.executed.outcome import SmallLaunch
from argus.check.executed.premises import outside
from argus.check.rules.value import Valued
from argus.cli.check_run import executed_on_machine
from argus.cli.main import main
from argus.ir.kernel import Kernel
from argus.ir.passes.insert_waits import insert_waits
from argus.ir.passes.schedule import scheduled
from argus.lang import read
from argus.pipeline import report_of

TEXT = """
import argus as ag
from argus import bf16, f16, f32
T = ag.Owner(t=64, i="t")

@ag.kernel(threads=64, requires="N >= 1", computes="y[i] = {spec}", example=dict(N=64))
def f(x: ag.In["N", {x}], y: ag.Out["N", {y}]):
    p = ag.grid(ag.cdiv(N, 64))
    v = x[64 * p].load(T, width={load}, guard="shape")
    y[64 * p].store({code}, width={store}, guard="shape")
"""
SIZE = {"f32": 4, "bf16": 2, "f16": 2}


def text_of(spec: str, code: str, x: str = "f32", y: str = "f32") -> str:
    return TEXT.format(spec=spec, code=code, x=x, y=y, load=SIZE[x], store=SIZE[y])


def kernel_of(folder: Path, text: str) -> Kernel:
    path = folder / "kernel.py"
    path.write_text(text)
    return insert_waits(scheduled(read(path)).kernel)


RIGHT = {
    "cut off": text_of("x[i] * 3", '(v * 3.0).to(bf16, rounding="rtz")', y="bf16"),
    "cut off in the middle": text_of("x[i] * 3 + 1", '(v * 3.0).to(bf16, rounding="rtz").to(f32) + 1.0'),
    "bf16 in the middle": text_of("x[i] * x[i] - 1", "(v * v).to(bf16).to(f32) - 1.0"),
    "bf16 under an exponential": text_of("exp2(x[i] * 3)", "ag.exp2((v * 3.0).to(bf16).to(f32))"),
    "overflow of f16": text_of("exp2(9 * abs(x[i]))", "ag.exp2(abs(v) * 9.0).to(f16).to(f32)"),
    "overflow of f16 under a minimum": text_of(
        "minimum(x[i] * x[i] * 300, 100000)", "ag.min((v * v * 300.0).to(f16).to(f32), 100000.0)"
    ),
    "silu": text_of("x[i] / (1 + exp(-x[i]))", "v * ag.rcp(ag.exp2(v * -1.4426950408889634) + 1.0)"),
}  # fmt: skip


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_kernel_agrees(name: str, tmp_path: Path) -> None:
    kernel = kernel_of(tmp_path, RIGHT[name])
    found = execute(kernel)
    assert found.problem is None, found.problem.sentence()
    assert found.launches >= 4
    program = scheduled(read(tmp_path / "kernel.py"))
    report = report_of(program, kept=False)
    assert report.status != "refuted", report.render()
    if report.proved:
        assert executed_on_machine(program, report).report.proved


WRONG = {
    "a constant of eleven bits": text_of("x[i] * 3", "v * 3.002"),
    "a little too much under bf16": text_of("x[i] * 3", "(v * 3.05).to(bf16)", y="bf16"),
    "bf16 in the middle": text_of("x[i] * x[i] - 1", "(v * v).to(bf16).to(f32) - 0.9"),
    "beside an overflow": text_of("exp2(9 * abs(x[i]))", "ag.exp2(abs(v) * 9.02).to(f16).to(f32)"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_proof_is_still_found(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Valued, "_compare", lambda *args, **kwargs: "")
    assert execute(kernel_of(tmp_path, WRONG[name])).problem is not None


def test_the_bound_is_tighter_than_the_slack_it_replaces(tmp_path: Path) -> None:
    """Off by four units of f32 in the last place: sixteen times the error of f32 let it through."""
    right = kernel_of(tmp_path, text_of("x[i] * 3", "v * 3.0"))
    assert execute(right).problem is None
    assert execute(kernel_of(tmp_path, text_of("x[i] * 3", "v * 3.000001"))).problem is not None


def test_an_overflow_is_seen_and_smaller_inputs_have_none(tmp_path: Path) -> None:
    kernel = kernel_of(tmp_path, text_of("x[i] * x[i]", "(v * v * 400.0).to(f16).to(f32) * 0.0025"))
    launches = list(attempts(SmallLaunch({"N": 64}, "wide", 1)))
    assert [outside(kernel, one) for one in launches] == [True, True, False]
    sizes = [np.abs(arrays(kernel, one.sizes, one.kind, one.seed, one.smaller)["x"]).max() for one in launches]
    assert sizes[0] == 8 * sizes[1] == 64 * sizes[2]


def test_a_pole_is_no_overflow(tmp_path: Path) -> None:
    kernel = kernel_of(tmp_path, text_of("x[i]", "v + (v - v) * ag.log2(v - v)"))
    assert not outside(kernel, SmallLaunch({"N": 64}, "normal", 1))
    assert not check(scheduled(read(tmp_path / "kernel.py"))).proved


NARROW = text_of("x[i] * x[i] - 1", "(v * v).to(bf16).to(f32) - 1.0")
UNSTABLE = """
import argus as ag
from argus import f32
ROW = ag.Owner(t=64, n="t")

@ag.kernel(threads=64, requires="M >= 1", computes="y[m] = sum(exp(9000 * x[m, k]) * x[m, k], k) / sum(exp(9000 * x[m, k]), k)",
    example=dict(M=4))
def f(x: ag.In["M n=64", f32], y: ag.Out["M", f32]):
    m = ag.grid(M)
    v = x[m].load(ROW, width=4)
    e = ag.exp2((v - v.max("n")) * (9000 * 1.4426950408889634))
    y[m].store((e * v).sum("n") / e.sum("n"), width=4, guard=ag.thread() == 0)
"""  # noqa: E501


@pytest.mark.parametrize(("text", "said"), [(NARROW, "correct: 64 elements"), (UNSTABLE, "correct: 4 elements")])
def test_run_allows_the_kernels_own_rounding(
    text: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """bf16 in the middle, and a specification that overflows in float64 where the kernel subtracts a maximum."""
    monkeypatch.setenv("ARGUS_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "kernel.py"
    path.write_text(text)
    assert main(["run", str(path)]) == 0
    assert said in capsys.readouterr().out
