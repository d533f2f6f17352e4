"""Results that are added up by index: a specification of the form

    Y[t, n] = Y[t, n] + sum(where(token[r] == t, F(r, t, n), 0), r)

says that for every r the amount F(r, token[r], n) is added to Y[token[r], n]. Seen from r this is an ordinary result
V[r, n] = F(r, token[r], n) whose elements are added, each once, where token says. So the rules judge V: `value` and
`placed` that what is added for r is V[r, n] and goes to token[r], `covers` that every (r, n) is added exactly once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from argus.ir.ops import Tensor
from argus.spec.tree import (
    Arithmetic,
    ConditionalValue,
    IndexName,
    IndexReduction,
    NumberLiteral,
    Relation,
    ResultSpec,
    SpecNode,
    TensorElement,
)  # fmt: skip
from argus.spec.walk import elements, replaced


@dataclass(frozen=True, slots=True)
class Scattered:
    """The result seen from where its amounts come from: indices, expression, and which index is looked up where."""

    names: tuple[str, ...]
    value: SpecNode
    position: int
    through: Tensor


def scattered(spec: ResultSpec, tensors: Mapping[str, Tensor]) -> Scattered | None:
    """The reading of a statement of this form; None if it has another."""
    names = spec.indices
    match spec.expression:
        case Arithmetic(
            "+",
            TensorElement() as before,
            IndexReduction(
                "sum", ConditionalValue(Relation("==", left, right), amount, NumberLiteral(0 | 0.0)), source, None
            ),
        ) if before.tensor == spec.result and before.indices == tuple(IndexName(i) for i in names):
            pass
        case _:
            return None
    looked_up, index = (left, right) if isinstance(left, TensorElement) else (right, left)
    match looked_up, index:
        case TensorElement(table, (IndexName(place),)), IndexName(name) if place == source:
            through = tensors[table]
        case _:
            return None
    reads_result = any(element.tensor == spec.result for element in elements(amount))
    if through.written or name not in names or reads_result:
        return None
    position = names.index(name)
    seen = (*names[:position], source, *names[position + 1 :])
    return Scattered(seen, replaced(amount, {name: looked_up}), position, through)
