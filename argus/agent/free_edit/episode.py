"""An episode: a model edits the kernel, the judge answers, the model edits again.

    for attempt in episode(task, provider, judges, rounds=8, seed=0):
        print(attempt.judgement.verdict)

An edit that cannot be applied, or an answer that was cut off, costs a round and is told back. A provider that fails
ends the episode with its error.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from argus.agent.free_edit.conversation import Conversation, feedback
from argus.agent.free_edit.edit import apply
from argus.agent.judge import Judgement, Violation
from argus.agent.judging import Judges
from argus.agent.optimise import FIRST, Trying
from argus.agent.providers import Provider, ProviderError, Reply
from argus.tasks.task import Task

EDIT_CODES = ("ARG-P107", "ARG-P120", "ARG-P121")
FREE = "free edit"


@dataclass(frozen=True, slots=True)
class Attempt:
    """One round: the file after it, what the model wrote, what the judge said. Round 0 is the naive kernel."""

    number: int
    source: str
    reply: str
    judgement: Judgement


def episode(
    task: Task,
    provider: Provider,
    judges: Judges,
    *,
    rounds: int,
    seed: int,
    taught: str = "",
    trying: Trying | None = None,
) -> Iterator[Attempt]:
    """Attempts as they are judged. `taught` is what earlier runs have to say; `trying` hears of an edit and its reason
    before it is judged."""
    source = task.source
    if trying is not None:
        trying("naive", {}, FIRST)
    (judgement,) = judges.judge([source], task, seed=seed)
    yield Attempt(0, source, "", judgement)
    talk = Conversation(task, taught)
    talk.begin(source, judgement)
    for number in range(1, rounds + 1):
        reply = provider.ask(talk.request())
        try:
            source = _applied(reply, source)
        except ProviderError as error:
            if error.code not in EDIT_CODES:
                raise
            judgement = Judgement("error", "edit", (Violation("edit", str(error), status="error"),))
        else:
            if trying is not None:
                trying(FREE, {}, reason(reply.text))
            (judgement,) = judges.judge([source], task, seed=seed)
        talk.answered(reply.text or "(nothing)", source, feedback(judgement, task.device))
        yield Attempt(number, source, reply.text, judgement)


def reason(reply: str) -> str:
    """What a model says first."""
    return reply.split("\n\n", 1)[0][:400]


def _applied(reply: Reply, source: str) -> str:
    if reply.cut:
        raise ProviderError("ARG-P107", "the answer was cut off at its limit; give only the pieces that change")
    return apply(reply.text, source)
