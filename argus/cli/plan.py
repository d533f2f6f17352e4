"""`argus plan MODULE.py --run-python`: the plan of a PyTorch module, launch by launch.

The module's file is Python. It is executed in a process of its own, and only if `--run-python` says so; the plan that
comes back is data. The file has a class (`--class`, Model), `get_init_inputs()` and `get_inputs()`, as KernelBench's
files do. Tensors have no data there, so that the sizes may be the real ones. Nothing is proved or launched here.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from argus.cli.answers import PlanAnswer, emit
from argus.cli.usage import GOOD, UsageError
from argus.plan.graph import PlanError

WORKER = "argus.torch.plan_worker"


def handle(args: argparse.Namespace) -> int:
    path = Path(args.file)
    if not path.is_file():
        raise UsageError(f"there is no file {path}")
    if not args.run_python:
        raise UsageError(f"{path} is Python and would be executed, in a process of its own; say --run-python if it may")
    if find_spec("torch") is None:
        raise ModuleNotFoundError("argus plan needs torch", name="torch")
    found = asked({"file": str(path), "class": args.class_name, "dtype": args.dtype})
    if args.json:
        emit(PlanAnswer, found["plan"])
    else:
        print(found["text"])
    return GOOD


def asked(request: dict[str, Any]) -> dict[str, Any]:
    """The worker's answer; its refusal is raised."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", WORKER], input=json.dumps(request) + "\n", capture_output=True, text=True
    )
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:] or ["no message"]
        raise PlanError("ARG-G106", f"the worker process ended with {done.returncode}: {last[0]}")
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    if "code" in found:
        raise PlanError(found["code"], found["message"].removeprefix(f"{found['code']}: "))
    return found
