"""The recorded episode, judged anew: wrong edits are refused with counterexamples, the fixes pass."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from argus.agent.free_edit.conversation import Conversation
from argus.agent.free_edit.episode import Attempt, episode
from argus.agent.free_edit.round import FREE_EDITS
from argus.agent.judge import Judgement
from argus.agent.judging import Judges
from argus.agent.providers import Provider, ProviderError, ReplayProvider, Reply, Request
from argus.tasks.task import Task, load_task
from examples.agent.record import ROUNDS, SmallJudges, silent

RECORDING = Path(__file__).parents[2] / "examples" / "agent" / "episode.jsonl"


@pytest.fixture(scope="module")
def task() -> Task:
    return load_task("gemm")


@pytest.fixture(scope="module")
def attempts(task: Task) -> list[Attempt]:
    """Timed at one small shape: the recording does not depend on times."""
    with SmallJudges() as judges:
        return list(episode(task, ReplayProvider(RECORDING), judges, rounds=ROUNDS, seed=0, toolbox=silent))


def test_wrong_edits_are_refused_and_fixes_pass(attempts: list[Attempt]) -> None:
    said = [(a.judgement.verdict, {v.rule for v in a.judgement.violations} - {"value"}) for a in attempts]
    assert said == [
        ("pass", set()),
        ("fail", {"race_free"}),
        ("fail", {"race_free"}),
        ("pass", set()),
        ("fail", {"conform", "reduced"}),
        ("pass", set()),
    ]


def test_counterexamples_name_threads(attempts: list[Attempt]) -> None:
    for attempt in attempts:
        if attempt.judgement.stage == "check":
            assert attempt.judgement.violations[0].detail["operands"][0]["thread"] >= 0
            assert attempt.judgement.violations[0].line > 0


class Silent:
    name = "silent"

    def ask(self, request: Request) -> Reply:
        raise ProviderError("ARG-P105", "down")


class Chatty:
    name = "chatty"

    def __init__(self) -> None:
        self.seen: list[Request] = []

    def ask(self, request: Request) -> Reply:
        self.seen.append(request)
        return Reply("I would try tiles.", "m")


class Stamp(Judges):
    """Passes everything: these tests are about the conversation."""

    def __init__(self) -> None:
        pass

    def judge(self, sources: Sequence[str], task: Task, *, seed: int) -> list[Judgement]:
        return [Judgement("pass", "time", times={"M=1": 1.0}, evidence="e") for _ in sources]


def rounds(task: Task, provider: Provider, count: int) -> list[Attempt]:
    return list(episode(task, provider, Stamp(), rounds=count, seed=0))


def test_a_failing_provider_ends_the_episode(task: Task) -> None:
    with pytest.raises(ProviderError, match="ARG-P105"):
        rounds(task, Silent(), 3)


def test_what_is_no_edit_is_told_back_and_the_conversation_stays_short(task: Task) -> None:
    model = Chatty()
    found = rounds(task, model, 7)
    assert [a.judgement.stage for a in found[1:]] == ["edit"] * 7
    assert len(model.seen) == 7 * (FREE_EDITS + 1)
    assert "ARG-P120" in model.seen[1].turns[-1].text
    assert max(len(request.turns) for request in model.seen) == 9 + 2 * FREE_EDITS
    assert all(request.turns[0] == model.seen[0].turns[0] for request in model.seen)


def test_what_the_judge_says_does_not_make_another_question(task: Task) -> None:
    requests = []
    for took in (100.0, 200.0):
        talk = Conversation(task)
        talk.begin(task.source, Judgement("pass", "time", times={"M=1": took}, roof={"M=1": 50.0}))
        requests.append(talk.request())
    assert requests[0] != requests[1]
    assert requests[0].digest() == requests[1].digest()
