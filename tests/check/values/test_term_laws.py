"""Every algebraic step of terms, by its law: where the term is defined, it is the formula it was made of.

    for all points:   term(formula) finite   =>   formula = term(formula)

The formula is computed in IEEE float64 as a kernel would compute it; the term is evaluated as written, atom by atom,
by the evaluator below, which shares nothing with the constructors. 1,200 points: ±0, ±inf, NaN, subnormals and their
neighbors in random combinations, and random numbers. Infinite and undefined inputs are outside the premises of a proof;
laws that need no premise (`EVERYWHERE`) hold there too. A term that is not defined where its formula is costs
completeness only; `DEFINED` holds the steps for which it must be.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from argus.check.terms.atoms import UNKNOWN, ZERO, Apply, Leaf, Power, Where, own
from argus.check.terms.close_numbers import close_enough
from argus.check.terms.elementwise_terms import Standing, binary_term, unary_term, whole_quotient
from argus.check.terms.integer_terms import WRAP, numbers_of
from argus.check.terms.normal_form import Terms
from argus.ir.interp.numbers import elementwise
from argus.ir.maps import MAPS
from argus.ir.types import DTYPES, f32, f64, i32

Array = NDArray[np.float64]
POINTS = 1200
LEAST = 1e-200
SPECIAL = (0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324, -5e-324, 1e-310, 2.0**-1022, 1.0, -1.0, 1 + 2.0**-52, 0.5, 2.0)
STANDING = Standing({}, lambda facts, goal: False, {})
MASK = own(0).le(3)


class Both:
    """A formula as numbers and as a term at once; operators are those of kernels."""

    def __init__(self, terms: Terms, value: Array, term: int) -> None:
        self.terms, self.value, self.term = terms, value, term

    def call(self, fn: str, *others: Both) -> Both:
        args = (self, *others)
        made = np.asarray(MAPS[fn].numpy(*(a.value for a in args)), dtype=np.float64)
        if others:
            return Both(self.terms, made, binary_term(self.terms, fn, self.term, others[0].term))
        return Both(self.terms, made, unary_term(self.terms, fn, self.term, lambda: STANDING))

    def number(self, c: float) -> Both:
        return Both(self.terms, np.full_like(self.value, c), self.terms.constant(c))

    def where(self, held: NDArray[np.bool_], no: Both) -> Both:
        """Selected by the mask."""
        term = self.terms.where(MASK, self.term, no.term)
        return Both(self.terms, np.where(held, self.value, no.value), term)

    def __add__(self, o: Both) -> Both:
        return self.call("add", o)

    def __sub__(self, o: Both) -> Both:
        return self.call("sub", o)

    def __mul__(self, o: Both) -> Both:
        return self.call("mul", o)

    def __truediv__(self, o: Both) -> Both:
        return self.call("div", o)


def evaluated(terms: Terms, term: int, leaves: dict[str, Array], held: NDArray[np.bool_]) -> Array:
    """A term as it is written. Masks select; what is not selected is not looked at."""
    total = np.zeros_like(leaves["x"])
    for (factors, exponent), c in terms[term]:
        product = np.full_like(total, float(c))
        selected = np.ones(len(total), dtype=np.bool_)
        for number, twice in factors:
            atom = terms.atoms[number]
            if isinstance(atom, Where) and (terms.value(atom.yes), terms.value(atom.no)) == (1, 0):
                selected &= held if atom.condition is MASK else ~held
                continue
            base = _atom(terms, atom, leaves, held)
            product = product * (base ** (twice // 2) if twice % 2 == 0 else np.sqrt(base) ** twice)
        if exponent != ZERO:
            product = product * np.exp2(evaluated(terms, exponent, leaves, held))
        total = total + np.where(selected, product, 0.0)
    return total


def _atom(terms: Terms, atom: object, leaves: dict[str, Array], held: NDArray[np.bool_]) -> Array:
    match atom:
        case Leaf(tensor=name):
            return leaves[name]
        case Power(base=base):
            return evaluated(terms, base, leaves, held)
        case Where(yes=yes, no=no):
            return np.where(held, evaluated(terms, yes, leaves, held), evaluated(terms, no, leaves, held))
        case Apply(fn=fn, args=args):
            given = [evaluated(terms, arg, leaves, held) for arg in args]
            if fn == "times":
                return np.asarray(given[0] * given[1])
            if fn == "zero times":
                return np.asarray(0.0 * given[0])
            if fn == "select":
                return np.where(given[0] != 0, given[1], given[2])
            if fn in ("max", "min"):
                return np.asarray((np.fmax if fn == "max" else np.fmin).reduce(given))
            return np.asarray(MAPS[fn].numpy(*given), dtype=np.float64)
        case _:
            raise AssertionError(atom)


def _choice(a: Both, b: Both, yes: Both, no: Both, fn: str = "lt") -> Both:
    held, test = MAPS[fn].numpy(a.value, b.value), binary_term(a.terms, fn, a.term, b.term)
    return Both(a.terms, np.where(held, yes.value, no.value), a.terms.apply("select", (test, yes.term, no.term)))


Law = Callable[[Both, Both, Both, NDArray[np.bool_]], Both]
LAWS: dict[str, Law] = {
    "sums commute": lambda x, y, w, m: (x + y) - x,
    "what cancels": lambda x, y, w, m: x.call("log2") + y - x.call("log2"),
    "zero times a logarithm": lambda x, y, w, m: y + (x - x) * w.call("log2"),
    "zero times a reciprocal": lambda x, y, w, m: y + x.number(0.0) * w.call("rcp"),
    "products distribute": lambda x, y, w, m: (x + y) * (x - y),
    "x / x": lambda x, y, w, m: y * x / x,
    "x / x of a sum": lambda x, y, w, m: (x + y) / (x + y),
    "root times root": lambda x, y, w, m: x.call("sqrt") * x.call("sqrt"),
    "root times root of a square": lambda x, y, w, m: (x * x).call("sqrt") * (x * x).call("sqrt"),
    "x times its inverse root": lambda x, y, w, m: x * x.call("rsqrt"),
    "inverse roots": lambda x, y, w, m: x.call("rsqrt") * x.call("rsqrt"),
    "inverse of an inverse": lambda x, y, w, m: x.call("rcp").call("rcp") + y,
    "exponentials multiply": lambda x, y, w, m: x.call("exp2") * y.call("exp2"),
    "exponentials divide": lambda x, y, w, m: x.call("exp2") / y.call("exp2"),
    "logarithm of an exponential": lambda x, y, w, m: (x.call("exp2") * y.call("abs")).call("log2"),
    "maxima are flat": lambda x, y, w, m: x.call("max", y).call("max", w.call("max", x)),
    "magnitude": lambda x, y, w, m: x.call("max", x.call("neg")) + x.call("min", x.call("neg")).call("abs"),
    "clamp": lambda x, y, w, m: x.number(-1.0).call("max", x.number(2.0).call("min", x)),
    "abs of a negative": lambda x, y, w, m: (x - y).call("abs") - (y - x).call("abs") + w,
    "choice as maximum": lambda x, y, w, m: _choice(x, y, y, x),
    "choice by another test": lambda x, y, w, m: _choice(x, y, w, x),
    "comparison of negatives": lambda x, y, w, m: _choice(x.call("neg"), y.call("neg"), w, x, "gt"),
    "comparison with a number": lambda x, y, w, m: _choice(x + x.number(0.5), x.number(2.0), w, y, "le"),
    "comparison of equals": lambda x, y, w, m: _choice(y - x, x.number(1.0), w, x * y, "eq"),
    "comparison of a negative with a number": lambda x, y, w, m: _choice(x.number(0.0), x.call("neg"), w, y, "ne"),
    "comparison at least": lambda x, y, w, m: _choice(x, y, w, x * y, "ge"),
    "comparison of numbers": lambda x, y, w, m: _choice(x.number(0.5), x.number(0.25), x, y, "gt"),
    "both arms alike": lambda x, y, w, m: _choice(x, y.call("log2"), w, w),
    "comparison with a logarithm on both sides": (
        lambda x, y, w, m: _choice(x + y.call("log2"), w + y.call("log2"), x, w)
    ),
    "a selection": lambda x, y, w, m: x.call("log2").where(m, x.number(0.0)),
    "a mask as a factor": lambda x, y, w, m: x.number(1.0).where(m, x.number(0.0)) * y.call("log2"),
    "two masks": lambda x, y, w, m: x.where(m, x.number(0.0)) * y.call("rcp").where(m, x.number(0.0)),
    "a masked sum": lambda x, y, w, m: (x + y).where(m, w) * w.call("rsqrt"),
}
EVERYWHERE = {"maxima are flat", "choice by another test"}
UNDERFLOWS = {"logarithm of an exponential"}
"""Steps whose numbers on the way may be too small for the type, which the premises exclude."""
DEFINED = {"sums commute", "products distribute", "maxima are flat", "magnitude", "clamp", "a selection", "two masks"}


def points() -> tuple[dict[str, Array], NDArray[np.bool_]]:
    dice = np.random.default_rng(5)
    made = {}
    for name in ("x", "y", "w"):
        some = dice.standard_normal(POINTS) * 2.0 ** dice.integers(-6, 6, POINTS)
        made[name] = np.where(dice.random(POINTS) < 0.5, dice.choice(SPECIAL, POINTS), some)
    return made, dice.random(POINTS) < 0.5


@pytest.mark.parametrize("name", LAWS)
def test_a_term_is_its_formula_wherever_it_is_defined(name: str) -> None:
    leaves, held = points()
    terms = Terms()
    given = [Both(terms, leaves[n], terms.atom(Leaf(n, (0,)))) for n in leaves]
    with np.errstate(all="ignore"):
        made = LAWS[name](given[0], given[1], given[2], held)
        assert made.term != UNKNOWN
        found = evaluated(terms, made.term, leaves, held)
        finite = np.all([np.isfinite(a) for a in leaves.values()], axis=0)
        said = np.isfinite(found) & (finite | (name in EVERYWHERE))
        if name in UNDERFLOWS:
            said &= np.abs(leaves["y"]) > LEAST
        size = sum(np.abs(np.nan_to_num(a, posinf=0, neginf=0)) for a in leaves.values()) ** 2 + np.abs(found)
        same = np.abs(made.value - found) <= 1e-9 * np.maximum(size, 1e-290)
    assert said.sum() > 100
    assert same[said].all(), [
        (leaves["x"][n], leaves["y"][n], leaves["w"][n]) for n in np.flatnonzero(said & ~same)[:3]
    ]
    if name in DEFINED:
        assert np.isfinite(found[finite & np.isfinite(made.value)]).all()


@pytest.mark.parametrize("name", ["i8", "u8", "i16", "u16", "i32", "u32"])
def test_wrapped_numbers_are_residues(name: str) -> None:
    """`wrapped` of a constant is what numpy's type holds; ranges hold every value; `congruent` is modulo 2^bits."""
    dice, terms = np.random.default_rng(1), Terms()
    low, high = numbers_of(name)
    terms.types = {"x": name, "y": name}
    x, y = (terms.atom(Leaf(n, (0,))) for n in ("x", "y"))
    product = terms.add(terms.multiply(x, y), terms.scaled(x, -3))
    bounds = terms.whole_range(product)
    assert bounds is not None
    for _ in range(1000):
        number = int(dice.integers(-(2**62), 2**62))
        wrapped = terms.value(terms.wrapped(name, terms.constant(number)))
        assert wrapped is not None
        assert low <= wrapped <= high
        assert (int(wrapped) - number) % 2 ** int(name[1:]) == 0
        a, b = (int(dice.integers(low, high, endpoint=True)) for _ in range(2))
        assert bounds[0] <= a * b - 3 * a <= bounds[1]
    atom = terms.as_atom(terms.wrapped(name, product))
    assert isinstance(atom, Apply)
    assert atom.fn == WRAP + name
    bits = int(name[1:])
    assert terms.congruent(product, terms.add(product, terms.scaled(x, 2**bits)), bits)
    assert not terms.congruent(product, terms.add(product, terms.scaled(x, 2 ** (bits - 1))), bits)
    assert not terms.congruent(product, terms.add(product, terms.constant(1)), bits)


@pytest.mark.parametrize("name", ["i8", "u8", "i16", "u16", "i32"])
def test_shifts_and_masks_are_quotients_and_remainders(name: str) -> None:
    """`shl` scales modulo 2^bits; `shr` and `and` are what // and % of the specification become, and lie in range. An
    amount counts modulo 32."""
    dice, terms = np.random.default_rng(3), Terms()
    low, high = numbers_of(name)
    terms.types = {"x": name}
    x = terms.atom(Leaf("x", (0,)))
    kind = np.dtype({"i": "int", "u": "uint"}[name[0]] + name[1:])
    for bits in range(32):
        k, by = terms.constant(bits), terms.constant(2**bits)
        assert all(terms.amount(terms.constant(bits + more), 32) == k for more in (-64, -32, 32, 64))
        assert binary_term(terms, "shl", x, k) == terms.multiply(x, by)
        quotient, rest = whole_quotient(terms, "//", x, by), whole_quotient(terms, "%", x, by)
        assert quotient == binary_term(terms, "shr", x, k)
        assert bits == 0 or rest == binary_term(terms, "and", x, terms.constant(2**bits - 1))
        assert quotient is not None
        assert rest is not None
        least, most = terms.whole_range(quotient), terms.whole_range(rest)
        assert least is not None
        assert most is not None
        for number in (low, high, -1 if low else 0, 0, *dice.integers(low, high, 50, endpoint=True)):
            held = np.array(number, dtype=kind), np.array(bits, dtype=kind)
            right, left = elementwise("shr", held, DTYPES[name]), elementwise("shl", held, DTYPES[name])
            assert int(right) == int(number) // 2**bits
            assert (int(left) - int(number) * 2**bits) % 2 ** int(name[1:]) == 0
            assert least[0] <= int(number) // 2**bits <= least[1]
            assert most[0] <= int(number) % 2**bits <= most[1]
    assert whole_quotient(terms, "//", x, terms.constant(2**64)) is None
    assert whole_quotient(terms, "%", x, terms.constant(3)) is None
    assert whole_quotient(terms, "//", terms.atom(Leaf("real", (0,))), terms.constant(2)) is None


def test_constants_are_close_within_two_units() -> None:
    dice = np.random.default_rng(2)
    for n in np.exp(dice.uniform(-20, 10, 1000)) / 3.0:
        unit = float(np.spacing(np.float32(n)))
        assert close_enough(float(n) + 1.5 * unit, float(n), f32)
        assert not close_enough(float(n) + 4.1 * unit, float(n), f32)
        assert not close_enough(float(n) + unit, float(n), f64)
        assert not close_enough(float(n) + unit / 2, float(n), i32)
        short = float(np.float32(n))
        assert close_enough(short + unit / 4, short, f32)
        assert not close_enough(short + unit, short, f32)
    assert not close_enough(3000001, 3000000, f32)
    assert not close_enough(2**24 + 1, 2**24, f32)


def test_a_term_has_a_size_limit() -> None:
    terms = Terms()
    term = terms.atom(Leaf("x", (0,)))
    for _ in range(40):
        term = terms.apply("tanh", (terms.add(term, terms.apply("erf", (term,))),))
    assert term == UNKNOWN
