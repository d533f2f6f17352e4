"""D = B·A instead of A·B: a lane then holds neighbouring columns of the result, which one store writes.

acc = ag.mfma(a, b, acc)                 ->        acc = ag.mfma(b, a, acc); store(…, width=8)
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from argus.agent.lower.fragments import element_bytes
from argus.agent.lower.matrix import axis_name, is_accumulator_owner, owner_definition
from argus.agent.lower.source import (
    NotApplicableError,
    Source,
    is_ag,
    keyword,
    set_keyword,
)


def vector_stores(source: Source, params: Mapping[str, object]) -> None:
    """Exchange the operands of every matrix instruction and the axes of every accumulator; stores get wide."""
    calls = [n for n in ast.walk(source.function) if is_ag(n, "mfma") and isinstance(n, ast.Call)]
    owners = [n for n in ast.walk(source.tree) if isinstance(n, ast.Call) and is_accumulator_owner(n)]
    if len(calls) != 1 or not owners:
        raise NotApplicableError("this technique needs one matrix instruction and its accumulator")
    stores = [s for s in source.accesses("store") if s.place in source.tensors()]
    width = {store.place: 4 * element_bytes(source, store.place) for store in stores}
    if not stores or any(source.value(keyword(s.call, "width") or ast.Constant(0)) == width[s.place] for s in stores):
        raise NotApplicableError("the stores are wide already")
    for call in calls:
        call.args[0], call.args[1] = call.args[1], call.args[0]
    for owner in owners:
        row, column = axis_name(owner, "row"), axis_name(owner, "col")
        set_keyword(owner, "row", ast.Constant(column))
        set_keyword(owner, "col", ast.Constant(row))
    for store in stores:
        set_keyword(store.call, "width", ast.Constant(width[store.place]))
    for load in source.loads():
        if load.place in source.tensors() and _neighbours(source, load.owner):
            set_keyword(load.call, "width", ast.Constant(4 * element_bytes(source, load.place)))


def _neighbours(source: Source, owner: ast.expr) -> bool:
    """Whether a lane holds four neighbours of the result's last axis: the accumulator's owner, or its part per row."""
    if isinstance(owner, ast.Call) and isinstance(owner.func, ast.Attribute) and owner.func.attr == "per":
        whole = owner_definition(source, owner.func.value)
        return [str(a.value) for a in owner.args if isinstance(a, ast.Constant)] == [axis_name(whole, "row")]
    try:
        return is_accumulator_owner(owner_definition(source, owner))
    except NotApplicableError:
        return False
