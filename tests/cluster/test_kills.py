"""A campaign that is killed again and again judges every task once and loses no record."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

from argus.bench.kernelbench.campaign import records
from argus.bench.kernelbench.task_files import tasks_of

RUN = """
import sys, time
from pathlib import Path
from argus.bench.kernelbench import campaign
from argus.bench.kernelbench.asking import named
from argus.bench.kernelbench.holding import CodeNow
from argus.bench.kernelbench.task_files import tasks_of

now = CodeNow("the same", "the same", "the same")
campaign.code_now = lambda: now                      # what records rest on does not change during the test

class Asker:
    def ask(self, task, dtype, timed):
        time.sleep(0.01)
        return {**named(task, dtype), "status": "solved", "code": "", "reason": "x" * 2000}
    def close(self): ...

folder = Path(sys.argv[1])
print("ready", flush=True)
for record, known, _ in campaign.campaign(tasks_of(folder), "f32", folder / "records.jsonl", [Asker(), Asker()], False):
    if not known:
        with (folder / "judged").open("a") as out:
            out.write(f"{record['task']}\\n")
"""
TASKS, KILLS = 100, 50


def started(folder: Path) -> subprocess.Popen[bytes]:
    """A run that has come to its tasks."""
    run = subprocess.Popen([sys.executable, "-c", RUN, str(folder)], stdout=subprocess.PIPE)
    assert run.stdout is not None
    run.stdout.readline()
    return run


def test_fifty_kills(tmp_path: Path) -> None:
    level = tmp_path / "level1"
    level.mkdir()
    for number in range(1, TASKS + 1):
        (level / f"{number}_Task.py").write_text(f"N = {number}\n")
    rng = random.Random(5)
    killed = 0
    while killed < KILLS:
        run = started(tmp_path)
        time.sleep(rng.uniform(0.0, 0.02))
        os.kill(run.pid, signal.SIGKILL)
        killed += run.wait() == -signal.SIGKILL
    assert started(tmp_path).wait() == 0
    kept = records(tmp_path / "records.jsonl")
    assert sorted(record["task"] for record in kept.values()) == [task.number for task in tasks_of(tmp_path)]
    judged = Counter((tmp_path / "judged").read_text().split())
    assert max(judged.values()) == 1
