"""Keywords of the launch: the order of workgroups in `ag.grid(…, order=…)`, and `policy=dict(…)` of the decorator."""

from __future__ import annotations

import ast

from argus.agent.lower.source import NotApplicableError, Source, drop_keyword, keyword, set_keyword
from argus.agent.lower.text import expression


def set_order(source: Source, wanted: str) -> None:
    """`ag.grid(…, order=…)`."""
    _, call = source.grid()
    old = keyword(call, "order")
    if (ast.unparse(old) if old is not None else "ag.row_major()") == wanted:
        raise NotApplicableError("the blocks have this order already")
    if wanted == "ag.row_major()":
        drop_keyword(call, "order")
    else:
        set_keyword(call, "order", expression(wanted))


def set_policy(source: Source, name: str, value: str) -> None:
    given = keyword(source.decorator, "policy")
    if not isinstance(given, ast.Call):
        set_keyword(source.decorator, "policy", expression("dict()"))
        given = keyword(source.decorator, "policy")
    if not isinstance(given, ast.Call):
        raise NotApplicableError("the policy is not written as dict(…)")
    old = keyword(given, name)
    if old is not None and ast.unparse(old) == value:
        raise NotApplicableError(f"the policy says {name}={value} already")
    set_keyword(given, name, expression(value))
