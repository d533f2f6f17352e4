"""An episode: a model edits the kernel, the judge answers, the model edits again.

    for attempt in episode(task, provider, judges, rounds=8, seed=0):
        print(attempt.judgement.verdict)

A round ends with one judged edit. Before it, the model may call tools (`toolbox`), `CALLS` times; calls do not count.
A call beyond those is told, a few times, and is no edit.
An edit that cannot be applied, an answer that was cut off, and an edit that needs more registers than there are (C130)
do not count either, `FREE_EDITS` times a round; then the round is over. A provider that fails ends the episode with its
error.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from argus.agent.free_edit.advice import hot_lines
from argus.agent.free_edit.arms import FULL, FeedbackArm
from argus.agent.free_edit.conversation import REGISTERS, Conversation
from argus.agent.free_edit.round import CALLS, EDIT_CODES, FREE_EDITS, TOLD_BEYOND, EditRound, new_source, reason
from argus.agent.free_edit.round_tools import CURRENT, RoundTools, Toolbox
from argus.agent.invariants import asserted
from argus.agent.judge import Judgement, Violation
from argus.agent.judging import Judges
from argus.agent.providers import Provider, ProviderError, Reply
from argus.agent.reward import microseconds
from argus.agent.search_state import FIRST, Trying
from argus.agent.tools import KernelTexts
from argus.tasks.task import Task

FREE = "free edit"
ASKS_PER_ROUND = CALLS + TOLD_BEYOND + FREE_EDITS + 1


@dataclass(frozen=True, slots=True)
class Attempt:
    """One round: the file after it, what the model wrote, what the judge said. Round 0 is the naive kernel."""

    number: int
    source: str
    reply: str
    judgement: Judgement


def episode(
    task: Task,
    provider: Provider,
    judges: Judges,
    *,
    rounds: int,
    seed: int,
    taught: str = "",
    trying: Trying | None = None,
    toolbox: Toolbox | None = None,
    arm: FeedbackArm = FULL,
    calls: int = CALLS,
    library: bool = True,
) -> Iterator[Attempt]:
    """Attempts as they are judged. `taught` is what earlier runs have to say; `trying` hears of an edit and its reason
    before it is judged. `arm` is how much the model is told, `calls` how often it may call tools in a round; without
    `library`, an edit that imports kernels of the library is refused."""
    if trying is not None:
        trying("naive", {}, FIRST)
    (judgement,) = judges.judge([task.source], task, seed=seed)
    yield Attempt(0, task.source, "", judgement)
    begun = asserted(task.source, None, task.beside) if arm.invariants else None
    source, stated = (task.source, ()) if begun is None else (begun.text, begun.checks)
    talk = Conversation(task, taught, calls if toolbox is not None else 0, arm=arm, stated=stated)
    going = _Episode(
        task, provider, judges, seed, talk, trying, toolbox, source, source, microseconds(judgement), calls, library
    )
    talk.begin(source, judgement, going.hot(judgement))
    for number in range(1, rounds + 1):
        reply, judgement = going.round()
        talk.answered(reply or "(nothing)", going.source, judgement, going.hot(judgement))
        yield Attempt(number, going.source, reply, judgement)


@dataclass
class _Episode:
    """`source` is the current file, `best` the fastest that passed, with its time."""

    task: Task
    provider: Provider
    judges: Judges
    seed: int
    talk: Conversation
    trying: Trying | None
    toolbox: Toolbox | None
    source: str
    best: str
    best_time: float
    calls: int = CALLS
    library: bool = True
    free: int = field(default=0, init=False)

    def round(self) -> tuple[str, Judgement]:
        """Ask until an edit counts; what the model wrote, and what the judge said."""
        self.free = 0
        tools = RoundTools(self.toolbox, self.source, self.task.beside, self.best) if self.toolbox is not None else None
        asking = EditRound(self.provider, self.talk, tools, self.calls)
        while True:
            reply = asking.answer()
            found = self._judged(reply, asking.submitted)
            if found is not None:
                return reply.text, found

    def _judged(self, reply: Reply, submitted: str | None) -> Judgement | None:
        """The judgement of an edit; None where it does not count and the model was told."""
        try:
            self.source = new_source(reply, submitted, self.source, self.talk.stated, self.task.beside, self.library)
        except ProviderError as error:
            if error.code not in EDIT_CODES:
                raise
            judgement = Judgement("error", "edit", (Violation("edit", str(error), status="error"),))
        else:
            if self.trying is not None:
                self.trying(FREE, {}, reason(reply.text))
            (judgement,) = self.judges.judge([self.source], self.task, seed=self.seed)
        counts = judgement.stage != "edit" and REGISTERS not in {v.rule for v in judgement.violations}
        if not counts and self.free < FREE_EDITS:
            self.free += 1
            self.talk.corrected(reply.text or "(nothing)", self.source, judgement)
            return None
        if judgement.verdict == "pass" and microseconds(judgement) < self.best_time:
            self.best, self.best_time = self.source, microseconds(judgement)
        return judgement

    def hot(self, judgement: Judgement) -> str:
        """Hot lines of the current file, as the clock shows them; nothing without a workbench or a time."""
        if (
            not self.talk.arm.dense
            or self.toolbox is None
            or judgement.verdict != "pass"
            or self.task.device != "simulated"
        ):
            return ""
        shape = dict(self.task.shapes[0])
        beside = {f"{module}.py": text for module, text in self.task.beside.items()}
        files = KernelTexts({**beside, CURRENT: self.source})
        result = self.toolbox(files, "time", {"file": CURRENT, "shape": shape, "quick": True, "no_check": True})
        return "" if result.failed else hot_lines(result.text)
