"""A model behind a command: the question goes to its standard input, its standard output is the answer.

    command:claude -p
    command:codex exec -

The command runs in an empty directory, in its own process group, and the whole group is ended when the time is over.
It keeps the environment, since such programs bring their own log-in; what it prints on standard error is shown, without
the values of variables that look like keys.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import subprocess
import tempfile
from dataclasses import dataclass

from argus.agent.providers.errors import ProviderError, redact
from argus.agent.providers.message import Reply, Request

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
        text = "\n\n".join((request.system, *(f"[{turn.speaker}]\n{turn.text}" for turn in request.turns)))
        with tempfile.TemporaryDirectory(prefix="argus-command-") as folder:
            try:
                child = subprocess.Popen(
                    shlex.split(self.line),
                    cwd=folder,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    start_new_session=True,
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
        return Reply(answer, self.name)


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
