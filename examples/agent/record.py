"""Write `episode.jsonl` from the replies: `python -m examples.agent.record`. Needed when the prompt has changed."""

from __future__ import annotations

from pathlib import Path

from argus.agent.free_edit.episode import episode
from argus.agent.judging import Judges
from argus.agent.providers import Reply, ReplyRecorder, Request
from argus.tasks.task import load_task

HERE = Path(__file__).parent


class Written:
    """Answers with the files of `replies/`, in order."""

    name = "replies"

    def __init__(self) -> None:
        self._files = iter(sorted((HERE / "replies").glob("*.md")))

    def ask(self, request: Request) -> Reply:
        return Reply(next(self._files).read_text(), self.name)


def main() -> None:
    target = HERE / "episode.jsonl"
    target.unlink(missing_ok=True)
    rounds = len(list((HERE / "replies").glob("*.md")))
    with Judges() as judges:
        for attempt in episode(load_task("gemm"), ReplyRecorder(Written(), target), judges, rounds=rounds, seed=0):
            rules = sorted({v.rule for v in attempt.judgement.violations})
            print(
                attempt.number,
                attempt.judgement.verdict,
                attempt.judgement.stage,
                *rules,
                dict(attempt.judgement.times),
            )


if __name__ == "__main__":
    main()
