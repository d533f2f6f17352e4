"""What a worker does with a question: check that it is the same Argus, call the named function, say where it was.

    answered('{"work": "argus.agent.judge.remote:answer", "argus": {…}, "item": {…}}')   -> '{"answer": …, …}'

A function is named `module:function`, takes one JSON value and returns one. The question carries what the asker knows
of its own files (`identity`): a worker with other files refuses, because its answers would be those of another program.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import platform
import sys
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from argus.cluster.errors import ClusterError
from argus.provenance import NAME, PACKAGE

VERSIONS = ("llvmlite", "z3-solver", "numpy", "ml_dtypes")
DATA = (".py", ".json")


def asked(work: str, item: Any) -> str:
    """A question as it travels."""
    return json.dumps({"work": work, "argus": identity(work.partition(".")[0]), "item": item})


def answered(question: str, node: str = "") -> str:
    """The answer as it travels, with the `node` of the cluster; ClusterError for a question of another Argus."""
    data: dict[str, Any] = json.loads(question)
    module, _, function = data["work"].partition(":")
    ours, theirs = identity(module.partition(".")[0]), data["argus"]
    if ours != theirs:
        other = [name for name in theirs if ours.get(name) != theirs[name]]
        differs = ", ".join(f"{name} {_short(ours.get(name))} there, {_short(theirs[name])} here" for name in other)
        raise ClusterError("ARG-R103", f"the worker on {platform.node()} has another Argus: {differs}")
    found = getattr(importlib.import_module(module), function)(data["item"])
    return json.dumps({"answer": found, "machine": {**machine(), **({"node": node} if node else {})}})


def machine() -> dict[str, str]:
    """Where this is: recorded beside an answer, no part of it."""
    return {"host": platform.node(), "process": str(os.getpid())}


def presence(item: Any) -> Any:
    """The least work there is: asked first, to see that a worker answers and is the same Argus."""
    return item


@cache
def identity(package: str) -> dict[str, str]:
    """Which program this is: the interpreter, versions, and a digest of all files of Argus and of `package`."""
    folders = {NAME: PACKAGE}
    if package not in folders:
        folders[package] = Path(importlib.import_module(package).__path__[0])
    return {
        "python": ".".join(map(str, sys.version_info[:2])),
        **{name: metadata.version(name) for name in VERSIONS},
        **{f"files of {name}": _digest(folder) for name, folder in sorted(folders.items())},
    }


def _digest(folder: Path) -> str:
    result = hashlib.sha256()
    for path in sorted(p for p in folder.rglob("*") if p.suffix in DATA and p.is_file()):
        result.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return result.hexdigest()


def _short(value: str | None) -> str:
    return "none" if value is None else value[:12]
