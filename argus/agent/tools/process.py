"""One call of `argus` in a process of its own, warm between calls, ended when it takes too long or is canceled.

    process.call(["check", "gemm.py"], {"gemm.py": text}, 300, Cancellation())      Said(exit=0, out="gemm: proved …")

The process (`argus.cli.tool_worker`) gets the words of a command and the texts of the files, which it puts into an
empty folder. It sees neither the workspace nor the standard streams of its parent, nor environment variables that look
like keys. `seconds` are of its processor, where the system tells them (/proc): a busy machine makes no kernel slow;
waiting has a limit of its own, `WAITING` times as long.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import IO, Any

from argus.agent.providers.command import SECRET_NAMES
from argus.agent.tools.errors import ToolError

WORKER = "argus.cli.tool_worker"
WAITING = 6.0
POLL = 0.25
MAX_ANSWER = 64 << 20
LAST_BYTES = 2000


@dataclass(frozen=True, slots=True)
class Said:
    """How a command ended, and what it printed."""

    exit: int
    out: str
    err: str


class Cancellation:
    """The switch of one call; `cancel` may be called by another thread, before the call, during it or after it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._child: subprocess.Popen[bytes] | None = None
        self.canceled = False

    def cancel(self) -> None:
        with self._lock:
            self.canceled = True
            if self._child is not None:
                _kill(self._child)

    def begin(self, child: subprocess.Popen[bytes]) -> None:
        with self._lock:
            if self.canceled:
                raise _canceled()
            self._child = child

    def end(self) -> None:
        with self._lock:
            self._child = None


class ToolProcess:
    """Started when needed, started anew when it has ended; one call at a time."""

    def __init__(self) -> None:
        self._child: subprocess.Popen[bytes] | None = None
        self._to = self._from = -1
        self._errors: IO[bytes] | None = None

    def call(self, words: list[str], files: Mapping[str, str], seconds: float, switch: Cancellation) -> Said:
        """Run one command; a `ToolError` if it does not end by itself."""
        child = self._child
        if child is None or child.poll() is not None:
            child = self._start()
        switch.begin(child)
        try:
            _write(self._to, json.dumps({"words": words, "files": dict(files)}).encode() + b"\n")
            answer = self._answer(child, seconds)
        except OSError:
            answer = b""
        except ToolError:
            self.close()
            raise
        finally:
            switch.end()
        if not answer.endswith(b"\n"):
            how = self._ended()
            raise _canceled() if switch.canceled else ToolError("ARG-W106", f"the process of the tool ended: {how}")
        data: dict[str, Any] = json.loads(answer)
        return Said(int(data["exit"]), str(data["out"]), str(data["err"]))

    def close(self) -> None:
        for pipe in (self._to, self._from):
            if pipe >= 0:
                os.close(pipe)
        self._to = self._from = -1
        if self._child is not None:
            _kill(self._child)
            self._child.wait()
            self._child = None
        if self._errors is not None:
            self._errors.close()
            self._errors = None

    def _start(self) -> subprocess.Popen[bytes]:
        self.close()
        their_in, self._to = os.pipe()
        self._from, their_out = os.pipe()
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 (closed with the process)
        try:
            child = self._child = subprocess.Popen(
                [sys.executable, "-m", WORKER, str(their_in), str(their_out)],
                pass_fds=(their_in, their_out),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self._errors,
                start_new_session=True,
                env=clean_environment(),
            )
        finally:
            os.close(their_in)
            os.close(their_out)
        return child

    def _answer(self, child: subprocess.Popen[bytes], seconds: float) -> bytes:
        """One line, or what came of it before the process ended."""
        begun, used = time.monotonic(), processor_seconds(child.pid)
        found = bytearray()
        while not found.endswith(b"\n"):
            if select.select([self._from], [], [], POLL)[0]:
                part = os.read(self._from, 1 << 16)
                found += part
                if not part or len(found) > MAX_ANSWER:
                    return bytes(found).rstrip(b"\n")
            now = processor_seconds(child.pid)
            waited = time.monotonic() - begun
            spent = waited / WAITING if used is None or now is None else max(now - used, waited / WAITING)
            if spent > seconds:
                raise ToolError("ARG-W105", f"no answer within {seconds:g} s of processor time; try smaller sizes")
        return bytes(found)

    def _ended(self) -> str:
        """How the process ended; it is gone afterwards."""
        assert self._child is not None
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._child.wait(0.5)
        code = self._child.poll()
        last = self._last_error()
        self.close()
        if code is None:
            return "it said too much"
        return f"{signal.Signals(-code).name if code < 0 else f'exit code {code}'}{last}"

    def _last_error(self) -> str:
        """The last line on standard error, where libraries write before they abort."""
        assert self._errors is not None
        self._errors.seek(max(0, self._errors.seek(0, os.SEEK_END) - LAST_BYTES))
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        return f": {lines[-1].strip()}" if lines else ""


def _canceled() -> ToolError:
    return ToolError("ARG-W107", "the call was canceled")


def clean_environment() -> dict[str, str]:
    """The environment without what looks like a key."""
    return {name: value for name, value in os.environ.items() if not any(w in name.upper() for w in SECRET_NAMES)}


def processor_seconds(pid: int) -> float | None:
    """What a process and its ended children have used; None where the system does not say."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
        return sum(int(n) for n in fields[11:15]) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError):
        return None


def _kill(child: subprocess.Popen[bytes]) -> None:
    """End the process and everything it started."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)


def _write(pipe: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(pipe, view) :]
