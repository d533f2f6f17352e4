"""`argus init NAME`: a folder to start in, with a kernel, a task and what an editor needs.

    demo/demo.py            a kernel with its specification: `argus check demo.py`
    demo/demo_task.py       a naive kernel to be made fast: `argus optimize demo_task.py`
    demo/pyproject.toml     ruff and mypy for kernel files
    demo/pyrightconfig.json the same for Pylance and pyright

With `--agents` also what a coding agent needs (docs/workbench.md):

    demo/AGENTS.md                            how to work with kernels here
    demo/llms.txt                             what there is to read, and the command that prints it
    demo/.mcp.json                            the tools of `argus mcp`, for clients that look for this file
    demo/skills/argus-kernels/SKILL.md        the same as a skill, with the language on one page beside it (card.md)

The files are templates beside this module with the word NAME replaced. Nothing that exists is overwritten: if one of
the files is there, none is written.
"""

from __future__ import annotations

import argparse
from importlib.resources import files
from keyword import iskeyword
from pathlib import Path

from argus.agent.prompts import language_card
from argus.cli.answers import InitAnswer, emit
from argus.cli.usage import GOOD, UsageError

WORD = "NAME"
FILES = {
    "kernel.txt": "NAME.py",
    "task.txt": "NAME_task.py",
    "editor.toml": "pyproject.toml",
    "pyright.json": "pyrightconfig.json",
}
"""Template -> file of the new folder."""
AGENT_FILES = {
    "agents.md": "AGENTS.md",
    "llms.txt": "llms.txt",
    "mcp.json": ".mcp.json",
    "skill.md": "skills/argus-kernels/SKILL.md",
}
"""The same, for coding agents."""
CARD = "skills/argus-kernels/card.md"


def handle(args: argparse.Namespace) -> int:
    folder = Path(args.name)
    written = write(folder, agents=args.agents)
    if args.json:
        emit(InitAnswer, {"folder": str(folder), "files": [str(path) for path in written]})
        return GOOD
    for path in written:
        print(f"wrote {path}")
    print(f"next: cd {folder} && argus check {written[0].name} && argus optimize {written[1].name} --budget 12")
    return GOOD


def write(folder: Path, agents: bool = False) -> list[Path]:
    """Write the files of a new project; their paths."""
    name = folder.resolve().name.replace("-", "_").replace(".", "_").lower()
    if not name.isidentifier() or iskeyword(name):
        raise UsageError(f"{folder}: {name!r} cannot be the name of a kernel; use letters, digits and _")
    templates = files("argus.cli").joinpath("templates")
    texts = {
        folder / target.replace(WORD, name): templates.joinpath(source).read_text(encoding="utf-8").replace(WORD, name)
        for source, target in (FILES | AGENT_FILES if agents else FILES).items()
    }
    if agents:
        texts[folder / CARD] = language_card()
    there = [path for path in texts if path.exists()]
    if there:
        raise UsageError(f"{there[0]} is there already; nothing was written")
    folder.mkdir(parents=True, exist_ok=True)
    for path, text in texts.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return list(texts)
