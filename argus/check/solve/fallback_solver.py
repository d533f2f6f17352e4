"""A second opinion on a question the first strategy gave up: another solver configuration, in a process of its own.

    answer("(declare-fun K () Int) … (check-sat)")       True: satisfiable, False: not, None: no answer either

The process (`fallback_process.py`, run by path, so that it loads Z3 and nothing else) takes one question per line and
answers with one word. Its effort is limited by `rlimit` and its memory by the system; a crash, a wrong word or a closed
pipe is "no answer". It is started at the first question and ends with this process.

Why a process: Z3 may crash or eat memory on a hard question, and nothing of one question may influence the next
verdict. What it cannot do: answer questions over bit-vectors, whose side conditions belong to the first strategy.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

WORDS = {"sat": True, "unsat": False}
_WORKER = Path(__file__).with_name("fallback_process.py")


class FallbackSolver:
    """The process and the conversation with it."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    def answer(self, question: str) -> bool | None:
        """Is the SMT-LIB question satisfiable? None when this strategy does not know."""
        try:
            process = self._running()
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(json.dumps(question) + "\n")
            process.stdin.flush()
            return WORDS.get(process.stdout.readline().strip())
        except OSError:
            self.close()
            return None

    def _running(self) -> subprocess.Popen[str]:
        if self._process is None or self._process.poll() is not None:
            self.close()
            self._process = subprocess.Popen(
                [sys.executable, str(_WORKER)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL, text=True,
            )  # fmt: skip
        return self._process

    def close(self) -> None:
        """End the process, if there is one."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.communicate()


FALLBACK = FallbackSolver()
"""One process for all questions of this one; it ends when its standard input does."""
