"""`python -m bench.templates [NAME ...]`: proves every operator template, runs its parameter sets, times a large shape.

One line per template, in the form of docs/operators.md: what is proved of how many settings of its knobs, the longest
check of one in CPU seconds, parameter sets right on the simulated machine (JIT) against float64 with the worst error
over its bound, and the simulated time of one large shape with its interval and share of the roof. Memory: the
operator's bytes, each once, over the stream rate of the clock's memory; matrix: over the peak of the matrix units.
Times are simulated, for a launch into a stream, caches cold. Exit code 1 if something is not proved or not right.
"""

from __future__ import annotations

import argparse
import sys
import time

from bench.templates.families import TEMPLATES
from bench.templates.template import Template, WrongResult, checked, proved, timed

HEAD = (
    "| template | proved | check, CPU s | sets right | worst / bound | large shape | µs (simulated) | roof | share | "
    "at 2100 MHz |",
    "|---|---|---|---|---|---|---|---|---|---|",
)


def line(template: Template, timing: bool) -> tuple[str, bool]:
    """The row of a template, and whether everything in it is as it should be."""
    reports, seconds = proved(template)
    good = [r for r in reports if r.proved and any(v.rule == "value" for v in r.verdicts)]
    right, worst = 0, 0.0
    for case in template.cases:
        try:
            worst = max(worst, checked(template, case))
            right += 1
        except WrongResult as error:
            print(error, file=sys.stderr)
    sizes = " ".join(f"{name}={size}" for name, size in template.large[0].sizes.items())
    found = f"{len(good)} of {len(reports)} | {seconds:.2f} | {right} of {len(template.cases)} | {worst:.2f} | {sizes}"
    if timing:
        time_ = timed(template)
        roof = f"{template.bound} | {100 * time_.share:.0f} % | {100 * time_.share_full:.0f} %"
        found += f" | {time_.interval.text(time_.us)} | {roof}"
    return f"| {template.name} | {found} |", len(good) == len(reports) and right == len(template.cases)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.templates", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="templates, by a part of their name")
    parser.add_argument("--no-clock", action="store_true", help="leave the simulated times out")
    args = parser.parse_args()
    chosen = [t for t in TEMPLATES if not args.names or any(name in t.name for name in args.names)]
    print("\n".join(HEAD), flush=True)
    started, good = time.process_time(), 0
    for template in chosen:
        text, right = line(template, not args.no_clock)
        good += right
        print(text, flush=True)
    sets = sum(len(t.cases) for t in chosen)
    spent = time.process_time() - started
    print(f"\n{good} of {len(chosen)} templates proved and right, {sets} parameter sets; {spent:.0f} s CPU")
    return 0 if good == len(chosen) else 1


if __name__ == "__main__":
    sys.exit(main())
