"""Ask the judge from outside: a child process that is started when needed, and started anew when it dies.

    with JudgeProcess() as judge:
        judge.judge(source, problem, seed=0)

A candidate that takes the judge down (an abort in a library, no memory, no end) is judged `error` with what is known
of the end, the last line it wrote among it; the next question gets a fresh process. The child never sees the parent's
standard streams. `stop` may be called by another thread: the question under way ends at once, and none begins.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from types import TracebackType
from typing import IO, Any

from argus.agent.judge.evidence import evidence, question
from argus.agent.judge.problem import Judgement, Problem, Violation
from argus.provenance import PACKAGE

SECONDS = 600.0
LAST_BYTES = 2000


@dataclass
class JudgeProcess:
    """`seconds`: how long one judgement may take."""

    seconds: float = SECONDS
    _child: subprocess.Popen[bytes] | None = field(default=None, init=False)
    _to: int = field(default=-1, init=False)
    _from: int = field(default=-1, init=False)
    _said: IO[bytes] | None = field(default=None, init=False)
    _stopped: bool = field(default=False, init=False)
    killed: bool = field(default=False, init=False)
    """Whether the last question ended with the process being killed by somebody else."""

    def judge(self, source: str, problem: Problem, *, seed: int) -> Judgement:
        """The judgement; `error` if the process died or took too long."""
        self.killed = False
        if self._child is None or self._child.poll() is not None:
            self._start()
        line = json.dumps({"problem": problem.to_json(), "source": source, "seed": seed}) + "\n"
        try:
            _write(self._to, line.encode())
            answer = self._answer()
        except OSError:
            answer = None
        if answer is not None:
            data: dict[str, Any] = json.loads(answer)
            return Judgement.from_json(data["judgement"], data["seconds"])
        return ended(source, problem, seed, self._end())

    def stop(self) -> None:
        """End the process for good; whoever waits for its answer gets the judgement that it ended."""
        self._stopped = True
        child = self._child
        if child is not None:
            child.kill()

    def _start(self) -> None:
        self.close()
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 (closed with the process)
        their_in, self._to = os.pipe()
        self._from, their_out = os.pipe()
        try:
            self._child = subprocess.Popen(
                [sys.executable, "-P", "-m", "argus.agent.judge.worker", str(their_in), str(their_out)],
                env=_environment(),
                pass_fds=(their_in, their_out),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self._said,
            )
        finally:
            os.close(their_in)
            os.close(their_out)
        if self._stopped:
            self._child.kill()

    def _answer(self) -> bytes | None:
        """One line, or None if there is none before the end of time or of the process."""
        until = time.monotonic() + self.seconds
        found = b""
        while not found.endswith(b"\n"):
            left = until - time.monotonic()
            if left <= 0 or not select.select([self._from], [], [], left)[0]:
                return None
            part = os.read(self._from, 1 << 16)
            if not part:
                return None
            found += part
        return found

    def _end(self) -> str:
        """How the process ended; it is gone afterwards."""
        child = self._child
        if child is None:
            return "it was not there"
        try:
            code = child.wait(0.5)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
            self.close()
            return f"no answer within {self.seconds:g} s"
        self.killed = code == -signal.SIGKILL and not self._stopped
        how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        said = self._last_line()
        self.close()
        return f"{how}: {said}" if said else how

    def _last_line(self) -> str:
        """What the process wrote last on its standard error."""
        if self._said is None:
            return ""
        end = self._said.seek(0, os.SEEK_END)
        self._said.seek(max(0, end - LAST_BYTES))
        lines = self._said.read().decode(errors="replace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "")

    def close(self) -> None:
        for pipe in (self._to, self._from):
            if pipe >= 0:
                os.close(pipe)
        self._to = self._from = -1
        if self._child is not None:
            self._child.kill()
            self._child.wait()
            self._child = None
        if self._said is not None:
            self._said.close()
            self._said = None

    def __enter__(self) -> JudgeProcess:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def ended(source: str, problem: Problem, seed: int, how: str) -> Judgement:
    """The judgement of a candidate whose judge ended without an answer."""
    said = Violation("judge", f"judging this candidate ended the judge's process: {how}", status="error")
    asked = question(source, problem, seed)
    return Judgement("error", "judge", (said,), evidence=evidence(asked, b"", {"ended": how}))


def _environment() -> dict[str, str]:
    """For the child: this Argus, whatever the current folder holds, and linear algebra in one thread, so that sums are
    taken in the same order on a machine with more cores."""
    path = [str(PACKAGE.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    return {**os.environ, **threads, "PYTHONPATH": os.pathsep.join(path)}


def _write(pipe: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(pipe, view) :]
