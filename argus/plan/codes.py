"""Codes of plans; causes and fixes: `argus/cli/manual/plan.py`."""

from __future__ import annotations

from collections.abc import Mapping

CODES: Mapping[str, str] = {
    "ARG-G101": "no template computes this operator",
    "ARG-G102": "no template has this element type",
    "ARG-G103": "no template has this size",
    "ARG-G104": "no template has this form",
    "ARG-G105": "an input does not fit the plan",
    "ARG-G106": "the module cannot be read",
    "ARG-G107": "a kernel of the plan is not proved",
    "ARG-G108": "the plan's result is wrong",
    "ARG-G109": "the judgement of a task failed",
}
