"""From a proposal to a source: prerequisites first, then the technique.

    realise(source, proposal, done, knowledge)  ->  Realised(source, ["register-blocking …", "lds-staging …"])

The prerequisites an entry names are closed over and lowered with their first parameter set, in the order the base
implies; those already in the candidate's lineage are left alone, and one that has no place in this source is taken as
given (a kernel may come with LDS staging of its own). A technique without a place is not an attempt, and neither is a
result that the reader refuses or that does not serve every shape of the task: both are known before anything is judged.
Without knowledge (an empty base) nothing is a prerequisite of anything.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from argus.agent.judge import Judgement, Problem, Violation
from argus.agent.judge.contract import broken
from argus.agent.lower import NotApplicableError, lower
from argus.agent.planner import Proposal, attempt
from argus.agent.repair import repairs
from argus.ir.kernel import Kernel
from argus.knowledge import KnowledgeEntry
from argus.lang import read
from argus.lang.errors import ProgramError
from argus.tasks.task import Task

REPAIRED = ("AG310",)
"""What the reader refuses and a repair answers: more LDS than there is."""
REPAIRS = 2
"""As many as a run makes of one candidate."""


@dataclass(frozen=True, slots=True)
class Realised:
    """A new source and what was applied to get it, in order: techniques with their parameters."""

    source: str
    steps: tuple[str, ...]
    why: str = ""
    """What a model said of its edit."""
    whole: bool = False
    """Whether the steps are all from the naive kernel on, not those behind the parent's."""

    def lineage(self, parent: tuple[str, ...]) -> tuple[str, ...]:
        """All steps from the naive kernel on."""
        return self.steps if self.whole else (*parent, *self.steps)


def refuse_unreadable(source: str, beside: Mapping[str, str]) -> Kernel | None:
    """The kernel of a source; None where a repair has to make it readable first. Raises NotApplicableError for what
    the reader refuses otherwise: a technique that leads there has no place."""
    try:
        return read(source, beside=dict(beside))
    except ProgramError as error:
        if error.code not in REPAIRED:
            raise NotApplicableError(f"the result is no program: {error}") from error
    return None


def refuse_unserved(source: str, task: Task) -> bool:
    """Whether the reader takes the source; not where a repair has to make it readable first.

    Raises NotApplicableError for what the reader refuses otherwise, and for what breaks the contract of the task where
    `REPAIRS` repairs one after the other do not mend it: a row that registers do not hold at one of the shapes, a grid
    that has to be a multiple of what no block divides. Nothing of this needs a judgement."""
    kernel = refuse_unreadable(source, task.beside)
    repaired, wrong = kernel, _unserved(kernel, task)
    for _ in range(REPAIRS):
        mended = repairs(source, Judgement("fail", "contract", wrong))[:1] if wrong else []
        if not mended:
            break
        source = mended[0].source
        repaired = refuse_unreadable(source, task.beside)
        wrong = _unserved(repaired, task)
    if wrong:
        raise NotApplicableError(f"the result does not solve the task: {wrong[0].message}")
    return kernel is not None


def _unserved(kernel: Kernel | None, task: Task) -> tuple[Violation, ...]:
    """What of the contract a kernel breaks; nothing is known of one that the reader does not take."""
    return () if kernel is None else tuple(broken(kernel, task.kernel, Problem.of(task)))


def closure(
    entry: KnowledgeEntry, done: Collection[str], knowledge: Mapping[str, KnowledgeEntry]
) -> list[KnowledgeEntry]:
    """Prerequisites of an entry that are not done, each after its own."""
    found: list[KnowledgeEntry] = []

    def visit(name: str) -> None:
        needed = knowledge[name]
        if name in done or needed in found:
            return
        for before in needed.requires:
            visit(before)
        if needed not in found:
            found.append(needed)

    for name in entry.requires if knowledge else ():
        visit(name)
    return found


def realise(
    source: str, proposal: Proposal, done: Collection[str], knowledge: Mapping[str, KnowledgeEntry]
) -> Realised:
    """The source after the proposal; raises NotApplicableError if the technique itself has no place."""
    steps: list[str] = []
    for entry in closure(proposal.entry, done, knowledge):
        if not entry.lowered or not set(entry.conflicts).isdisjoint(done):
            continue
        try:
            source = lower(source, entry.id, entry.choices[0])
        except NotApplicableError:
            continue
        steps.append(attempt(entry.id, entry.choices[0]))
    if not set(proposal.entry.conflicts).isdisjoint(done):
        raise NotApplicableError(f"{proposal.entry.id} does not go with what was done before")
    source = lower(source, proposal.entry.id, proposal.params)
    return Realised(source, (*steps, proposal.name))
