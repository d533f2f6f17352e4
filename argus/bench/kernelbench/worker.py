"""The process that executes tasks: `python -m argus.bench.kernelbench.worker`, a task per line of standard input.

    stdin    {"level": 1, "task": 19, "name": "ReLU", "path": "…", "dtype": "f32", "timed": true}
    stdout   the record of `judging`

What a task's file prints goes to standard error. An exception that nobody expects gives a record `failed`.
"""

from __future__ import annotations

import contextlib
import json
import sys
import traceback
from pathlib import Path
from typing import Any

from argus.bench.kernelbench.judging import judged
from argus.bench.kernelbench.task_files import TaskFile


def answer(request: dict[str, Any]) -> dict[str, Any]:
    task = TaskFile(request["level"], request["task"], request["name"], Path(request["path"]))
    try:
        return judged(task, request["dtype"], request["timed"])
    except Exception as error:
        traceback.print_exc(file=sys.stderr)
        reason = f"{type(error).__name__}: {error}".splitlines()[0]
        known = {key: request[key] for key in ("level", "task", "name", "dtype")}
        return {**known, "status": "failed", "code": "ARG-G109", "reason": reason}


def main() -> None:
    for line in sys.stdin:
        with contextlib.redirect_stdout(sys.stderr):
            found = answer(json.loads(line))
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
