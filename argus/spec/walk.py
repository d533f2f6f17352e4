"""Walks over specification trees: parts, elements, the indices something depends on, replacement, unrolled reductions.

elements(tree)                  every TensorElement, also those inside indices of others
open_indices(tree)              the indices that no reduction in it binds
replaced(tree, {"k": node})     the tree with other nodes in place of its open indices
unrolled(sum(x[i + k], k, 3))   x[i + 0] + x[i + 1] + x[i + 2]
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import assert_never

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


def children(node: SpecNode) -> tuple[SpecNode, ...]:
    """The parts of a node, in the order they are written."""
    match node:
        case NumberLiteral() | IndexName() | SizeName() | ScalarName():
            return ()
        case TensorElement(indices=parts) | FunctionCall(args=parts):
            return parts
        case Negation(operand) | Complement(operand):
            return (operand,)
        case Arithmetic(left=left, right=right) | Relation(left=left, right=right) | Connective(left=left, right=right):
            return (left, right)
        case IndexReduction(body=body, extent=extent):
            return (body,) if extent is None else (body, extent)
        case ConditionalValue(condition, yes, no):
            return (condition, yes, no)
        case _:
            assert_never(node)


def walk(node: SpecNode) -> Iterator[SpecNode]:
    """The node and everything in it, each before its parts."""
    yield node
    for child in children(node):
        yield from walk(child)


def elements(node: SpecNode) -> Iterator[TensorElement]:
    """Every element of a tensor in it."""
    return (part for part in walk(node) if isinstance(part, TensorElement))


def looked_up(spec: ResultSpec) -> set[str]:
    """Tensors whose elements serve as indices of others."""
    return {
        inner.tensor for element in elements(spec.expression) for item in element.indices for inner in elements(item)
    }


def open_indices(node: SpecNode) -> set[str]:
    """The indices on which the value of a node depends."""
    match node:
        case IndexName(name):
            return {name}
        case IndexReduction(body=body, index=index):
            return open_indices(body) - {index}
        case _:
            return {name for child in children(node) for name in open_indices(child)}


def plain_uses(node: SpecNode, index: str) -> Iterator[tuple[TensorElement, int]]:
    """Elements that have the open `index` itself at one of their axes, and that axis."""
    if isinstance(node, IndexReduction) and node.index == index:
        return
    if isinstance(node, TensorElement):
        for axis, item in enumerate(node.indices):
            if isinstance(item, IndexName) and item.name == index:
                yield node, axis
    for child in children(node):
        yield from plain_uses(child, index)


def factors(node: SpecNode) -> list[SpecNode]:
    """The factors of a product; of anything else, itself."""
    if isinstance(node, Arithmetic) and node.op == "*":
        return [*factors(node.left), *factors(node.right)]
    return [node]


def product_of_elements(node: SpecNode) -> list[TensorElement] | None:
    """The elements of a product of nothing else, or None."""
    found = factors(node)
    tensors = [factor for factor in found if isinstance(factor, TensorElement)]
    return tensors if len(tensors) == len(found) else None


def with_children(node: SpecNode, parts: tuple[SpecNode, ...]) -> SpecNode:
    """The same node with other parts, as many as `children` has."""
    if all(new is old for new, old in zip(parts, children(node), strict=True)):
        return node
    match node:
        case NumberLiteral() | IndexName() | SizeName() | ScalarName():
            return node
        case TensorElement():
            return replace(node, indices=parts)
        case FunctionCall():
            return replace(node, args=parts)
        case Negation() | Complement():
            return replace(node, operand=parts[0])
        case Arithmetic() | Relation() | Connective():
            return replace(node, left=parts[0], right=parts[1])
        case IndexReduction():
            return replace(node, body=parts[0], extent=None if node.extent is None else parts[1])
        case ConditionalValue():
            return replace(node, condition=parts[0], yes=parts[1], no=parts[2])
        case _:
            assert_never(node)


def replaced(node: SpecNode, by: Mapping[str, SpecNode]) -> SpecNode:
    """The tree with `by[i]` for each open index i in it. The new parts must not hold an index that is bound here."""
    if isinstance(node, IndexName):
        return by.get(node.name, node)
    if isinstance(node, IndexReduction) and node.index in by:
        by = {name: part for name, part in by.items() if name != node.index}
    return with_children(node, tuple(replaced(child, by) for child in children(node)))


def unrolled(node: IndexReduction, most: int) -> SpecNode | None:
    """A reduction over a stated number of values (at most `most`) written out; None for any other, and for a place."""
    if not isinstance(node.extent, NumberLiteral) or not isinstance(node.extent.value, int):
        return None
    if not 1 <= node.extent.value <= most or node.kind in ("argmax", "argmin"):
        return None
    made: SpecNode | None = None
    for value in range(node.extent.value):
        term = replaced(node.body, {node.index: NumberLiteral(value, span=node.span)})
        if made is None:
            made = term
        elif node.kind in ("sum", "prod"):
            made = Arithmetic("+" if node.kind == "sum" else "*", made, term, span=node.span)
        else:
            made = FunctionCall("maximum" if node.kind == "max" else "minimum", (made, term), span=node.span)
    return made
