"""A model as planner: in-context reinforcement learning over the run so far.

    planner = ModelPlanner(task, provider, own=True)
    planner.proposals(state, parent)       proposals in the order of its plan, at most eight
    planner.missed(proposal, why)          one of them had no place in the kernel

Each question holds the task, the judge's words about the kernel to build on, the techniques with their parameter sets,
what earlier runs learnt, and every attempt with the gain that was forecast, the gain it had and its reward. A plan that
cannot be read is told back, `TRIES` times; after that the step has no proposals. A run that is resumed asks the same
questions, whose answers are in the journal.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field

from argus.agent.free_edit.advice import behind, roofs, unit_shares
from argus.agent.free_edit.conversation import contract, feedback, figures, one_line, sizes_text
from argus.agent.lessons import lessons_for
from argus.agent.planner import Proposal, attempt
from argus.agent.prompts import filled
from argus.agent.providers import Provider, ProviderError, Request, Turn
from argus.agent.roles.learnt import LearntEntries
from argus.agent.roles.plan import PlannedStep, parsed_plan
from argus.agent.search_state import SearchCandidate, State
from argus.knowledge import KnowledgeEntry, matching
from argus.tasks.task import Task

TRIES = 3
SHOWN = 24
OWN_IDEAS = (
    "An idea that is not listed has a name of its own, `own-` and a few words, without params; `why` says what to do."
)
LISTED_ONLY = "Only the techniques listed can be carried out."


@dataclass
class ModelPlanner:
    """`own`: whether somebody can carry out what no transformation does; `learnt`: entries of earlier runs."""

    task: Task
    provider: Provider
    own: bool
    learnt: LearntEntries = field(default_factory=LearntEntries)
    forecasts: dict[tuple[int, str], float] = field(default_factory=dict)
    misses: list[str] = field(default_factory=list)

    def proposals(self, state: State, parent: SearchCandidate) -> list[Proposal]:
        """What to try on `parent`, best first; nothing where no plan could be read."""
        known = self.known()
        turns = [Turn("user", self.question(state, parent))]
        for _ in range(TRIES):
            system = filled("planner", own=OWN_IDEAS if self.own else LISTED_ONLY)
            reply = self.provider.ask(Request("planner", system, tuple(turns), max_tokens=2048))
            try:
                if reply.cut:
                    raise ProviderError("ARG-P124", "the answer was cut off; name fewer steps")
                steps = parsed_plan(reply.text, known, self.own)
            except ProviderError as error:
                if error.code != "ARG-P124":
                    raise
                told = behind(f"{error}. Answer again with one JSON object.")
                turns += [Turn("assistant", reply.text[:4000] or "(nothing)"), Turn("user", told)]
                continue
            return [self._proposal(step, known, parent) for step in steps]
        self.misses.append("no plan could be read")
        return []

    def known(self) -> dict[str, KnowledgeEntry]:
        """Techniques that a plan may name: with a transformation, or any if somebody can edit."""
        found = {entry.id: entry for entry in matching(family=self.task.family) if entry.lowered or self.own}
        return {**found, **(self.learnt.entries(self.task.family) if self.own else {})}

    def missed(self, proposal: Proposal, why: str) -> None:
        """A step of the plan had no place in the kernel."""
        self.misses.append(f"{proposal.name}: no place in the kernel: {one_line(why)[:160]}")

    def _proposal(self, step: PlannedStep, known: dict[str, KnowledgeEntry], parent: SearchCandidate) -> Proposal:
        entry = known.get(step.technique) or own_entry(step, self.task.family)
        params = dict(entry.choices[0]) if step.params is None else step.params
        self.forecasts[parent.number, attempt(entry.id, params)] = step.gain
        return Proposal(entry, params, step.gain, f"planned, {step.gain:.2f}x expected: {one_line(step.why)}")

    # -- what it is told -----------------------------------------------------------------------------------------

    def question(self, state: State, parent: SearchCandidate) -> str:
        judged = parent.judgement
        parts = [feedback(judged, self.task.device)]
        roof, shares = roofs(self.task, judged), unit_shares(judged)
        parts += [behind(f"Roof: {roof}.")] if roof else []
        parts += [behind(f"Units busy: {shares}")] if shares else []
        taught = lessons_for(state.policy, self.task.family) + self.learnt.quoted(self.task.family)
        return filled(
            "plan",
            task=one_line(self.task.name),
            family=one_line(self.task.family),
            contract=contract(self.task),
            shapes=sizes_text(self.task.shapes),
            figures=figures(self.task),
            parent=parent.number,
            done=", ".join(step.split(" ", 1)[0] for step in parent.done) or "nothing",
            said="\n".join(parts) + taught,
            techniques=behind("\n".join(_listed(e) for e in self.known().values() if e.id not in self.learnt.ids())),
            history=behind("\n".join(self.history(state))),
        )

    def history(self, state: State) -> list[str]:
        """Attempts with forecast, outcome and reward; then how right the forecasts were."""
        by_number = {candidate.number: candidate for candidate in state.candidates}
        lines, errors = [], []
        for candidate in state.candidates:
            if candidate.parent is None:
                lines.append(f"{candidate.number}: the naive kernel, {candidate.microseconds:.1f} µs")
                continue
            name = attempt(candidate.technique, candidate.params)
            expected = self.forecasts.get((candidate.parent, name))
            parent = by_number[candidate.parent]
            got = parent.microseconds / candidate.microseconds if math.isfinite(candidate.microseconds) else 0.0
            judged = candidate.judgement
            failed = f"{judged.verdict} at the stage {judged.stage}"
            said = f"{got:.2f}x, {candidate.microseconds:.1f} µs" if got else failed
            forecast = "" if expected is None else f"expected {expected:.2f}x, "
            worth = f"reward {candidate.reward.total:+.2f}"
            lines.append(f"{candidate.number}: {name} on {candidate.parent}: {forecast}got {said}, {worth}")
            if expected is not None and got:
                errors.append(abs(math.log2(expected / got)))
        lines = lines[-SHOWN:] + self.misses[-SHOWN // 2 :]
        if errors:
            mean = sum(errors) / len(errors)
            lines.append(f"Your forecasts so far: {len(errors)} measured, off by a factor of {2**mean:.2f} on average.")
        return lines


def own_entry(step: PlannedStep, family: str) -> KnowledgeEntry:
    """An idea of a model as an entry: nothing is known of it."""
    return KnowledgeEntry(
        id=step.technique, title=one_line(step.why)[:160] or step.technique, kind="local", families=(family,),
        lowered=False, bottlenecks=("any",), gain=0.0, requires=(), conflicts=(), choices=({},), preserves=(),
        invariants=(), failure_modes=(), sources=(), version=1, prose=one_line(step.why),
    )  # fmt: skip


def _listed(entry: KnowledgeEntry) -> str:
    how = "" if entry.lowered else " (by an editor)"
    needs = f", needs {', '.join(entry.requires)}" if entry.requires else ""
    sets = " or ".join(json.dumps(dict(choice)) for choice in entry.choices if choice)
    told = f"* {entry.id}{how}: {entry.title}; for {', '.join(entry.bottlenecks)}{needs}"
    return f"{told}; params {sets}" if sets else told
