"""One source judged, as a line of the result: made here, or by a worker of a cluster.

answer({"seed": 17, "n": 42})   ->   {"n": 42, "family": …, "verdict": …, "truth": …, "fault": "", …}

With "before", the row of an earlier run, its truth is kept where it still holds (`kept_truth`).
"""

from __future__ import annotations

from time import process_time
from typing import Any

from argus.cluster import WorkerDiedError
from bench.verdict_fuzz.judge import Record, judge
from bench.verdict_fuzz.kept_truth import oracle
from bench.verdict_fuzz.sources import FuzzSource, source

WORK = "bench.verdict_fuzz.rows:answer"


def answer(item: dict[str, Any]) -> dict[str, Any]:
    """What a worker is asked for."""
    start = process_time()
    one = source(item["seed"], item["n"])
    record = judge(one.program, one.text, not one.mutation, item.get("before"))
    return {**_row(item, one, record), "seconds": round(process_time() - start, 4)}


def died(item: dict[str, Any], error: WorkerDiedError) -> dict[str, Any]:
    """The line of a source that ends every worker: a fault."""
    record = Record("traceback", "untested", detail=str(error), fault="traceback: the process died")
    return {**_row(item, source(item["seed"], item["n"]), record), "seconds": 0.0}


def _row(item: dict[str, Any], one: FuzzSource, record: Record) -> dict[str, Any]:
    return {
        "n": item["n"], "seed": item["seed"], "family": one.program.family, "mutation": one.mutation, "line": one.line,
        "constructs": one.program.constructs, "verdict": record.verdict, "truth": record.truth,
        "detail": record.detail, "rules": record.rules, "reasons": record.reasons, "fault": record.fault,
        "shown": record.notes.get("shown", ""), "exact": record.exact, "lost": record.lost,
        "check": round(record.seconds, 4), "object": record.object, "oracle": oracle(),
    }  # fmt: skip
