"""The tools of one round: those of the workbench, and drafts that cost nothing.

    tools = RoundTools(BenchTools(workbench), source)
    tools.called(use)                      a `ToolReturn`; `tools.submitted` is the text once a draft was handed in

The files are `kernel.py`, the current kernel, `best.py`, the fastest so far, and drafts the model writes (`write`): it
can check, time and run a draft as often as its calls allow, and only what it answers with, or hands in with `submit`,
is judged and counted. Drafts are texts in memory. What a tool says is cut to `MOST` characters; a call that fails says
so with its code.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from argus.agent.free_edit.edit import apply
from argus.agent.providers import OfferedTool, ProviderError, ToolReturn, ToolUse
from argus.agent.tools import TOOLS, KernelTexts, ToolResult, Workbench
from argus.agent.tools.calls import schema_of

CURRENT, BEST, DRAFT = "kernel.py", "best.py", "draft.py"
MOST = 8_000
MAX_DRAFTS = 8
NAME = {"type": "string", "pattern": r"^[a-z][a-z0-9_]{0,31}\.py$", "description": "a draft, such as draft.py"}
OWN = (
    OfferedTool(
        "write",
        "Write a draft without having it judged: `edit` is the whole file in a ```python block, a ```diff block or "
        f"SEARCH/REPLACE pieces, applied to `base` ({CURRENT} if left out). Then check, time or run it.",
        {
            "type": "object",
            "properties": {"file": NAME, "edit": {"type": "string"}, "base": NAME},
            "required": ["file", "edit"],
        },
    ),
    OfferedTool(
        "submit",
        "Hand a draft in: it is judged and counts as your edit of this round.",
        {"type": "object", "properties": {"file": NAME}, "required": ["file"]},
    ),
)
OFFERED = (
    *(OfferedTool(tool.name, tool.text, schema_of(tool.call)) for tool in TOOLS.values()),
    *OWN,
)
"""What a model is told of."""


class Toolbox(Protocol):
    """Who does a call of the workbench on kernel files: the workbench itself, or a journal before it."""

    def __call__(self, files: KernelTexts, name: str, arguments: Mapping[str, Any]) -> ToolResult: ...


@dataclass(frozen=True, slots=True)
class BenchTools:
    """The workbench, with other files in each round."""

    workbench: Workbench

    def __call__(self, files: KernelTexts, name: str, arguments: Mapping[str, Any]) -> ToolResult:
        return self.workbench.call(name, arguments, files=files)


@dataclass
class RoundTools:
    """Calls of one round; `beside` are the files that the task's kernel imports."""

    toolbox: Toolbox
    source: str
    beside: Mapping[str, str] = field(default_factory=dict)
    best: str = ""
    drafts: dict[str, str] = field(default_factory=dict)
    submitted: str | None = None

    def called(self, use: ToolUse) -> ToolReturn:
        """Do one call."""
        if use.arguments is None:
            return _failed(use, "ARG-W102: the arguments are no JSON object")
        if use.name == "write":
            return self._write(use, use.arguments)
        if use.name == "submit":
            return self._submit(use, use.arguments)
        beside = {f"{module}.py": text for module, text in self.beside.items()}
        files = KernelTexts({**beside, BEST: self.best, **self.drafts, CURRENT: self.source})
        result = self.toolbox(files, use.name, use.arguments)
        return ToolReturn(use.id, use.name, cut(result.text), result.failed)

    def refused(self, use: ToolUse) -> ToolReturn:
        """A call that is not done any more."""
        return _failed(use, "ARG-W108: no calls are left in this round")

    def _write(self, use: ToolUse, given: Mapping[str, Any]) -> ToolReturn:
        name, edit, base = given.get("file"), given.get("edit"), given.get("base", CURRENT)
        if not isinstance(name, str) or not _is_draft(name) or not isinstance(edit, str):
            return _failed(use, f"ARG-W102: give `file`, a name such as {DRAFT} but not {CURRENT}, and `edit`, a text")
        known = {CURRENT: self.source, BEST: self.best, **self.drafts}
        if base not in known:
            return _failed(use, f"ARG-W104: there is no {str(base)[:60]!r}; there are {', '.join(known)}")
        if name not in self.drafts and len(self.drafts) >= MAX_DRAFTS:
            return _failed(use, f"ARG-W102: there are {MAX_DRAFTS} drafts already; write over one of them")
        try:
            self.drafts[name] = apply(edit, known[base])
        except ProviderError as error:
            return _failed(use, str(error))
        return ToolReturn(use.id, use.name, f"{name} has {len(self.drafts[name].splitlines())} lines now")

    def _submit(self, use: ToolUse, given: Mapping[str, Any]) -> ToolReturn:
        name = given.get("file")
        if not isinstance(name, str) or name not in self.drafts:
            known = ", ".join(self.drafts) or "none"
            return _failed(use, f"ARG-W104: there is no draft of that name; there are {known}")
        self.submitted = self.drafts[name]
        return ToolReturn(use.id, use.name, f"{name} is judged")


def cut(text: str) -> str:
    return text if len(text) <= MOST else f"{text[:MOST]}\n… {len(text) - MOST} characters more"


def _is_draft(name: str) -> bool:
    stem = name.removesuffix(".py")
    return name.endswith(".py") and name not in (CURRENT, BEST) and stem.isidentifier() and len(stem) <= 32


def _failed(use: ToolUse, text: str) -> ToolReturn:
    return ToolReturn(use.id, use.name, text, failed=True)
