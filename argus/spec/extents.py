"""How far the index of a reduction runs, at given sizes."""

from __future__ import annotations

from collections.abc import Mapping

from argus.spec.errors import SpecError
from argus.spec.printer import spec_text
from argus.spec.tree import (
    Arithmetic,
    IndexReduction,
    Negation,
    NumberLiteral,
    ScalarName,
    SizeName,
    SpecNode,
)
from argus.spec.walk import plain_uses, walk

Shapes = Mapping[str, tuple[int, ...]]


def is_size(node: SpecNode) -> bool:
    """A formula of numbers, sizes and scalars alone: `size_value` has its value."""
    return all(isinstance(part, NumberLiteral | SizeName | ScalarName | Negation | Arithmetic) for part in walk(node))


def size_value(node: SpecNode, symbols: Mapping[str, float]) -> int:
    """The value of a whole number that is made of numbers, sizes and scalars."""
    match node:
        case NumberLiteral(int() as value):
            return value
        case SizeName(name) | ScalarName(name) if name in symbols:
            return int(symbols[name])
        case Negation(operand):
            return -size_value(operand, symbols)
        case Arithmetic(op, left, right) if op != "/":
            x, y = size_value(left, symbols), size_value(right, symbols)
            if op in ("//", "%") and y == 0:
                raise SpecError(f"{spec_text(node)!r} divides by zero", "data", node.span)
            match op:
                case "+":
                    return x + y
                case "-":
                    return x - y
                case "*":
                    return x * y
                case "//":
                    return x // y
                case _:
                    return x % y
        case _:
            raise SpecError(f"the value of {spec_text(node)!r} is not given", "data", node.span)


def reduction_extent(node: IndexReduction, shapes: Shapes, symbols: Mapping[str, float]) -> int:
    """As stated, else as the tensors say that have the index itself at an axis. A stated range may be empty, as
    Python's: the sum over it is zero, the product one; a maximum of nothing has no value."""
    if node.extent is not None:
        stated = size_value(node.extent, symbols)
        if stated < 1 and node.kind not in ("sum", "prod"):
            raise SpecError(f"{node.kind} over {node.index} < {spec_text(node.extent)} = {stated}", "data", node.span)
        return max(stated, 0)
    found = {shapes[e.tensor][axis] for e, axis in plain_uses(node.body, node.index) if e.tensor in shapes}
    if len(found) != 1:
        runs = " and over ".join(map(str, sorted(found))) or "nothing"
        raise SpecError(f"index {node.index} runs over {runs}", "data", node.span)
    return found.pop()
