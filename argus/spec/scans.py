"""Scans: reductions over everything up to an index of the result, without the intermediate over both indices.

    sum(where(k <= n, X[m, k], 0), k)          a cumulative sum over k, looked up at n
    max(where(k > n, X[m, k], -inf), k)        a cumulative maximum from the end, looked up behind n

Multiplied out this is an array over (m, n, k): 2 GiB for rows of 8192. Where the condition compares the reduced index
with another one, both plain, the other side is what changes nothing, and the body does not depend on that other index,
the reduction is a cumulative one. Value, error bound and residues are those of the general way, element by element:

    value[n] = Σ x_k        error[n] = Σ e_k + (length of k) u Σ (|x_k| + e_k)        over the k let in
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from argus.spec.contraction import ContractingEvaluator
from argus.spec.functions import UNIT_F32
from argus.spec.tree import (
    ConditionalValue,
    IndexName,
    IndexReduction,
    Negation,
    NumberLiteral,
    Relation,
    RelationOp,
    SpecNode,
)
from argus.spec.values import Bounded, bounded, product_error, whole_numbers
from argus.spec.walk import open_indices

T = TypeVar("T", bound=np.generic)
_SWAPPED: dict[RelationOp, RelationOp] = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_NEUTRAL = {"sum": 0.0, "prod": 1.0, "max": -inf, "min": inf}
_JOIN = {"max": np.maximum, "min": np.minimum}


@dataclass(frozen=True, slots=True)
class SpecScan:
    """`kind` of the body over all values of an index that stand in a relation to `end`."""

    kind: str
    body: SpecNode
    op: RelationOp
    end: str


def scan_of(node: IndexReduction) -> SpecScan | None:
    """The reduction as a scan, if it is one."""
    body = node.body
    if not isinstance(body, ConditionalValue) or not isinstance(body.condition, Relation):
        return None
    match body.condition:
        case Relation(op, IndexName(name), IndexName(end)) if name == node.index and op in _SWAPPED:
            pass
        case Relation(op, IndexName(end), IndexName(name)) if name == node.index and op in _SWAPPED:
            op = _SWAPPED[op]
        case _:
            return None
    depends = open_indices(body.yes)
    if end == node.index or end in depends or node.index not in depends or _number(body.no) != _NEUTRAL.get(node.kind):
        return None
    return SpecScan(node.kind, body.yes, op, end)


def _number(node: SpecNode) -> float | None:
    match node:
        case NumberLiteral(value):
            return float(value)
        case Negation(NumberLiteral(value)):
            return -float(value)
        case _:
            return None


class ScanningEvaluator(ContractingEvaluator):
    """Evaluates as `ContractingEvaluator`, but accumulates scans."""

    def _reduced(self, node: IndexReduction) -> Bounded:
        found = scan_of(node)
        if found is None or found.end not in self._extents:
            return super()._reduced(node)
        x = self.visit(found.body)
        axis, length = x.indices.index(node.index), self._extents[node.index]
        indices = tuple(found.end if i == node.index else i for i in x.indices)
        self._affordable(indices)
        places = self._positions.get(found.end, np.arange(self._extents[found.end]))
        backwards, itself = found.op in (">", ">="), found.op in ("<=", ">=")
        before = np.clip(places + (itself != backwards), 0, length)
        at = length - before if backwards else before

        def up_to(array: npt.NDArray[T], join: np.ufunc, neutral: float) -> npt.NDArray[T]:
            """The cumulative array at the places of `end`, along the axis."""
            line = np.moveaxis(array, axis, -1)[..., :: -1 if backwards else 1]
            start = np.full((*line.shape[:-1], 1), neutral).astype(array.dtype)
            made = np.concatenate([start, join.accumulate(line, axis=-1)], axis=-1)
            return np.moveaxis(made[..., at], -1, axis)

        if found.kind == "sum":
            size = up_to(np.abs(x.value) + x.error, np.add, 0)
            error = up_to(x.error, np.add, 0) + length * UNIT_F32 * size
            made = bounded(indices, up_to(x.value, np.add, 0), error)
            return whole_numbers(made, lambda a: up_to(a, np.add, 0), x)
        if found.kind == "prod":
            size = np.abs(x.value) + x.error
            value, grown = up_to(x.value, np.multiply, 1), up_to(np.maximum(size, 1.0), np.multiply, 1)
            error = product_error(length, value, up_to(size, np.multiply, 1), grown)
            return whole_numbers(bounded(indices, value, error), lambda a: up_to(a, np.multiply, 1), x)
        value = up_to(x.value, _JOIN[found.kind], _NEUTRAL[found.kind])
        return Bounded(indices, value, up_to(x.error, np.maximum, 0))
