"""Findings, minimised and kept as files that a test replays.

    tests/check/found/0007_proved_and_wrong_rows.py
        # expect: not proved and wrong
        # open
        # launch: {"M": 3, "N": 60}

One file per cause: findings that look alike (same fault, family, rules and words) are kept once. `# open` in the second
line says that the checker still fails it; the test expects the failure until the line is taken away.
"""

from __future__ import annotations

import ast
import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path

from bench.verdict_fuzz.judge import judge
from bench.verdict_fuzz.minimise import minimised
from bench.verdict_fuzz.report import Row, rows_of
from bench.verdict_fuzz.sources import source

FOUND = Path(__file__).resolve().parents[2] / "tests" / "check" / "found"
EXPECTED = {
    "proved and wrong": "not proved and wrong",
    "proved and hazard": "not proved and wrong",
    "right and refuted": "not refuted",
    "traceback": "no internal error",
    "hang": "ends",
}


def signature(row: Row) -> str:
    words = re.sub(r"\d+|\[.*?\]", "_", row["shown"] or " ".join(row["reasons"])[:80])
    family = row["family"] if row["fault"].startswith("proved") else ""
    kind = row["mutation"] if row["fault"].startswith("proved") else ""
    return "|".join((row["fault"], family, kind, ",".join(row["rules"]), words[:60]))


def keep(folder: Path) -> Iterator[Path]:
    """Write a file for every new cause among the results of a folder."""
    FOUND.mkdir(parents=True, exist_ok=True)
    seen: set[str] = set()
    for row in rows_of(folder):
        fault = row["fault"]
        mark = signature(row)
        if fault not in EXPECTED or mark in seen:
            continue
        seen.add(mark)
        one = source(row["seed"], row["n"])
        text = minimised(one.program, one.text, fault, not one.mutation)
        record = judge(one.program, text, not one.mutation)
        name = f"{hashlib.sha256(mark.encode()).hexdigest()[:6]}_{fault.replace(' ', '_')}_{one.program.family}.py"
        settings = "".join(f"# set: {k}={json.dumps(v)}\n" for k, v in one.program.settings.items())
        head = (
            f"# expect: {EXPECTED[fault]}\n# open\n# kernel: {one.program.kernel}\n{settings}"
            f"# launch: {json.dumps(_launch(record.detail) or one.program.launches[0])}\n"
            f"# scalars: {json.dumps(dict(one.program.scalars))}\n"
            f"# found: seed {row['seed']}, source {row['n']}, {one.mutation or 'as generated'}\n"
            f"# {fault}: {_line(record.detail or record.notes.get('shown', '') or ' '.join(record.reasons))}\n"
        )
        (FOUND / name).write_text(head + text)
        yield FOUND / name


def _launch(detail: str) -> dict[str, int] | None:
    """The sizes a sentence about truth begins with."""
    found = re.match(r"\{[^}]*\}", detail)
    made = ast.literal_eval(found.group()) if found else None
    return made if isinstance(made, dict) else None


def _line(text: str) -> str:
    return " ".join(text.split())[:180]
