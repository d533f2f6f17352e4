"""Where the checker's time goes, and by what its questions were decided: the text of `argus check --stats`.

    time           0.31 s
      walk         0.12 s   39 %     tags through the program
      conform      0.02 s    6 %
      …
      solver       0.05 s            contained in the above
    questions      structural 210, known model 12, linear 30, z3 integers 4, z3 bits 0, undecided 0
    Z3 effort      8,204 rlimit
    verdicts       enumeration 4, structural 2, z3 6

Time is the only part that depends on the machine; counts and effort are the same in every run.
"""

from __future__ import annotations

from collections import Counter

from argus.check.report import Report
from argus.check.solve.prover import Prover

METHODS = (
    "structural",
    "known model",
    "linear",
    "z3 integers",
    "z3 bits",
    "not asked",
    "lemma",
    "open by lemma",
)
_COUNTS = frozenset({*METHODS, "undecided", "rlimit", "solver", "queries", "cached"})


def effort(prover: Prover) -> dict[str, float]:
    """The part of a report's `stats` that counts decisions."""
    counts = {name: float(prover.decided[name]) for name in METHODS}
    counts["undecided"] = float(len(prover.undecided))
    return {"solver": prover.seconds, "queries": float(prover.queries), "rlimit": float(prover.effort), **counts}


def table(report: Report) -> str:
    """The stats of a report as text."""
    stats = report.stats
    phases = {name: seconds for name, seconds in stats.items() if name not in _COUNTS}
    total = sum(phases.values()) or 1.0
    lines = [f"{'time':<15}{sum(phases.values()):.3f} s"]
    for name, seconds in sorted(phases.items(), key=lambda item: -item[1]):
        lines.append(f"  {name:<13}{seconds:.3f} s  {100 * seconds / total:3.0f} %")
    if "solver" in stats:
        lines.append(f"  {'solver':<13}{stats['solver']:.3f} s         contained in the above")
        counts = ", ".join(f"{name} {int(stats.get(name, 0))}" for name in (*METHODS, "undecided"))
        lines += [f"{'questions':<15}{counts}", f"{'Z3 effort':<15}{int(stats['rlimit']):,} rlimit"]
    by = Counter(v.decided_by for v in report.verdicts)
    lines.append(f"{'verdicts':<15}" + ", ".join(f"{name} {n}" for name, n in sorted(by.items())))
    return "\n".join(lines)
