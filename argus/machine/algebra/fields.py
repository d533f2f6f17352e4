"""Three prime fields, each of whose sizes is the order of 2 in the next: exact sums, products, roots, exp2 and log2.

    ORDERS = (q, 2q + 1, 4q + 3), all prime, q = 3 mod 4            2**q = 1 in the second, 2**(2q + 1) = 1 in the third
    exp2(5) = 32     exp2(a + b) = exp2(a) * exp2(b)     log2(exp2(a)) = a     sqrt(exp2(a)) = exp2(a / 2)

A number has one residue per field, all independent. `exp2` takes the residue of one field to a power of 2 in the next,
and loses the first; `log2` goes the other way and loses the last. Such a chain of primes (a Cunningham chain) is what
makes 2 itself the base: where code splits x into a whole part n and a fraction f, exp2(f) * 2**n is exp2(x).

Half of a field's numbers are squares, the others are their negatives. `log2` is the logarithm of whichever of y and -y
is a square; `sqrt` returns a root of that one, and says where it was -y. No residue has more than 31 bits, so products
fit in 64.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

Residues = NDArray[np.uint64]
"""(levels, ...): one row per field."""

ORDERS = (536859731, 1073719463, 2147438927)
LEVELS = len(ORDERS)
EVERY_LEVEL = (1 << LEVELS) - 1

_U64 = np.uint64
_WINDOW = 15
_BABY_STEPS = 1 << 20
_EXPONENTS = 2200
"""Powers of two of doubles, either sign."""
_KEPT_LOGARITHMS = 1 << 20
"""Per field: a launch takes the logarithm of the same few numbers in many waves."""


@lru_cache(maxsize=16)
def orders(dimensions: int) -> Residues:
    """The sizes of the fields, shaped to meet residues over an array of so many dimensions."""
    return np.array(ORDERS, _U64).reshape(LEVELS, *(1,) * dimensions)


def _of(x: Residues) -> Residues:
    return orders(x.ndim - 1)


def add(x: Residues, y: Residues) -> Residues:
    return (x + y) % _of(x)


def subtract(x: Residues, y: Residues) -> Residues:
    return (x + (_of(x) - y)) % _of(x)


def negate(x: Residues) -> Residues:
    return (_of(x) - x) % _of(x)


def multiply(x: Residues, y: Residues) -> Residues:
    return x * y % _of(x)


def multiply_add(x: Residues, y: Residues, z: Residues) -> Residues:
    return (x * y + z) % _of(x)


def power(x: Residues, exponents: tuple[int, ...]) -> Residues:
    """x to a power of its own in every field."""
    result = np.ones_like(x)
    for level, (order, exponent) in enumerate(zip(ORDERS, exponents, strict=True)):
        base, made, q = x[level], result[level], _U64(order)
        for bit in bin(exponent)[:1:-1]:
            if bit == "1":
                made = made * base % q
            base = base * base % q
        result[level] = made
    return result


def inverse(x: Residues) -> Residues:
    """1 / x; 0 for 0."""
    return power(x, tuple(q - 2 for q in ORDERS))


@lru_cache(maxsize=1)
def _powers() -> list[tuple[Residues, Residues]]:
    """Powers of 2 below and above the window, of every field."""
    tables = []
    for order in ORDERS:
        low, high, step = [1], [1], pow(2, 1 << _WINDOW, order)
        for _ in range((1 << _WINDOW) - 1):
            low.append(low[-1] * 2 % order)
            high.append(high[-1] * step % order)
        tables.append((np.array(low, _U64), np.array(high, _U64)))
    return tables


def exp2(x: Residues) -> Residues:
    """2**x: every field from the one before; the first is 0 and means nothing."""
    result = np.zeros_like(x)
    for level in range(1, LEVELS):
        low, high = _powers()[level]
        exponent = x[level - 1]
        below = low[exponent & _U64((1 << _WINDOW) - 1)]
        result[level] = below * high[exponent >> _U64(_WINDOW)] % _U64(ORDERS[level])
    return result


def squares(x: Residues) -> NDArray[np.bool_]:
    """Where x is a square (or 0), by Euler's criterion."""
    found: NDArray[np.bool_] = power(x, tuple((q - 1) // 2 for q in ORDERS)) <= _U64(1)
    return found


def sqrt(x: Residues) -> Residues:
    """The root of x that is a square itself; of -x where x is not a square."""
    return power(x, tuple((q + 1) // 4 for q in ORDERS))


@lru_cache(maxsize=LEVELS)
def _baby_steps(level: int) -> tuple[Residues, NDArray[np.int64]]:
    """The first powers of 2 in order of size, and which powers they are."""
    order = ORDERS[level]
    steps = np.ones(_BABY_STEPS, _U64)
    known = 1
    while known < _BABY_STEPS:
        factor = _U64(pow(2, known, order))
        steps[known : 2 * known] = steps[:known] * factor % _U64(order)
        known *= 2
    sorting = np.argsort(steps)
    return steps[sorting], sorting


@lru_cache(maxsize=LEVELS)
def _known_logarithms(level: int) -> dict[int, int]:
    """Those that were found before."""
    return {}


def _logarithm(level: int, x: Residues) -> Residues:
    """The power of 2 that each of x (squares of the field, each once) is."""
    known = _known_logarithms(level)
    if len(known) > _KEPT_LOGARITHMS:
        known.clear()
    new = np.array([value for value in x.tolist() if value not in known], _U64)
    known.update(zip(new.tolist(), _searched_logarithm(level, new).tolist(), strict=True))
    return np.array([known[value] for value in x.tolist()], _U64)


def _searched_logarithm(level: int, x: Residues) -> Residues:
    """The same for numbers that were not met before: baby steps and giant steps."""
    sizes, powers = _baby_steps(level)
    order, below = ORDERS[level], ORDERS[level - 1]
    giant = _U64(pow(2, below - _BABY_STEPS, order))
    found = np.full(len(x), -1, np.int64)
    moved, open_ = x.copy(), np.arange(len(x))
    for step in range(below // _BABY_STEPS + 1):
        here = moved[open_]
        at = np.minimum(np.searchsorted(sizes, here), _BABY_STEPS - 1)
        hit = sizes[at] == here
        found[open_[hit]] = powers[at[hit]] + step * _BABY_STEPS
        open_ = open_[~hit]
        if not len(open_):
            break
        moved[open_] = moved[open_] * giant % _U64(order)
    return found.astype(_U64)


def log2(x: Residues) -> Residues:
    """The logarithm to base 2 of x, or of -x: every field from the one after; the last is 0 and means nothing."""
    result = np.zeros_like(x)
    root_of_one = power(x, tuple((q - 1) // 2 for q in ORDERS))
    for level in range(1, LEVELS):
        order = _U64(ORDERS[level])
        positive = np.where(root_of_one[level] == order - _U64(1), order - x[level], x[level])
        values, where = np.unique(positive.ravel(), return_inverse=True)
        usable = values > _U64(0)
        logs = np.zeros_like(values)
        logs[usable] = _logarithm(level, values[usable])
        result[level - 1] = logs[where].reshape(x.shape[1:])
    return result


@lru_cache(maxsize=1)
def _scales() -> Residues:
    """2**e of every field for e from -_EXPONENTS."""
    exponents = range(-_EXPONENTS, _EXPONENTS + 1)
    return np.array([[pow(2, e % (q - 1), q) for e in exponents] for q in ORDERS], _U64)


def of_floats(values: NDArray[np.float64]) -> Residues:
    """The number that a double is, m * 2**e; 0 for what is not finite."""
    finite = np.where(np.isfinite(values), values, 0.0)
    fraction, exponent = np.frexp(np.abs(finite))
    whole = np.ldexp(fraction, 53).astype(_U64)
    q = orders(values.ndim)
    scaled = whole[None] % q * _scales()[:, exponent - 53 + _EXPONENTS] % q
    return np.where(np.signbit(finite)[None], (q - scaled) % q, scaled)


def of_ratio(numerator: int, denominator: int) -> Residues:
    """A fraction, one residue per field."""
    return np.array([numerator * pow(denominator, -1, q) % q for q in ORDERS], _U64)


def _mixed(words: NDArray[Any]) -> NDArray[np.uint64]:
    """A 64-bit hash (splitmix64)."""
    x = (words + _U64(0x9E3779B97F4A7C15)).astype(_U64)
    x = (x ^ x >> _U64(30)) * _U64(0xBF58476D1CE4E5B9)
    x = (x ^ x >> _U64(27)) * _U64(0x94D049BB133111EB)
    return x ^ x >> _U64(31)


def drawn(values: NDArray[np.float64], seed: int) -> Residues:
    """A random number for every value: the same for the same value, the negative for its negative, 0 for 0."""
    bits = np.abs(values).view(_U64)
    q = orders(values.ndim)
    keys = np.arange(1, LEVELS + 1, dtype=_U64).reshape(q.shape) * _U64(0x632BE59BD9B4E019)
    with np.errstate(over="ignore"):
        made = _mixed(_mixed(bits + _U64(seed % (1 << 63)))[None] ^ keys) % q
    made = np.where(values == 0, _U64(0), made)
    return np.where(np.signbit(values), (q - made) % q, made)


def scrambled(x: Residues, name: str) -> Residues:
    """A random function of the residues, one for every name."""
    key = _U64(int.from_bytes(name.encode().ljust(8, b"\0")[:8], "little"))
    with np.errstate(over="ignore"):
        return _mixed(x ^ key) % _of(x)
