"""`python -m bench.templates [NAME ...] [--only check|sets|clock]`: proves every operator template, runs its parameter
sets, times a large shape; or some of these.

One line per template, in the form of docs/operators.md: what is proved of how many settings of its knobs, the longest
check of one in CPU seconds, parameter sets right on the simulated machine (JIT) against float64 with the worst error
over its bound, and the simulated time of one large shape with its interval and share of the roof. Memory: the
operator's bytes, each once, over the stream rate of the clock's memory; matrix: over the peak of the matrix units at
2100 MHz, and beside it over their peak at the clock that the launch's power allows.
Times are simulated, for a launch into a stream, caches cold. Exit code 1 if something is not proved or not right.
"""

from __future__ import annotations

import argparse
import sys
import time

from bench.templates.families import TEMPLATES
from bench.templates.template import Template, WrongResult, checked, proved, timed

COLUMNS = {
    "check": "proved | check, CPU s",
    "sets": "sets right | worst / bound",
    "clock": "large shape | µs (simulated) | roof | share | at 2100 MHz | of the matrix peak at its clock",
}
"""What is printed of each part of the work."""


def head(parts: tuple[str, ...]) -> str:
    names = ["template", *(name for part in parts for name in COLUMNS[part].split(" | "))]
    return f"| {' | '.join(names)} |\n{'|---' * len(names)}|"


def line(template: Template, parts: tuple[str, ...]) -> tuple[str, bool]:
    """The row of a template, and whether everything in it is as it should be."""
    columns, good = [template.name], True
    if "check" in parts:
        reports, seconds = proved(template)
        shown = [r for r in reports if r.proved and any(v.rule == "value" for v in r.verdicts)]
        columns += [f"{len(shown)} of {len(reports)}", f"{seconds:.2f}"]
        good = len(shown) == len(reports)
    if "sets" in parts:
        right, worst = _sets(template)
        columns += [f"{right} of {len(template.cases)}", f"{worst:.2f}"]
        good = good and right == len(template.cases)
    if "clock" in parts:
        sizes = " ".join(f"{name}={size}" for name, size in template.large[0].sizes.items())
        found = timed(template)
        shares = [f"{100 * share:.0f} %" for share in (found.share, found.share_full)]
        own = f"{100 * found.share_at_clock:.0f} % ({found.mhz:.0f} MHz)" if template.bound == "matrix" else ""
        columns += [sizes, found.interval.text(found.us), template.bound, *shares, own]
    return f"| {' | '.join(columns)} |", good


def _sets(template: Template) -> tuple[int, float]:
    """Parameter sets that are right, and the worst error over its bound."""
    right, worst = 0, 0.0
    for case in template.cases:
        try:
            worst = max(worst, checked(template, case))
            right += 1
        except WrongResult as error:
            print(error, file=sys.stderr)
    return right, worst


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.templates", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="templates, by a part of their name")
    parser.add_argument("--only", action="append", choices=tuple(COLUMNS), help="a part of the work; all without it")
    args = parser.parse_args()
    chosen = [t for t in TEMPLATES if not args.names or any(name in t.name for name in args.names)]
    parts = tuple(part for part in COLUMNS if args.only is None or part in args.only)
    print(head(parts), flush=True)
    started, good = time.process_time(), 0
    for template in chosen:
        text, right = line(template, parts)
        good += right
        print(text, flush=True)
    spent = time.process_time() - started
    print(f"\n{good} of {len(chosen)} templates as they should be ({', '.join(parts)}); {spent:.0f} s CPU")
    return 0 if good == len(chosen) else 1


if __name__ == "__main__":
    sys.exit(main())
