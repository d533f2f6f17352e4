"""The process that executes modules' files and tunes their plans: `python -m argus.bench.tune_worker`.

    stdin    {"tasks": [{"level": 1, "task": 7, "name": "…", "path": "…"}], "dtype": "bf16", "decisions": [],
              "budget": 16}
    stdout   a line of JSON for every decision point that was tried: `tuned_json`; {"task": …, "code": …} for a refusal

Rows that a task gains count for the next one. What a file prints goes to standard error.
"""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from argus.agent.tuning.table import tuned_json
from argus.agent.tuning.tuner import TuningSettings, tune
from argus.bench.kernelbench.judging import full_graph, reduced_modules
from argus.bench.kernelbench.task_files import TaskFile
from argus.bench.tuning import ClockBench
from argus.plan.choices import DispatchRow, shipped
from argus.plan.graph import PlanError


def answers(request: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """What came out, point by point."""
    rows: list[DispatchRow] = [*shipped()]
    settings = TuningSettings(tuple(request["decisions"]), request["budget"])
    for each in request["tasks"]:
        task = TaskFile(each["level"], each["task"], each["name"], Path(each["path"]))
        try:
            graph = full_graph(task, request["dtype"])
            small = cache(lambda task=task: [m.exported.graph for m in reduced_modules(task, request["dtype"])])
            for found in tune(graph, small, ClockBench(), rows, settings):
                rows = rows if found.row is None else [found.row, *rows]
                yield {"task": task.id, **tuned_json(found)}
        except PlanError as error:
            yield {"task": task.id, "code": error.code, "reason": str(error)}


def main() -> None:
    request = json.loads(sys.stdin.readline())
    out = sys.stdout
    with contextlib.redirect_stdout(sys.stderr):
        for found in answers(request):
            print(json.dumps(found), file=out, flush=True)


if __name__ == "__main__":
    main()
