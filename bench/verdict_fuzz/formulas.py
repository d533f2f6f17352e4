"""Random formulas over tiles, each written three ways: for the kernel, for `computes`, and as numbers.

    f = formula(dice, ["a", "b"], depth=3)
    f.kernel()        "ag.max(a, (b * 2.0))"
    f.spec(...)       "maximum(a[i], (b[i] * 2))"
    f.value(env)      float64 with the error bound of f32 (`bounded`)

`rewritten` gives another formula of equal real value: what a kernel author writes where a specification says it plainly
(a reciprocal for a division, exp2 for exp, distributed or reassociated sums). Arguments of roots, logarithms and
divisors are positive by construction, so a formula is defined for all finite inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random

from bench.verdict_fuzz import bounded
from bench.verdict_fuzz.bounded import Real

LOG2E, LN2 = 1.4426950408889634, 0.6931471805599453
WRITTEN: dict[str, tuple[str, str]] = {
    "add": ("({} + {})", "({} + {})"),
    "sub": ("({} - {})", "({} - {})"),
    "mul": ("({} * {})", "({} * {})"),
    "div": ("({} / {})", "({} / {})"),
    "rcp": ("ag.rcp({})", "(1 / {})"),
    "fma": ("ag.fma({}, {}, {})", "({} * {} + {})"),
    "neg": ("(-{})", "(-{})"),
    "abs": ("ag.abs({})", "abs({})"),
    "max": ("ag.max({}, {})", "maximum({}, {})"),
    "min": ("ag.min({}, {})", "minimum({}, {})"),
    "floor": ("ag.floor({})", "floor({})"),
    "exp": ("ag.exp({})", "exp({})"),
    "exp2": ("ag.exp2({})", "exp2({})"),
    "log": ("ag.log({})", "log({})"),
    "log2": ("ag.log2({})", "log2({})"),
    "sqrt": ("ag.sqrt({})", "sqrt({})"),
    "rsqrt": ("ag.rsqrt({})", "rsqrt({})"),
    "tanh": ("ag.tanh({})", "tanh({})"),
    "erf": ("ag.erf({})", "erf({})"),
    "sigmoid": ("ag.sigmoid({})", "(1 / (1 + exp(-{})))"),
    "where_gt": ("ag.where({} > {}, {}, {})", "where({} > {}, {}, {})"),
}
CONSTANTS = (2.0, 0.5, -1.0, 3.0, 1.0, 0.25, -2.0, 1.5, 0.125, 7.0)


@dataclass(frozen=True, slots=True)
class Formula:
    """A function of formulas, a named tile (`op` is "leaf"), or a number."""

    op: str
    args: tuple[Formula, ...] = ()
    name: str = ""
    number: float = 0.0

    def kernel(self, names: Mapping[str, str] | None = None) -> str:
        match self.op:
            case "leaf":
                return (names or {}).get(self.name, self.name)
            case "number":
                return f"({self.number!r})" if self.number < 0 else repr(self.number)
            case _:
                return WRITTEN[self.op][0].format(*(a.kernel(names) for a in self.args))

    def spec(self, names: Mapping[str, str]) -> str:
        match self.op:
            case "leaf":
                return names[self.name]
            case "number":
                text = repr(int(self.number)) if self.number == int(self.number) else repr(self.number)
                return f"({text})" if self.number < 0 else text
            case _:
                return WRITTEN[self.op][1].format(*(a.spec(names) for a in self.args))

    def value(self, env: Mapping[str, Real]) -> Real:
        match self.op:
            case "leaf":
                return env[self.name]
            case "number":
                return bounded.constant(self.number)
            case _:
                return bounded.call(self.op, *(a.value(env) for a in self.args))

    def leaves(self) -> set[str]:
        return {self.name} if self.op == "leaf" else set().union(*(a.leaves() for a in self.args), set())

    def size(self) -> int:
        return 1 + sum(a.size() for a in self.args)


def leaf(name: str) -> Formula:
    return Formula("leaf", name=name)


def number(value: float) -> Formula:
    return Formula("number", number=value)


def of(op: str, *args: Formula | float) -> Formula:
    return Formula(op, tuple(number(float(a)) if isinstance(a, int | float) else a for a in args))


def formula(dice: Random, leaves: list[str], depth: int) -> Formula:
    """Any formula over the leaves, at most so deep; the first level always computes."""
    made = _grounded(dice, _any(dice, leaves, depth), leaves)
    missing = [name for name in leaves if name not in made.leaves()]
    for name in missing:
        made = of(dice.choice(["add", "mul", "sub", "max"]), made, leaf(name))
    return made


def _grounded(dice: Random, f: Formula, leaves: list[str]) -> Formula:
    """No function of numbers alone: the language has those of tiles."""
    if f.op in ("leaf", "number"):
        return f
    if not f.leaves():
        return leaf(dice.choice(leaves))
    if f.op == "where_gt" and not (f.args[0].leaves() or f.args[1].leaves()):
        f = Formula(f.op, (leaf(leaves[0]), *f.args[1:]))  # a choice made by the reader would leave a tile out
    if f.op == "where_gt" and not (f.args[2].leaves() or f.args[3].leaves()):
        f = Formula(f.op, (*f.args[:2], leaf(dice.choice(leaves)), f.args[3]))
    return Formula(f.op, tuple(_grounded(dice, a, leaves) for a in f.args))


def _any(dice: Random, leaves: list[str], depth: int) -> Formula:
    if depth <= 0:
        return leaf(dice.choice(leaves)) if dice.random() < 0.8 else number(dice.choice(CONSTANTS))

    def below() -> Formula:
        return _any(dice, leaves, depth - 1)

    def atom() -> Formula:
        return _any(dice, leaves, 0)

    kinds: list[tuple[float, Callable[[], Formula]]] = [
        (4, lambda: of("add", below(), atom())),
        (3, lambda: of("mul", below(), atom())),
        (2, lambda: of("sub", below(), below())),
        (2, lambda: of("mul", below(), dice.choice(CONSTANTS))),
        (2, lambda: of("add", below(), dice.choice(CONSTANTS))),
        (2, lambda: of("div", below(), _positive(dice, leaves, depth - 1))),
        (1, lambda: of("max", below(), atom())),
        (1, lambda: of("max", below(), 0)),
        (1, lambda: of("min", below(), atom())),
        (1, lambda: of("abs", below())),
        (1, lambda: of("neg", below())),
        (1, lambda: of("tanh", below())),
        (0.5, lambda: of("erf", below())),
        (1, lambda: of("sigmoid", below())),
        (1, lambda: of("exp", of("min", below(), 3))),
        (0.7, lambda: of("exp2", of("min", below(), 4))),
        (1, lambda: of("log", _positive(dice, leaves, depth - 1))),
        (0.7, lambda: of("log2", _positive(dice, leaves, depth - 1))),
        (1, lambda: of("sqrt", _positive(dice, leaves, depth - 1))),
        (1, lambda: of("rsqrt", _positive(dice, leaves, depth - 1))),
        (1.5, lambda: of("where_gt", atom(), 0, below(), atom())),
        (0.5, lambda: of("where_gt", atom(), atom(), atom(), below())),
        (0.3, lambda: of("floor", below())),
    ]
    return dice.choices([make for _, make in kinds], [weight for weight, _ in kinds])[0]()


def _positive(dice: Random, leaves: list[str], depth: int) -> Formula:
    base = _any(dice, leaves, max(0, depth))
    match dice.randrange(3):
        case 0:
            return of("add", of("abs", base), dice.choice((0.5, 1.0, 2.0)))
        case 1:
            return of("add", of("mul", base, base), dice.choice((0.5, 1.0, 0.25)))
        case _:
            return of("max", base, dice.choice((0.5, 1.0)))


def rewritten(dice: Random, f: Formula, chance: float) -> Formula:
    """A formula of equal real value, each node rewritten with this chance."""
    f = Formula(f.op, tuple(rewritten(dice, a, chance) for a in f.args), f.name, f.number)
    if dice.random() >= chance:
        return f
    match f.op, f.args:
        case "add", (x, Formula("add", (y, z))):
            return of("add", of("add", x, y), z)
        case "add", (Formula("mul", (x, y)), z) if dice.random() < 0.4:
            return of("fma", x, y, z)
        case (("add" | "mul" | "max" | "min"), (x, y)):
            return of(f.op, y, x)
        case "sub", (x, y):
            return of("add", x, of("neg", y))
        case "div", (x, y):
            return of("mul", x, of("rcp", y))
        case "exp", (x,):
            return of("exp2", of("mul", x, LOG2E))
        case "log", (x,):
            return of("mul", of("log2", x), LN2)
        case "sqrt", (x,):
            return of("mul", x, of("rsqrt", x))
        case "rsqrt", (x,):
            return of("rcp", of("sqrt", x))
        case "sigmoid", (x,):
            return of("rcp", of("add", of("exp", of("neg", x)), 1))
        case "abs", (x,):
            return of("max", x, of("neg", x))
        case "neg", (x,):
            return of("mul", x, -1)
        case "where_gt", (x, y, yes, no):
            return of("where_gt", of("neg", y), of("neg", x), yes, no)
        case _:
            return f


def distributed(dice: Random, f: Formula) -> Formula:
    """(x + y) * z as x*z + y*z, once, where there is such a place."""
    if f.op == "mul" and f.args[0].op == "add":
        (x, y), z = f.args[0].args, f.args[1]
        return of("add", of("mul", x, z), of("mul", y, z))
    order = list(range(len(f.args)))
    dice.shuffle(order)
    for n in order:
        made = distributed(dice, f.args[n])
        if made is not f.args[n]:
            return Formula(f.op, (*f.args[:n], made, *f.args[n + 1 :]), f.name, f.number)
    return f
