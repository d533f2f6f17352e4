"""A model as lowering and repair: it edits where no transformation has a place, under the invariants of the technique.

    editor = ModelEditor(task, provider, toolbox, learnt)
    editor.lowered(state, parent, proposal)     a `Realised`, or None where no edit could be applied
    editor.repaired(state, candidate)           the next edit of the same conversation, from the counterexample

Before the model starts, the kernel gets the assertions of the technique that are proved of it
(`argus.agent.invariants`); an edit that takes one away is refused (ARG-P122). The question is the one of an episode,
with the technique as the change to make. What cannot be applied is told back, `FREE_EDITS` times. Nothing is judged
here.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from argus.agent.free_edit.advice import behind, entry_text
from argus.agent.free_edit.conversation import Conversation
from argus.agent.free_edit.round import CALLS, EDIT_CODES, FREE_EDITS, EditRound, new_source, reason
from argus.agent.free_edit.round_tools import RoundTools, Toolbox
from argus.agent.invariants import asserted
from argus.agent.judge import Judgement, Violation
from argus.agent.lessons import lessons_for
from argus.agent.planner import Proposal
from argus.agent.prompts import filled
from argus.agent.providers import Provider, ProviderError
from argus.agent.roles.learnt import LearntEntries
from argus.agent.search_state import BY_MODEL, SearchCandidate, State
from argus.agent.selector import Realised
from argus.tasks.task import Task


@dataclass
class ModelEditor:
    """`talks`: the conversation behind every file it made, to go on with when that is refused."""

    task: Task
    provider: Provider
    toolbox: Toolbox | None = None
    learnt: LearntEntries = field(default_factory=LearntEntries)
    talks: dict[str, Conversation] = field(default_factory=dict)
    said: dict[str, str] = field(default_factory=dict)

    def lowered(self, state: State, parent: SearchCandidate, proposal: Proposal) -> Realised | None:
        """The parent with the technique of the proposal applied by the model."""
        begun = asserted(parent.source, proposal.entry, self.task.beside)
        calls = CALLS if self.toolbox is not None else 0
        taught = "\n" + filled("technique", technique=self._technique(proposal, parent))
        talk = Conversation(
            self.task, taught + lessons_for(state.policy, self.task.family), calls, stated=begun.checks, chosen=False
        )
        talk.begin(begun.text, parent.judgement)
        return self._edited(state, talk, begun.text, proposal.name)

    def repaired(self, state: State, candidate: SearchCandidate) -> Realised | None:
        """Another edit of a candidate that did not pass; its own conversation, or a new one about it."""
        talk = self.talks.get(candidate.source)
        step = candidate.done[-1].removesuffix(BY_MODEL) if candidate.done else candidate.technique
        if talk is None:
            talk = Conversation(self.task, calls=CALLS if self.toolbox is not None else 0, chosen=False)
            talk.begin(candidate.source, candidate.judgement)
        else:
            talk.answered(self.said[candidate.source], candidate.source, candidate.judgement)
        return self._edited(state, talk, candidate.source, f"repair {step.split(' ', 1)[0]}")

    def _edited(self, state: State, talk: Conversation, source: str, step: str) -> Realised | None:
        best = state.best.source
        tools = None if self.toolbox is None else RoundTools(self.toolbox, source, self.task.beside, best)
        asking = EditRound(self.provider, talk, tools)
        for _ in range(1 + FREE_EDITS):
            reply = asking.answer()
            try:
                text = new_source(reply, asking.submitted, source, talk.stated, self.task.beside)
            except ProviderError as error:
                if error.code not in EDIT_CODES:
                    raise
                if tools is not None:
                    tools.submitted = None
                told = Judgement("error", "edit", (Violation("edit", str(error), status="error"),))
                talk.corrected(reply.text or "(nothing)", source, told)
                continue
            self.talks[text], self.said[text] = talk, reply.text or "(a draft)"
            return Realised(text, (f"{step}{BY_MODEL}",), reason(reply.text))
        return None

    def _technique(self, proposal: Proposal, parent: SearchCandidate) -> str:
        """The entry with its invariants and code; a learnt one is quoted."""
        learnt = self.learnt.found.get(proposal.entry.id)
        if learnt is not None:
            lines = [f"{learnt.id}: {learnt.title} ({learnt.standing})", *learnt.invariants, *learnt.diff.splitlines()]
            return "\n".join(f"> {line}" for line in lines)
        if not proposal.entry.invariants and not proposal.entry.prose:
            return f"> {proposal.entry.id}: {proposal.why}"
        if proposal.entry.id.startswith("own-"):
            return f"> {proposal.entry.id}: {proposal.entry.prose}"
        params = ", ".join(f"{name}={value}" for name, value in proposal.params.items())
        return behind(entry_text(proposal.entry, self.task, parent.source) + (f"\n  with {params}" if params else ""))
