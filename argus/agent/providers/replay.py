"""Recorded replies: an episode with a model, repeated without it.

A recording is a file of JSON lines `{"request": digest, "role": …, "reply": {"text": …, "model": …, …}}`, written by
`ReplyRecorder` and read by `ReplayProvider`. Lines `{"episode": …}` and `{"attempt": …}` say what it was recorded of
and what the judge said (`bench.agent_models`); they are passed over. A request the recording does not hold is an
error, never a guess: the prompts have changed since.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from argus.agent.providers.errors import ProviderError
from argus.agent.providers.message import Provider, Reply, Request

ABOUT = ({"episode"}, {"attempt"})
"""Keys of the lines that are no replies."""


class ReplayProvider:
    """Answers from a file. The same request asked n times gets the n-th recorded reply."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._replies: dict[str, list[Reply]] = {}
        self._used: dict[str, int] = {}
        try:
            lines = path.read_text().splitlines()
        except OSError as error:
            raise ProviderError("ARG-P109", f"{path}: {error.strerror}") from error
        for number, line in enumerate(lines, 1):
            try:
                entry = json.loads(line)
                if set(entry) in ABOUT:
                    continue
                self._replies.setdefault(entry["request"], []).append(Reply.from_json(entry["reply"]))
            except (ValueError, LookupError, TypeError) as error:
                raise ProviderError("ARG-P109", f"{path}:{number}: not a line of a recording") from error

    @property
    def name(self) -> str:
        return f"replay:{self.path}"

    def ask(self, request: Request) -> Reply:
        digest = request.digest()
        known = self._replies.get(digest, [])
        used = self._used.get(digest, 0)
        if used >= len(known):
            what = "asked more often than recorded" if known else "not recorded"
            raise ProviderError("ARG-P109", f"{self.path}: request {digest[:12]} of {request.role} was {what}")
        self._used[digest] = used + 1
        return known[used]


@dataclass(frozen=True, slots=True)
class ReplyRecorder:
    """Asks `inner` and appends every answer to `path`."""

    inner: Provider
    path: Path

    @property
    def name(self) -> str:
        return self.inner.name

    def ask(self, request: Request) -> Reply:
        reply = self.inner.ask(request)
        entry = {"request": request.digest(), "role": request.role, "reply": reply.to_json()}
        with self.path.open("a") as file:
            file.write(json.dumps(entry, sort_keys=True) + "\n")
        return reply
