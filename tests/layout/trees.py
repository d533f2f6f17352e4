"""Random expression trees with their own meaning.

A tree is a nested tuple such as ("add", ("x",), ("int", 3)).  `meaning` evaluates it with plain Python integers and
knows nothing of `argus`; `build` makes the `Expr`.  The laws compare the two.
"""

from __future__ import annotations

import random
from typing import Any

from argus.layout import expr as E

Tree = tuple[Any, ...]

DOMAINS: dict[str, tuple[int, int]] = {
    "a": (0, 7),
    "b": (0, 15),
    "c": (0, 5),
    "d": (1, 12),
    "n": (-9, 9),
    "s": (0, 3),
}
VARIABLES = {name: E.var(name, lo, hi) for name, (lo, hi) in DOMAINS.items()}
FREE = E.var("u")  # no bounds at all
NUMBERS = (0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 24, 32, 64, -1, -2, -3, -8)
DIVISORS = (1, 2, 3, 4, 5, 6, 8, 12, 16, 24, 32, -1, -2, -3, -4, -8)

ARITHMETIC = ("add", "add", "sub", "mul", "mulc", "mulc", "div", "mod", "div", "mod", "divd", "modd", "divn", "modn")
BITWISE = ("xor", "xor", "and", "or", "shl", "shr", "field")
CHOICE = ("min", "max", "select")
COMPARE = ("lt", "le", "gt", "ge", "eq", "ne")


def number(rng: random.Random, depth: int, *, free: bool = False) -> Tree:
    """A random integer tree."""
    if depth == 0 or rng.random() < 0.12:
        if rng.random() < 0.25:
            return ("int", rng.choice(NUMBERS))
        if free and rng.random() < 0.2:
            return ("u",)
        return (rng.choice(list(DOMAINS)),)
    if rng.random() < 0.05:
        return truth(rng, depth - 1, free=free)  # truth values are the numbers 0 and 1
    op = rng.choice(ARITHMETIC + BITWISE + CHOICE)

    def sub() -> Tree:
        return number(rng, depth - 1, free=free)

    if op == "mulc":
        return ("mul", sub(), ("int", rng.choice(NUMBERS)))
    if op in ("div", "mod"):
        return (op, sub(), ("int", rng.choice(DIVISORS)))
    if op in ("divd", "modd"):
        return (op[:3], sub(), ("d",))
    if op in ("divn", "modn"):
        odd = ("add", ("mul", ("n",), ("int", 2)), ("int", 1))  # of either sign, never zero
        return (op[:3], sub(), odd)
    if op in ("shl", "shr"):
        return (op, sub(), ("s",) if rng.random() < 0.3 else ("int", rng.randrange(5)))
    if op == "field":
        low = rng.randrange(4)
        return ("and", sub(), ("int", ((1 << rng.randrange(1, 4)) - 1) << low))
    if op == "select":
        return ("select", truth(rng, depth - 1, free=free), sub(), sub())
    return (op, sub(), sub())


def truth(rng: random.Random, depth: int, *, free: bool = False) -> Tree:
    """A random truth-valued tree."""
    if depth > 1 and rng.random() < 0.4:
        op = rng.choice(("land", "lor", "not"))
        one = truth(rng, depth - 1, free=free)
        return (op, one) if op == "not" else (op, one, truth(rng, depth - 1, free=free))
    depth = max(0, depth - 1)
    return (rng.choice(COMPARE), number(rng, depth, free=free), number(rng, depth, free=free))


def meaning(tree: Tree, env: dict[str, int]) -> int:
    """The tree's value by Python's own arithmetic."""
    op = tree[0]
    if op == "int":
        return int(tree[1])
    if len(tree) == 1:
        return env[op]
    x = meaning(tree[1], env)
    if op == "not":
        return int(not x)
    if op == "select":
        return meaning(tree[2], env) if x else meaning(tree[3], env)
    y = meaning(tree[2], env)
    match op:
        case "add":
            return x + y
        case "sub":
            return x - y
        case "mul":
            return x * y
        case "div":
            return x // y
        case "mod":
            return x % y
        case "xor":
            return x ^ y
        case "and":
            return x & y
        case "or":
            return x | y
        case "shl":
            return x << y
        case "shr":
            return x >> y
        case "min":
            return min(x, y)
        case "max":
            return max(x, y)
        case "lt":
            return int(x < y)
        case "le":
            return int(x <= y)
        case "gt":
            return int(x > y)
        case "ge":
            return int(x >= y)
        case "eq":
            return int(x == y)
        case "ne":
            return int(x != y)
        case "land":
            return int(bool(x) and bool(y))
        case "lor":
            return int(bool(x) or bool(y))
    raise AssertionError(op)


def build(tree: Tree) -> E.Expr:
    """The expression of a tree."""
    op = tree[0]
    if op == "int":
        return E.const(tree[1])
    if op == "u":
        return FREE
    if len(tree) == 1:
        return VARIABLES[op]
    x = build(tree[1])
    if op == "not":
        return E.lnot(x)
    y = build(tree[2])
    if op == "select":
        return E.select(x, y, build(tree[3]))
    match op:
        case "add":
            return x + y
        case "sub":
            return x - y
        case "mul":
            return x * y
        case "div":
            return x // y
        case "mod":
            return x % y
        case "xor":
            return x ^ y
        case "and":
            return x & y
        case "or":
            return x | y
        case "shl":
            return x << y
        case "shr":
            return x >> y
        case "min":
            return E.minimum(x, y)
        case "max":
            return E.maximum(x, y)
        case "land":
            return E.land(x, y)
        case "lor":
            return E.lor(x, y)
    return getattr(x, op)(y)  # type: ignore[no-any-return]


def point(rng: random.Random) -> dict[str, int]:
    """A random assignment within the variables' bounds; the free variable takes any sign."""
    env = {name: rng.randint(lo, hi) for name, (lo, hi) in DOMAINS.items()}
    env["u"] = rng.randint(-1000, 1000)
    return env
