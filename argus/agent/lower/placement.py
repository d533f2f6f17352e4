"""Which workgroup computes which block, and what the hardware is told about a kernel: one keyword each.

`grid_order`                        order of workgroups: neighbours on one chiplet (`ag.xcd(8)`), groups of block
                                    rows (`ag.grouped(8)`)
`waves_per_simd`, `accumulators`    register budget and register file, by `policy=dict(…)`
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from argus.agent.lower.source import NotApplicableError, Source, drop_keyword, keyword, set_keyword
from argus.agent.lower.text import expression


def grid_order(source: Source, params: Mapping[str, object]) -> None:
    """`ag.grid(…, order=…)`."""
    _, call = source.grid()
    wanted = str(params["order"])
    old = keyword(call, "order")
    if (ast.unparse(old) if old is not None else "ag.row_major()") == wanted:
        raise NotApplicableError("the blocks have this order already")
    if wanted == "ag.row_major()":
        drop_keyword(call, "order")
    else:
        set_keyword(call, "order", expression(wanted))


def waves_per_simd(source: Source, params: Mapping[str, object]) -> None:
    """Registers for this many waves on a SIMD."""
    _policy(source, "waves_per_simd", str(params["waves"]))


def accumulators(source: Source, params: Mapping[str, object]) -> None:
    """Accumulators in AGPRs, which double the registers, or in VGPRs, which save the moves."""
    _policy(source, "agpr", str(params["agpr"]))


def _policy(source: Source, name: str, value: str) -> None:
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
