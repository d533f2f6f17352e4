"""`argus clock fit ROWS…` and `argus clock validate ROWS…`: the clock against published times. `argus clock explain`
is in `argus.cli.clock_explain`.

ROWS are the files that `python -m bench.clock` writes. `fit` prints the numbers of the power model that suit the `fit`
rows best (and with --write puts them into the parameter file); `validate` prints every `validate` row with the clock's
prediction and those of two dummies (and with --write notes the errors that every output of the clock then states).
"""

from __future__ import annotations

import argparse
import json
from importlib.resources import files
from pathlib import Path
from typing import Any

from argus.cli import clock_explain
from argus.cli.options import GOOD, UsageError
from argus.clock.calibration import PREDICTORS, Row, RowError, Validation, fit, loss, read_rows, validate
from argus.clock.fitting import FITTED
from argus.clock.parameters import PARAMETERS, Parameters
from argus.clock.timing import LABEL, label


def register(verbs: Any) -> None:
    parser = verbs.add_parser("clock", help="why a kernel takes its time; fit or judge the clock by published times")
    actions = parser.add_subparsers(dest="what", metavar="ACTION", required=True)
    clock_explain.register(actions)
    for name, text in (("fit", "fit the power model to the fit rows"), ("validate", "judge it by the validate rows")):
        action = actions.add_parser(name, help=text)
        action.add_argument("rows", nargs="+", help="files of simulated rows, from python -m bench.clock")
        action.add_argument("--write", action="store_true", help="keep the result in the clock's data files")
        action.add_argument("--json", action="store_true", help="machine-readable output")
        action.set_defaults(handler=handle)


def handle(args: argparse.Namespace) -> int:
    try:
        rows = read_rows(args.rows)
    except RowError as error:
        raise UsageError(str(error)) from error
    if args.what == "fit":
        return _fit(rows, args)
    return _validate(rows, args)


def _fit(rows: list[Row], args: argparse.Namespace) -> int:
    used = [row for row in rows if row.role == "fit"]
    if not used:
        raise UsageError("none of the rows has the role fit")
    before = loss(used, PARAMETERS)
    found = fit(rows)
    after = loss(used, found)
    if args.json:
        print(
            json.dumps(
                {"label": LABEL, "before": before, "after": after, "values": {name: found[name] for name in FITTED}}
            )
        )
    else:
        print(LABEL)
        print(f"{len(used)} fit rows; mean error of the logarithm {before:.4f} before, {after:.4f} after")
        for name in FITTED:
            print(f"  {name:16} {PARAMETERS[name]:10.4g} -> {found[name]:10.4g}  {found.rows[name].unit}")
    if args.write:
        _write_parameters(found, len(used))
    return GOOD


def _write_parameters(found: Parameters, count: int) -> None:
    path = Path(str(files("argus.clock").joinpath("parameters.json")))
    lines = path.read_text(encoding="utf-8").splitlines()
    source = f"argus clock fit: {count} rows of role fit and the clocks in published_clocks.json"
    for at, line in enumerate(lines):
        for name in FITTED:
            if line.startswith(f'  "{name}":'):
                entry = {
                    "value": float(f"{found[name]:.4g}"),
                    "unit": PARAMETERS.rows[name].unit,
                    "confidence": "X",
                    "source": source,
                }
                lines[at] = f'  "{name}": {json.dumps(entry)}{"," if line.rstrip().endswith(",") else ""}'
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _validate(rows: list[Row], args: argparse.Namespace) -> int:
    if not any(row.role == "validate" for row in rows):
        raise UsageError("none of the rows has the role validate")
    found = validate(rows)
    print(json.dumps(_to_json(found)) if args.json else table(found))
    if args.write:
        path = Path(str(files("argus.clock").joinpath("validation.json")))
        path.write_text(json.dumps(found.summary(), indent=2) + "\n", encoding="utf-8")
    return GOOD


def _to_json(found: Validation) -> dict[str, Any]:
    rows = [
        {
            "family": judged.row.family,
            "program": judged.row.program,
            "shape": judged.row.shape,
            "measured_tflops": judged.row.tflops,
            "clock_mhz": judged.clock_mhz,
            **{f"{who}_tflops": getattr(judged, who) for who in PREDICTORS},
        }
        for judged in found.rows
    ]
    return {"label": label(found.summary()), "summary": found.summary(), "rows": rows}


def table(found: Validation) -> str:
    """The rows and the summary as Markdown."""
    lines = [
        label(found.summary()),
        "",
        "| program | shape | measured TFLOPS | clock | error | MHz | bound | constant | told | roofline |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for judged in sorted(found.rows, key=lambda j: (j.row.family, j.row.program, j.row.flops)):
        row = judged.row
        lines.append(
            f"| {row.program} | {row.shape} | {row.tflops:.1f} | {judged.clock:.1f} "
            f"| {_percent(judged.error('clock'))} | {judged.clock_mhz:.0f} | {row.bound} "
            f"| {' | '.join(_percent(judged.error(who)) for who in PREDICTORS[1:])} |"
        )
    lines += ["", "| predictor | median error | 90th percentile |", "|---|---|---|"]
    lines += [
        f"| {who} | {100 * found.median(who):.1f} % | {100 * found.percentile90(who):.1f} % |" for who in PREDICTORS
    ]
    lines += [
        "",
        "| shape | rank of all programs | overlapping runs tied | pairs 10 % and their runs apart, in order |",
        "|---|---|---|---|",
    ]
    for shape, value in sorted(found.ranks.items()):
        right, count = found.pairs[shape]
        lines.append(f"| {shape} | {value:.2f} | {found.tied[shape]:.2f} | {right} of {count} |")
    return "\n".join(lines)


def _percent(share: float) -> str:
    return f"{100 * share:+.0f} %"
