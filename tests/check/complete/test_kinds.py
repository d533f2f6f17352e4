"""Kinds of kernels before the machine: right ones are proved, wrong ones are not, and none takes long.

A part of the launches runs with the other tests, all of them by `pytest -m "full or not full" tests/check/complete`.
"""

from __future__ import annotations

from time import process_time
from typing import Any

import pytest

from argus.check import check
from argus.ir.kernel import Kernel
from argus.ir.passes.schedule import scheduled
from argus.lang import read
from tests.check.classes.machine_truth import object_of, truth
from tests.check.classes.test_classes import status
from tests.check.complete.table import KINDS, KernelKind

SECONDS = 10.0


def variants(every: int) -> list[Any]:
    return [
        pytest.param(kind, case, id=f"{kind.name}-{case}", marks=() if case % every == 0 else pytest.mark.full)
        for kind in KINDS
        for case in range(kind.variants)
    ]


def kernel(kind: KernelKind, case: int) -> Kernel:
    return read(kind.path, kernel=kind.name, settings={"CASE": case})


def on_machine(made: Kernel, kind: KernelKind) -> str:
    compiled = object_of(made)
    return f"refused: {compiled}" if isinstance(compiled, str) else truth(made, compiled, kind)


@pytest.mark.parametrize(("kind", "case"), variants(1))
def test_right_ones_are_proved_wrong_ones_are_not_and_none_takes_long(kind: KernelKind, case: int) -> None:
    start = process_time()
    report = check(scheduled(kernel(kind, case)))
    assert process_time() - start < SECONDS
    if case in kind.right:
        assert status(report) == "proved", report.render()
    elif case not in kind.ends:
        assert status(report) != "proved", report.render()


@pytest.mark.parametrize(("kind", "case"), variants(7))
def test_the_machine_agrees(kind: KernelKind, case: int) -> None:
    """Right ones are right at every launch; a wrong one is wrong at one of them."""
    made = kernel(kind, case)
    if case in kind.right:
        assert on_machine(made, kind) == ""
    elif case not in kind.ends | kind.again:
        assert on_machine(made, kind) != ""
    elif status(check(scheduled(made))) == "proved":
        assert on_machine(made, kind) in ("", "refused: C102")
