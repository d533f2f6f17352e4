"""Answers of a model become files, or a sentence it can act on."""

from __future__ import annotations

import pytest

from argus.agent.free_edit.edit import apply
from argus.agent.providers import ProviderError

FILE = "import argus as ag\n\n@ag.kernel()\ndef f():\n    ag.barrier()\n    x = 1\n    ag.barrier()\n"


def piece(old: str, new: str) -> str:
    return f"<<<<<<< SEARCH\n{old}\n=======\n{new}\n>>>>>>> REPLACE\n"


def test_pieces_are_replaced_in_order() -> None:
    answer = "First this.\n" + piece("    x = 1", "    x = 2\n    y = 3") + "then\n" + piece("    y = 3", "")
    assert apply(answer, FILE) == FILE.replace("x = 1", "x = 2")


def test_whole_file() -> None:
    assert apply(f"Here:\n```python\n{FILE}```\nDone.", "old") == FILE


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        ("I would rather not.", "ARG-P120"),
        ("```python\n@ag.kernel()\ndef f(", "ARG-P120"),
        ("```python\n@a\n```\n```python\n@b\n```", "ARG-P120"),
        ("<<<<<<< SEARCH\n    x = 1\n=======\n    x = 2\n", "ARG-P120"),
        ("    x = 2\n>>>>>>> REPLACE\n", "ARG-P120"),
        ("<<<<<<< SEARCH\n<<<<<<< SEARCH\n", "ARG-P120"),
        (piece("    z = 1", "    z = 2"), "ARG-P121"),
        (piece("    ag.barrier()", ""), "ARG-P121"),
        (piece("", "x"), "ARG-P121"),
        (piece("    x = 1", "y" * 500_000), "ARG-P121"),
    ],
)
def test_what_cannot_be_applied(answer: str, code: str) -> None:
    with pytest.raises(ProviderError) as caught:
        apply(answer, FILE)
    assert caught.value.code == code


SOURCE = "a = 1\nb = 2\nc = 3\nb = 2\nd = 4\n"


def test_a_piece_may_be_any_exact_text() -> None:
    answer = "<<<<<<< SEARCH\n= 3\n=======\n= 33\n>>>>>>> REPLACE"
    assert apply(answer, SOURCE) == SOURCE.replace("= 3", "= 33")


def test_a_line_that_is_nearly_there_is_named() -> None:
    with pytest.raises(ProviderError, match=r"line 3 is 'c = 3'"):
        apply("<<<<<<< SEARCH\n  c  = 3\n=======\nx\n>>>>>>> REPLACE", SOURCE)


@pytest.mark.parametrize(
    ("hunk", "after"),
    [
        ("@@ -1,2 +1,3 @@\n a = 1\n+x = 0\n b = 2", "a = 1\nx = 0\nb = 2\nc = 3\nb = 2\nd = 4\n"),
        ("@@ -70,2 +1,2 @@\n c = 3\n-b = 2\n+b = 5", "a = 1\nb = 2\nc = 3\nb = 5\nd = 4\n"),
        ("@@ -4 +4 @@\n-b = 2\n+b = 5", "a = 1\nb = 2\nc = 3\nb = 5\nd = 4\n"),
        ("@@\n-a = 1\n@@\n-d = 4\n+e = 6", "b = 2\nc = 3\nb = 2\ne = 6\n"),
        ("--- a/k.py\n+++ b/k.py\n@@ -5,1 +5,2 @@\n d = 4\n+e = 6\n\\ No newline at end of file", SOURCE + "e = 6\n"),
    ],
)
def test_a_unified_diff_is_applied_by_its_lines(hunk: str, after: str) -> None:
    assert apply(f"I change this.\n\n```diff\n{hunk}\n```\n", SOURCE) == after


@pytest.mark.parametrize(
    ("hunk", "code"),
    [
        ("no hunk", "ARG-P120"),
        ("@@ -1 +1 @@\n-z = 9\n+y = 1", "ARG-P121"),
        ("@@ -9 +9 @@\n-b = 2\n+b = 5", "ARG-P121"),
        ("@@ -1 +1 @@\n*a = 1", "ARG-P120"),
        ("@@\n+x = 1", "ARG-P121"),
    ],
)
def test_a_diff_that_does_not_fit_is_refused(hunk: str, code: str) -> None:
    with pytest.raises(ProviderError, match=code):
        apply(f"```diff\n{hunk}\n```", SOURCE)
