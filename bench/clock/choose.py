"""`python -m bench.clock.choose DIRS… --vary name=v,w …`: numbers of the clock nobody has published well.

Every `fit` row whose program is at hand is executed once, then timed under every combination of the given values; after
each the power model is fitted again, and the mean error on the fit rows is printed, the best last. `validate` rows are
not read. What comes out is put into parameters.json by hand, with this as its source.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from itertools import product
from pathlib import Path

from argus.clock import PARAMETERS, Parameters
from argus.clock.calibration import Row
from argus.clock.fitting import FITTED
from argus.clock.validation import fit, loss
from bench.clock.__main__ import folders
from bench.clock.families import FAMILIES, tasks_of
from bench.clock.rows import Measured, Task, Timer, executed


def simulated(rows: list[tuple[Measured, Timer]], parameters: Parameters) -> list[Row]:
    return [
        Row(
            role=row.role,
            family=row.family,
            program=row.program,
            shape=row.shape,
            flops=row.flops,
            bytes=row.bytes,
            element=row.element,
            microseconds=row.microseconds,
            protocol=row.protocol,
            launches=tuple(launch.profile for launch in time(parameters)),
            runs=row.runs,
            state=row.state,
        )
        for row, time in rows
    ]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.clock.choose", description=__doc__)
    parser.add_argument("folders", type=Path, nargs="+", help="as for python -m bench.clock")
    parser.add_argument("--vary", action="append", default=[], metavar="NAME=V,W", required=True)
    parser.add_argument("--family", choices=tuple(FAMILIES), action="append")
    options = parser.parse_args()
    where = folders(options.folders)
    rows = []
    for family in options.family or FAMILIES:
        for task in tasks_of(family, FAMILIES[family], where):
            if isinstance(task, Task) and task.row.role == "fit":
                rows.append((task.row, executed(task)))
                print(f"executed {task.row.program}, {task.row.shape}", flush=True)
    names = [text.split("=")[0] for text in options.vary]
    values = [[float(value) for value in text.split("=")[1].split(",")] for text in options.vary]
    found = []
    for chosen in product(*values):
        given = dict(zip(names, chosen, strict=True))
        timed = simulated(rows, PARAMETERS.with_values(**given))
        fitted = fit(timed, PARAMETERS.with_values(**given))
        found.append((loss(timed, fitted), given, fitted, timed))
        print(f"{found[-1][0]:.4f}", given, flush=True)
    for _, given, fitted, timed in sorted(found, key=lambda item: -item[0])[-3:]:
        print(given, {name: round(fitted[name], 3) for name in FITTED})
        for family in sorted({row.family for row in timed}):
            errors = {
                f"{row.program} {row.shape}": row.microseconds / row.predicted_us(fitted) - 1
                for row in timed
                if row.family == family
            }
            print(f"  {family}: median {100 * statistics.median(map(abs, errors.values())):.1f} %")
            if len(errors) < 12:
                for name, error in errors.items():
                    print(f"    {100 * error:+.0f} %  {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
