"""A run in which a model makes the candidates: its edits are judged, journaled and ranked like any others.

Answers of the model are events too. A resumed run reads them from the journal and asks the model only
what it has not been asked before. When the model's budget is used up the run ends with the best so far, and says so.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from argus.agent.free_edit.episode import FREE, Attempt, episode
from argus.agent.free_edit.round import reason
from argus.agent.free_edit.round_tools import Toolbox
from argus.agent.journal.store import Run
from argus.agent.judging import Judges
from argus.agent.lessons import lessons_for
from argus.agent.policy import PolicyTable
from argus.agent.providers import Provider, ProviderError, Reply, Request
from argus.agent.reward import Reward, reward
from argus.agent.search_state import FIRST, Listener, SearchCandidate, Settings, State, Trying
from argus.agent.tools import KernelTexts, ToolResult
from argus.tasks.task import Task


@dataclass
class Journaled:
    """Asks `inner` once for every question and keeps the answer in the journal."""

    inner: Provider
    run: Run
    _asked: dict[str, int] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.inner.name

    def ask(self, request: Request) -> Reply:
        digest = request.digest()
        number = self._asked[digest] = self._asked.get(digest, 0) + 1
        key = f"model:{digest}:{number}"
        known = self.run.journal.event(self.run.id, key)
        if known is not None:
            data = known.payload
            text = self.run.journal.text(data["reply"])
            kept = {name: data[name] for name in ("model", "tokens_in", "tokens_out")}
            more = {"text": text, "cut": data.get("cut", False), "calls": data.get("calls", ())}
            return Reply.from_json({**kept, **more})
        reply = self.inner.ask(request)
        self.run.record(
            sum(self._asked.values()),
            key,
            "model_call",
            {
                "role": request.role,
                "request": digest,
                "reply": self.run.journal.put(reply.text),
                "model": reply.model,
                "tokens_in": reply.tokens_in,
                "tokens_out": reply.tokens_out,
                "cut": reply.cut,
                "calls": reply.to_json()["calls"],
            },
        )
        return reply


@dataclass(frozen=True, slots=True)
class JournaledTools:
    """Does every call of a tool once and keeps what it said in the journal: a resumed run does not run it again."""

    inner: Toolbox
    run: Run

    def __call__(self, files: KernelTexts, name: str, arguments: Mapping[str, Any]) -> ToolResult:
        asked = json.dumps([name, dict(arguments), files.texts], sort_keys=True)
        key = f"tool:{hashlib.sha256(asked.encode()).hexdigest()}"
        known = self.run.journal.event(self.run.id, key)
        if known is not None:
            return ToolResult(
                known.payload["exit"], self.run.journal.text(known.payload["text"]), known.payload["code"]
            )
        found = self.inner(files, name, arguments)
        data = {"tool": name, "exit": found.exit, "text": self.run.journal.put(found.text), "code": found.code}
        self.run.record(0, key, "tool_call", data)
        return found


def edited(
    task: Task,
    settings: Settings,
    judges: Judges,
    provider: Provider,
    listen: Listener,
    *,
    policy: PolicyTable | None = None,
    trying: Trying | None = None,
    toolbox: Toolbox | None = None,
) -> State:
    """Edits by `provider` until a budget is spent; the naive kernel is the first candidate.

    The policy is told to the model. What a model does between two candidates has no name, so nothing is learnt of it.
    """
    state = State(task, settings, policy or PolicyTable())
    rounds = settings.budget - 1
    taught = lessons_for(state.policy, task.family)
    try:
        for attempt in episode(
            task, provider, judges, rounds=rounds, seed=settings.data, taught=taught, trying=trying, toolbox=toolbox
        ):
            _keep(state, attempt, listen)
        state.ended = f"the budget of {settings.budget} evaluations is spent"
    except ProviderError as error:
        if error.code != "ARG-P108":
            raise
        state.ended = str(error)
    return state


def _keep(state: State, attempt: Attempt, listen: Listener) -> None:
    before = state.candidates[-1] if state.candidates else None
    state.step = attempt.number
    candidate = SearchCandidate(
        number=attempt.number,
        step=attempt.number,
        parent=None if before is None else before.number,
        source=attempt.source,
        technique="naive" if before is None else FREE,
        params={},
        why=FIRST if before is None else reason(attempt.reply),
        done=() if before is None else (*before.done, FREE),
        judgement=attempt.judgement,
        reward=Reward() if before is None else reward(before.judgement, attempt.judgement),
    )
    state.candidates.append(candidate)
    listen(state, candidate)
