"""Every documented mistake: its golden diagnostic, its manual page, and no entry of the catalogue without an example."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from argus.cli.explain import page_of
from argus.cli.manual import FAMILIES, Family
from argus.lang import explain
from argus.lang.catalogue import CATALOGUE
from tests.errors.programs import PAGES, diagnostic, expected, pages, programs

NO_FILE = {"AG100", "AG102", "AG120", "AG127"}
"""A missing file, a file too large or too deep (tests/lang/test_hostile.py), imports too deep or too large
(tests/lang/test_imports.py): shown without a program."""


@pytest.mark.parametrize("path", programs(), ids=lambda p: p.stem)
def test_golden(path: Path) -> None:
    found = diagnostic(path)
    assert found is not None, "the program reads without an error"
    assert found.code == path.name[:5]
    assert expected(path) == path.with_suffix(".expected").read_text()
    assert found.fix
    line = path.read_text().splitlines()[found.span.line - 1]
    assert line.strip()
    as_json = json.loads(json.dumps(found.to_json()))
    assert as_json["code"] == found.code
    assert as_json["span"]["line"] == found.span.line
    assert as_json["fix"] == found.fix


def test_every_entry_has_a_program() -> None:
    shown = {p.name[:5] for p in programs()}
    assert shown | NO_FILE == set(CATALOGUE)
    assert len(shown) >= 40


def test_manual_is_in_step() -> None:
    """`python -m tests.errors.programs` writes docs/errors anew."""
    made = pages()
    assert {p.name for p in PAGES.glob("*.md")} == set(made)
    for name, text in made.items():
        assert (PAGES / name).read_text() == text, name


def test_explain() -> None:
    for code, entry in CATALOGUE.items():
        text = explain(code.lower())
        assert text is not None
        assert entry.explanation in text
        assert code in text
    assert explain("AG999") is None


@pytest.mark.parametrize("family", FAMILIES, ids=lambda f: f.name)
def test_every_code_has_a_cause_and_a_fix(family: Family) -> None:
    assert set(family.entries) == set(family.titles)
    for code, entry in family.entries.items():
        text = page_of(code.lower())
        assert text is not None
        assert text.startswith(f"# {code}: {family.titles[code]}")
        assert entry.cause in text
        assert f"Fix: {entry.fix}" in text
        assert entry.cause.endswith(".")
        assert page_of(code.removeprefix("ARG-")) == text


def test_the_page_of_figures_counts_them() -> None:
    figures = (PAGES.parent / "bench.md").read_text()
    codes = {p.name[:5] for p in programs()}
    assert (
        f"| {len(CATALOGUE)} codes; {len(programs())} stored programs with golden output for {len(codes)} of" in figures
    )
    assert f"| {sum(len(family.entries) for family in FAMILIES)} codes |" in figures


def test_messages_are_in_the_authors_words() -> None:
    """No words of the implementation in what is said to a person."""
    for entry in CATALOGUE.values():
        text = f"{entry.message} {entry.fix} {entry.explanation}".lower()
        for word in ("ast.", "nonetype", "traceback", "isinstance", "llvm"):
            assert word not in text, (entry.code, word)
