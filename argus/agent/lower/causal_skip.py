"""Causal attention whose loop ends at the last key that a row of the workgroup sees.

    for j in ag.range(Sk // KEYS):           ->         for j in ag.range(steps):       steps from the block's last row

It looks for a mask between two coordinates in a loop with two products; names do not matter.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from argus.agent.lower.source import (
    NotApplicableError,
    Source,
    is_ag,
)
from argus.agent.lower.text import expression, statements
from argus.agent.lower.two_products import blocked, two_products


def causal_skip(source: Source, params: Mapping[str, object]) -> None:
    """The loop over keys ends where the mask hides everything from every row of the workgroup."""
    found = two_products(source)
    masks = [
        n
        for n in ast.walk(found.loop)
        if isinstance(n, ast.Call) and is_ag(n, "where") and isinstance(n.args[0], ast.Compare)
    ]
    compared = [m.args[0] for m in masks if isinstance(m.args[0], ast.Compare)]
    if not any(isinstance(c.ops[0], ast.LtE | ast.Lt) and isinstance(c.left, ast.Attribute) for c in compared):
        raise NotApplicableError("no mask lets a row see the keys up to its own number")
    _, _, name, _, by = blocked(source)
    steps = source.fresh("steps")
    end = f"{ast.unparse(by)} * ({name} + 1)"
    body = next(b for b in source.blocks() if found.loop in b)
    body[body.index(found.loop) : body.index(found.loop)] = statements(
        f"{steps} = ag.cdiv(ag.min({end}, {found.size}), {ast.unparse(found.step)})"
    )
    found.loop.iter = expression(f"ag.range({steps})")
