"""Correct kernels of every kind: the interpreter computes what numpy does, and the checker proves all of them."""

from __future__ import annotations

import pytest

from argus.check import check
from argus.ir.passes.schedule import scheduled
from tests.check.programs import PROGRAMS
from tests.check.truth import execute


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_interpreter_agrees_with_numpy(name: str) -> None:
    program = PROGRAMS[name]()
    for sizes in program.sizes:
        assert execute(program, program.kernel, sizes) == ""


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_checker_proves_it(name: str) -> None:
    report = check(scheduled(PROGRAMS[name]().kernel))
    assert report.status == "proved", report.render()
