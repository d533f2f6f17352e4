"""The workbench: a model names a tool and its arguments, and gets a text.

    with Workbench(WorkspaceFolder(Path("kernels"))) as bench:
        bench.call("check", {"file": "gemm.py"})       ToolResult(exit=1, text="gemm.py:47: …", code=None)
        bench.call("check", {"file": "/etc/passwd"})   ToolResult(exit=2, text="ARG-W102: …", code="ARG-W102")

A call never raises for what a model asked: every failure is a result with a code. `exit` is that of the command line: 0
good, 1 refuted or wrong, 2 not valid, 3 unknown, 70 a fault of Argus. Texts are at most `MAX_TEXT` characters.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from queue import SimpleQueue
from types import TracebackType
from typing import Any

from argus.agent.tools.calls import AnyCall, DiffCall, KernelCall, decode
from argus.agent.tools.errors import ToolError
from argus.agent.tools.process import Cancellation, Said, ToolProcess
from argus.agent.tools.table import TOOLS, Tool
from argus.agent.tools.workspace import KernelStore

INVALID, INTERNAL = 2, 70
MAX_TEXT = 40_000


@dataclass(frozen=True, slots=True)
class ToolResult:
    """`code` is that of a failure, or None; `document`: the text is a JSON document of docs/json.md."""

    exit: int
    text: str
    code: str | None = None
    document: bool = False

    @property
    def failed(self) -> bool:
        """No answer to the question: the program or the call is not valid, or Argus is at fault."""
        return self.exit not in (0, 1, 3)


class Workbench:
    """Tools over kernel files; at most `workers` calls at a time. A context manager."""

    def __init__(self, files: KernelStore, workers: int = 1) -> None:
        self._files = files
        self._workers = workers
        self._free: SimpleQueue[ToolProcess] = SimpleQueue()
        for _ in range(workers):
            self._free.put(ToolProcess())
        self._under_way: set[Cancellation] = set()

    def call(
        self,
        name: str,
        arguments: Mapping[str, Any],
        switch: Cancellation | None = None,
        files: KernelStore | None = None,
    ) -> ToolResult:
        """The answer of a tool; `switch` ends the call, `files` are others than the workbench's own."""
        switch = switch or Cancellation()
        self._under_way.add(switch)
        try:
            tool = tool_named(name)
            return self._answer(tool, decode(tool.call, arguments), switch, files or self._files)
        except ToolError as error:
            return ToolResult(INVALID, str(error), error.code)
        finally:
            self._under_way.discard(switch)

    def _answer(self, tool: Tool, given: AnyCall, switch: Cancellation, store: KernelStore) -> ToolResult:
        if isinstance(given, DiffCall):
            return ToolResult(0, _cut(_difference(given, store)))
        assert tool.command is not None
        files = store.kernel(given.file) if isinstance(given, KernelCall) else {}
        name = PurePosixPath(given.file).name if isinstance(given, KernelCall) else ""
        process = self._free.get()
        try:
            said = process.call(tool.command(given, name), files, tool.seconds, switch)
        finally:
            self._free.put(process)
        return _result(said, given.format == "json")

    def close(self) -> None:
        """End what is under way, and the processes."""
        for switch in tuple(self._under_way):
            switch.cancel()
        for _ in range(self._workers):
            self._free.get().close()

    def __enter__(self) -> Workbench:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def tool_named(name: str) -> Tool:
    """The tool, or ARG-W101 with those there are."""
    if name not in TOOLS:
        raise ToolError("ARG-W101", f"there is no tool {name[:80]!r}; there are {', '.join(TOOLS)}")
    return TOOLS[name]


def _difference(given: DiffCall, store: KernelStore) -> str:
    before, after = (store.kernel(file)[PurePosixPath(file).name] for file in (given.before, given.after))
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), given.before, given.after, lineterm="")
    return "\n".join(lines) or "no difference"


def _result(said: Said, document: bool) -> ToolResult:
    """With `document`, the text is what the command prints for programs, errors too."""
    fault = "ARG-W110" if said.exit == INTERNAL else None
    if document:
        return ToolResult(said.exit, said.out, fault, document=True)
    parts = [text.strip() for text in (said.err, said.out) if text.strip()]
    return ToolResult(said.exit, _cut("\n".join([f"{fault}:", *parts] if fault else parts)), fault)


def _cut(text: str) -> str:
    if len(text) <= MAX_TEXT:
        return text
    return f"{text[:MAX_TEXT]}\n… {len(text) - MAX_TEXT} characters more; ask for less, or with format=json"
