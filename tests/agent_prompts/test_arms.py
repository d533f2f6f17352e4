"""The four arms: the same prompt with fields removed, golden text each, and tools that are cut alike.

`python -m tests.agent_prompts.test_arms` writes the golden texts anew; look at the difference before keeping them.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from argus.agent.free_edit.arms import ARMS, PAGES, ArmTools
from argus.agent.free_edit.conversation import Conversation
from argus.agent.invariants import asserted
from argus.agent.providers import Turn
from argus.agent.tools import KernelTexts, ToolResult
from argus.tasks.task import load_task
from tests.agent_prompts.test_prompts import HOT, REFUTED, TIMED

GOLDEN = Path(__file__).parent / "golden_arms"
REFUSAL = "unknown[placed]: not tracked\n  --> draft.py:43:5 in k\nhelp: a barrier"
EXPLAINED = "k M=4: 12.5 µs (10.0 to 15.0, rows) at the sustained clock\nbottleneck     latency"


def question(name: str) -> str:
    """Both turns of one episode in an arm."""
    arm, task = ARMS[name], load_task("gemm")
    begun = asserted(task.source) if arm.invariants else None
    source = task.source if begun is None else begun.text
    talk = Conversation(task, calls=12, arm=arm, stated=() if begun is None else begun.checks)
    talk.begin(source, TIMED, HOT if arm.dense else "")
    talk.answered("I stage the operands in LDS.", source, REFUTED)
    return f"{talk.turns[0].text}\n\n{talk.turns[-1].text}\n"


@pytest.mark.parametrize("arm", ARMS)
def test_the_question_of_an_arm_is_the_stored_one(arm: str) -> None:
    assert (GOLDEN / f"{arm}.md").read_text(encoding="utf-8") == question(arm)


@pytest.mark.parametrize(("less", "more"), [("verdict", "first"), ("first", "full")])
def test_an_arm_has_fields_removed_and_none_added(less: str, more: str) -> None:
    lines = question(more).splitlines()
    for line in question(less).splitlines():
        assert any(other.startswith(line.rstrip(".")) for other in lines), line
    assert len(question(less)) < len(question(more))


def test_the_arm_with_invariants_adds_them_and_nothing_else() -> None:
    """Techniques as code show the current file, which states the assertions too."""
    full = set(question("full").splitlines())
    added = [line for line in question("invariants").splitlines() if line not in full and not line.startswith("|     ")]
    words = ("ag.check.", "states invariants", "ARG-P122")
    assert added
    assert all(any(word in line for word in words) for line in added)


def test_a_question_names_the_tools_of_its_arm_and_their_limits() -> None:
    """Before every question: calls, drafts, and no tool that the arm does not have."""
    for arm in ARMS.values():
        before = Conversation(load_task("gemm"), calls=24, arm=arm, turns=[Turn("user", "")]).request().system
        said = before[before.index("Before you answer") :]
        assert "up to 24 times a round" in said
        assert "A round has 8 drafts at most" in said
        assert ("`registers`" in said) == ("registers" in {tool.name for tool in arm.offered()})


def test_no_arm_says_which_it_is() -> None:
    for arm in ARMS:
        assert not any(word in question(arm) for word in (" arm ", "experiment", "episode"))


class Bench:
    def __init__(self, exit: int, text: str) -> None:
        self.said = ToolResult(exit, text)
        self.asked: list[dict[str, Any]] = []

    def __call__(self, files: KernelTexts, name: str, arguments: Mapping[str, Any]) -> ToolResult:
        self.asked.append(dict(arguments))
        return self.said


def told(arm: str, name: str, exit: int, text: str, **arguments: object) -> str:
    return ArmTools(Bench(exit, text), ARMS[arm])(KernelTexts({}), name, arguments).text


@pytest.mark.parametrize(
    ("arm", "expected"),
    [
        ("full", REFUSAL),
        ("invariants", REFUSAL),
        ("first", "unknown:\nunknown[placed]: not tracked\n  --> draft.py:43:5 in k"),
        ("verdict", "unknown"),
    ],
)
def test_tools_are_cut_as_the_judge_is(arm: str, expected: str) -> None:
    assert told(arm, "check", 3, REFUSAL) == expected


def test_a_time_is_told_in_every_arm_and_its_cause_in_two() -> None:
    assert "latency" in told("full", "time", 0, EXPLAINED)
    for arm in ("first", "verdict"):
        assert told(arm, "time", 0, EXPLAINED) == "good: 12.5 µs (10.0 to 15.0, rows), simulated"


def test_a_document_is_no_way_around_an_arm() -> None:
    for arm, name, kept in (
        ("verdict", "check", False),
        ("first", "time", False),
        ("full", "docs", False),
        ("full", "check", True),
    ):
        bench = Bench(0, "x")
        ArmTools(bench, ARMS[arm])(KernelTexts({}), name, {"file": "kernel.py", "format": "json", "verbose": True})
        assert ("format" in bench.asked[0]) == ("verbose" in bench.asked[0]) == kept


def test_dense_tools_are_not_there_in_the_other_arms() -> None:
    for name in ("show", "registers"):
        assert "ARG-W101" in told("verdict", name, 0, "x")
        assert name not in {tool.name for tool in ARMS["first"].offered()}
        assert name in {tool.name for tool in ARMS["full"].offered()}


def test_the_library_is_hidden() -> None:
    text = "[kernels: Attention]\nhow\n\n[language: Owners]\nwho\n"
    assert "ARG-W104" in told("full", "docs", 0, text, page="kernels_attention")
    assert told("full", "docs", 0, text, words="attention") == "[language: Owners]\nwho"
    assert "kernels_moe" in PAGES


def test_near_entries_are_hidden_and_a_time_has_the_shape_of_the_task() -> None:
    bench = Bench(0, "query-waves   local lowered  x\nlds-staging   global lowered  y")
    tools = ArmTools(bench, ARMS["full"], ("attention",), {"M": 4})
    assert tools(KernelTexts({}), "kb", {}).text == "lds-staging   global lowered  y"
    assert "ARG-W104" in tools(KernelTexts({}), "kb", {"entry": "query-waves"}).text
    tools(KernelTexts({}), "time", {"file": "kernel.py"})
    assert bench.asked[-1] == {"file": "kernel.py", "shape": {"M": 4}}


if __name__ == "__main__":
    GOLDEN.mkdir(exist_ok=True)
    for arm in ARMS:
        (GOLDEN / f"{arm}.md").write_text(question(arm), encoding="utf-8")
        sys.stdout.write(f"{arm}: {len(question(arm))} characters\n")
