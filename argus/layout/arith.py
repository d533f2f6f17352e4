"""Sums, products, floor division and modulo, kept in normal form.

A sum is a dictionary from atoms (non-sum terms) to integer coefficients plus a constant; products of sums are
multiplied out while they stay small.  Division and modulo by a positive constant peel off what is certain:

    (row*128 + k*2 + 5) // 128   ->  row + (k*2 + 5)//128      multiples of the divisor leave
    (chunk*16 + e*2) // 16       ->  chunk                      0 <= e*2 < 16 by e's bounds
    (t//8)*8 + t%8               ->  t                          the digits of t recombine

Every rule carries the reason it is true beside it; all are fuzzed against plain evaluation.

What it cannot do: facts that relate variables (`k < K`) are not used here, and divisors that are not constants only
get the rules that hold for any positive divisor.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from math import gcd

from argus.layout.node import BUILDERS, Expr, ExprError, const, make

MAX_PRODUCT_TERMS = 16
CACHED_DIVISIONS = 1 << 14
CACHED_SUMS = 1 << 14

Terms = dict[Expr, int]


def terms(e: Expr) -> tuple[Terms, int]:
    """`e` as coefficients of atoms plus a constant."""
    found: Terms = {}
    constant = 0
    for part in e.args if e.op == "add" else (e,):
        if part.op == "const":
            constant += part.value
        elif part.op == "mul" and part.args[-1].op == "const":
            found[_product(part.args[:-1])] = part.args[-1].value
        else:
            found[part] = 1
    return found, constant


def _product(factors: tuple[Expr, ...]) -> Expr:
    return factors[0] if len(factors) == 1 else make("mul", factors)


def _scaled(atom: Expr, k: int) -> Expr:
    if k == 1:
        return atom
    factors = atom.args if atom.op == "mul" else (atom,)
    return make("mul", (*factors, const(k)))


def from_terms(parts: Terms, constant: int) -> Expr:
    """The canonical sum; digits that recombine are joined first."""
    parts = {atom: k for atom, k in parts.items() if k != 0}
    while (joined := _recombine(parts)) is not None:
        parts, constant = joined[0], constant + joined[1]
    ordered = [_scaled(atom, parts[atom]) for atom in sorted(parts, key=lambda a: a.key)]
    if not ordered:
        return const(constant)
    if constant != 0:
        ordered.append(const(constant))
    return ordered[0] if len(ordered) == 1 else make("add", tuple(ordered))


def _recombine(parts: Terms) -> tuple[Terms, int] | None:
    """One step of k*(x%c) + k*c*(x//c) = k*x, or of k*(x%c) + k*c*(x//c%d) = k*(x % (c*d)); None when there is none."""
    for low, k in parts.items():
        if low.op != "mod" or low.args[1].op != "const" or low.args[1].value <= 0:
            continue
        x, c = low.args[0], low.args[1].value
        quotient = floordiv(x, const(c))
        whole: Expr | None = None
        high: Expr | None = None
        if parts.get(quotient) == k * c:
            # x == c*(x//c) + x%c for every integer x and c != 0.
            high, whole = quotient, x
        else:
            for other, factor in parts.items():
                if factor == k * c and other.op == "mod" and other.args[0] is quotient and other.args[1].op == "const":
                    # Two neighbouring digits of x: x%c + c*(x//c % d) == x % (c*d).
                    high, whole = other, mod(x, const(c * other.args[1].value))
                    break
        if high is None or whole is None:
            continue
        rest = {atom: factor for atom, factor in parts.items() if atom is not low and atom is not high}
        extra, constant = terms(whole)
        for atom, factor in extra.items():
            rest[atom] = rest.get(atom, 0) + k * factor
        return {atom: factor for atom, factor in rest.items() if factor}, k * constant
    return None


@lru_cache(maxsize=CACHED_SUMS)
def add(*args: Expr) -> Expr:
    total: Terms = {}
    constant = 0
    for arg in args:
        parts, k0 = terms(arg)
        constant += k0
        for atom, k in parts.items():
            total[atom] = total.get(atom, 0) + k
    return from_terms(total, constant)


@lru_cache(maxsize=CACHED_SUMS)
def scale(e: Expr, k: int) -> Expr:
    """k * e with the factor distributed over the sum."""
    parts, constant = terms(e)
    return from_terms({atom: k * c for atom, c in parts.items()}, k * constant)


def mul(*args: Expr) -> Expr:
    result = args[0]
    for arg in args[1:]:
        result = _multiply(result, arg)
    return result


@lru_cache(maxsize=CACHED_SUMS)
def _multiply(a: Expr, b: Expr) -> Expr:
    if a.op == "const":
        return scale(b, a.value)
    if b.op == "const":
        return scale(a, b.value)
    left, left_constant = terms(a)
    right, right_constant = terms(b)
    if (len(left) + 1) * (len(right) + 1) > MAX_PRODUCT_TERMS:
        return make("mul", tuple(sorted((a, b), key=lambda f: f.key)))
    # Multiplication distributes over addition.
    total: Terms = {}
    for x, kx in left.items():
        for y, ky in right.items():
            _accumulate(total, _join_factors(x, y), kx * ky)
        _accumulate(total, x, kx * right_constant)
    for y, ky in right.items():
        _accumulate(total, y, ky * left_constant)
    return from_terms(total, left_constant * right_constant)


def _join_factors(x: Expr, y: Expr) -> Expr:
    factors = (x.args if x.op == "mul" else (x,)) + (y.args if y.op == "mul" else (y,))
    return make("mul", tuple(sorted(factors, key=lambda f: f.key)))


def _accumulate(total: Terms, atom: Expr, k: int) -> None:
    total[atom] = total.get(atom, 0) + k


def _within(e: Expr, lo: int, hi: int) -> bool:
    return e.lo is not None and e.hi is not None and lo <= e.lo and e.hi <= hi


def _digit_split(parts: Terms, constant: int, c: int) -> tuple[int, Expr, Expr] | None:
    """g, A, r with sum = g*A + r, g divides c, 1 < g < c, 0 <= r < g; None when no coefficient shows such a g."""
    for g in sorted({gcd(k, c) for k in parts.values()}, reverse=True):
        if not 1 < g < c:
            continue
        rest = from_terms({atom: k for atom, k in parts.items() if k % g}, constant % g)
        if _within(rest, 0, g - 1):
            return g, from_terms({atom: k // g for atom, k in parts.items() if k % g == 0}, constant // g), rest
    return None


def _one_quotient(e: Expr, c: int) -> int | None:
    """The common value of x//c over all x that e can take, if there is one."""
    if e.lo is not None and e.hi is not None and e.lo // c == e.hi // c:
        return e.lo // c
    return None


def floordiv(a: Expr, b: Expr) -> Expr:
    if b.op == "const":
        return _floordiv_const(a, b.value)
    if b.lo is not None and b.lo > 0 and (within := _quotient_below(a, b)) is not None:
        return within
    if a is b and _nonzero(b):
        return const(1)
    return make("floordiv", (a, b))


def _nonzero(e: Expr) -> bool:
    return (e.lo is not None and e.lo > 0) or (e.hi is not None and e.hi < 0)


def _quotient_below(a: Expr, b: Expr) -> Expr | None:
    # 0 <= a <= hi(a) < lo(b) <= b gives a//b == 0.
    if a.lo is not None and a.lo >= 0 and a.hi is not None and b.lo is not None and a.hi < b.lo:
        return const(0)
    # (m*b)//b == m for b != 0.
    return _cofactor(a, b)


def _cofactor(a: Expr, b: Expr) -> Expr | None:
    parts, constant = terms(a)
    if constant or not parts:
        return None
    quotients = []
    for atom, k in parts.items():
        factors = list(atom.args) if atom.op == "mul" else [atom]
        if b not in factors:
            return None
        factors.remove(b)
        quotients.append(scale(mul(*factors) if factors else const(1), k))
    return add(*quotients)


@lru_cache(maxsize=CACHED_DIVISIONS)
def _floordiv_const(a: Expr, c: int) -> Expr:
    if c == 0:
        raise ExprError(f"`{a}` is divided by zero")
    if c < 0:
        # a // -c == (-a) // c: numerator and denominator change sign together.
        return _floordiv_const(scale(a, -1), -c)
    if c == 1:
        return a
    quotient = _one_quotient(a, c)
    if quotient is not None:
        return const(quotient)
    parts, constant = terms(a)
    # (c*q + r)//c == q + r//c for every integer q.
    outside = from_terms({atom: k // c for atom, k in parts.items() if k % c == 0}, constant // c)
    inside = {atom: k for atom, k in parts.items() if k % c}
    constant %= c
    return add(outside, _floordiv_rest(inside, constant, c))


def _floordiv_rest(parts: Terms, constant: int, c: int) -> Expr:
    rest = from_terms(parts, constant)
    quotient = _one_quotient(rest, c)
    if quotient is not None:
        return const(quotient)
    split = _digit_split(parts, constant, c)
    if split is not None:
        # (g*A + r)//(g*d) == A//d when 0 <= r < g: r/g adds less than one to the integer A.
        g, high, _ = split
        return _floordiv_const(high, c // g)
    common = gcd(c, constant, *parts.values())
    if common > 1:
        # (g*A)//(g*d) == A//d.
        return _floordiv_const(
            from_terms({atom: k // common for atom, k in parts.items()}, constant // common), c // common
        )
    if rest.op == "floordiv" and rest.args[1].op == "const" and rest.args[1].value > 0:
        # (x//a)//b == x//(a*b) for a, b > 0.
        return _floordiv_const(rest.args[0], rest.args[1].value * c)
    if rest.op == "mod" and rest.args[1].op == "const" and rest.args[1].value % c == 0 and rest.args[1].value > 0:
        # (x % (a*c))//c == (x//c) % a: dropping multiples of a*c drops multiples of a from the quotient.
        return mod(_floordiv_const(rest.args[0], c), const(rest.args[1].value // c))
    if rest.op == "xor" and c & (c - 1) == 0:
        # A right shift moves each bit on its own: (x^y)>>s == (x>>s)^(y>>s).
        return BUILDERS["xor"](*(_floordiv_const(arg, c) for arg in rest.args))
    return make("floordiv", (rest, const(c)))


def mod(a: Expr, b: Expr) -> Expr:
    if b.op == "const":
        return _mod_const(a, b.value)
    if b.lo is not None and b.lo > 0:
        # 0 <= a < lo(b) <= b leaves a unchanged.
        if a.lo is not None and a.lo >= 0 and a.hi is not None and a.hi < b.lo:
            return a
        # (m*b) % b == 0, for each term of the sum on its own.
        parts, constant = terms(a)
        kept = {atom: k for atom, k in parts.items() if _cofactor(atom, b) is None}
        if len(kept) < len(parts):
            return mod(from_terms(kept, constant), b)
    if a is b and _nonzero(b):
        return const(0)
    return make("mod", (a, b))


@lru_cache(maxsize=CACHED_DIVISIONS)
def _mod_const(a: Expr, c: int) -> Expr:
    if c == 0:
        raise ExprError(f"`{a}` is taken modulo zero")
    if c < 0:
        # a % -c == -((-a) % c): the sign follows the divisor.
        return scale(_mod_const(scale(a, -1), -c), -1)
    if c == 1:
        return const(0)
    quotient = _one_quotient(a, c)
    if quotient is not None:
        # a == c*quotient + a%c.
        return add(a, const(-c * quotient))
    # Multiples of c do not change the remainder; (x%m) may be replaced by x when c divides m, for the same reason.
    previous: Expr | None = None
    while previous is not a:
        previous = a
        parts, constant = terms(a)
        kept = (scale(_without_mod(atom, c // gcd(k, c)), k) for atom, k in parts.items() if k % c)
        a = add(*kept, const(constant % c))
    parts, constant = terms(a)
    # Coefficients are reduced to the residue nearest zero, the constant to 0..c-1.
    parts = {atom: _near(k, c) for atom, k in parts.items() if k % c}
    return _mod_rest(parts, constant % c, c)


def _near(k: int, c: int) -> int:
    k %= c
    return k - c if 2 * k > c else k


def _without_mod(atom: Expr, c: int) -> Expr:
    # k*(x%m) == k*x modulo C when C divides k*m, that is when C/gcd(k, C) divides m.
    if atom.op == "mod" and atom.args[1].op == "const" and atom.args[1].value > 0 and atom.args[1].value % c == 0:
        return atom.args[0]
    return atom


def _mod_rest(parts: Terms, constant: int, c: int) -> Expr:
    rest = from_terms(parts, constant)
    quotient = _one_quotient(rest, c)
    if quotient is not None:
        return add(rest, const(-c * quotient))
    split = _digit_split(parts, constant, c)
    if split is not None:
        # (g*A + r) % (g*d) == g*(A % d) + r when 0 <= r < g.
        g, high, low = split
        return add(scale(_mod_const(high, c // g), g), low)
    common = gcd(c, constant, *parts.values())
    if common > 1:
        # (g*A) % (g*d) == g*(A % d).
        inner = from_terms({atom: k // common for atom, k in parts.items()}, constant // common)
        return scale(_mod_const(inner, c // common), common)
    if rest.op == "xor" and c & (c - 1) == 0:
        # The low bits of an exclusive or are the exclusive or of the low bits.
        return BUILDERS["xor"](*(_mod_const(arg, c) for arg in rest.args))
    return make("mod", (rest, const(c)))


def linear(e: Expr) -> tuple[Terms, int]:
    """`e` as a sum: coefficients of its non-sum parts, and the constant."""
    return terms(e)


def split(e: Expr, variables: Iterable[Expr]) -> tuple[Expr, Expr] | None:
    """(part, rest), e == part + rest: part over `variables` only, rest without them; None when entangled."""
    wanted = frozenset(variables)
    parts, constant = terms(e)
    inside: Terms = {}
    outside: Terms = {}
    for atom, k in parts.items():
        names = atom.free()
        if not names & wanted:
            outside[atom] = k
        elif names <= wanted:
            inside[atom] = k
        else:
            return None
    return from_terms(inside, 0), from_terms(outside, constant)


BUILDERS.update(add=add, mul=mul, floordiv=floordiv, mod=mod)
