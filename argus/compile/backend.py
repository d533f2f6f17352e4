"""LLVM at arm's length: text in, object bytes out, every way of failing a `CompileError`.

    backend.run(llvm_ir)                      -> bytes of the relocatable object
    backend.run(llvm_ir, emit="assembly")     -> bytes of the assembly text

One worker process serves many compiles (start-up about 0.2 s, once). If it dies or hangs, the compile that
killed it fails with C202 or C203 and the next one starts a fresh worker.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import select
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import IO, Any

from argus.ir.compile_error import CompileError

TIMEOUT = 300.0
LAST_LINES = 12


class Worker:
    """One worker process and its pipes."""

    def __init__(self) -> None:
        self.pid_of_owner = os.getpid()
        self.errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 (closed with the worker)
        self.process = subprocess.Popen(
            [sys.executable, "-P", str(Path(__file__).with_name("worker.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
        )

    def alive(self) -> bool:
        return self.pid_of_owner == os.getpid() and self.process.poll() is None

    def request(self, message: dict[str, Any], timeout: float) -> tuple[dict[str, Any], bytes]:
        body = json.dumps(message).encode()
        self.errors.seek(0, os.SEEK_END)
        start_of_errors = self.errors.tell()
        deadline = time.monotonic() + timeout
        try:
            assert self.process.stdin is not None
            self.process.stdin.write(len(body).to_bytes(4, "little") + body)
            self.process.stdin.flush()
            size = int.from_bytes(self._read(4, deadline), "little")
            reply: dict[str, Any] = json.loads(self._read(size, deadline))
            return reply, self._read(reply["size"], deadline) if reply["ok"] else b""
        except TimeoutError:
            self.close()
            raise CompileError("C203", f"LLVM did not finish within {timeout:.0f} seconds") from None
        except (BrokenPipeError, EOFError):
            status = self.process.wait()
            self.errors.seek(start_of_errors)
            lines = self.errors.read().decode(errors="replace").splitlines()[-LAST_LINES:]
            self.close()
            raise CompileError("C202", f"LLVM aborted ({_death(status)})", details="\n".join(lines)) from None

    def _read(self, size: int, deadline: float) -> bytes:
        assert self.process.stdout is not None
        pipe = self.process.stdout.fileno()
        pieces: list[bytes] = []
        while size:
            ready, _, _ = select.select([pipe], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                raise TimeoutError
            piece = os.read(pipe, min(size, 1 << 20))
            if not piece:
                raise EOFError
            pieces.append(piece)
            size -= len(piece)
        return b"".join(pieces)

    def close(self) -> None:
        if self.pid_of_owner == os.getpid():
            self.process.kill()
            self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout, self.errors):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()


def _death(status: int) -> str:
    return f"killed by signal {-status}" if status < 0 else f"exit status {status}"


_lock = threading.Lock()
_worker: Worker | None = None


def run(llvm_ir: str, emit: str = "object", opt: int = 3, timeout: float = TIMEOUT) -> bytes:
    """Compile one module in the worker process."""
    global _worker
    with _lock:
        if _worker is None or not _worker.alive():
            if _worker is not None:
                _worker.close()
            _worker = Worker()
        reply, payload = _worker.request({"ir": llvm_ir, "opt": opt, "emit": emit}, timeout)
    if not reply["ok"]:
        raise CompileError(
            "C201", "LLVM rejected the module", details="\n".join(reply["message"].splitlines()[:LAST_LINES])
        )
    return payload


@atexit.register
def stop() -> None:
    """End the worker process; the next `run` starts another."""
    global _worker
    with _lock:
        if _worker is not None:
            _worker.close()
            _worker = None
