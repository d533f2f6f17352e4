"""The read from LDS that feeds a product of an attention turn."""

from __future__ import annotations

import ast

from argus.agent.lower.matrix import is_operand_owner, owner_definition
from argus.agent.lower.softmax_turn import SoftmaxTurn
from argus.agent.lower.source import (
    NotApplicableError,
    Source,
    SourceAccess,
    names,
)


def product_read(source: Source, turn: SoftmaxTurn, product: ast.For) -> SourceAccess:
    """The load of the fragments that a product takes."""
    inside = {id(s) for s in ast.walk(turn.loop)}
    found = [a for a in source.loads() if a.name and a.name in names(product) and id(a.statement) in inside]
    if len(found) != 1 or found[0].place in source.tensors():
        raise NotApplicableError("a product does not take one operand that the loop reads from LDS")
    if not is_operand_owner(owner_definition(source, found[0].owner)):
        raise NotApplicableError("the owner is no operand of a matrix instruction")
    return found[0]
