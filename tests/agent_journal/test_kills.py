"""The bench that kills runs sees what a killed process leaves behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

from bench.kills import descendants, left

SLEEPS = "import time; time.sleep(600)"
PARENT = f"""import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", {SLEEPS!r}])
print(child.pid, flush=True)
child.wait()"""


def test_what_outlives_its_parent_is_found() -> None:
    with subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        started = descendants(parent.pid)
        assert {pid for pid, _ in started} == {child}
        parent.kill()
    assert left(started, grace=0.2) == started
    os.kill(child, signal.SIGKILL)
    assert left(started) == set()
