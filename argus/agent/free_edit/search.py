"""A run in which a model makes the candidates: its edits are judged, journaled and ranked like any others.

Answers of the model are events too. A run that is gone on with reads them from the journal and asks the model only
what it has not been asked before.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from argus.agent.free_edit.episode import episode
from argus.agent.journal.store import Run
from argus.agent.judging import Judges
from argus.agent.optimise import Candidate, Listener, Settings, State
from argus.agent.policy import Policy
from argus.agent.providers import Provider, Reply, Request
from argus.agent.reward import Reward, reward
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
            return Reply(text, data["model"], data["tokens_in"], data["tokens_out"])
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
            },
        )
        return reply


def edited(task: Task, settings: Settings, judges: Judges, provider: Provider, listen: Listener) -> State:
    """Edits by `provider` until the budget of evaluations is spent; the naive kernel is the first of them."""
    state = State(task, settings, Policy())
    for attempt in episode(task, provider, judges, rounds=settings.budget - 1, seed=settings.seed):
        before = state.candidates[-1] if state.candidates else None
        state.step = attempt.number
        candidate = Candidate(
            number=attempt.number,
            step=attempt.number,
            parent=None if before is None else before.number,
            source=attempt.source,
            technique="naive" if before is None else "free edit",
            params={},
            why="the naive kernel" if before is None else attempt.reply.split("\n\n", 1)[0][:400],
            done=() if before is None else (*before.done, "free edit"),
            judgement=attempt.judgement,
            reward=Reward() if before is None else reward(before.judgement, attempt.judgement),
        )
        state.candidates.append(candidate)
        listen(state, candidate)
    return state
