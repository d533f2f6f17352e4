"""The room: nobody else parses a specification, it imports nothing above it, and its class names are its own."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import pytest

from argus.ir.maps import MAPS
from argus.spec.functions import FUNCTIONS
from argus.spec.reader import ALL_FUNCTIONS

ROOT = Path(__file__).parents[2]
ARGUS = ROOT / "argus"
PARSES_SOURCE = ("lang", "layout", "agent/lower", "agent/invariants", "bench/agents")
"""Folders that read other texts by Python's parser: kernel files, index expressions, sources of others."""
PARSES = {
    "provenance.py",
    "agent/repair.py",
    "tasks/task.py",
    "spec/source.py",
    "spec/reader.py",
    "check/explain/source_lines.py",
}
BELOW = ("argus.layout", "argus.spec")


def modules(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.py"))


def imported(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module or "")
    return found


def test_only_the_reader_sees_the_syntax_tree_of_a_specification() -> None:
    for path in modules(ARGUS):
        name = path.relative_to(ARGUS).as_posix()
        if name in PARSES or name.startswith(PARSES_SOURCE):
            continue
        assert "ast" not in imported(path), f"{name} parses text; specifications are trees (argus.spec)"


@pytest.mark.parametrize("folder", PARSES_SOURCE)
def test_who_parses_other_texts_takes_no_specification_apart(folder: str) -> None:
    for path in modules(ARGUS / folder):
        text = path.read_text()
        assert "computes.text" not in text, path
        assert "computes)" not in text.replace("read_computes", "").replace("(computes, str)", ""), path


def test_the_room_imports_only_what_is_below_it() -> None:
    for path in modules(ARGUS / "spec"):
        for name in imported(path):
            if name.split(".")[0] == "argus":
                assert name.startswith(BELOW), f"{path.name} imports {name}"


def test_files_are_small() -> None:
    for path in modules(ARGUS / "spec"):
        assert len(path.read_text().splitlines()) <= 400, path


def test_class_names_are_used_nowhere_else() -> None:
    mine = {node.name for path in modules(ARGUS / "spec") for node in _classes(path)}
    all_names = Counter(node.name for path in modules(ARGUS) for node in _classes(path))
    assert {name for name in mine if all_names[name] > 1} == set()


def _classes(path: Path) -> list[ast.ClassDef]:
    return [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ClassDef)]


def test_the_reference_lists_every_function() -> None:
    text = (ROOT / "docs" / "language.md").read_text()
    start = text.index("`computes` is index notation")
    paragraph = text[start : text.index("There are no policies", start)]
    missing = [name for name in ALL_FUNCTIONS if name not in paragraph]
    assert not missing


def test_functions_of_the_kernel_language_that_name_a_real_function() -> None:
    named = {getattr(row, "spec", "") or "" for row in MAPS.values()} - {""}
    assert named <= set(FUNCTIONS)
