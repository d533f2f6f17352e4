"""The table of single techniques: each row is a step of its entry that has a place in its kernel and can be read."""

from __future__ import annotations

import pytest

from argus.knowledge import load
from argus.lang import read
from argus.tasks.task import load_task
from bench.agent_techniques import CASES, Case
from tests.agent.executed import lowered


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.entry)
def test_a_row_is_a_step_of_its_entry(case: Case) -> None:
    entry = load()[case.entry]
    step, params = case.steps[0]
    assert step == entry.id
    assert params in [dict(choice) for choice in entry.choices]
    source = load_task(case.task).source
    before = lowered(source, *case.before)
    after = lowered(before, *case.steps)
    assert after != before
    assert {shape.name for shape in read(after).shapes} == set(case.sizes)


def test_every_entry_without_a_lowering_says_why() -> None:
    for entry in load().values():
        assert entry.lowered or "no lowering" in entry.prose.lower(), entry.id
