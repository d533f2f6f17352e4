"""Results that many updates make: specifications of the forms

    Y[n] = Y[n] + sum(F(m, n), m)              Y[n] = maximum(Y[n], max(F(m, n), m))

say that for every m the amount F(m, n) is added to Y[n], or that Y[n] is raised to it. Seen from m this is an ordinary
result V[m, n] = F(m, n), whose elements are added, each once (`updated`). And a specification of the form

    Y[t, n] = Y[t, n] + sum(where(token[r] == t, F(r, t, n), 0), r)

says that for every r the amount F(r, token[r], n) is added to Y[token[r], n]. Seen from r this is an ordinary result
V[r, n] = F(r, token[r], n) whose elements are added, each once, where token says. So the rules judge V: `value` and
`placed` that what is added for r is V[r, n] and goes to token[r], `covers` that every (r, n) is added exactly once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from argus.ir.ops import Tensor
from argus.spec.tree import (
    Arithmetic,
    ConditionalValue,
    FunctionCall,
    IndexName,
    IndexReduction,
    NumberLiteral,
    Relation,
    ResultSpec,
    SpecNode,
    TensorElement,
)
from argus.spec.walk import elements, plain_uses, replaced

Update = Literal["add", "max", "min"]
_UPDATES: dict[tuple[str, str], Update] = {("+", "sum"): "add", ("maximum", "max"): "max", ("minimum", "min"): "min"}


@dataclass(frozen=True, slots=True)
class Updated:
    """The result seen from where its amounts come from: one index more, at this position of this tensor."""

    update: Update
    index: str
    value: SpecNode
    tensor: Tensor
    position: int


def updated(spec: ResultSpec, tensors: Mapping[str, Tensor]) -> Updated | None:
    """The reading of a statement that adds up, or takes the maximum, of amounts; None if it has another form."""
    match spec.expression:
        case Arithmetic("+" as how, TensorElement() as before, IndexReduction(kind, amount, index, None)):
            pass
        case FunctionCall(how, (TensorElement() as before, IndexReduction(kind, amount, index, None))):
            pass
        case _:
            return None
    update = _UPDATES.get((how, kind))
    itself = before.tensor == spec.result and before.indices == tuple(IndexName(i) for i in spec.indices)
    reads_result = any(element.tensor == spec.result for element in elements(amount))
    uses = {(element.tensor, position) for element, position in plain_uses(amount, index)}
    if update is None or not itself or reads_result or index in spec.indices or len(uses) != 1:
        return None
    name, position = uses.pop()
    return Updated(update, index, amount, tensors[name], position)


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
