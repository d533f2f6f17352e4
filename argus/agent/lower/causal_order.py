"""Causal attention: workgroups with the longest loops start first; neighbours differ in the batch, not in the rows.

    z, block = ag.grid(Z, Sq // ROWS)        ->         block counted from the last one, z fastest

Long workgroups that start last would run alone at the end of the launch.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from argus.agent.lower.source import (
    NotApplicableError,
    Source,
    keyword,
)
from argus.agent.lower.text import statements
from argus.agent.lower.two_products import blocked


def causal_order(source: Source, params: Mapping[str, object]) -> None:
    """The last rows first, in the slowest place of the grid."""
    given, call, name, _, _ = blocked(source)
    target = given.targets[0]
    if not isinstance(target, ast.Tuple) or keyword(call, "order") is not None:
        raise NotApplicableError("the blocks have an order already")
    at = next(n for n, t in enumerate(target.elts) if isinstance(t, ast.Name) and t.id == name)
    if at != len(target.elts) - 1:
        raise NotApplicableError("the rows do not come last in the grid")
    place = source.fresh("place")
    extent = call.args[at]
    target.elts = [ast.Name(place, ast.Store()), *target.elts[:at][::-1]]
    call.args = [extent, *call.args[:at][::-1]]
    body = next(b for b in source.blocks() if given in b)
    body[body.index(given) + 1 : body.index(given) + 1] = statements(f"{name} = {ast.unparse(extent)} - 1 - {place}")
