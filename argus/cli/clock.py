"""`argus clock fit ROWS…` and `argus clock validate ROWS…`: the clock against published times. `argus clock explain`
is in `argus.cli.clock_explain`.

ROWS are the files that `python -m bench.clock` writes. `fit` prints the numbers of the power model that suit
the `fit` rows best; with --write it puts them into the parameter file, and the limits of every regime, found by fitting
again without each family, into the file that every printed interval comes from. `validate` prints every `validate` row,
the score of every regime, and the same left out family by family. `ablate` prints what every mechanism is worth.
"""

from __future__ import annotations

import argparse
import json
from importlib.resources import files
from pathlib import Path
from typing import Any

from argus.cli.answers import ClockScoresAnswer, FitAnswer, ValidateAnswer, emit
from argus.cli.usage import GOOD, UsageError
from argus.clock.ablation import ablated
from argus.clock.calibration import ROLES, Row, RowError, read_rows
from argus.clock.fitting import FITTED
from argus.clock.parameters import PARAMETERS, Parameters
from argus.clock.timing import LABEL
from argus.clock.uncertainty import Residuals, residuals
from argus.clock.validation import (
    Judged,
    Score,
    by_regime,
    fit,
    floor_of,
    judge,
    left_out,
    loss,
    rankings,
    residuals_of,
    score,
    share_inside,
    share_inside_without_family,
)

WRITTEN = (*FITTED, "power_limit_burst")


def handle(args: argparse.Namespace) -> int:
    try:
        rows = read_rows(args.rows)
    except RowError as error:
        raise UsageError(str(error)) from error
    if args.what == "fit":
        return _fit(rows, args)
    return _ablate(rows, args) if args.what == "ablate" else _validate(rows, args)


def _fit(rows: list[Row], args: argparse.Namespace) -> int:
    used = [row for row in rows if row.role == "fit"]
    if not used:
        raise UsageError("none of the rows has the role fit")
    before = loss(used, PARAMETERS)
    found = fit(rows)
    after = loss(used, found)
    limits = residuals_of(judge(rows, left_out(rows, found), ("fit", "validate"))) if args.write else {}
    if args.json:
        values = {name: found[name] for name in WRITTEN}
        emit(FitAnswer, {"label": LABEL, "before": before, "after": after, "values": values})
    else:
        print(LABEL)
        print(f"{len(used)} fit rows; mean error of the logarithm {before:.4f} before, {after:.4f} after")
        for name in WRITTEN:
            print(f"  {name:20} {PARAMETERS[name]:10.4g} -> {found[name]:10.4g}  {found.rows[name].unit}")
    if args.write:
        _write_parameters(found, len(used))
        write_residuals({str(regime): limit for regime, limit in limits.items()}, len(rows))
    return GOOD


def _write_parameters(found: Parameters, count: int) -> None:
    path = Path(str(files("argus.clock").joinpath("parameters.json")))
    lines = path.read_text(encoding="utf-8").splitlines()
    source = f"argus clock fit: {count} rows of role fit and the clocks in published_clocks.json"
    for at, line in enumerate(lines):
        for name in WRITTEN:
            if line.startswith(f'  "{name}":'):
                entry = {
                    "value": float(f"{found[name]:.4g}"),
                    "unit": PARAMETERS.rows[name].unit,
                    "confidence": "X",
                    "source": source,
                }
                lines[at] = f'  "{name}": {json.dumps(entry)}{"," if line.rstrip().endswith(",") else ""}'
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_residuals(limits: dict[str, Residuals], rows: int) -> None:
    """The limits of every interval, as the clock reads them."""
    path = Path(str(files("argus.clock").joinpath("residuals.json")))
    source = f"argus clock fit --write: {rows} rows, every family predicted by a clock fitted without it"
    regimes = {name: {key: getattr(row, key) for key in row.__slots__} for name, row in limits.items()}
    path.write_text(json.dumps({"source": source, "regimes": regimes}, indent=2) + "\n", encoding="utf-8")


def _validate(rows: list[Row], args: argparse.Namespace) -> int:
    if not any(row.role == "validate" for row in rows):
        raise UsageError("none of the rows has the role validate")
    judged = judge(rows)
    known = judge(rows, left_out(rows, PARAMETERS), ROLES)
    if args.json:
        emit(ValidateAnswer, _to_json(rows, judged, known))
    else:
        print(table(rows, judged, known))
    return GOOD


def _ablate(rows: list[Row], args: argparse.Namespace) -> int:
    found = {name: {"all": score(judged), **_regimes(judged)} for name, judged in ablated(rows).items()}
    if args.json:
        plain = {name: {key: each.to_json() for key, each in found[name].items()} for name in found}
        emit(ClockScoresAnswer, {"label": LABEL, "without": plain})
        return GOOD
    columns = list(found["nothing"])
    print(LABEL + "\n\nMedian error and bias of the validate rows without one mechanism, the rest fitted again:\n")
    print(f"| without | {' | '.join(columns)} |\n|{'---|' * (len(columns) + 1)}")
    for name, scores in found.items():
        cells = [f"{100 * scores[key].median:.1f} % ({_percent(scores[key].bias)})" for key in columns]
        print(f"| {name} | {' | '.join(cells)} |")
    return GOOD


def _regimes(judged: list[Judged]) -> dict[str, Score]:
    return {str(regime): score(members) for regime, members in by_regime(judged).items()}


def _to_json(rows: list[Row], judged: list[Judged], known: list[Judged]) -> dict[str, Any]:
    unseen = _to_validate(known)
    return {
        "label": LABEL,
        "all": score(judged).to_json(),
        "unseen": score(unseen).to_json(),
        "regimes": {regime: score(members).to_json() for regime, members in by_regime(judged).items()},
        "unseen_regimes": {regime: score(members).to_json() for regime, members in by_regime(unseen).items()},
        "inside_interval": share_inside(unseen, residuals()),
        "inside_without_family": share_inside_without_family(unseen, known),
        "ranks": {shape: found.rank for shape, found in rankings(rows).items()},
        "rows": [
            {
                "family": each.row.family,
                "program": each.row.program,
                "shape": each.row.shape,
                "regime": str(each.regime),
                "measured_us": each.row.microseconds,
                "predicted_us": each.predicted,
                "left_out_us": other.predicted,
                "error": each.error,
                "clock_mhz": each.clock_mhz,
                "roofline_us": each.roofline,
            }
            for each, other in zip(judged, unseen, strict=True)
        ],
    }


def _to_validate(judged: list[Judged]) -> list[Judged]:
    return [each for each in judged if each.row.role == "validate"]


def table(rows: list[Row], judged: list[Judged], known: list[Judged]) -> str:
    """The rows and the scores as Markdown; `known`: rows of both roles, predicted by clocks without their family."""
    unseen = _to_validate(known)
    without = share_inside_without_family(unseen, known)
    lines = [
        LABEL,
        "",
        "| program | shape | regime | measured us | clock us | error | family left out | MHz |",
        "|---|---|---|---|---|---|---|---|",
    ]
    pairs = sorted(
        zip(judged, unseen, strict=True), key=lambda two: (two[0].row.family, two[0].row.program, two[0].row.flops)
    )
    for each, other in pairs:
        row = each.row
        lines.append(
            f"| {row.program} | {row.shape} | {each.regime} | {row.microseconds:.1f} | {each.predicted:.1f} "
            f"| {_percent(each.error)} | {_percent(other.error)} | {each.clock_mhz:.0f} |"
        )
    lines += [
        "",
        "Every family has the same weight. Errors are of time; negative: the clock is too fast.",
        "",
        "| regime | rows | families | median | 90th percentile | bias | left out: median | 90th percentile | bias |",
        "|---|---|---|---|---|---|---|---|---|",
        *(
            _scores(regime, score(members), score(by_regime(unseen)[regime]))
            for regime, members in by_regime(judged).items()
        ),
        _scores("all", score(judged), score(unseen)),
        "",
        f"{100 * share_inside(unseen, residuals()):.0f} % of the rows lie inside the interval printed for them, their "
        "family left out of the fit"
        + (
            f"; {100 * without:.0f} % if the interval's limits are made without it too." if without is not None else "."
        ),
        "Programs with several published times: {1}; half their range is {0:.1%} of the time in the median.".format(
            *floor_of(rows)
        ),
        "",
        "| shape | rank | pairs 10 % and their runs apart, in order |",
        "|---|---|---|",
        *(
            f"| {shape} | {found.rank:.2f} | {found.right} of {found.pairs} |"
            for shape, found in rankings(rows).items()
        ),
    ]
    return "\n".join(lines)


def _scores(name: str, seen: Score, unseen: Score) -> str:
    numbers = [f"{100 * part:.1f} %" for each in (seen, unseen) for part in (each.median, each.p90, each.bias)]
    return f"| {name} | {seen.rows} | {seen.families} | {' | '.join(numbers)} |"


def _percent(share: float) -> str:
    return f"{100 * share:+.0f} %"
