"""Reductions over a stated range, in the forms that the rules follow.

    sum(X[m, k], k, 4)      X has 4 columns        sum(X[m, k], k)
                            X has 8 columns        sum(where(k < 4, X[m, k], 0), k)
                            X has N columns        X[m, 0] + X[m, 1] + X[m, 2] + X[m, 3]
    sum(X[m, k], k, L)      X has N columns        sum(where(k < L, X[m, k], 0), k)
    max(x[i + k], k, 3)     no tensor has k        maximum(maximum(x[i + 0], x[i + 1]), x[i + 2])
    sum(x[i + k] * w[k], k) w has 2 elements       x[i + 0] * w[0] + x[i + 1] * w[1]

Outside of a tensor there are zeros, so a sum may go on to the end of the axis under a condition only if the axis is
known to be long enough, or if what is summed is a product of elements, one of them at that axis. What has none of these
forms stays as it is, and the rules are undecided.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from argus.check.spec.computed_indices import linear_form
from argus.ir.ops import Tensor
from argus.layout import expr as E
from argus.layout.expr import Expr
from argus.spec.tree import (
    Arithmetic,
    ConditionalValue,
    IndexName,
    IndexReduction,
    NumberLiteral,
    Relation,
    SizeName,
    SpecNode,
)
from argus.spec.walk import (
    children,
    elements,
    plain_uses,
    product_of_elements,
    unrolled,
    with_children,
)

UNROLLED = 32
"""Reductions over at most so many stated values are written out."""
WRITTEN = 512
"""Tensor elements of a specification that is written out; what would have more stays a reduction."""


def without_ranges(node: SpecNode, tensors: Mapping[str, Tensor], sizes: Mapping[str, Expr]) -> SpecNode:
    """The same value with as few stated ranges as can be."""
    made = with_children(node, tuple(without_ranges(child, tensors, sizes) for child in children(node)))
    if not isinstance(made, IndexReduction):
        return made
    runs = {tensors[e.tensor].shape[axis] for e, axis in plain_uses(made.body, made.index)}
    if _mixed(made):
        return _written_out(_counted(made, runs)) or made
    if made.extent is None:
        return made
    stated = size_expression(made.extent, sizes)
    whole = IndexReduction(made.kind, made.body, made.index, span=made.span)
    if len(runs) == 1 and stated is not None:
        (extent,) = runs
        if extent is stated:
            return whole
        if made.kind == "sum" and _may_go_on(made, stated, extent):
            return IndexReduction("sum", _masked(made, made.extent), made.index, span=made.span)
    return _written_out(made) or made


def _written_out(node: IndexReduction) -> SpecNode | None:
    """Each value of the index in its place; None where that is not a number, or too many."""
    count = node.extent.value if isinstance(node.extent, NumberLiteral) else UNROLLED
    if count * sum(1 for _ in elements(node.body)) > WRITTEN:
        return None
    return unrolled(node, UNROLLED)


def _mixed(node: IndexReduction) -> bool:
    """An element stands at a formula of this index and others: `x[i + k]`, the taps of a window."""
    forms = [linear_form(item) for element in elements(node.body) for item in element.indices]
    return any(form is not None and node.index in form[0] and len(form[0]) > 1 for form in forms)


def _counted(node: IndexReduction, runs: set[Expr]) -> IndexReduction:
    """The reduction with the range that it has by its tensors stated, where that is one number."""
    (extent,) = runs if len(runs) == 1 else (None,)
    if node.extent is not None or extent is None or extent.op != "const":
        return node
    return replace(node, extent=NumberLiteral(extent.value, span=node.span))


def _may_go_on(node: IndexReduction, stated: Expr, extent: Expr) -> bool:
    if stated.op == "const":  # of an axis of open length, the first few are written out
        return extent.op == "const" and extent.value >= stated.value
    product = product_of_elements(node.body)
    return product is not None and any(True for element in product for _ in plain_uses(element, node.index))


def _masked(node: IndexReduction, extent: SpecNode) -> SpecNode:
    inside = Relation("<", IndexName(node.index, span=node.span), extent, span=node.span)
    return ConditionalValue(inside, node.body, NumberLiteral(0, span=node.span), span=node.span)


def size_expression(node: SpecNode, sizes: Mapping[str, Expr]) -> Expr | None:
    """A formula of sizes and numbers as an expression; None for any other."""
    match node:
        case NumberLiteral(int() as value):
            return E.const(value)
        case SizeName(name):
            return sizes.get(name)
        case Arithmetic(op, left, right):
            x, y = size_expression(left, sizes), size_expression(right, sizes)
            if x is None or y is None:
                return None
            match op:
                case "+":
                    return x + y
                case "-":
                    return x - y
                case "*":
                    return x * y
                case "//" if y.op == "const" and y.value > 0:
                    return x // y.value
                case "%" if y.op == "const" and y.value > 0:
                    return x % y.value
                case _:
                    return None
        case _:
            return None
