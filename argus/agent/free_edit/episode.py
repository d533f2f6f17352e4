"""An episode: a model edits the kernel, the judge answers, the model edits again.

    for attempt in episode(task, provider, judges, rounds=8, seed=0):
        print(attempt.judgement.verdict)

An edit that cannot be applied costs a round and is told back. A provider that fails ends the episode with its error.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from argus.agent.free_edit.conversation import Conversation, feedback
from argus.agent.free_edit.edit import apply
from argus.agent.judge import Judgement, Violation
from argus.agent.judging import Judges
from argus.agent.providers import Provider, ProviderError
from argus.tasks.task import Task

EDIT_CODES = ("ARG-P120", "ARG-P121")


@dataclass(frozen=True, slots=True)
class Attempt:
    """One round: the file after it, what the model wrote, what the judge said. Round 0 is the naive kernel."""

    number: int
    source: str
    reply: str
    judgement: Judgement


def episode(task: Task, provider: Provider, judges: Judges, *, rounds: int, seed: int) -> Iterator[Attempt]:
    """Attempts as they are judged."""
    source = task.source
    judgement = judges.judge([source], task, seed=seed)[0]
    yield Attempt(0, source, "", judgement)
    talk = Conversation(task)
    talk.begin(source, judgement)
    for number in range(1, rounds + 1):
        reply = provider.ask(talk.request()).text
        try:
            source = apply(reply, source)
        except ProviderError as error:
            if error.code not in EDIT_CODES:
                raise
            judgement = Judgement("error", "edit", (Violation("edit", str(error), status="error"),))
        else:
            judgement = judges.judge([source], task, seed=seed)[0]
        talk.answered(reply, source, feedback(judgement))
        yield Attempt(number, source, reply, judgement)
