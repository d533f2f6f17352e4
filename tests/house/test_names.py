"""Laws of names: a class is called like no other, a technique has one name everywhere."""

from __future__ import annotations

import ast
import inspect
from collections import defaultdict
from pathlib import Path

import pytest

from argus.agent.lower import LOWERINGS
from argus.knowledge.base import load
from argus.provenance import PACKAGE
from tests.house.test_rooms import DATA

TO_RENAME = frozenset({"Row", "Target", "Wave"})
"""Class names that are still there twice, in `check` and `clock`. The list only shrinks."""


def classes(package: Path) -> dict[str, list[str]]:
    """Class name -> the modules that define it at their top level; protocols are left out."""
    found: dict[str, list[str]] = defaultdict(list)
    for path in sorted(package.rglob("*.py")):
        if set(DATA) & set(path.relative_to(package).parts):
            continue
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not any("Protocol" in ast.unparse(base) for base in node.bases):
                found[node.name].append(path.relative_to(package).as_posix())
    return found


def test_a_class_is_called_like_no_other() -> None:
    twice = {name: where for name, where in classes(PACKAGE).items() if len(where) > 1 and not name.startswith("_")}
    assert set(twice) == TO_RENAME, twice


def test_a_second_class_of_a_name_is_found(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("class Row:\n    pass\n")
    (tmp_path / "b.py").write_text("class Row:\n    pass\n\n\nclass Reads(Protocol):\n    pass\n")
    (tmp_path / "c.py").write_text("class Reads(Protocol[V]):\n    pass\n")
    assert {name: len(where) for name, where in classes(tmp_path).items()} == {"Row": 2}


@pytest.mark.parametrize("name", sorted(LOWERINGS))
def test_a_technique_has_one_name(name: str) -> None:
    """The entry of the knowledge base, its file, the transformation, and the module it stands in."""
    assert name in load()
    assert (PACKAGE / "knowledge" / f"{name}.md").is_file()
    made = LOWERINGS[name]
    assert made.__name__ == name.replace("-", "_")
    assert Path(inspect.getfile(made)) == PACKAGE / "agent" / "lower" / f"{made.__name__}.py"


def test_every_technique_with_a_transformation_is_known() -> None:
    assert {entry.id for entry in load().values() if entry.lowered} == set(LOWERINGS)
