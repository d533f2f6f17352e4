"""Codes of the workbench, the tools a model calls. A failure is an answer that the model reads; the server goes on."""

from __future__ import annotations

from collections.abc import Mapping

from argus.cli.manual.entry import ManualEntry

WORKBENCH: Mapping[str, ManualEntry] = {
    "ARG-W101": ManualEntry(
        "A tool was called that the workbench does not have.",
        "call one of those the message names; `argus mcp --list` prints them with what they take.",
    ),
    "ARG-W102": ManualEntry(
        "An argument is missing, unknown, of another type or out of range. The message names the field.",
        "give the arguments that the tool's schema describes; `argus mcp --list --json` prints it.",
    ),
    "ARG-W103": ManualEntry(
        "The path leads out of the workspace: by `..`, as an absolute path, or through a link.",
        "copy the file into the workspace, or start the server with the folder that holds it (`--workspace DIR`).",
    ),
    "ARG-W104": ManualEntry(
        "There is no such file in the workspace, or it is no regular file, too large, or no UTF-8 text.",
        "give the path of a kernel file, relative to the workspace.",
    ),
    "ARG-W105": ManualEntry(
        "The tool used up its processor time.",
        "try smaller sizes (`shape`), or a smaller kernel; the work of other programs on the machine does not count.",
    ),
    "ARG-W106": ManualEntry(
        "The process of the tool ended: out of memory, or a crash of a library it uses. The next call gets a new one.",
        "try smaller sizes; if it happens again with a small kernel, report it with the file.",
    ),
    "ARG-W107": ManualEntry(
        "The client canceled the call, or the server is about to end.",
        "nothing to do; call again if the answer is wanted after all.",
    ),
    "ARG-W108": ManualEntry(
        "A round of a run allows a number of tool calls, and they are used up.",
        "answer with an edit; the next round has calls again.",
    ),
    "ARG-W109": ManualEntry(
        "`argus mcp` was started with a workspace that is no folder, or with `--http` and no token.",
        "name a folder with `--workspace`; set `ARGUS_MCP_TOKEN` to at least 16 printable characters for `--http`.",
    ),
    "ARG-W110": ManualEntry(
        "Argus itself failed while it answered; the message says how.",
        "report it with the file and the arguments; other calls are not affected.",
    ),
}
