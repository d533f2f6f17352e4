"""Operator templates: proved, and right against float64. Default: a few parameter sets of each; `full`: all of them."""

from __future__ import annotations

from functools import cache

import pytest

from argus.check import check
from argus.ir.kernel import KnobValue
from bench.templates.families import TEMPLATES
from bench.templates.template import Case, Step, Template, checked, step

IDS = [template.name.replace(" ", "-") for template in TEMPLATES]


def few(template: Template) -> list[Case]:
    """The first parameter set, and the last with the same settings of the knobs: each setting is compiled."""
    knobs = [[(step.kernel, step.knobs) for step in case] for case in template.cases]
    last = max(number for number, found in enumerate(knobs) if found == knobs[0])
    return [template.cases[number] for number in sorted({0, last})]


@cache
def verdicts(file: str, kernel: str, knobs: tuple[tuple[str, KnobValue], ...]) -> list[str]:
    """What is not `proved` of a kernel; a specification that no verdict speaks of is one."""
    found = check(step(file, kernel, dict(knobs)).program).verdicts
    wrong = [f"{v.rule} {v.status}" for v in found if v.status != "proved"]
    return wrong if any(v.rule == "value" for v in found) else [*wrong, "no value"]


def unproved(steps: tuple[Step, ...]) -> list[str]:
    return [f"{s.text()}: {verdict}" for s in steps for verdict in verdicts(s.file, s.kernel, s.knobs)]


@pytest.mark.parametrize("template", TEMPLATES, ids=IDS)
def test_enough_parameter_sets(template: Template) -> None:
    texts = [[step.text() for step in case] for case in template.cases]
    assert len(texts) >= 40
    assert all(texts.count(text) == 1 for text in texts), "a parameter set is listed twice"


@pytest.mark.parametrize("template", TEMPLATES, ids=IDS)
def test_proved(template: Template) -> None:
    assert not unproved(template.large)


@pytest.mark.parametrize("template", TEMPLATES, ids=IDS)
def test_right_on_a_few(template: Template) -> None:
    for case in few(template):
        checked(template, case)


@pytest.mark.full
@pytest.mark.parametrize("template", TEMPLATES, ids=IDS)
def test_every_setting_proved(template: Template) -> None:
    assert not unproved(tuple(template.settings.values()))


@pytest.mark.full
@pytest.mark.parametrize("template", TEMPLATES, ids=IDS)
def test_right_on_all(template: Template) -> None:
    for seed, case in enumerate(template.cases):
        checked(template, case, seed + 1)
