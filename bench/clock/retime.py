"""`python -m bench.clock.retime ROWS [name=value …]`: the rows under other numbers of the clock, nothing simulated.

    python -m bench.clock.retime bench/clock/rows.jsonl                              # as it is
    python -m bench.clock.retime bench/clock/rows.jsonl power_exponent=1.4           # all powers fitted again to that
    python -m bench.clock.retime bench/clock/rows.jsonl launch_floor_graph=0.6 --left-out
    python -m bench.clock.retime bench/clock/rows.jsonl --intervals    # numbers stay: the limits of every interval anew

For numbers that act on a kept profile: powers, floors, roofs (bandwidths as bounds of a whole launch). Those that act
inside the compute unit need its run: `python -m bench.clock.choose`. Printed are the mean error of the logarithm on the
fit rows, and median, 90th percentile and bias by regime, of fit rows, of validate rows and (`--left-out`) of validate
rows whose family the fit has not seen. Some seconds of CPU, with `--left-out` some twenty. `argus clock fit --write`
writes fitted numbers and limits; `--intervals` only the limits, for rows that ask for no other numbers.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from argus.cli.clock import write_residuals
from argus.clock.calibration import ROLES, read_rows
from argus.clock.parameters import PARAMETERS
from argus.clock.validation import Judged, by_regime, fit, judge, left_out, loss, residuals_of, score

GENERATIONS, SEEDS, SPREAD = 60, (0, 1), 0.3
"""A search near the present numbers; `argus clock fit` searches everywhere."""


def scores(judged: Sequence[Judged]) -> str:
    found = {str(regime): score(rows) for regime, rows in by_regime(judged).items()}
    found["all"] = score(judged)
    return ", ".join(f"{name} {s.median:.1%} {s.p90:.1%} {s.bias:+.1%}" for name, s in found.items())


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.clock.retime", description=__doc__)
    parser.add_argument("rows", type=Path)
    parser.add_argument("numbers", nargs="*", metavar="name=value")
    parser.add_argument("--left-out", action="store_true", help="also fit again without each family")
    parser.add_argument("--intervals", action="store_true", help="write residuals.json for the numbers as they are")
    options = parser.parse_args()
    rows = read_rows([options.rows])
    if options.intervals:
        limits = residuals_of(judge(rows, left_out(rows, PARAMETERS), ROLES))
        write_residuals({str(regime): limit for regime, limit in limits.items()}, len(rows))
        return 0
    given = {name: float(value) for name, value in (text.split("=") for text in options.numbers)}
    held = tuple(given)
    base = PARAMETERS.with_values(**given)
    found = fit(rows, base, generations=GENERATIONS, seeds=SEEDS, spread=SPREAD, held=held)
    known = [row for row in rows if row.role == "fit"]
    print(f"{given or 'as it is'}: mean error of the logarithm on {len(known)} fit rows {loss(known, found):.4f}")
    print("median, 90th percentile, bias")
    print("fit:", scores(judge(rows, found, roles=("fit",))))
    print("validate:", scores(judge(rows, found)))
    if options.left_out:
        print("validate, family left out:", scores(judge(rows, left_out(rows, found, held))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
