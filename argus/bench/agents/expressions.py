"""Whole numbers written with the sizes of a problem: `cdiv(N, BLOCK_N) * 2`.

    whole_number("cdiv(M, 64)", {"M": 100})     -> 2

Sums, differences, products, `//`, `%` and the functions `cdiv`, `min` and `max`; nothing else is evaluated.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping

from argus.bench.agents.refusal import SolutionRefused

_OPERATORS: Mapping[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}  # fmt: skip
_FUNCTIONS: Mapping[str, Callable[..., int]] = {"cdiv": lambda n, by: -(-n // by), "min": min, "max": max}


def whole_number(text: str, sizes: Mapping[str, int]) -> int:
    """The value of an expression; SolutionRefused names what it does not know."""
    try:
        return _value(ast.parse(text, mode="eval").body, sizes)
    except (SyntaxError, ZeroDivisionError, TypeError, RecursionError, ValueError) as error:
        raise SolutionRefused(f"{text!r} is no whole number: {error}") from error


def _value(node: ast.expr, sizes: Mapping[str, int]) -> int:
    match node:
        case ast.Constant(value=int(value)):
            return value
        case ast.Name(id=name) if name in sizes:
            return sizes[name]
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            return -_value(inner, sizes)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            return _OPERATORS[type(op)](_value(left, sizes), _value(right, sizes))
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in _FUNCTIONS:
            return _FUNCTIONS[name](*(_value(arg, sizes) for arg in args))
    raise ValueError(f"{ast.unparse(node)} is not known; there are {', '.join(sizes)}")
