"""Codes of plans; causes and fixes: `argus/cli/manual/plan.py`."""

from __future__ import annotations

from collections.abc import Mapping

CODES: Mapping[str, str] = {
    "ARG-P101": "no template computes this operator",
    "ARG-P102": "no template has this element type",
    "ARG-P103": "no template has this size",
    "ARG-P104": "no template has this form",
    "ARG-P105": "an input does not fit the plan",
    "ARG-P106": "the module cannot be read",
    "ARG-P107": "a kernel of the plan is not proved",
    "ARG-P108": "the plan's result is wrong",
    "ARG-P109": "the judgement of a task failed",
}
