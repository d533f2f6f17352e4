"""`python -m bench.clock.outliers ROWS… [--above 0.15]`: rows the clock gets wrong, with what each launch is busy with.

    | error | role | family | program, shape | measured us | MHz | longest part | matrix | LDS | L1 path | L2 | … |

Nothing is simulated: a row keeps its profile (`argus.clock.calibration`). Shares are of the time at the sustained
clock. Rows of both roles are shown, since a mechanism is looked for and not a score; the last lines count them by
regime and sign. docs/clock.md groups what this prints by cause.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from argus.clock.calibration import ROLES, read_rows
from argus.clock.validation import Judged, judge

ABOVE = 0.15
HEAD = (
    "| error | role | family | program, shape | measured us | MHz | longest part | matrix | LDS | L1 path | L2 | "
    "Infinity Cache | HBM |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|"
)


def shares(judged: Judged) -> dict[str, float]:
    """How busy the row's longest launch keeps each unit, as shares of its time at the sustained clock."""
    profile, clock = judged.row.longest, judged.clock_mhz
    activity, parts = profile.activity(clock), profile.parts(clock)
    busy = max(parts.values())
    return {
        "matrix": sum(activity.matrix.values()),
        "LDS": activity.lds,
        "L1 path": activity.vmem,
        **{name: parts[part] / busy for name, part in (("L2", "l2"), ("Infinity Cache", "mall"), ("HBM", "hbm"))},
    }


def line(judged: Judged) -> str:
    row, parts = judged.row, judged.row.longest.parts(judged.clock_mhz)
    longest = max(parts, key=lambda part: parts[part])
    cells = [f"{judged.error:+.0%}", row.role, row.family, f"{row.program}, {row.shape}", f"{row.microseconds:.1f}"]
    cells += [f"{judged.clock_mhz:.0f}", longest, *(f"{share:.2f}" for share in shares(judged).values())]
    return f"| {' | '.join(cells)} |"


def table(judged: Sequence[Judged], above: float) -> str:
    found = [each for each in judged if abs(each.error) > above]
    found.sort(key=lambda each: (each.regime, each.row.family, each.row.program, each.row.microseconds))
    count = Counter((each.regime, "slow" if each.error > 0 else "fast") for each in found)
    lines = [HEAD, *map(line, found), ""]
    for regime in sorted({each.regime for each in judged}):
        rows = sum(each.regime == regime for each in judged)
        slow, fast = count[regime, "slow"], count[regime, "fast"]
        lines.append(f"{regime}: of {rows} rows {slow} too slow and {fast} too fast by more than {above:.0%}")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.clock.outliers", description=__doc__)
    parser.add_argument("rows", type=Path, nargs="+")
    parser.add_argument("--above", type=float, default=ABOVE, help="least error, as a share (default 0.15)")
    options = parser.parse_args()
    print(table(judge(read_rows(options.rows), roles=ROLES), options.above))
    return 0


if __name__ == "__main__":
    sys.exit(main())
