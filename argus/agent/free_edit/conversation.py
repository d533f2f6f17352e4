"""What a model is told: the task and its kernel at first, then what the judge said about each of its edits.

A conversation is a function of what happened, so the same episode asks the same questions and a recording of it can be
replayed. It keeps the first turn and the last few; the current file stands in the newest one whole. Calls of tools and
corrections belong to their round: when it is over, only the answer and the judgement stay. The texts are files of
`argus.agent.prompts`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from argus.agent.bottleneck import bottleneck
from argus.agent.free_edit.advice import Tried, behind, held_registers, roofs, table, techniques, unit_shares
from argus.agent.free_edit.arms import FULL, FeedbackArm
from argus.agent.free_edit.round_tools import MAX_DRAFTS
from argus.agent.invariants import ProposedCheck
from argus.agent.judge import Judgement, Violation
from argus.agent.labels import word
from argus.agent.prompts import filled, system
from argus.agent.providers import OfferedTool, Reply, Request, ToolReturn, Turn
from argus.agent.providers.message import FILE_BEGINS
from argus.agent.time_text import described
from argus.tasks.task import Sizes, Task

KEPT = 4
SHOWN = 4
REGISTERS = "C130"
NO_MORE = "No calls of tools are left in this round: answer with an edit now."


@dataclass
class Conversation:
    """One episode of edits; `taught` stands behind the first feedback, `calls` may be made in a round.

    `arm` says how much is told; `stated` are the assertions that the kernel carries and that stay;
    `chosen`: whether techniques for the bottleneck are shown.
    """

    task: Task
    taught: str = ""
    calls: int = 0
    turns: list[Turn] = field(default_factory=list)
    tried: list[Tried] = field(default_factory=list)
    within: list[Turn] = field(default_factory=list)
    arm: FeedbackArm = FULL
    stated: tuple[ProposedCheck, ...] = ()
    chosen: bool = True

    def begin(self, source: str, judgement: Judgement, hot: str = "") -> None:
        self.tried = [Tried(0, judgement)]
        others = sizes_text((*self.task.held_out, *self.task.small)) or "none"
        text = filled(
            "question",
            task=one_line(self.task.name),
            family=one_line(self.task.family),
            contract=contract(self.task),
            shapes=sizes_text(self.task.shapes),
            others=others,
            figures=figures(self.task),
            said=self._said(source, judgement, hot) + self._assertions() + self.taught,
            file=_file(source),
        )
        self.turns = [Turn("user", text)]

    def answered(self, reply: str, source: str, judgement: Judgement, hot: str = "") -> None:
        """A reply of the model, the file as it now stands and what became of the edit; the round is over."""
        self.tried.append(Tried(len(self.tried), judgement))
        said = f"{self._said(source, judgement, hot)}\n{behind(table(self.tried, self.arm.message))}"
        self.turns += [Turn("assistant", reply), Turn("user", filled("round", said=said, file=_file(source)))]
        self.within = []

    def corrected(self, reply: str, source: str, judgement: Judgement) -> None:
        """An edit that does not count: the model is told why and asked again in the same round."""
        again = f"{self._said(source, judgement, '')}\n| This did not count; answer again."
        self.within += [Turn("assistant", reply), Turn("user", filled("round", said=again, file=_file(source)))]

    def called(self, reply: Reply, returns: tuple[ToolReturn, ...], left: int) -> None:
        """Calls of tools, and what they said."""
        self.within += [
            Turn("assistant", reply.text, calls=reply.calls),
            Turn("user", "" if left else NO_MORE, returns=returns),
        ]

    def request(self, tools: tuple[OfferedTool, ...] = ()) -> Request:
        recent = self.turns[1:][-2 * KEPT :]
        said = system(self.calls, MAX_DRAFTS, self.arm.looks())
        return Request("lowering", said, (self.turns[0], *recent, *self.within), tools=tools)

    def _said(self, source: str, judgement: Judgement, hot: str) -> str:
        parts = [feedback(judgement, self.task.device, self.arm)]
        if self.arm.dense and REGISTERS in {violation.rule for violation in judgement.violations}:
            parts += [behind(text) for text in (held_registers(source, self.task.beside),) if text]
        if judgement.verdict == "pass":
            roof = roofs(self.task, judgement)
            parts += [behind(f"Roof: {roof}.")] if roof else []
        if judgement.verdict == "pass" and self.arm.dense:
            shares = unit_shares(judgement)
            parts += [behind(f"Units busy: {shares}")] if shares else []
            parts += [behind(hot)] if hot else []
            parts += [behind(text) for text in (self.chosen and techniques(self.task, judgement, source),) if text]
        return "\n".join(parts)

    def _assertions(self) -> str:
        """What the kernel states and has to go on stating."""
        lines = [f"{check.text} (line {check.line}: {check.why})" for check in self.stated]
        return "\n" + filled("assertions", assertions=behind("\n".join(lines))) if lines else ""


def contract(task: Task) -> str:
    """What a candidate keeps: arguments and specification."""
    kernel = task.kernel
    tensors = ", ".join(
        f"{t.name}: {t.dtype.name}[{', '.join(t.axes)}]{'' if t.read else ' out'}" for t in kernel.tensors
    )
    spec = "" if kernel.computes is None else f"; computes `{one_line(kernel.computes.text)}`"
    return f"`{kernel.name}({tensors})`{spec}"


def figures(task: Task) -> str:
    """Published and library figures to stand beside, or nothing."""
    lines = []
    if task.library:
        lines.append(f"The library's kernel for it: {one_line(task.library)}")
    if task.published:
        lines.append(f"Published: {json.dumps(dict(task.published), sort_keys=True)}")
    return "".join(f"{line}\n" for line in lines)


def one_line(text: str) -> str:
    """A text of a task file with nothing in it that begins a line of its own."""
    return " ".join(text.split())[:1000]


def feedback(judgement: Judgement, device: str = "simulated", arm: FeedbackArm = FULL) -> str:
    """A judgement in the words of a colleague: what is wrong and where, or how fast and what its bottleneck is."""
    lines = _passed(judgement, device, arm) if judgement.verdict == "pass" else _refused(judgement, arm)
    return "\n".join(behind(text) for text in lines)


def _passed(judgement: Judgement, device: str, arm: FeedbackArm) -> list[str]:
    times = ", ".join(
        f"{described({shape: took}, judgement.intervals)} at {shape}" for shape, took in judgement.times.items()
    )
    said = ["The judge: right, all rules proved.", f"{times}, {word(device)}."]
    if not arm.dense:
        return said
    saved = judgement.bottleneck.get("helps", {})
    helps = ", ".join(f"{name} {100 * share:.0f} %" for name, share in saved.items() if share > 0.02)
    cost = f"Bottleneck: {bottleneck(judgement)}. Clocks saved if a cost were gone: {helps or 'none above 2 %'}."
    return [*said, cost]


def _refused(judgement: Judgement, arm: FeedbackArm) -> list[str]:
    told = judgement.stage == "edit"  # an answer that cannot be applied is no feedback about a kernel
    if not arm.message and not told:
        return [f"The judge: {judgement.verdict}."]
    if not arm.dense and not told:
        first = [_brief(violation) for violation in judgement.violations[:1]]
        return [f"The judge: {judgement.verdict} at the stage '{judgement.stage}'.", *first]
    lines = [f"The judge: {judgement.verdict} at the stage '{judgement.stage}'."]
    lines += [_violation(v) for v in judgement.violations[:SHOWN]]
    if len(judgement.violations) > SHOWN:
        lines.append(f"and {len(judgement.violations) - SHOWN} more")
    return lines


def _brief(violation: Violation) -> str:
    place = f"line {violation.line}: " if violation.line else ""
    return f"* {place}{violation.rule} {violation.status}: {violation.message.partition(chr(10))[0]}"


def _violation(violation: Violation) -> str:
    place = f"line {violation.line}: " if violation.line else ""
    text = f"* {place}{violation.rule} {violation.status}: {violation.message}"
    where = violation.detail.get("where")
    if where:
        values = [*where.get("sizes", {}).items(), *where.get("loop", {}).items()]
        text += f"\n  where: {', '.join(f'{name}={value}' for name, value in values)}"
        text += f", block {tuple(where.get('block', ()))}, wave {where.get('wave', 0)}"
    for operand in violation.detail.get("operands", []):
        tag = operand.get("tag")
        holds = ""
        if tag:
            coords = ", ".join(f"{name}={value}" for name, value in sorted(tag["coords"].items()))
            holds = f" {tag['tensor']}[{coords}]"
        at = "".join(f", {how} line {operand[key]['line']}" for key, how in PLACES if operand.get(key))
        text += f"\n  thread {operand['thread']} {operand.get('does', '')}{holds}".rstrip() + at
    text += "".join(f"\n  {line}" for line in violation.detail.get("details", []))
    return f"{text}\n  help: {violation.help}" if violation.help else text


PLACES = (("at", "at"), ("written_at", "written at"))


def sizes_text(shapes: tuple[Sizes, ...]) -> str:
    """Shapes in one line."""
    return "; ".join(", ".join(f"{k}={v}" for k, v in shape.items()) for shape in shapes)


def _file(source: str) -> str:
    """The current file between fences that no line of it closes."""
    ticks = "```"
    while any(line.strip().startswith(ticks) for line in source.splitlines()):
        ticks += "`"
    return f"{FILE_BEGINS}\n\n{ticks}python\n{source.rstrip()}\n{ticks}"
