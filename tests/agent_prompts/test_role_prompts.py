"""The questions of the roles: golden texts of a fixed run.

`python -m tests.agent_prompts.test_role_prompts` writes them anew; look at the difference before keeping them.
"""

from __future__ import annotations

import sys
from pathlib import Path

from argus.agent.planner import Proposal
from argus.agent.policy import PolicyTable
from argus.agent.providers import Reply, Request
from argus.agent.providers.text_tools import rendered
from argus.agent.roles.learnt import LearntEntries, LearntEntry, LearntGain
from argus.agent.roles.model_editor import ModelEditor
from argus.agent.roles.model_planner import ModelPlanner
from argus.agent.search_state import SearchCandidate, Settings, State
from argus.knowledge import load
from argus.tasks.task import load_task
from tests.agent_prompts.test_prompts import REFUTED, TIMED

GOLDEN = Path(__file__).parent / "golden_roles"


class Noted:
    """Answers with no edit and keeps the question."""

    name = "noted"

    def __init__(self) -> None:
        self.asked: list[Request] = []

    def ask(self, request: Request) -> Reply:
        self.asked.append(request)
        return Reply("", "m")


def questions() -> dict[str, str]:
    task = load_task("gemm")
    policy = PolicyTable(notes="Square products do not gain from split-k.")
    policy.learn(("gemm", "latency", "register-blocking"), 1.5, 0)
    state = State(task, Settings(planner="model", provider="m", lowering="both"), policy)
    naive = SearchCandidate(0, 0, None, task.source, "naive", {}, "", (), TIMED)
    wrong = SearchCandidate(1, 1, 0, task.source, "lds-ring", {"slots": 2}, "", ("lds-ring",), REFUTED)
    state.candidates = [naive, wrong]
    entry = LearntEntry(
        "own-slots", "two slots", "gemm", "latency", ["ag.check.covers(C)"], "-a\n+b", [LearntGain("gemm", 1.3, "r0")]
    )
    learnt = LearntEntries({"own-slots": entry})
    planner = ModelPlanner(task, Noted(), own=True, learnt=learnt, forecasts={(0, 'lds-ring {"slots": 2}'): 1.2})
    planner.missed(Proposal(load()["split-k"], {"parts": 4}, 0.0, ""), "no loop")
    noted = Noted()
    editor = ModelEditor(task, noted, learnt=learnt)
    editor.lowered(state, naive, Proposal(load()["accumulation-registers"], {}, 0.0, ""))
    editor.lowered(state, naive, Proposal(learnt.entries("gemm")["own-slots"], {}, 0.0, ""))
    edits = [request.turns[0].text for request in noted.asked if len(request.turns) == 1]
    asked = Noted()
    ModelPlanner(task, asked, own=True, learnt=learnt).proposals(state, naive)
    system = rendered(Request("planner", asked.asked[0].system, ()))
    return {
        "plan.md": f"{system}\n\n{planner.question(state, naive)}\n",
        "technique.md": f"{edits[0]}\n",
        "learnt.md": f"{edits[1]}\n",
    }


def test_the_questions_of_the_roles_are_the_stored_ones() -> None:
    assert {path.name: path.read_text(encoding="utf-8") for path in sorted(GOLDEN.glob("*.md"))} == questions()


def test_what_a_planner_is_told() -> None:
    text = questions()["plan.md"]
    for needed in (
        "The library's kernel for it: matmul.py", "Published: ", "Roof: M=4096", "bottleneck", "> Earlier runs:",
        "> Square products", "> own-slots: two slots (candidate, gained on one task: 1.30x on gemm",
        "expected 1.20x, got fail at the stage check, reward", "no place in the kernel: no loop",
    ):  # fmt: skip
        assert needed in text, needed


if __name__ == "__main__":
    GOLDEN.mkdir(exist_ok=True)
    for name, text in questions().items():
        (GOLDEN / name).write_text(text, encoding="utf-8")
        sys.stdout.write(f"{name}: {len(text)} characters\n")
