"""A report of the checker in short: one line if all is proved, else what is refuted or unknown, then one line.

    gemm: proved for every launch it accepts (16 claims, executed 4 launches, 0.16 s), where inputs are finite and not
    subnormal and no number is beyond the largest of its type; -v says more

(that is one line). What limits a claim is on the line: every premise, without its numbers; what nobody asked about;
whether small launches were executed, and why not; outputs without an error bound; hazards of rounding. What `-v` adds
is detail of the same claims: places, decisions, numbers. `argus.check.explain.render` is the long form.
"""

from __future__ import annotations

import re
from dataclasses import replace

from argus.check import Report
from argus.check.explain.render import render
from argus.check.proof_cache import NOTE as FROM_CACHE
from argus.check.rounding.error_bound import NoBound

MORE = "-v says more"


def short(report: Report) -> str:
    """The report, without what is proved claim by claim."""
    if report.proved and report.verdicts:
        premises = _premises(report)
        where = f", where {premises}" if premises else ""
        claims = f"{len(report.verdicts)} claim{'s' if len(report.verdicts) != 1 else ''}"
        parts = ", ".join([claims, *_executed(report), f"{report.seconds:.2f} s"])
        head = f"{report.kernel.name}: proved for every launch it accepts ({parts}){where}"
        return "; ".join([head, *_limits(report), MORE])
    count = report.count()
    counted = ", ".join(f"{count[s]} {s}" for s in ("proved", "refuted", "unknown") if count[s]) or "nothing to check"
    line = "; ".join([f"{counted} in {report.seconds:.2f} s", *_executed(report), *_limits(report)])
    undecided = replace(report, verdicts=tuple(v for v in report.verdicts if v.status != "proved"))
    blocks = render(undecided).rpartition("\n\n")[0]
    premises = _premises(report)
    value = [f"value is proved where {premises}"] if premises else []
    return "\n\n".join([*([blocks] if blocks else []), *value, f"{report.kernel.name}: {line}"])


def _premises(report: Report) -> str:
    """What the proof of values rests on, without the numbers in brackets."""
    return " and ".join(re.sub(r" \([^()]*\)", "", premise) for premise in report.premises)


def _executed(report: Report) -> list[str]:
    return [] if report.executed is None else [report.executed.note()]


def _limits(report: Report) -> list[str]:
    """What is not said about results, or should be known of them."""
    notes = [note for note in report.notes if note != FROM_CACHE]
    rounding = report.rounding
    if rounding is None:
        return notes
    unbounded = [bound.result for bound in rounding.bounds if isinstance(bound, NoBound)]
    if unbounded:
        notes.append(f"no bound of the rounding error of {', '.join(unbounded)}")
    if rounding.hazards:
        notes.append("hazards of rounding: " + ", ".join(f"{h.kind} (line {h.line})" for h in rounding.hazards))
    return notes
