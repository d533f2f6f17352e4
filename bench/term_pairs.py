"""Random formulas as terms, against their values: `python -m bench.term_pairs [PAIRS] [--seed N]`.

Pairs of formulas are drawn: one, and a change of it (a constant, an operand, a function, a factor that cancels, a zero
that meets something undefined). Their values at special and random points, in decimal arithmetic of 250 digits that
does not overflow, say whether they are the same; the terms, built as the checker builds those of a kernel, say whether
they are *called* the same. Called equal and not the same is a fault:

    a point where the second is finite and the first is another number, or not finite

because a term that is proved equal to a specification has its value wherever that is defined. Zero stands for a
difference that is 220 digits smaller than its operands. Prints counts; exit 1 with the pairs if a fault was found.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Context, Decimal, localcontext

from argus.check.terms.atoms import UNKNOWN, Leaf
from argus.check.terms.elementwise_terms import Standing, binary_term, unary_term
from argus.check.terms.normal_form import Terms

NAMES = ("x", "y", "w")
UNARY = ("neg", "abs", "sqrt", "rsqrt", "rcp", "exp2", "log2", "tanh", "floor")
BINARY = ("add", "sub", "mul", "div", "max", "min")
CONSTANTS = (0.0, 1.0, 2.0, 3.0, -1.0, 0.5, 1.0 / 3.0, 1e-3, 7.0)
SPECIAL = (0.0, 1.0, -1.0, 2.0, -2.0, 0.5, 2.0**-149, -(2.0**-149), 2.0**-126, 3.0, -7.0, 1e10, -1e10)
POINTS = 16
CONTEXT = Context(prec=250, Emax=10**17, Emin=-(10**17), traps=[])
NOTHING = Decimal("1e-220")
CLOSE = Decimal("1e-60")
LN2 = CONTEXT.ln(Decimal(2))
TOO_LARGE = Decimal(64)
"""Exponents beyond it overflow: nothing is said of them."""
Point = dict[str, Decimal]


@dataclass(frozen=True, slots=True)
class Formula:
    """A function of formulas, a variable or a number."""

    fn: str
    args: tuple[Formula, ...] = ()
    value: float = 0.0

    def __str__(self) -> str:
        if self.fn == "number":
            return f"{self.value:g}"
        return f"{self.fn}({', '.join(map(str, self.args))})" if self.args else self.fn


def drawn(dice: random.Random, depth: int) -> Formula:
    """A random formula."""
    kind = dice.random()
    if depth == 0 or kind < 0.15:
        return Formula(dice.choice(NAMES)) if dice.random() < 0.7 else Formula("number", value=dice.choice(CONSTANTS))
    if kind < 0.45:
        return Formula(dice.choice(UNARY), (drawn(dice, depth - 1),))
    if kind < 0.52:
        return Formula("select", tuple(drawn(dice, depth - 1) for _ in range(4)))
    return Formula(dice.choice(BINARY), (drawn(dice, depth - 1), drawn(dice, depth - 1)))


def changed(dice: random.Random, f: Formula) -> Formula:
    """The formula with one change, somewhere; some keep its value where it is defined, most do not."""
    if f.args and dice.random() < 0.6:
        at = dice.randrange(len(f.args))
        return Formula(f.fn, tuple(changed(dice, a) if n == at else a for n, a in enumerate(f.args)), f.value)
    other = drawn(dice, 1)
    zero = Formula("sub", (other, other))
    match dice.randrange(9):
        case 0:
            return drawn(dice, 2)
        case 1:
            return Formula("mul", (f, Formula("number", value=1.0 + dice.choice((1e-3, 1e-6, 2.0**-20, -0.5)))))
        case 2:
            return Formula("add", (f, Formula("mul", (zero, Formula(dice.choice(("log2", "rcp")), (drawn(dice, 1),))))))
        case 3:
            return Formula("div", (Formula("mul", (f, other)), other))
        case 4:
            root = Formula("sqrt", (f,))
            return Formula("mul", (root, root))
        case 5:
            return Formula("add", (f, Formula("number", value=dice.choice((1.0, 1e-3, -2.0)))))
        case 6:
            return Formula("rcp", (Formula("rcp", (f,)),))
        case 7 if len(f.args) == 2:
            return Formula(f.fn, f.args[::-1], f.value)
        case _:
            return Formula("sub", (Formula("add", (f, other)), other))


def points(dice: random.Random) -> list[Point]:
    """Where formulas are compared: special numbers and random ones, in random combinations."""

    def number() -> Decimal:
        drawn_one = dice.gauss(0.0, 1.0) * 2.0 ** dice.randrange(-8, 8)
        return Decimal(dice.choice(SPECIAL) if dice.random() < 0.6 else drawn_one)

    return [{name: number() for name in NAMES} for _ in range(POINTS)]


def evaluated(f: Formula, at: Point) -> Decimal:
    if f.fn == "number":
        return Decimal(f.value)
    return _VALUES[f.fn](*(evaluated(arg, at) for arg in f.args)) if f.args else at[f.fn]


def _add(x: Decimal, y: Decimal) -> Decimal:
    made = CONTEXT.add(x, y)
    small = made.is_finite() and abs(made) < NOTHING * max(abs(x), abs(y))
    return Decimal(0) if small else made


def _exp2(x: Decimal) -> Decimal:
    if not x.is_nan() and abs(x) > TOO_LARGE:
        raise OverflowError
    return CONTEXT.exp(CONTEXT.multiply(x, LN2))


def _log2(x: Decimal) -> Decimal:
    return CONTEXT.divide(CONTEXT.ln(x), LN2)


def _tanh(x: Decimal) -> Decimal:
    if x.is_nan():
        return x
    if abs(x) > TOO_LARGE:
        raise OverflowError
    e = CONTEXT.exp(CONTEXT.add(x, x))
    return CONTEXT.divide(CONTEXT.subtract(e, Decimal(1)), CONTEXT.add(e, Decimal(1)))


def _floor(x: Decimal) -> Decimal:
    if not x.is_finite() or x.adjusted() > 200:
        return x
    near = x.to_integral_value()
    return (
        near
        if abs(x - near) < NOTHING * max(abs(x), Decimal(1)) and x != near and abs(x) > NOTHING
        else (x.to_integral_value(ROUND_FLOOR))
    )


def _rcp(x: Decimal) -> Decimal:
    return CONTEXT.divide(Decimal(1), x)


def _less(a: Decimal, b: Decimal) -> bool:
    difference = _add(a, -b) if a.is_finite() and b.is_finite() else CONTEXT.subtract(a, b)
    return not difference.is_nan() and difference < 0


_VALUES: dict[str, Callable[..., Decimal]] = {
    "neg": CONTEXT.minus, "abs": CONTEXT.abs, "sqrt": CONTEXT.sqrt, "rsqrt": lambda x: _rcp(CONTEXT.sqrt(x)),
    "rcp": _rcp, "exp2": _exp2, "log2": _log2, "tanh": _tanh, "floor": _floor,
    "add": _add, "sub": lambda x, y: _add(x, CONTEXT.minus(y)), "mul": CONTEXT.multiply, "div": CONTEXT.divide,
    "max": CONTEXT.max, "min": CONTEXT.min, "select": lambda a, b, x, y: x if _less(a, b) else y,
}  # fmt: skip
STANDING = Standing({}, lambda facts, goal: False, {})


def term_of(terms: Terms, f: Formula) -> int:
    """The formula as the checker follows it through a kernel."""
    if f.fn == "number":
        return terms.constant(f.value)
    if not f.args:
        return terms.atom(Leaf(f.fn, (0,)))
    args = [term_of(terms, arg) for arg in f.args]
    if f.fn == "select":
        return terms.apply("select", (binary_term(terms, "lt", args[0], args[1]), args[2], args[3]))
    return unary_term(terms, f.fn, args[0], lambda: STANDING) if len(args) == 1 else binary_term(terms, f.fn, *args)


def differs(first: Formula, second: Formula, at: list[Point]) -> Point | None:
    """A point where the second is finite and the first is something else."""
    with localcontext(CONTEXT):
        for point in at:
            try:
                b, a = evaluated(second, point), evaluated(first, point)
            except OverflowError:
                continue
            if b.is_finite() and not (a.is_finite() and abs(a - b) <= CLOSE * max(abs(a), abs(b))):
                return point
    return None


def run(pairs: int, seed: int) -> tuple[Counter[str], list[str]]:
    """Counts, and what was called equal and is not. `pairs`: unequal ones."""
    dice, counts, faults = random.Random(seed), Counter[str](), []
    while counts["unequal"] < pairs:
        first = drawn(dice, dice.randrange(1, 4))
        second = changed(dice, first)
        if dice.random() < 0.5:
            first, second = second, first
        terms, at = Terms(), points(dice)
        a, b = term_of(terms, first), term_of(terms, second)
        called = a == b != UNKNOWN
        point = differs(first, second, at)
        counts["same" if point is None else "unequal"] += 1
        counts["same, called equal"] += point is None and called
        if point is not None and called:
            where = ", ".join(f"{n} = {v:.6g}" for n, v in point.items())
            faults.append(f"{first}  and  {second}  at {where}")
    return counts, faults


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pairs", type=int, nargs="?", default=5000)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    counts, faults = run(args.pairs, args.seed)
    print(f"{counts['unequal']} unequal pairs: {len(faults)} called equal")
    print(f"{counts['same']} pairs that are the same: {counts['same, called equal']} called equal")
    for fault in faults[:20]:
        print("  ", fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
