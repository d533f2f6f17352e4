"""Questions that nothing decided, written as SMT-LIB files that any solver can be asked.

    question(facts)             (declare-fun K () Int) … (check-sat)
    dump(report, folder)        [folder/gemm-0-1f3a9c2e.smt2, …]

A file asks whether a rule can be broken on some path: `unsat` would prove, `sat` would refute (after replay). Its name
ends in a digest of the question, so the same question is the same file. Nothing is written for a report without
unknown verdicts, and nothing for an unknown verdict whose reason is that the walk lost track of a value: then no
question was asked.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from argus.check.report import Report
from argus.check.solve.lemmas import Facts
from argus.check.solve.prover import bits_solver, solver_for
from argus.layout.expr import ExprError


def dump(report: Report, folder: Path) -> list[Path]:
    """Write the report's undecided questions; the files in order."""
    written = []
    for n, text in enumerate(report.questions):
        digest = hashlib.sha256(text.encode()).hexdigest()[:8]
        path = folder / f"{report.kernel.name}-{n}-{digest}.smt2"
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text(f"; {report.kernel.file}: {report.kernel.name}, a question that nothing decided\n{text}")
        written.append(path)
    return written


def question(facts: Facts) -> str:
    """The facts as SMT-LIB: over integers, or over 64-bit vectors where bit operations make integers impossible."""
    try:
        solver = solver_for(facts)[0]
    except ExprError:
        solver = bits_solver(facts)[0]
    return str(solver.to_smt2())
