"""Write `episode.jsonl` from the replies: `python -m examples.agent.record`. Needed when the prompt has changed.

A recording holds questions by their digest, and what the judge and the tools say is no part of it; so the edits are
judged at one small shape and the workbench says nothing, which takes a minute.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from argus.agent.free_edit.episode import episode
from argus.agent.judge import Judgement
from argus.agent.judging import Judges
from argus.agent.providers import Reply, ReplyRecorder, Request
from argus.agent.tools import KernelTexts, ToolResult
from argus.tasks.task import Task, load_task

HERE = Path(__file__).parent
SMALL = {"M": 256, "N": 256, "K": 256}
ROUNDS = 5
"""Six replies, of which one cannot be applied and does not count."""


class Written:
    """Answers with the files of `replies/`, in order."""

    name = "replies"

    def __init__(self) -> None:
        self._files = iter(sorted((HERE / "replies").glob("*.md")))

    def ask(self, request: Request) -> Reply:
        return Reply(next(self._files).read_text(), self.name)


class SmallJudges(Judges):
    """Judges at a small shape instead of the task's."""

    def judge(self, sources: Sequence[str], task: Task, *, seed: int) -> Iterable[Judgement]:
        return super().judge(sources, replace(task, shapes=(SMALL,), held_out=()), seed=seed)


def silent(files: KernelTexts, name: str, arguments: Mapping[str, Any]) -> ToolResult:
    """A workbench that says nothing."""
    return ToolResult(0, "")


def main() -> None:
    target = HERE / "episode.jsonl"
    target.unlink(missing_ok=True)
    provider = ReplyRecorder(Written(), target)
    with SmallJudges() as judges:
        for attempt in episode(load_task("gemm"), provider, judges, rounds=ROUNDS, seed=0, toolbox=silent):
            rules = sorted({v.rule for v in attempt.judgement.violations})
            print(attempt.number, attempt.judgement.verdict, attempt.judgement.stage, *rules)


if __name__ == "__main__":
    main()
