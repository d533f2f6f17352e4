"""The process of the workbench's tools: a command and its files come in on one pipe, its output goes out on another.

    {"words": ["check", "gemm.py"], "files": {"gemm.py": "…"}}   ->   {"exit": 0, "out": "…", "err": ""}

Run as `python -m argus.cli.tool_worker IN OUT` with the numbers of two inherited pipes (`argus.agent.tools.process`).
Every command runs in an empty folder with copies of its files, so paths in messages are short and nothing else is
beside them. Memory and written files are limited by the system (`LIMITS`). The process ends when its parent does.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import resource
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from argus.cli.main import main
from argus.cli.usage import INTERNAL, INVALID
from argus.cluster.parent_death import die_with_parent

LIMITS = {resource.RLIMIT_AS: 24 << 30, resource.RLIMIT_FSIZE: 1 << 30, resource.RLIMIT_CORE: 0}
"""Bytes."""


def serve(questions: int, answers: int) -> None:
    """Answer until the pipe closes."""
    with os.fdopen(questions, "r") as asked, os.fdopen(answers, "w") as told:
        for line in asked:
            data: dict[str, Any] = json.loads(line)
            told.write(json.dumps(executed(data["words"], data["files"])) + "\n")
            told.flush()


def executed(words: list[str], files: Mapping[str, str]) -> dict[str, Any]:
    """One command with its files."""
    out, err = io.StringIO(), io.StringIO()
    here = Path.cwd()
    with tempfile.TemporaryDirectory(prefix="argus-tool-") as folder:
        for name, text in files.items():
            (Path(folder) / name).write_text(text, encoding="utf-8")
        os.chdir(folder)
        try:
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                code = main(words)
        except SystemExit:
            code = INVALID
        except MemoryError:
            code, err = INTERNAL, io.StringIO("out of memory; try smaller sizes")
        finally:
            os.chdir(here)
    return {"exit": code, "out": out.getvalue(), "err": err.getvalue()}


def limit() -> None:
    """Hold this process to `LIMITS`."""
    for kind, most in LIMITS.items():
        _, hard = resource.getrlimit(kind)
        resource.setrlimit(kind, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))


if __name__ == "__main__":
    die_with_parent()
    limit()
    serve(int(sys.argv[1]), int(sys.argv[2]))
