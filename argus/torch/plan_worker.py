"""The process that executes a module's file and answers with its plan: `python -m argus.torch.plan_worker`.

    stdin    {"file": "19_ReLU.py", "class": "Model", "dtype": "f32"}
    stdout   {"plan": {...}, "text": "..."}  or  {"code": "ARG-G101", "message": "..."}

One request, one answer, each a line of JSON. What the file prints goes to standard error.
"""

from __future__ import annotations

import contextlib
import json
import sys
from pathlib import Path
from typing import Any

from argus.plan.graph import PlanError
from argus.plan.planner import planned
from argus.torch.export import graph_of
from argus.torch.module_file import module_of


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """The plan of a module at the sizes its file says, or why there is none."""
    try:
        made = module_of(Path(request["file"]), request["class"], request["dtype"], meta=True)
        plan = planned(graph_of(made.module, made.inputs).graph)
    except PlanError as error:
        return {"code": error.code, "message": str(error)}
    return {"plan": plan.to_json(), "text": plan.text()}


def main() -> None:
    request = json.loads(sys.stdin.readline())
    with contextlib.redirect_stdout(sys.stderr):
        found = answer(request)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
