"""`.ci/run` runs every stage, loses no output of stages that run at the same time, and fails where one of them does."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

RUN = Path(__file__).parents[2] / ".ci" / "run"
STAGES = ("make lint", ".ci/wheel", "make test", "make extras", "make torch", "make ray")
STUB = """#!/bin/sh
stage="$(basename "$0")"
[ "$stage" = wheel ] && stage=.ci/wheel
stage="$stage${1:+ $1}"
echo "$stage begins"
echo "$stage" >> "$LOG"
sleep 0.2
echo "$stage complains" >&2
[ "$stage" != "$FAILS" ]
"""


def ran(folder: Path, fails: str) -> tuple[subprocess.CompletedProcess[str], list[str]]:
    """The script with stages that only say that they ran, and which of them did."""
    for name in ("bin/make", ".ci/wheel"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(STUB)
        (folder / name).chmod(0o755)
    shutil.copy(RUN, folder / ".ci" / "run")
    log = folder / "log"
    environment = {**os.environ, "PATH": f"{folder / 'bin'}:{os.environ['PATH']}", "LOG": str(log), "FAILS": fails}
    command = [str(folder / ".ci" / "run")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    return done, log.read_text().splitlines()


def test_every_stage_runs_once_and_all_they_say_is_shown(tmp_path: Path) -> None:
    done, stages = ran(tmp_path, "nothing")
    assert done.returncode == 0
    assert sorted(stages) == sorted(STAGES)
    said = (done.stdout + done.stderr).splitlines()
    assert sorted(said) == sorted(f"{stage} {what}" for stage in STAGES for what in ("begins", "complains"))


@pytest.mark.parametrize("stage", STAGES)
def test_a_stage_that_fails_is_a_failure(stage: str, tmp_path: Path) -> None:
    done, stages = ran(tmp_path, stage)
    assert done.returncode != 0
    assert f"{stage} begins" in done.stdout
    later = {"make test", "make extras", "make torch", "make ray"}
    if stage in ("make lint", ".ci/wheel"):
        assert not later & set(stages), "nothing follows a failure"
    else:
        assert set(stages) >= {"make lint", ".ci/wheel", stage}


def test_the_tests_come_before_what_changes_their_environment(tmp_path: Path) -> None:
    """torch and Ray are installed when the tests that do without them are done."""
    _, stages = ran(tmp_path, "nothing")
    assert stages.index("make test") < stages.index("make extras") < stages.index("make torch")
    assert stages.index("make extras") < stages.index("make ray")
