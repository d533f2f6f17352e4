"""Where a specification has a value: as a formula over the real numbers, not as IEEE arithmetic evaluates it.

    exp(-1 / y[i])                      has none at y = 0, though 1 / 0 is infinite and exp(-inf) is 0
    where(x[i] > 0, log(x[i]), 0)       has one everywhere: what is not chosen does not count
    sum(x[n] / b[m], n)                 has none in a row with b = 0
    tanh(where(y[i] > 9, inf, y[i]))    has none where inf is chosen

A quotient has none where its divisor is 0, a root or logarithm none outside of its domain, and nothing has one that is
made of such. A written `inf` is a mask: it may be chosen, added to, scaled by a number, compared by `maximum` and
`minimum` and their reductions, and be the exponent of `exp` and `exp2`. What else is made of it has no value.

So laws of real numbers hold wherever there is a value, for example that 2 w - w is w. An element without one is not
compared: its error is infinite.
"""

from __future__ import annotations

from math import isinf
from typing import assert_never

import numpy as np
import numpy.typing as npt

from argus.spec.extents import reduction_extent
from argus.spec.scans import ScanningEvaluator
from argus.spec.tree import (
    Arithmetic,
    Complement,
    ConditionalValue,
    Connective,
    FunctionCall,
    IndexName,
    IndexReduction,
    Negation,
    NumberLiteral,
    Relation,
    ResultSpec,
    ScalarName,
    SizeName,
    SpecNode,
    TensorElement,
)
from argus.spec.values import Bounded, exact
from argus.spec.walk import walk

Somewhere = npt.NDArray[np.bool_]
_DOMAINS = {"log", "log2", "rsqrt", "sqrt", "pow"}
"""Functions that are not defined for all real numbers."""
_OF_MASKS = {"exp", "exp2", "maximum", "minimum"}
NOWHERE = exact((), np.float64(0))


def may_be_undefined(node: SpecNode) -> bool:
    """Some part of it is not defined for all real numbers, or infinite."""
    return any(
        _infinite_literal(part)
        or (isinstance(part, FunctionCall) and part.name in _DOMAINS)
        or (isinstance(part, Arithmetic) and part.op == "/" and not isinstance(part.right, NumberLiteral | SizeName))
        for part in walk(node)
    )


def _infinite_literal(node: SpecNode) -> bool:
    return isinstance(node, NumberLiteral) and isinf(node.value)


def _literal(node: SpecNode) -> bool:
    return isinstance(node, NumberLiteral) or (isinstance(node, Negation) and _literal(node.operand))


def _finite_literal(node: SpecNode) -> bool:
    return _literal(node) and not any(map(_infinite_literal, walk(node)))


class DefinedEvaluator(ScanningEvaluator):
    """Evaluates as `ScanningEvaluator`, with an infinite error where there is no value."""

    def whole_result(self, spec: ResultSpec) -> Bounded:
        found = super().whole_result(spec)
        if not may_be_undefined(spec.expression):
            return found
        found, without = self._aligned(found, self._without(spec.expression))
        return Bounded(found.indices, found.value, np.where(without.value != 0, np.inf, found.error), found.residue)

    def _without(self, node: SpecNode) -> Bounded:
        """1 where a part has no value, else 0."""
        if not may_be_undefined(node):
            return NOWHERE
        match node:
            case NumberLiteral() | IndexName() | SizeName() | ScalarName() | TensorElement():
                return NOWHERE
            case Negation(operand) | Complement(operand):
                return self._without(operand)
            case Arithmetic():
                return self._any(*self._of_arithmetic(node))
            case FunctionCall():
                return self._any(*map(self._without, node.args), *self._outside(node))
            case Relation(left=left, right=right) | Connective(left=left, right=right):
                infinite = [self._infinite(part) for part in (left, right) if not _literal(part)]
                return self._any(self._without(left), self._without(right), *infinite)
            case ConditionalValue(condition, yes, no):
                c, x, y, of_c = self._aligned(
                    self._truth(condition), self._without(yes), self._without(no), self._without(condition)
                )
                chosen = np.where(c.value != 0, x.value, y.value)
                return exact(c.indices, np.maximum(chosen, of_c.value))
            case IndexReduction(body=body, index=index):
                shapes = {name: array.shape for name, array in self._tensors.items()}
                with self._bound(index, reduction_extent(node, shapes, self._symbols)):
                    inside = self._without(body)
                if index not in inside.indices:
                    return inside
                axis = inside.indices.index(index)
                rest = inside.indices[:axis] + inside.indices[axis + 1 :]
                return exact(rest, inside.value.max(axis=axis, initial=0.0))
            case _:
                assert_never(node)

    def _of_arithmetic(self, node: Arithmetic) -> list[Bounded]:
        found = [self._without(node.left), self._without(node.right)]
        if node.op == "/":
            divisor = self.visit(node.right)
            found.append(exact(divisor.indices, (divisor.value == 0).astype(np.float64)))
        if node.op in ("*", "/") and not _finite_literal(node.right):
            scaled = node.op == "*" and _finite_literal(node.left)
            found += [] if scaled else [self._infinite(node.left), self._infinite(node.right)]
        if node.op in ("+", "-"):
            x, y = self._aligned(self._infinite(node.left), self._infinite(node.right))
            found.append(exact(x.indices, np.minimum(x.value, y.value)))
        return found

    def _outside(self, node: FunctionCall) -> list[Bounded]:
        """Where the arguments of a function are outside of its domain."""
        found = [] if node.name in _OF_MASKS else [self._infinite(arg) for arg in node.args]
        if node.name in _DOMAINS:
            x = self.visit(node.args[0])
            outside = x.value < 0 if node.name == "sqrt" else x.value <= 0
            found.append(exact(x.indices, outside.astype(np.float64)))
        return found

    def _infinite(self, node: SpecNode) -> Bounded:
        """Where a part that contains a written `inf` is infinite."""
        if not any(map(_infinite_literal, walk(node))):
            return NOWHERE
        made = self.visit(node)
        return exact(made.indices, np.isinf(made.value).astype(np.float64))

    def _any(self, *parts: Bounded) -> Bounded:
        aligned = self._aligned(*parts)
        return exact(aligned[0].indices, np.maximum.reduce([x.value for x in aligned]))
