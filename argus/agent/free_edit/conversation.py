"""What a model is told: the task and its kernel at first, then what the judge said about each of its edits.

A conversation is a function of what happened, so the same episode asks the same questions and a recording of it can be
replayed. It keeps the first turn and the last few; the current file stands in the newest one whole.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from argus.agent.bottleneck import bottleneck
from argus.agent.judge import Judgement, Violation
from argus.agent.labels import word
from argus.agent.prompts import language_card
from argus.agent.providers import Request, Turn
from argus.agent.time_text import described
from argus.tasks.task import Task

KEPT = 4
SHOWN = 4


@dataclass
class Conversation:
    """One episode of edits; `taught` stands behind the first feedback."""

    task: Task
    taught: str = ""
    turns: list[Turn] = field(default_factory=list)

    def begin(self, source: str, judgement: Judgement) -> None:
        sizes = "; ".join(", ".join(f"{k}={v}" for k, v in shape.items()) for shape in self.task.shapes)
        said = feedback(judgement, self.task.device) + self.taught
        text = f"Task {self.task.name}: make this kernel fast at {sizes}.\n\n{_file(source)}\n\n{said}"
        self.turns = [Turn("user", text)]

    def answered(self, reply: str, source: str, said: str) -> None:
        """A reply of the model, the file as it now stands and what became of the edit."""
        self.turns += [Turn("assistant", reply), Turn("user", f"{said}\n\n{_file(source)}")]

    def request(self) -> Request:
        recent = self.turns[1:][-2 * KEPT :]
        return Request("lowering", language_card(), (self.turns[0], *recent))


def feedback(judgement: Judgement, device: str = "simulated") -> str:
    """A judgement in the words of a colleague: what is wrong and where, or how fast and what its bottleneck is."""
    lines = _passed(judgement, device) if judgement.verdict == "pass" else _refused(judgement)
    return "\n".join(f"| {line}" for text in lines for line in text.splitlines())


def _passed(judgement: Judgement, device: str) -> list[str]:
    times = ", ".join(
        f"{described({shape: took}, judgement.intervals)} at {shape}" for shape, took in judgement.times.items()
    )
    least = ", ".join(f"{value:.1f} µs" for value in judgement.roof.values())
    saved = judgement.bottleneck.get("helps", {})
    helps = ", ".join(f"{name} {100 * share:.0f} %" for name, share in saved.items() if share > 0.02)
    return [
        "The judge: right, all rules proved.",
        f"{times}, {word(device)}; the roofline is {least}.",
        f"Bottleneck: {bottleneck(judgement)}. Clocks saved if a cost were gone: {helps or 'none above 2 %'}.",
    ]


def _refused(judgement: Judgement) -> list[str]:
    lines = [f"The judge: {judgement.verdict} at the stage '{judgement.stage}'."]
    lines += [_violation(v) for v in judgement.violations[:SHOWN]]
    if len(judgement.violations) > SHOWN:
        lines.append(f"and {len(judgement.violations) - SHOWN} more")
    return lines


def _violation(violation: Violation) -> str:
    place = f"line {violation.line}: " if violation.line else ""
    text = f"* {place}{violation.rule} {violation.status}: {violation.message}"
    for operand in violation.detail.get("operands", []):
        tag = operand.get("tag")
        holds = ""
        if tag:
            coords = ", ".join(f"{name}={value}" for name, value in sorted(tag["coords"].items()))
            holds = f" {tag['tensor']}[{coords}]"
        text += f"\n  thread {operand['thread']} {operand.get('does', '')}{holds}".rstrip()
    return f"{text}\n  help: {violation.help}" if violation.help else text


def _file(source: str) -> str:
    return f"The current file:\n\n```python\n{source.rstrip()}\n```"
