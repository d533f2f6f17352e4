"""Tools by plain text, for commands that read a question and print an answer.

The question says which tools there are. An answer calls them in fenced blocks, each one JSON object:

    ```tool
    {"tool": "check", "arguments": {"file": "draft.py"}}
    ```

Then the command is asked again, with what the tools said quoted line by line behind `> `, under a heading with the
number of the call. An answer without such a block is the final one. Blocks beyond the sixteenth are not looked at.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

from argus.agent.providers.message import MAX_CALLS, OfferedTool, Request, ToolReturn, ToolUse, Turn, tool_use

BLOCK = re.compile(r"^```tool[ \t]*\n(.*?)^```[ \t]*$", re.DOTALL | re.MULTILINE)


def rendered(request: Request) -> str:
    """The whole question as one text."""
    parts = [request.system]
    if request.tools:
        parts.append(described(request.tools))
    return "\n\n".join([*parts, *(_turn(turn) for turn in request.turns)])


def described(tools: Sequence[OfferedTool]) -> str:
    """What a model is told about calling tools by text."""
    lines = [
        "Before the answer you may call tools. Write one block for each call, and no edit beside it:",
        '\n```tool\n{"tool": "check", "arguments": {"file": "draft.py"}}\n```\n',
        "You are then asked again, with what the tools said behind `> `. An answer without a block is final. Tools:\n",
    ]
    for tool in tools:
        required = set(tool.schema.get("required", ()))
        names = [name if name in required else f"[{name}]" for name in tool.schema.get("properties", {})]
        lines.append(f"* `{tool.name}` {' '.join(names)}: {tool.text}")
    return "\n".join(lines)


def calls_in(text: str) -> tuple[ToolUse, ...]:
    """The calls of an answer; a block that is no call is one of a tool without a name."""
    found = []
    for number, block in enumerate(BLOCK.findall(text)[:MAX_CALLS], 1):
        try:
            data = json.loads(block)
        except ValueError:
            data = None
        given: Mapping[str, object] = data if isinstance(data, Mapping) else {}
        found.append(tool_use(f"call-{number}", given.get("tool", ""), given.get("arguments", {})))
    return tuple(found)


def quoted(given: ToolReturn) -> str:
    """What a tool said, every line behind `> `: no line of it can pass for the judge's or for a turn."""
    head = f"[{given.id}: {given.name}{', failed' if given.failed else ''}]"
    return "\n".join([head, *(f"> {line}" for line in given.text.splitlines())])


def _turn(turn: Turn) -> str:
    return "\n".join(
        [f"[{turn.speaker}]", *([turn.text] if turn.text else []), *(quoted(each) for each in turn.returns)]
    )
