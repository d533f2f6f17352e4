"""LLVM in child processes, which are kept for the next text.

    compile_object(text, Path("k.o"))     # TranslationError with LLVM's last words, also if LLVM aborts

A child (`child.py`) takes a tenth of a second to start, which is a third of what a small kernel needs. So one that has
answered is kept, at most `MOST_IDLE` of them, and compiles the next text, up to `MOST_TEXTS`: LLVM does not give back
all it takes. A child ends when its input does: with this process, however that ends, and when it was handed back to
nobody. One that LLVM ended, or that does not answer in time, is replaced by a new one; no text is compiled twice.

A forked process shares the pipes of its parent's children and must not use them: it starts its own.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import IO

from argus.machine.jit.errors import TranslationError

COMPILE_SECONDS = 300
CHILD = Path(__file__).with_name("child.py")
MOST_IDLE = 2
MOST_TEXTS = 200


class Compiler:
    """One child, and what it has said to its standard error."""

    def __init__(self) -> None:
        self.said: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 (lives as long as the child)
        self.process = subprocess.Popen(
            [sys.executable, "-P", str(CHILD)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.said
        )
        self.texts = 0
        self.busy = False

    def compile(self, text: str, target: Path) -> None:
        """One text into a file; the child is closed if it cannot go on."""
        self.texts += 1
        late = threading.Timer(COMPILE_SECONDS, self.process.kill)
        late.start()
        try:
            answer = self._answer(text.encode(), target)
        finally:
            in_time = late.is_alive()
            late.cancel()
        if not answer:
            self.close()
            if not in_time:
                raise TranslationError(f"LLVM did not finish within {COMPILE_SECONDS} s")
            raise TranslationError(f"LLVM could not compile the translated kernel: {self._last_words()}")
        error = json.loads(answer).get("error")
        if error is not None:
            raise TranslationError(f"LLVM could not compile the translated kernel: {_last(error)}")

    def _answer(self, text: bytes, target: Path) -> bytes:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.busy = True
        try:
            asked = {"output": str(target), "bytes": len(text)}
            self.process.stdin.write(json.dumps(asked).encode() + b"\n" + text)
            self.process.stdin.flush()
            answer = self.process.stdout.readline()
        except BrokenPipeError:
            return b""
        self.busy = False
        return answer

    def _last_words(self) -> str:
        self.said.seek(0)
        return _last(self.said.read().decode(errors="replace")) or f"exit status {self.process.returncode}"

    @property
    def usable(self) -> bool:
        """It waits for a text: not one that somebody stopped waiting for, whose answer is still to come."""
        return not self.busy and self.process.poll() is None and self.texts < MOST_TEXTS

    def close(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()


def _last(text: str) -> str:
    return "\n".join(text.strip().splitlines()[-4:])


class IdleCompilers:
    """Children that wait for a text, of this process."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.owner = os.getpid()
        self.idle: list[Compiler] = []

    def take(self) -> Compiler:
        with self.lock:
            return self.idle.pop() if self.idle else Compiler()

    def give(self, compiler: Compiler) -> None:
        if compiler.usable:
            with self.lock:
                if len(self.idle) < MOST_IDLE:
                    self.idle.append(compiler)
                    return
        if compiler.process.poll() is None:
            compiler.process.kill()
            compiler.close()


_COMPILERS = IdleCompilers()


def compilers_here() -> IdleCompilers:
    """The children of this process, and not of the one it was forked from."""
    global _COMPILERS
    if _COMPILERS.owner != os.getpid():
        _COMPILERS = IdleCompilers()
    return _COMPILERS


def compile_object(text: str, target: Path) -> None:
    """Compile LLVM text into `target` in a child process."""
    compilers = compilers_here()
    compiler = compilers.take()
    try:
        compiler.compile(text, target)
    finally:
        compilers.give(compiler)
