"""Commands whose output nobody reads do not end as if all were well."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from argus.agent.journal import Journal


@pytest.mark.parametrize("verb", [["optimize", "gemm"], ["verify-all"]], ids=lambda words: words[0])
def test_a_closed_pipe_is_no_success(verb: list[str], tmp_path: Path) -> None:
    with Journal.write(tmp_path) as journal:
        journal.begin("gemm", {})
    ours, theirs = os.pipe()
    os.close(ours)
    done = subprocess.run(
        [sys.executable, "-m", "argus.cli.main", *verb, "--journal", str(tmp_path)],
        stdout=theirs,
        stderr=subprocess.PIPE,
        timeout=120,
    )
    os.close(theirs)
    assert done.returncode == 141
    assert done.stderr == b""
