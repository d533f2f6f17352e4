"""What models may be asked in one day on this machine, over all runs, and what they were asked.

    Daily(provider, DayLedger.of_machine())      refuses with ARG-P113 what is beyond the day's limit

A limit per run does not bound ten runs, or one that is begun again and again. The ledger is a small file of JSON lines,
one for each call that reached a provider: `{"day": "2026-11-19", "tokens": 5400}`. A call is written down before it is
made and its tokens after it, so a process that is killed meanwhile has still been counted. Days are those of UTC; a new
day begins the file anew. Answers out of a journal or a recording are no calls. The file is no secret and no protection
from its owner: who deletes it begins the day again.

Where: `$ARGUS_LEDGER`, else `$XDG_STATE_HOME/argus/model-ledger.jsonl`, else `~/.local/state/argus/…`. Limits:
`$ARGUS_TOKENS_PER_DAY` and `$ARGUS_CALLS_PER_DAY`, 0 for none; a limit that is no number is refused.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

from argus.agent.providers.errors import ProviderError
from argus.agent.providers.message import Provider, Reply, Request

TOKENS_PER_DAY = 10_000_000
"""Five runs at their own limit."""
CALLS_PER_DAY = 2_000
"""For programs that count no tokens: fifty runs of forty answers."""
CODE = "ARG-P113"


def today() -> str:
    """The day of UTC, as in 2026-11-19."""
    return datetime.now(UTC).date().isoformat()


@dataclass(frozen=True, slots=True)
class DayLedger:
    """The file, the limits (0: none), and whose days count."""

    path: Path
    tokens: int = TOKENS_PER_DAY
    calls: int = CALLS_PER_DAY
    day: Callable[[], str] = today

    @staticmethod
    def of_machine(environment: Mapping[str, str] = os.environ) -> DayLedger:
        """As the environment says."""
        own, base = environment.get("ARGUS_LEDGER"), environment.get("XDG_STATE_HOME")
        folder = Path(base) if base else Path.home() / ".local" / "state"
        path = Path(own) if own else folder / "argus" / "model-ledger.jsonl"
        tokens = _limit(environment, "ARGUS_TOKENS_PER_DAY", TOKENS_PER_DAY)
        return DayLedger(path, tokens, _limit(environment, "ARGUS_CALLS_PER_DAY", CALLS_PER_DAY))

    def begin(self, name: str) -> None:
        """Write a call down before it is made; ARG-P113 where the day has none left."""
        with self._open() as file:
            calls, tokens = self._spent(file)
            if self.calls and calls >= self.calls:
                raise ProviderError(CODE, f"{name}: {calls} of {self.calls} calls of this day are used")
            if self.tokens and tokens >= self.tokens:
                raise ProviderError(CODE, f"{name}: {tokens} of {self.tokens} tokens of this day are used")
            if not calls:
                file.truncate(0)
            self._add(file, {"day": self.day(), "calls": 1})

    def end(self, tokens: int) -> None:
        """What the call took."""
        if tokens > 0:
            with self._open() as file:
                self._add(file, {"day": self.day(), "tokens": tokens})

    def _spent(self, file: IO[str]) -> tuple[int, int]:
        """Calls and tokens of this day; a line that was cut off is a call."""
        file.seek(0)
        calls = tokens = 0
        for line in file:
            try:
                entry = json.loads(line)
                if entry["day"] == self.day():
                    calls += max(0, int(entry.get("calls", 0)))
                    tokens += max(0, int(entry.get("tokens", 0)))
            except (ValueError, LookupError, TypeError, AttributeError):
                calls += 1
        return calls, tokens

    @staticmethod
    def _add(file: IO[str], entry: Mapping[str, object]) -> None:
        file.seek(0, os.SEEK_END)
        file.write(json.dumps(entry) + "\n")

    @contextmanager
    def _open(self) -> Iterator[IO[str]]:
        """The file, held by this process alone."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            opened = self.path.open("a+", encoding="utf-8", errors="replace")
        except OSError as error:
            said = f"the ledger of this day cannot be kept: {self.path}: {error.strerror}"
            raise ProviderError(CODE, said) from error
        with opened as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield file
            file.flush()


@dataclass(frozen=True, slots=True)
class Daily:
    """A provider whose calls the ledger counts, and refuses when the day is used up."""

    inner: Provider
    ledger: DayLedger

    @property
    def name(self) -> str:
        return self.inner.name

    def ask(self, request: Request) -> Reply:
        self.ledger.begin(self.name)
        reply = self.inner.ask(request)
        self.ledger.end(reply.tokens_in + reply.tokens_out)
        return reply


def _limit(environment: Mapping[str, str], name: str, usual: int) -> int:
    text = environment.get(name, "").strip()
    if not text:
        return usual
    if not text.isdecimal():
        raise ProviderError(CODE, f"{name} is {text[:40]!r}, no number of {'tokens' if 'TOKENS' in name else 'calls'}")
    return int(text)
