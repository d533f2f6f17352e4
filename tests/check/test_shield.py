"""Errors nobody expected: the rule they happen in is unknown, the others keep their verdicts, nothing escapes."""

from __future__ import annotations

import pytest

from argus.check import Verdict
from argus.check.domain.tags import Tags
from argus.check.engine import decide
from argus.check.events import ProgramPoint
from argus.check.rules.in_bounds import InBounds
from argus.check.rules.rule import Rule
from argus.check.walk import KernelWalk
from argus.ir import ops
from argus.ir.ops import Access
from tests.ir import samples


class FailsListening(Rule):
    """Claims a proof although it raised while it listened."""

    name = "listening"

    def global_store(self, op: ops.Store | ops.Atomic, place: ProgramPoint, access: Access, value: Tags) -> None:
        raise KeyError("lost my notes")

    def verdicts(self, flow: KernelWalk) -> list[Verdict]:
        return [Verdict(self.name, "proved", flow.kernel.span, -1, "nobody")]


class FailsDeciding(Rule):
    name = "deciding"

    def verdicts(self, flow: KernelWalk) -> list[Verdict]:
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


def test_a_walk_that_raises_makes_every_rule_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(flow: KernelWalk) -> None:
        raise ZeroDivisionError("walk")

    monkeypatch.setattr(KernelWalk, "run", broken)
    report = decide(samples.vadd(), [InBounds(), FailsDeciding()])
    assert [v.status for v in report.verdicts] == ["unknown", "unknown"]
    assert all(v.reason.startswith("internal: ZeroDivisionError: walk") for v in report.verdicts)
    assert "mistake of the checker" in report.render()
