"""The cheap look: the clock first, the checker only near the best, a kernel that needs a repair with it."""

from __future__ import annotations

import math

import pytest

from argus.agent import fidelity
from argus.agent.fidelity import clocked
from argus.agent.lower import lower
from argus.tasks.task import load_task


def resident(*more: tuple[str, dict[str, object]]) -> str:
    text = load_task("layernorm").source
    steps = (("row-vectors", {"per_lane": 8}), ("row-resident", {"widest": 4096}), *more)
    for name, params in steps:
        text = lower(text, name, dict(params))
    return text


def test_the_checker_is_asked_about_what_is_near_the_best(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []
    real = fidelity.report_of
    monkeypatch.setattr(fidelity, "report_of", lambda program, run: asked.append(program) or real(program, run=run))
    task, text = load_task("layernorm"), resident()
    took = clocked(text, task)
    assert math.isfinite(took)
    assert len(asked) == 1
    assert clocked(text, task, took / 2) == took
    assert len(asked) == 1
    wrong = text.replace("(x - mean) * scale", "(x + mean) * scale")
    assert math.isinf(clocked(wrong, task))
    assert math.isfinite(clocked(wrong, task, 1.0))


def test_registers_that_do_not_fit_are_looked_at_with_their_repair() -> None:
    """Two paths of a row of 4096 by one wave: 259 registers, by two waves they fit."""
    task, text = load_task("layernorm"), resident(("full-rows", {}))
    assert clocked(text, task) == pytest.approx(clocked(lower(text, "waves-per-row", {"waves": 2}), task))
