"""Counts of decisions do not depend on the run; undecided questions become files a solver can read."""

from __future__ import annotations

from pathlib import Path

import pytest
import z3

from argus.check import check
from argus.check.engine import question
from argus.check.explain.stats import METHODS, table
from argus.check.solve import prover
from argus.check.solve.prover import Prover
from argus.check.solve.smtlib import dump
from argus.ir.passes.schedule import scheduled
from argus.lang import read
from argus.layout.expr import var

GEMM = Path(__file__).parents[3] / "argus" / "kernels" / "gemm.py"
MOE = Path(__file__).parents[2] / "lang" / "programs" / "moe.py"


def test_counts_and_effort_are_the_same_in_every_run() -> None:
    first, again = (check(scheduled(read(GEMM, settings={"BM": 64, "BN": 64}))) for _ in range(2))
    counted = ("queries", *METHODS, "undecided")
    assert {n: first.stats[n] for n in counted} == {n: again.stats[n] for n in counted}
    assert first.stats["rlimit"] == again.stats["rlimit"]
    asked = check(scheduled(read(MOE)))
    assert asked.stats["rlimit"] > 0, "this one needs the solver"
    text = table(first)
    assert "walk" in text
    assert "z3 integers" in text


def hard() -> tuple[Prover, bool | None]:
    """x³ + y³ + z³ = 33 within small bounds: far beyond the effort allowed."""
    x, y, z = (var(n, -20_000, 20_000) for n in "xyz")
    own = Prover()
    return own, own.possible(((x * x * x + y * y * y + z * z * z).eq(33),))


def test_what_nobody_decides_is_kept_and_can_be_asked_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prover, "RLIMIT", 2_000)
    own, answer = hard()
    assert answer is None
    (facts,) = own.undecided
    solver = z3.Solver()
    solver.from_string(question(facts))
    assert len(solver.assertions()) >= 1
    report = check(scheduled(read(GEMM, settings={"BM": 64, "BN": 64})))
    assert not dump(report, tmp_path), "everything is decided"
    (file,) = dump(type(report)(report.kernel, report.verdicts, 0.0, {}, (), (question(facts),)), tmp_path)
    assert file.name.startswith("gemm-0-")
    solver = z3.Solver()
    solver.from_file(str(file))
