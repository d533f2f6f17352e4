"""Random specifications, and their value by brute force: one Python float per element, one loop per index.

The brute force shares nothing with `argus.spec.evaluation`: it walks the tree for one place of the result at a time,
with Python's own integers and floats, and never makes an array.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from hypothesis import strategies as st

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
)  # fmt: skip

SHAPES = {"A": (3, 4), "B": (4, 3), "v": (4,), "w": (3,), "P": (3, 4), "q": (4,)}
WHOLE = ("P", "q")
SYMBOLS: dict[str, float] = {"N": 2, "M": 3, "s": 0.75}
RESULT = ("C", (3, 4))
FUNCTIONS_OF_ONE = {
    "exp": math.exp, "exp2": lambda x: 2.0**x, "abs": abs, "tanh": math.tanh, "erf": math.erf, "floor": math.floor,
}  # fmt: skip
EXTENTS = {"i": 3, "j": 4}
"""The indices of the result."""


def arrays(seed: int) -> dict[str, np.ndarray[Any, Any]]:
    dice = np.random.default_rng(seed)
    made: dict[str, np.ndarray[Any, Any]] = {}
    for name, shape in SHAPES.items():
        whole = dice.integers(-1, 5, shape).astype(np.int32)
        made[name] = whole if name in WHOLE else dice.uniform(-2, 2, shape).round(2)
    return made


def wholes(scope: Mapping[str, int], depth: int) -> st.SearchStrategy[SpecNode]:
    """Whole numbers over these indices."""
    leaves: list[st.SearchStrategy[SpecNode]] = [
        st.integers(0, 4).map(NumberLiteral),
        st.sampled_from(["N", "M"]).map(SizeName),
    ]
    if scope:
        leaves.append(st.sampled_from(sorted(scope)).map(IndexName))
    if depth == 0:
        return st.one_of(leaves)
    inner = wholes(scope, depth - 1)
    looked_up = st.builds(lambda x: TensorElement("q", (x,), True), inner)
    sums = st.builds(Arithmetic, st.sampled_from(["+", "-", "*"]), inner, inner)
    divided = st.builds(
        lambda op, x, n: Arithmetic(op, x, NumberLiteral(n)), st.sampled_from(["//", "%"]), inner, st.integers(1, 4)
    )
    return st.one_of(*leaves, looked_up, sums, divided, st.builds(Negation, inner))


def elements(scope: Mapping[str, int], depth: int) -> st.SearchStrategy[SpecNode]:
    """Elements of tensors: at plain indices that run over the axis, or anywhere."""

    def of(name: str) -> st.SearchStrategy[SpecNode]:
        fits = [[i for i, extent in scope.items() if extent == size] for size in SHAPES[name]]
        plain = [st.sampled_from(found).map(IndexName) for found in fits] if all(fits) else None
        places = wholes(scope, min(depth, 1))
        anywhere = st.tuples(*(places for _ in SHAPES[name]))
        chosen = anywhere if plain is None else st.one_of(st.tuples(*plain), anywhere)
        return chosen.map(lambda indices: TensorElement(name, indices, name in WHOLE))

    return st.sampled_from(sorted(SHAPES)).flatmap(of)


def conditions(scope: Mapping[str, int], depth: int) -> st.SearchStrategy[SpecNode]:
    simple = st.builds(
        Relation, st.sampled_from(["<", "<=", ">", ">=", "==", "!="]), wholes(scope, 1), wholes(scope, 1)
    )
    if depth == 0:
        return simple
    inner = conditions(scope, depth - 1)
    joined = st.builds(Connective, st.sampled_from(["and", "or"]), inner, inner)
    return st.one_of(simple, joined, st.builds(Complement, inner))


def numbers(scope: Mapping[str, int], depth: int) -> st.SearchStrategy[SpecNode]:
    """Numbers over these indices."""
    leaves = st.one_of(
        elements(scope, 0),
        st.sampled_from([0.5, 1.25, 2, 3]).map(NumberLiteral),
        st.just(ScalarName("s", False)),
        wholes(scope, 0),
    )
    if depth == 0:
        return leaves
    inner = numbers(scope, depth - 1)

    def over(kind: str, extent: int, stated: bool) -> st.SearchStrategy[SpecNode]:
        index = next(f"k{n}" for n in range(10) if f"k{n}" not in scope)
        body = numbers({**scope, index: extent}, depth - 1)
        if stated:
            return body.map(lambda b: IndexReduction(kind, b, index, NumberLiteral(extent)))  # type: ignore[arg-type]
        name = "v" if extent == 4 else "w"
        plain = TensorElement(name, (IndexName(index),), False)
        return body.filter(lambda b: _plain_extents(b, index) <= {extent}).map(
            lambda b: IndexReduction(kind, Arithmetic("*", plain, b), index)  # type: ignore[arg-type]
        )

    reductions = st.tuples(st.sampled_from(["sum", "max", "min"]), st.sampled_from([3, 4]), st.booleans()).flatmap(
        lambda given: over(*given)
    )
    return st.one_of(
        leaves,
        elements(scope, 1),
        st.builds(Arithmetic, st.sampled_from(["+", "-", "*"]), inner, inner),
        st.builds(lambda x, n: Arithmetic("/", x, NumberLiteral(n)), inner, st.sampled_from([2, 4.0])),
        st.builds(Negation, inner),
        st.builds(lambda f, x: FunctionCall(f, (x,)), st.sampled_from(sorted(FUNCTIONS_OF_ONE)), leaves),
        st.builds(lambda f, x, y: FunctionCall(f, (x, y)), st.sampled_from(["maximum", "minimum"]), inner, inner),
        st.builds(ConditionalValue, conditions(scope, 1), inner, inner),
        reductions,
    )


def _plain_extents(body: SpecNode, index: str) -> set[int]:
    from argus.spec.walk import plain_uses

    return {SHAPES[element.tensor][axis] for element, axis in plain_uses(body, index)}


def specifications(depth: int = 2) -> st.SearchStrategy[ResultSpec]:
    """Results over i and j that depend on both."""
    both = TensorElement("A", (IndexName("i"), IndexName("j")), False)
    return numbers(EXTENTS, depth).map(lambda x: ResultSpec("C", ("i", "j"), Arithmetic("+", both, x)))


def brute_force(spec: ResultSpec, given: Mapping[str, np.ndarray[Any, Any]]) -> np.ndarray[Any, Any]:
    """The value of every element, each by itself."""
    made = np.empty(RESULT[1])
    for place in np.ndindex(*RESULT[1]):
        made[place] = value_at(spec.expression, given, dict(zip(spec.indices, place, strict=True)))
    return made


def value_at(node: SpecNode, given: Mapping[str, np.ndarray[Any, Any]], at: Mapping[str, int]) -> Any:
    """One number, or whether a condition holds."""

    def of(part: SpecNode) -> Any:
        return value_at(part, given, at)

    match node:
        case NumberLiteral(value):
            return value
        case SizeName(name) | ScalarName(name):
            return SYMBOLS[name]
        case IndexName(name):
            return at[name]
        case TensorElement(tensor, indices):
            place = tuple(of(i) for i in indices)
            inside = all(0 <= p < n for p, n in zip(place, given[tensor].shape, strict=True))
            return given[tensor][place].item() if inside else 0
        case Negation(operand):
            return -of(operand)
        case Complement(operand):
            return not of(operand)
        case Arithmetic(op, left, right):
            x, y = of(left), of(right)
            return {"+": lambda: x + y, "-": lambda: x - y, "*": lambda: x * y, "/": lambda: x / y,
                    "//": lambda: x // y, "%": lambda: x % y}[op]()  # fmt: skip
        case Relation(op, left, right):
            x, y = of(left), of(right)
            return {"<": x < y, "<=": x <= y, ">": x > y, ">=": x >= y, "==": x == y, "!=": x != y}[op]
        case Connective(op, left, right):
            return of(left) and of(right) if op == "and" else of(left) or of(right)
        case ConditionalValue(condition, yes, no):
            return of(yes) if of(condition) else of(no)
        case FunctionCall(name, args):
            values = [of(arg) for arg in args]
            if name in ("maximum", "minimum"):
                return max(values) if name == "maximum" else min(values)
            return FUNCTIONS_OF_ONE[name](*values)
        case IndexReduction(kind, body, index, extent):
            if extent is not None:
                count = int(of(extent))
            else:
                (count,) = _plain_extents(body, index)
            terms = [value_at(body, given, {**at, index: n}) for n in range(count)]
            return math.fsum(terms) if kind == "sum" else max(terms) if kind == "max" else min(terms)
