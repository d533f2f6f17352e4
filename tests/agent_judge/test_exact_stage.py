"""The judge's stage *algebra*: a kernel that drops one addend in a thousand is within every tolerance and is rejected.

The rules of the checker would refute these candidates first. They are made to believe them, so that the stages after
the check stand alone.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import argus.kernels
from argus.agent.judge import Problem
from argus.agent.judge.court import Court, _Case
from argus.agent.judge.exact import exactly
from argus.check.engine import check as real_check
from argus.check.report import Report
from argus.compile.cache import compile_cached
from argus.ir.passes.schedule import scheduled
from argus.ir.stages import Scheduled
from argus.lang import read
from argus.tasks.inputs import make_arrays

NAIVE = """import argus as ag
from argus import f32

ROW = ag.Owner(t=64, e=16, n="t*16 + e")


@ag.kernel(threads=64, requires="M >= 1", computes="y[m] = sum(x[m, k] * w[k], k) + sum(x[m, k] * v[k], k) * 1e-12", example=dict(M=4))
def k(x: ag.In["M n=1024", f32], w: ag.In["n=1024", f32], v: ag.In["n=1024", f32], y: ag.Out["M", f32]):
    m = ag.grid(M)
    a = x[m].load(ROW, width=16)
    b = w[0].load(ROW, width=16) + v[0].load(ROW, width=16) * 1e-12
    p = a * b
    y[m].store(p.sum("n"), width=4, guard=ag.thread() == 0)
"""  # noqa: E501
DROPPED = NAIVE.replace("p = a * b\n", "p = ag.where(a.n == 517, a * w[0].load(ROW, width=16), a * b)\n")
APPROXIMATE = NAIVE.replace("sum(x[m, k]", "sum(tanh(x[m, k])").replace("a * b", "ag.tanh(a) * b")
SIZES = {"M": 8}
"""Few rows of 1024 products in two sums, the second of which is far below the first: one of its addends is dropped."""


@pytest.fixture
def credulous(monkeypatch: pytest.MonkeyPatch) -> None:
    """The judge's check finds nothing wrong."""

    def believed(program: Scheduled, **unused: object) -> Report:
        report = real_check(program)
        return Report(report.kernel, tuple(v for v in report.verdicts if v.status == "proved"), report.stats)

    monkeypatch.setattr("argus.agent.judge.court.report_of", believed)


def court(naive: str) -> Court:
    return Court(Problem("t", naive, small=(SIZES,), shapes=(SIZES,), specials=False))


def test_an_honest_kernel_passes_and_the_evidence_has_it() -> None:
    found = court(NAIVE).judge(NAIVE, 1)
    assert found.verdict == "pass", found
    assert list(found.seconds).index("algebra") == list(found.seconds).index("small") + 1


@pytest.mark.usefixtures("credulous")
def test_one_addend_in_a_thousand(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same candidate passes all float comparisons; only exact algebra sees it."""
    judged = court(NAIVE).judge(DROPPED, SEED)
    assert (judged.verdict, judged.stage) == ("fail", "algebra"), judged
    (said,) = judged.violations
    assert said.rule == "algebra"
    assert "y: DIFFERENT in exact algebra, 1 of 1 elements, first at [" in said.message
    assert said.detail["first_different"] is not None
    monkeypatch.setattr("argus.agent.judge.court._Case._exactly", lambda *args: None)
    assert court(NAIVE).judge(DROPPED, SEED).verdict == "pass"


SEED = 3


def test_what_is_not_followed_is_no_reason() -> None:
    """A polynomial in place of the tangent: the candidate passes, and the evidence says what was not followed."""
    bench = court(APPROXIMATE)
    case = _Case(bench, APPROXIMATE, 1)
    assert case.judgement().verdict == "pass"
    place, verdict, elements, not_followed, cause = case.found["algebra"]
    assert place.startswith("M=8, workgroup ")
    assert (verdict, elements, not_followed) == ("not followed", 1, 1)
    assert "approximation" in cause


def test_a_mask_of_numbers_that_are_not_followed_is_no_error(tmp_path: Path) -> None:
    """The order of blocks divides by floats, in a wave that is not followed too."""
    text = (Path(argus.kernels.__path__[0]) / "gemm.py").read_text()
    ordered = text.replace("ag.grid(M // BM, N // BN)", "ag.grid(M // BM, N // BN, order=ag.xcd(8, group=4))")
    assert ordered != text
    (tmp_path / "gemm.py").write_text(ordered)
    kernel = read(tmp_path / "gemm.py", settings={"BM": 128, "BN": 128})
    code, sizes = compile_cached(scheduled(kernel)).object, {"M": 384, "N": 256, "K": 64}
    assert kernel.computes is not None
    given = {name: array for name, array in make_arrays(kernel, sizes, 0).items() if name != "C"}
    found = exactly(kernel, code, kernel.computes.results[0], sizes, given, {}, 2, 10**9)
    assert found is not None
    assert found.wave is not None
    assert found.comparison.verdict == "equal"
