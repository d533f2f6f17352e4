"""The judge's own process: questions come in on one pipe, judgements go out on another, nothing else does.

    {"problem": {…}, "source": "…", "seed": 0}   ->   {"judgement": {…}, "seconds": {…}}

Run as `python -m argus.agent.judge.worker IN OUT` with the numbers of two inherited pipes. Standard output belongs to
nobody here, so nothing that is printed can pass for a judgement. The process ends when its parent does: the kernel of
the operating system sees to it, and an end of file on the pipe does too. A fault of the judge itself, or a task that it
refuses, is answered too: `error` at *judge*, with the exception's words.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from typing import Any

from argus.cluster.parent_death import die_with_parent


def serve(questions: int, answers: int) -> None:
    """Answer until the pipe closes."""
    from argus.agent.judge.court import Court
    from argus.agent.judge.problem import Judgement, Problem, fault

    courts: dict[str, Court] = {}
    with os.fdopen(questions, "r") as asked, os.fdopen(answers, "w") as told:
        for line in asked:
            data: dict[str, Any] = json.loads(line)
            problem = Problem.from_json(data["problem"])
            try:
                court = courts.get(problem.digest())
                if court is None:
                    court = courts[problem.digest()] = Court(problem)
                judgement = court.judge(data["source"], data["seed"])
            except Exception as error:
                judgement = Judgement("error", "judge", (fault(error),))
            told.write(json.dumps({"judgement": judgement.to_json(), "seconds": dict(judgement.seconds)}) + "\n")
            told.flush()


if __name__ == "__main__":
    die_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    serve(int(sys.argv[1]), int(sys.argv[2]))
