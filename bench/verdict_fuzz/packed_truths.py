"""Truths of earlier runs that are kept in the repository, so that a whole run costs its checks alone.

    python -m bench.verdict_fuzz --pack DIR                                     adds DIR to truths/SEED-ORACLE.jsonl
    python -m bench.verdict_fuzz --sources 20000 --seed 61 --kept --out DIR     a run that begins with them

A line is `[n, verdict, truth, object, exact, detail]`: number of the source, verdict of that time, what the machine
told, digest of the object, what exact algebra told, and a word where that alone found it. The code that told it
(`oracle`) is in the file's name. Whether a truth still holds is asked again for each source (`kept_truth`): same
object, same oracle, same verdict; everything else is judged whole.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from bench.verdict_fuzz.report import Row, found_exactly, rows_of

TRUTHS = Path(__file__).with_name("truths")
FOUND_EXACTLY = "exact algebra"
TOLD = ("right", "wrong", "hazard", "rounded", "refused", "beyond", "vague")
"""What a run may begin with; *untested* is tried again."""


def pack(folder: Path, into: Path = TRUTHS) -> list[Path]:
    """The truths of a run, added to those that are kept; the files that were written."""
    by: dict[tuple[int, str], list[Row]] = defaultdict(list)
    for row in rows_of(folder):
        if row["truth"] in TOLD:
            by[row["seed"], row["oracle"]].append(row)
    into.mkdir(exist_ok=True)
    return [_written(into / f"{seed}-{oracle}.jsonl", rows) for (seed, oracle), rows in sorted(by.items())]


def _written(path: Path, rows: Iterable[Row]) -> Path:
    lines = {row["n"]: row for row in (*_read(path), *rows)}
    path.write_text("".join(json.dumps(_line(lines[n])) + "\n" for n in sorted(lines)))
    return path


def _line(row: Row) -> list[int | str]:
    detail = FOUND_EXACTLY if found_exactly(row) else ""
    return [row["n"], row["verdict"], row["truth"], row["object"], row["exact"], detail]


def kept(seed: int, folder: Path = TRUTHS) -> dict[int, Row]:
    """The kept truths of a seed by the number of their source."""
    return {row["n"]: row for path in sorted(folder.glob(f"{seed}-*.jsonl")) for row in _read(path)}


def _read(path: Path) -> list[Row]:
    seed, _, oracle = path.stem.partition("-")
    names = ("n", "verdict", "truth", "object", "exact", "detail")
    lines = path.read_text().splitlines() if path.exists() else []
    common = {"seed": int(seed), "oracle": oracle, "lost": ""}
    return [{**common, **dict(zip(names, json.loads(line), strict=True))} for line in lines]
