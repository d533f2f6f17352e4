"""A run in the journal: every candidate, judgement and policy as events, and answers looked up before anyone is asked.

    with Journal.write(folder) as journal:
        recorder = Recorder.begin(journal, task, settings)          or Recorder.resume(journal)
        optimise(…, judges=Judges(remembered=recorder.remembered), listen=recorder.listen)

To go on with a run is to take its steps again: the loop is a function of the seed and of the judgements, these stand in
the journal, and a step that came out differently is an error there.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from argus.agent.bottleneck import bottleneck
from argus.agent.journal import Journal
from argus.agent.journal.store import Run
from argus.agent.judge import Judgement, Problem
from argus.agent.judge.evidence import question
from argus.agent.optimise import EDIT, Candidate, Settings, State
from argus.agent.policy import Policy
from argus.tasks.task import Task


@dataclass(frozen=True, slots=True)
class Recorder:
    """The writing end of one run."""

    journal: Journal
    run: Run
    task: Task
    settings: Settings
    policy: Policy

    @staticmethod
    def begin(journal: Journal, task: Task, settings: Settings, policy: Policy, origin: str) -> Recorder:
        """A new run; `origin` is what was asked for: a task's name or file."""
        config = {
            "problem": journal.put(json.dumps(Problem.of(task).to_json(), sort_keys=True)),
            "origin": origin,
            "family": task.family,
            "device": task.device,
            "published": dict(task.published),
            "library": task.library,
            "policy": journal.put(json.dumps(policy.to_json(), sort_keys=True)),
            **settings.to_json(),
        }
        return Recorder(journal, journal.begin(task.name, config), task, settings, policy)

    def remembered(self, asked: str) -> Judgement | None:
        """What the judge said to this question in any run of this journal."""
        found = self.journal.judged(asked)
        return None if found is None else Judgement.from_json(found)

    def listen(self, state: State, candidate: Candidate) -> None:
        """Keep a candidate and its judgement."""
        name = f"c{candidate.number}"
        self.run.record(
            candidate.step,
            f"candidate:{candidate.number}",
            "candidate",
            {
                "id": name,
                "parent": None if candidate.parent is None else f"c{candidate.parent}",
                "source": self.journal.put(candidate.source),
                "technique": candidate.technique,
                "params": dict(candidate.params),
                "why": candidate.why,
                "done": list(candidate.done),
                "origin": "person" if candidate.technique == EDIT else self.settings.provider,
            },
        )
        asked = question(candidate.source, Problem.of(self.task).digest(), self.settings.data)
        worth = candidate.reward
        payload: dict[str, Any] = {
            **candidate.judgement.to_json(),
            "candidate": name,
            "question": asked,
            "class": bottleneck(candidate.judgement),
            "reward": {"speed": worth.speed, "roof": worth.roof, "rules": worth.rules, "failure": worth.failure},
        }
        self.run.record(
            candidate.step,
            f"judgement:{candidate.number}",
            "judgement",
            payload,
            {"seconds": dict(candidate.judgement.seconds)},
        )

    def end(self, state: State) -> None:
        """The policy as it came out, and how the run ended."""
        self.run.record(state.step, "policy:end", "policy", state.policy.to_json())
        best = state.best
        self.run.record(
            state.step,
            "end",
            "end",
            {"best": f"c{best.number}", "microseconds": best.microseconds, "evaluations": state.spent},
        )


def resumed(journal: Journal, name: str | None, task: Task) -> Recorder:
    """The newest run, or the one called `name`, with the settings and the policy it was begun with."""
    info = journal.info(name)
    settings = Settings(
        **{field: info.config[field] for field in Settings.__dataclass_fields__ if field in info.config}
    )
    policy = Policy.from_json(json.loads(journal.text(info.config["policy"])), info.id)
    return Recorder(journal, journal.resume(info.id), task, settings, policy)
