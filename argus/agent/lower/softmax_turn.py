"""The turn of an attention loop: two products, the scores, the running maximum and the softmax between them.

s = ag.where(s.Sk <= s.Sq, s * factor, -inf)       `the_turn` finds these statements, whatever the names
new = ag.max(top, s.max("Sk"))
p = ag.exp2(s - new)
keep = ag.exp2(top - new)
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from argus.agent.lower.matrix import axis_name, owner_definition
from argus.agent.lower.source import NotApplicableError, Source, is_ag, keyword


@dataclass(frozen=True, slots=True)
class SoftmaxTurn:
    """A loop that multiplies twice, the second time with registers of the first result; where it stands."""

    loop: ast.For
    outer: list[ast.stmt]
    first: ast.For
    second: ast.For
    zeros: ast.Assign

    @property
    def scores(self) -> str:
        return ast.unparse(self.zeros.targets[0])


def the_turn(source: Source) -> SoftmaxTurn:
    """The loop of attention, whatever its bound; schedules in it are taken away."""
    for block in source.blocks():
        for node in block:
            if not (isinstance(node, ast.For) and is_ag(node.iter, "range") and isinstance(node.target, ast.Name)):
                continue
            body = unwrapped(node.body)
            products = [s for s in body if isinstance(s, ast.For) and any(is_ag(n, "mfma") for n in ast.walk(s))]
            zeros = [s for s in body if isinstance(s, ast.Assign) and is_ag(s.value, "zeros")]
            taken = any(isinstance(n, ast.Attribute) and n.attr == "regs" for p in products[1:] for n in ast.walk(p))
            if len(products) == 2 and len(zeros) == 1 and taken:
                node.body = body
                return SoftmaxTurn(node, block, products[0], products[1], zeros[0])
    raise NotApplicableError("no loop has two products, the second from the registers of the first")


def unwrapped(body: list[ast.stmt]) -> list[ast.stmt]:
    """The statements without their schedules."""
    found: list[ast.stmt] = []
    for node in body:
        scheduled = isinstance(node, ast.With) and is_ag(node.items[0].context_expr, "schedule")
        found.extend(node.body if scheduled and isinstance(node, ast.With) else [node])
    return found


def start_of(source: Source, turn: SoftmaxTurn) -> dict[str, ast.expr]:
    """Where the scores of a turn stand: axis -> first coordinate, from `at=dict(…)`."""
    call = turn.zeros.value
    given = keyword(call, "at") if isinstance(call, ast.Call) else None
    if not isinstance(given, ast.Call):
        raise NotApplicableError("the scores do not say where they stand")
    return {str(k.arg): k.value for k in given.keywords}


def score_axes(source: Source, turn: SoftmaxTurn) -> tuple[str, str]:
    """The axes of the scores: keys, queries."""
    call = turn.zeros.value
    owner = owner_definition(source, call.args[0]) if isinstance(call, ast.Call) else None
    if owner is None:
        raise NotApplicableError("the scores have no owner")
    return axis_name(owner, "row"), axis_name(owner, "col")
