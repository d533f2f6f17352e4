"""How much of what Argus knows a model is told: four arms of one experiment, the same prompt with fields removed.

| arm | what a model is told of a judgement |
|---|---|
| `invariants` | everything, and the kernel states proved assertions that an edit has to keep |
| `full` | everything: counterexamples, hot lines, unit shares, techniques for the bottleneck |
| `first` | verdict, stage and the first message with its line; the time of a kernel that passes |
| `verdict` | pass or not; the time of a kernel that passes |

The tools of the workbench are cut the same way (`ArmTools`), so that an arm cannot be left by asking. Task, shapes,
roof, language and the reference stay: they are no feedback. A run outside of an experiment has the arm `full`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from argus.agent.free_edit.round_tools import OFFERED, Toolbox
from argus.agent.providers import OfferedTool
from argus.agent.tools import KernelTexts, ToolResult
from argus.knowledge import load

ArmName = Literal["invariants", "full", "first", "verdict"]
PAGES = frozenset({
    "kernels", "kernels_attention", "kernels_moe", "operators", "convolution", "performance", "bench", "kernelbench",
    "agent", "agent_experiments", "user_tasks", "mutation", "pytorch", "clock_rows",
})  # fmt: skip
"""Pages about kernels of the library and what they reach; hidden from the models of an experiment."""
SECTION = re.compile(r"^\[(\w+): [^\]\n]*\]\n", re.MULTILINE)
DENSE = ("show", "registers")
LOOKS = ("check", "time", "run", "registers")
REFERENCE = ("docs", "kb")
UNCUT = ("format", "verbose")
"""Arguments that would give a document, or every claim, where only text is cut."""
VERDICTS = {0: "good", 1: "refuted or wrong", 2: "not a valid program", 3: "unknown", 70: "a fault of Argus itself"}
TIMED = re.compile(r"[0-9.]+ (?:µs|us|ms|s) \([^)\n]*\)")
FIRST_LINES = 2


@dataclass(frozen=True, slots=True)
class FeedbackArm:
    """`dense`: counterexamples and profile; `message`: the first thing that is wrong; `invariants`: assertions."""

    name: ArmName
    dense: bool = True
    message: bool = True
    invariants: bool = False

    def offered(self) -> tuple[OfferedTool, ...]:
        """The tools a model of this arm may call."""
        return OFFERED if self.dense else tuple(tool for tool in OFFERED if tool.name not in DENSE)

    def looks(self) -> tuple[str, ...]:
        """Those of them that a question names as looking at a draft."""
        offered = {tool.name for tool in self.offered()}
        return tuple(name for name in LOOKS if name in offered)


ARMS: Mapping[str, FeedbackArm] = {
    arm.name: arm
    for arm in (
        FeedbackArm("invariants", invariants=True),
        FeedbackArm("full"),
        FeedbackArm("first", dense=False),
        FeedbackArm("verdict", dense=False, message=False),
    )
}
FULL = ARMS["full"]


@dataclass(frozen=True, slots=True)
class ArmTools:
    """The workbench as an arm has it; `near`: families whose entries of the knowledge base are hidden, as pages about
    the library always are. `shape`: the sizes `time` takes where a call gives none."""

    inner: Toolbox
    arm: FeedbackArm
    near: Sequence[str] = ()
    shape: Mapping[str, int] = field(default_factory=dict)

    def __call__(self, files: KernelTexts, name: str, arguments: Mapping[str, Any]) -> ToolResult:
        told = {key: value for key, value in arguments.items() if key not in UNCUT}
        arguments = dict(arguments) if self.arm.dense and name not in REFERENCE else told
        if name in DENSE and not self.arm.dense:
            return ToolResult(2, f"ARG-W101: there is no tool {name!r}", "ARG-W101")
        if name == "docs" and arguments.get("page") in PAGES:
            return ToolResult(2, f"ARG-W104: there is no page {arguments['page']!r}", "ARG-W104")
        if name == "kb" and arguments.get("entry") in self._entries():
            return ToolResult(2, f"ARG-W104: there is no entry {arguments['entry']!r}", "ARG-W104")
        if name == "time" and self.shape and not arguments.get("shape"):
            arguments = {**arguments, "shape": dict(self.shape)}
        found = self.inner(files, name, arguments)
        if name == "docs":
            return ToolResult(found.exit, without_pages(found.text), found.code)
        if name == "kb" and arguments.get("entry") is None:
            return ToolResult(found.exit, self._without_entries(found.text), found.code)
        if name in ("check", "run", "time") and not self.arm.dense:
            return ToolResult(found.exit, self._cut(name, found), found.code)
        return found

    def _entries(self) -> frozenset[str]:
        """Entries that speak of the near families only."""
        near = set(self.near)
        return frozenset(entry.id for entry in load().values() if near and set(entry.families) <= near)

    def _without_entries(self, text: str) -> str:
        hidden = self._entries()
        return "\n".join(line for line in text.splitlines() if line.split(" ", 1)[0] not in hidden)

    def _cut(self, name: str, found: ToolResult) -> str:
        verdict = VERDICTS.get(found.exit, "failed")
        timed = TIMED.search(found.text) if name == "time" and found.exit == 0 else None
        if timed is not None:
            return f"{verdict}: {timed[0]}, simulated"
        if self.arm.message and found.exit != 0:
            lines = [line for line in found.text.splitlines() if line.strip()]
            return "\n".join([f"{verdict}:", *lines[:FIRST_LINES]])
        return verdict


def without_pages(text: str) -> str:
    """A text of the reference without the sections of hidden pages."""
    pieces = SECTION.split(text)
    heads = SECTION.finditer(text)
    kept = [pieces[0]]
    for head, body in zip(heads, pieces[2::2], strict=True):
        if head[1] not in PAGES:
            kept.append(head[0] + body)
    lines = "".join(kept).splitlines()
    return "\n".join(line for line in lines if line.split(" ", 1)[0] not in PAGES)
