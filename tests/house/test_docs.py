"""Laws of the docs: a file of the repository that a page names is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs").glob("*.md"))
NAMED = re.compile(r"`([\w/]+\.py)`")
OTHERS = {
    "agent.md": {"mine.py"},
    "clock.md": {"op_tests/test_flydsl_mla_reduce.py"},
    "clock_rows.md": {"op_tests/test_flydsl_mla_reduce.py", "utilities/find_exact.py"},
    "compiler.md": {"K_launch.py"},
    "extending.md": {"tests/errors/CODE_name.py"},
    "getting_started.md": {"demo.py"},
    "hardware.md": {"K_launch.py", "out/gemm_launch.py"},
    "kernels_attention.md": {"mha.py"},
    "tutorial.md": {"scale.py"},
    "workbench.md": {"best.py"},
}
"""Files of other projects, and those that a reader makes."""


def missing(text: str, files: list[str]) -> set[str]:
    """Files that are named, by their name or the end of their path, and not there."""
    return {name for name in NAMED.findall(text) if not any(f"/{file}".endswith(f"/{name}") for file in files)}


@pytest.fixture(scope="module")
def files() -> list[str]:
    folders = ("argus", "bench", "tests", "tools", "examples")
    return [path.relative_to(ROOT).as_posix() for folder in folders for path in (ROOT / folder).rglob("*.py")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_that_a_page_names_are_there(page: Path, files: list[str]) -> None:
    assert missing(page.read_text(encoding="utf-8"), files) == OTHERS.get(page.name, set())


def test_a_file_that_is_gone_is_found(files: list[str]) -> None:
    assert missing("`rules/fresh.py`, `fresh.py`, `check/fresh.py`, `fresh`", files) == {"check/fresh.py"}
