"""A model behind a command: the question goes to its standard input, its standard output is the answer.

    command:claude -p
    command:codex exec -

The command runs in an empty directory, in its own process group; the whole group is ended when the time is over or when
the run itself ends (`guard.py`). It keeps the environment, since such programs bring their own log-in; its answer, and
what it prints on standard error, are taken without the values of variables that look like keys. How many tokens an
answer took it does not say. Tools are called by text (`argus.agent.providers.text_tools`).
"""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from argus.agent.providers.errors import ProviderError, hide, redact
from argus.agent.providers.message import Reply, Request
from argus.agent.providers.text_tools import calls_in, rendered

GUARD = Path(__file__).with_name("guard.py")
SECRET_NAMES = ("KEY", "TOKEN", "SECRET", "PASSWORD")


@dataclass(frozen=True, slots=True)
class Command:
    """`line` is split as a shell would, but no shell runs it."""

    line: str
    seconds: float = 600.0

    @property
    def name(self) -> str:
        return f"command:{self.line}"

    def ask(self, request: Request) -> Reply:
        text = rendered(request)
        with tempfile.TemporaryDirectory(prefix="argus-command-") as folder, _held() as pipe:
            try:
                child = subprocess.Popen(
                    [sys.executable, "-IS", str(GUARD), str(pipe), *shlex.split(self.line)],
                    cwd=folder,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    start_new_session=True,
                    pass_fds=(pipe,),
                )
            except (OSError, ValueError) as error:
                raise ProviderError("ARG-P111", f"{self.line}: {error}") from error
            try:
                out, err = child.communicate(text.encode(), timeout=self.seconds)
            except subprocess.TimeoutExpired as error:
                raise ProviderError("ARG-P111", f"{self.line}: no answer within {self.seconds:g} s") from error
            finally:
                _end(child)
        if child.returncode != 0:
            shown = redact(err.decode(errors="replace").strip(), _secrets())
            raise ProviderError("ARG-P111", f"{self.line}: exit code {child.returncode}: {shown}")
        answer = out.decode(errors="replace")
        if not answer.strip():
            raise ProviderError("ARG-P106", f"{self.line}: the answer is empty")
        answer = hide(answer, _secrets())
        return Reply(answer, self.name, calls=calls_in(answer) if request.tools else ())


@contextlib.contextmanager
def _held() -> Iterator[int]:
    """The guard's end of a pipe; the other end closes when this process ends."""
    theirs, ours = os.pipe()
    try:
        yield theirs
    finally:
        os.close(theirs)
        os.close(ours)


def _end(child: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()


def _secrets() -> tuple[str, ...]:
    return tuple(
        value
        for name, value in os.environ.items()
        if len(value) >= 8 and any(word in name.upper() for word in SECRET_NAMES)
    )
