"""The bottleneck of a judged kernel, as one word: for the planner, the view and the report.

The words and what they mean are those of `argus.clock.bottleneck`. What was not timed has the stage that ended the
judgement instead: contract, read, check, compile, …
"""

from __future__ import annotations

from argus.agent.judge import Judgement
from argus.clock.bottleneck import bottleneck_word


def bottleneck(judgement: Judgement) -> str:
    """The one word."""
    seen = judgement.bottleneck
    if judgement.verdict != "pass" or not seen:
        return judgement.stage
    stalls = {str(name): float(clocks) for name, clocks in dict(seen.get("stalls", {})).items()}
    saved = float(seen.get("helps", {}).get("no bank conflicts", 0.0))
    return bottleneck_word(str(seen.get("bound", "compute")), stalls, saved)
