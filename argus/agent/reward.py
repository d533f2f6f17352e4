"""What an attempt was worth, as a vector and one number.

    cannot be read or compiled            -1
    rules broken                          -0.2 each distinct one, at most -1; +0.1 if fewer than the parent broke
    wrong results, contract               -0.5
    passed                                log2(t_parent / t), within -1 … 1, + 0.25 times the gain in share of the roof

Times are geometric means over the task's shapes. Held-out shapes decide whether a candidate passes and nothing else.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from argus.agent.judge import Judgement

UNREADABLE = -1.0
EACH_RULE, ALL_RULES, FEWER = -0.2, -1.0, 0.1
WRONG = -0.5
ROOF_WEIGHT = 0.25


@dataclass(frozen=True, slots=True)
class Reward:
    """`total` is the sum of the parts."""

    speed: float = 0.0
    roof: float = 0.0
    rules: float = 0.0
    failure: float = 0.0

    @property
    def total(self) -> float:
        return self.speed + self.roof + self.rules + self.failure


def microseconds(judgement: Judgement) -> float:
    """Geometric mean over the task's shapes; infinite for what did not pass."""
    times = list(judgement.times.values())
    if judgement.verdict != "pass" or not judgement.evidence or not times:
        return math.inf
    return math.exp(sum(math.log(t) for t in times) / len(times))


def roof_share(judgement: Judgement) -> float:
    """Least possible time over the time taken; 0 for what did not pass."""
    took = microseconds(judgement)
    roofs = list(judgement.roof.values())
    if not math.isfinite(took) or not roofs:
        return 0.0
    return math.exp(sum(math.log(r) for r in roofs) / len(roofs)) / took


def reward(parent: Judgement, child: Judgement) -> Reward:
    """What the child was worth beside its parent."""
    if child.verdict == "pass":
        before, after = microseconds(parent), microseconds(child)
        gain = math.log2(before / after) if math.isfinite(before) else 1.0
        return Reward(speed=max(-1.0, min(1.0, gain)), roof=ROOF_WEIGHT * (roof_share(child) - roof_share(parent)))
    if child.stage in ("read", "compile", "judge"):
        return Reward(failure=UNREADABLE)
    if child.stage == "check":
        rules = {v.rule for v in child.violations}
        before_ = {v.rule for v in parent.violations}
        fewer = FEWER if parent.verdict != "pass" and len(rules) < len(before_) else 0.0
        return Reward(rules=max(ALL_RULES, EACH_RULE * len(rules)) + fewer)
    return Reward(failure=WRONG)
