"""The table of user tasks: what it names exists, what it tells people to type is understood."""

from __future__ import annotations

import ast
import re
import shlex
from pathlib import Path

import pytest

from argus.cli.parser import build_parser
from bench.user_tasks import HEAD, PAGE, ROOT, TASKS, UserTask

ids = [task.what for task in TASKS]


def commands(task: UserTask) -> list[list[str]]:
    """The single commands of a line of shell, as words."""
    return [shlex.split(part) for part in re.split(r"&&|\|", task.command)]


@pytest.mark.parametrize("task", TASKS, ids=ids)
def test_the_test_exists(task: UserTask) -> None:
    path, _, name = task.test.partition("::")
    assert (ROOT / path).is_file()
    if name:
        tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
        assert name in {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("task", TASKS, ids=ids)
def test_the_command_is_one(task: UserTask) -> None:
    for words in commands(task):
        if words[0] == "argus":
            assert build_parser().parse_args(words[1:]).handler
        elif words[:2] == ["python", "-c"]:
            compile(words[2], task.what, "exec")
        else:
            assert words[0] in ("python", "python3", "env/bin/pip", "env/bin/argus", "ls")


def test_the_page_has_these_tasks() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert text.startswith(HEAD)
    rows = [line for line in text.removeprefix(HEAD).splitlines() if line]
    assert len(rows) == len(TASKS) == 20
    for number, (line, task) in enumerate(zip(rows, TASKS, strict=True), 1):
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        assert cells[:2] == [str(number), task.what]
        assert cells[2].startswith(f"`{task.command.replace('|', chr(92) + '|')}`")
        assert float(cells[3]) >= 0
        assert float(cells[4]) > 0
        assert cells[5] == f"`{task.test}`"


def test_the_page_is_where_it_is_written() -> None:
    assert Path(__file__).parents[2] / "docs" / "user_tasks.md" == PAGE
