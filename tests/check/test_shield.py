"""Errors nobody expected: the rule they happen in is unknown, the others keep their verdicts, nothing escapes."""

from __future__ import annotations

import pytest

from argus.check import Verdict
from argus.check.domain.tags import Tags
from argus.check.engine import decide
from argus.check.events import ProgramPoint
from argus.check.explain.refuters import RuleExplanation
from argus.check.rules.in_bounds import InBounds
from argus.check.rules.rule import Rule
from argus.check.walk import KernelWalk
from argus.ir import ops
from argus.ir.ops import Access
from tests.ir import samples


class FailsListening(Rule):
    name = "listening"

    def global_store(self, op: ops.Store | ops.Atomic, place: ProgramPoint, access: Access, value: Tags) -> None:
        raise KeyError("lost my notes")


class FailsDeciding(Rule):
    name = "deciding"

    def finish(self) -> None:
        raise AssertionError


class FailsBeginning(Rule):
    name = "beginning"

    def begin(self, flow: KernelWalk) -> None:
        raise RecursionError("too deep")


@pytest.mark.parametrize("rule", [FailsListening(), FailsDeciding(), FailsBeginning()])
def test_a_rule_that_raises_is_unknown_and_the_others_stand(rule: Rule) -> None:
    report = decide(samples.vadd(), [rule, InBounds()])
    (failed,) = [v for v in report.verdicts if v.rule == rule.name]
    assert failed.status == "unknown"
    assert failed.reason.startswith("internal: ")
    assert "test_shield.py" in failed.reason
    others = {v.status for v in report.verdicts if v.rule == "in_bounds"}
    assert others == {"proved"}
    assert report.status == "unknown"


@pytest.mark.parametrize("rule", [FailsListening(), InBounds()])
def test_no_explanation_makes_a_proof(rule: Rule, monkeypatch: pytest.MonkeyPatch) -> None:
    """A refuter that says `proved`, for a rule that failed or for one whose ledger did not conclude it."""

    def invented(about: RuleExplanation, rule: Rule) -> list[Verdict]:
        return [Verdict(rule.name, "proved", about.flow.kernel.span, -1, "nobody")]

    monkeypatch.setattr(RuleExplanation, "of", invented)
    assert {v.status for v in decide(samples.vadd(), [rule]).verdicts} == {"unknown"}


def test_a_refuter_that_raises_costs_its_rule_the_verdicts(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(about: RuleExplanation, rule: Rule) -> list[Verdict]:
        raise KeyError(rule.name)

    monkeypatch.setattr(RuleExplanation, "of", broken)
    (verdict,) = decide(samples.vadd(), [InBounds()]).verdicts
    assert verdict.status == "unknown"
    assert verdict.reason.startswith("internal: KeyError: 'in_bounds'")


def test_a_walk_that_raises_makes_every_rule_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(flow: KernelWalk) -> None:
        raise ZeroDivisionError("walk")

    monkeypatch.setattr(KernelWalk, "run", broken)
    report = decide(samples.vadd(), [InBounds(), FailsDeciding()])
    assert [v.status for v in report.verdicts] == ["unknown", "unknown"]
    assert all(v.reason.startswith("internal: ZeroDivisionError: walk") for v in report.verdicts)
    assert "mistake of the checker" in report.render()
