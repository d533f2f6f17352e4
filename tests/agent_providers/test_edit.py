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
