"""A run in the journal: every candidate, judgement and policy as events, and answers looked up before anyone is asked.

    with Journal.write(folder) as journal:
        recorder = RunRecorder.begin(journal, task, settings)          or RunRecorder.resume(journal)
        optimise(…, judges=Judges(remembered=recorder.remembered), listen=recorder.listen)

To resume a run is to take its steps again: the loop is a function of the seed and of the judgements, these stand in
the journal, and a step that came out differently is an error there. Only a judgement for which the machine was to blame
(no memory, no GPU) is asked for anew, unless the run continued from it: then its later steps rest on it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any

from argus.agent.bottleneck import bottleneck
from argus.agent.journal import Journal
from argus.agent.journal.store import Run
from argus.agent.judge import Judgement, Problem
from argus.agent.judge.evidence import program, question
from argus.agent.judge.examine import examined
from argus.agent.policy import PolicyTable
from argus.agent.search_state import BY_MODEL, EDIT, SearchCandidate, Settings, State
from argus.lang.imports import KernelFolder, imports_of
from argus.tasks.task import Task


@dataclass(frozen=True, slots=True)
class RunRecorder:
    """The writing end of one run."""

    journal: Journal
    run: Run
    task: Task
    settings: Settings
    policy: PolicyTable

    @staticmethod
    def begin(journal: Journal, task: Task, settings: Settings, policy: PolicyTable, origin: str) -> RunRecorder:
        """A new run; `origin` is what was asked for: a task's name or file. Raises `SpecError`: `examine.py`."""
        problem = Problem.of(task)
        examined(problem)
        config = {
            "problem": journal.put(json.dumps(problem.to_json(), sort_keys=True)),
            "program": program(),
            "origin": origin,
            "family": task.family,
            "device": task.device,
            "published": dict(task.published),
            "library": task.library,
            "policy": journal.put(json.dumps(policy.to_json(), sort_keys=True)),
            **settings.to_json(),
        }
        return RunRecorder(journal, journal.begin(task.name, config), task, settings, policy)

    def remembered(self, asked: str) -> Judgement | None:
        """What the judge said to this question in any run of this journal; in this run, what it went on from."""
        answers = self.journal.judged(asked)
        mine = [event for event in answers if event.run == self.run.id][-1:]
        went_on = [event for event in mine if any(self.journal.events(self.run.id, after=event.seq))]
        for event in (*went_on, *answers):
            judgement = Judgement.from_json(event.payload)
            if event in went_on or not judgement.of_machine:
                return judgement
        return None

    def listen(self, state: State, candidate: SearchCandidate) -> None:
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
                **self._imports(candidate.source),
                "technique": candidate.technique,
                "params": dict(candidate.params),
                "why": candidate.why,
                "done": list(candidate.done),
                "origin": self._origin(candidate),
            },
        )
        asked = question(candidate.source, Problem.of(self.task), self.settings.data)
        reward = candidate.reward
        payload: dict[str, Any] = {
            **candidate.judgement.to_json(),
            "candidate": name,
            "question": asked,
            "class": bottleneck(candidate.judgement),
            "reward": {"speed": reward.speed, "roof": reward.roof, "rules": reward.rules, "failure": reward.failure},
        }
        self.run.record(
            candidate.step,
            self._key(candidate.number, payload),
            "judgement",
            payload,
            {"seconds": dict(candidate.judgement.seconds), "machine": dict(candidate.judgement.machine)},
        )

    def _origin(self, candidate: SearchCandidate) -> str:
        """Who made it."""
        if candidate.technique == EDIT:
            return "person"
        by_model = bool(candidate.done) and candidate.done[-1].endswith(BY_MODEL)
        return self.settings.provider if by_model or not self.settings.mixed else "builtin"

    def _imports(self, source: str) -> dict[str, dict[str, str]]:
        """The kernel files a candidate imports, kept; nothing where it imports none."""
        found = imports_of(source, KernelFolder(None, self.task.beside))
        return {"imports": {i.module: self.journal.put(i.text) for i in found}} if found else {}

    def _key(self, number: int, payload: Mapping[str, Any]) -> str:
        """Under which key a judgement is kept: beside those for which the machine was to blame, if they differ."""
        key = f"judgement:{number}"
        for turn in count(2):
            known = self.journal.event(self.run.id, key)
            if known is None or known.payload == payload or not Judgement.from_json(known.payload).of_machine:
                break
            key = f"judgement:{number}:{turn}"
        return key

    def end(self, state: State) -> None:
        """The policy as it came out, and how the run ended."""
        self.run.record(state.step, "policy:end", "policy", state.policy.to_json())
        best = state.best
        took = best.microseconds if math.isfinite(best.microseconds) else None
        found = {"best": f"c{best.number}", "microseconds": took, "evaluations": state.spent}
        self.run.record(state.step, "end", "end", found)


def resumed(journal: Journal, name: str | None, task: Task) -> RunRecorder:
    """The newest run, or the one called `name`, with the settings and the policy it was begun with."""
    info = journal.info(name)
    settings = Settings(
        **{field: info.config[field] for field in Settings.__dataclass_fields__ if field in info.config}
    )
    policy = PolicyTable.from_json(json.loads(journal.text(info.config["policy"])), info.id)
    return RunRecorder(journal, journal.resume(info.id), task, settings, policy)
