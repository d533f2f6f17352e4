"""Trees and texts of kernel files: nothing but comments' places and line breaks may change."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from argus.agent.lower.text import parse, unparse

ROOT = Path(__file__).parents[2]
FILES = sorted(
    path
    for folder in ("argus/tasks/naive", "tests/lang/programs")
    for path in (ROOT / folder).glob("*.py")
    if path.name != "__init__.py"
)


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_the_program_stays_the_same(path: Path) -> None:
    text = path.read_text()
    assert ast.dump(ast.parse(unparse(parse(text)))) == ast.dump(ast.parse(text))


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_printing_twice_is_printing_once(path: Path) -> None:
    once = unparse(parse(path.read_text()))
    assert unparse(parse(once)) == once


def test_comments_survive() -> None:
    text = "import argus as ag\n\n# why\nX = 1  # how\n\n\ndef f():\n    # inside\n    return X\n"
    printed = unparse(parse(text))
    assert [line.strip() for line in printed.splitlines() if "#" in line] == ["# why", "# how", "# inside"]


def test_line_numbers_of_tree_and_text_agree() -> None:
    text = unparse(parse((ROOT / "tests/lang/programs/attention.py").read_text()))
    plain = {(type(n).__name__, n.lineno) for n in ast.walk(ast.parse(text)) if isinstance(n, ast.stmt)}
    ours = {(type(n).__name__, n.lineno) for n in ast.walk(parse(text)) if isinstance(n, ast.stmt)}
    assert plain <= ours
