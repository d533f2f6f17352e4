"""Operator templates: proved, and right against float64. Default: a few parameter sets of each; `full`: all of them."""

from __future__ import annotations

import pytest

from argus.check import check
from bench.templates.families import TEMPLATES
from bench.templates.template import Case, Step, Template, checked

FEW = 3
IDS = [template.name.replace(" ", "-") for template in TEMPLATES]


def few(template: Template) -> list[Case]:
    """The first parameter set, the last and one between: of few settings of the knobs, since each is compiled."""
    count = len(template.cases)
    return [template.cases[number] for number in sorted({0, count // 2, count - 1})[:FEW]]


def unproved(steps: tuple[Step, ...]) -> list[str]:
    """Verdicts of these launches that are not `proved`; a specification that no verdict speaks of is one."""
    found = []
    for step in steps:
        verdicts = check(step.program).verdicts
        found += [f"{step.text()}: {v.rule} {v.status}" for v in verdicts if v.status != "proved"]
        if not any(v.rule == "value" for v in verdicts):
            found.append(f"{step.text()}: no value")
    return found


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
