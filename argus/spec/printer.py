"""A specification tree as text: `read_specification(spec_text(tree))` is the same tree.

Parentheses stand where precedence needs them and nowhere else; spacing is Python's usual one.
"""

from __future__ import annotations

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
    Specification,
    SpecNode,
    TensorElement,
)  # fmt: skip

OR, AND, NOT, COMPARE, ADD, MULTIPLY, NEGATE, ATOM = range(8)
"""How tightly a form binds."""
_ADDITIVE = ("+", "-")


def spec_text(tree: Specification | ResultSpec | SpecNode) -> str:
    """The text of a specification, of one result, or of an expression."""
    if isinstance(tree, Specification):
        return "; ".join(map(spec_text, tree.results))
    if isinstance(tree, ResultSpec):
        return f"{tree.result}[{', '.join(tree.indices)}] = {spec_text(tree.expression)}"
    return _written(tree)[0]


def _written(node: SpecNode) -> tuple[str, int]:
    """The text and how tightly it binds."""
    match node:
        case NumberLiteral(value):
            return repr(value), ATOM
        case IndexName(name) | SizeName(name) | ScalarName(name):
            return name, ATOM
        case TensorElement(tensor, indices):
            return f"{tensor}[{_listed(indices)}]", ATOM
        case FunctionCall(name, args):
            return f"{name}({_listed(args)})", ATOM
        case IndexReduction(kind, body, index, extent):
            last = "" if extent is None else f", {spec_text(extent)}"
            return f"{kind}({spec_text(body)}, {index}{last})", ATOM
        case ConditionalValue(condition, yes, no):
            return f"where({_listed((condition, yes, no))})", ATOM
        case Negation(operand):
            return f"-{_at_least(operand, NEGATE)}", NEGATE
        case Arithmetic(op, left, right):
            level = ADD if op in _ADDITIVE else MULTIPLY
            return f"{_at_least(left, level)} {op} {_at_least(right, level + 1)}", level
        case Relation(op, left, right):
            return f"{_at_least(left, ADD)} {op} {_at_least(right, ADD)}", COMPARE
        case Connective(op, left, right):
            level = AND if op == "and" else OR
            return f"{_at_least(left, level)} {op} {_at_least(right, level + 1)}", level
        case Complement(operand):
            return f"not {_at_least(operand, NOT)}", NOT
        case _:
            assert_never(node)


def _listed(nodes: tuple[SpecNode, ...]) -> str:
    return ", ".join(map(spec_text, nodes))


def _at_least(node: SpecNode, level: int) -> str:
    text, binds = _written(node)
    return text if binds >= level else f"({text})"
