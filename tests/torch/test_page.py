"""The blocks of docs/pytorch.md and docs/kernelbench.md are executed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.lang.test_docs import run_page


def test_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch", reason="torch is not installed; `make torch` runs these tests")
    monkeypatch.chdir(tmp_path)
    assert run_page("pytorch.md", tmp_path) >= 7


def test_page_of_plans(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch", reason="torch is not installed; `make torch` runs these tests")
    monkeypatch.chdir(tmp_path)
    assert run_page("kernelbench.md", tmp_path) == 1
