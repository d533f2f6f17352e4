"""Laws of the fields and of their numbers, with Python's integers and fractions as oracle."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from argus.machine.algebra import fields, numbers
from argus.machine.algebra.constants import LOG2_E, Constants, fraction
from argus.machine.algebra.fields import LEVELS, ORDERS

COUNT = 200


def drawn(seed: int) -> fields.Residues:
    rng = np.random.default_rng(seed)
    return np.stack([rng.integers(0, q, COUNT, dtype=np.uint64) for q in ORDERS])


def _witness(n: int, base: int) -> bool:
    """Whether `base` shows that n is composite (Miller and Rabin)."""
    odd, twos = n - 1, 0
    while odd % 2 == 0:
        odd, twos = odd // 2, twos + 1
    x = pow(base, odd, n)
    return x not in (1, n - 1) and all((x := x * x % n) != n - 1 for _ in range(twos - 1))


def test_the_orders_are_a_chain_of_primes() -> None:
    """The first four primes decide primality below 3.2 * 10**9."""
    for q in ORDERS:
        assert not any(_witness(q, base) for base in (2, 3, 5, 7))
        assert q % 4 == 3
        assert q < 1 << 31
    for below, above in pairwise(ORDERS):
        assert above == 2 * below + 1
        assert pow(2, below, above) == 1


@pytest.mark.parametrize("seed", range(3))
def test_arithmetic_is_that_of_integers(seed: int) -> None:
    x, y, z = drawn(seed), drawn(seed + 10), drawn(seed + 20)
    made = {
        "add": fields.add(x, y),
        "subtract": fields.subtract(x, y),
        "multiply": fields.multiply(x, y),
        "fma": fields.multiply_add(x, y, z),
        "negate": fields.negate(x),
        "inverse": fields.inverse(x),
    }
    for level, q in enumerate(ORDERS):
        for k in range(COUNT):
            a, b, c = (int(v[level, k]) for v in (x, y, z))
            want = {
                "add": (a + b) % q,
                "subtract": (a - b) % q,
                "multiply": a * b % q,
                "fma": (a * b + c) % q,
                "negate": -a % q,
                "inverse": pow(a, -1, q) if a else 0,
            }
            assert {name: int(found[level, k]) for name, found in made.items()} == want


def test_exp2_turns_sums_into_products_and_log2_turns_them_back() -> None:
    x, y = drawn(1), drawn(2)
    assert (fields.exp2(fields.add(x, y))[1:] == fields.multiply(fields.exp2(x), fields.exp2(y))[1:]).all()
    for level in range(1, LEVELS):
        assert [int(v) for v in fields.exp2(x)[level]] == [pow(2, int(e), ORDERS[level]) for e in x[level - 1]]
    few = x[:, :20]
    assert (fields.log2(fields.exp2(few))[:-1] == few[:-1]).all()
    a, b = drawn(3)[:, :20] + np.uint64(1), drawn(4)[:, :20] + np.uint64(1)
    a, b = a % fields.orders(1), b % fields.orders(1)
    assert (fields.log2(fields.multiply(a, b))[:-1] == fields.add(fields.log2(a), fields.log2(b))[:-1]).all()


def test_logarithms_that_were_found_before_are_not_searched_again(monkeypatch: pytest.MonkeyPatch) -> None:
    x = drawn(5)[:, :6] + np.uint64(1)
    powers = fields.exp2(x)
    assert (fields.log2(powers)[:-1] == x[:-1]).all()
    searched: list[int] = []
    search = fields._searched_logarithm

    def watched(level: int, values: fields.Residues) -> fields.Residues:
        searched.extend(values.tolist())
        return search(level, values)

    monkeypatch.setattr(fields, "_searched_logarithm", watched)
    assert (fields.log2(powers[:, ::-1])[:-1] == x[:-1, ::-1]).all()
    assert searched == []
    y = drawn(6)[:, :2] + np.uint64(1)
    mixed = np.concatenate([x[:, :3], y], axis=1)
    assert (fields.log2(fields.exp2(mixed))[:-1] == mixed[:-1]).all()
    assert len(searched) == 2 * (LEVELS - 1)
    monkeypatch.setattr(fields, "_KEPT_LOGARITHMS", 0)
    assert (fields.log2(powers)[:-1] == x[:-1]).all(), "forgotten, and found again"


def test_exp2_of_whole_numbers_is_a_power_of_two() -> None:
    n = np.arange(-30.0, 31.0)
    assert (fields.exp2(fields.of_floats(n))[1:] == fields.of_floats(2.0**n)[1:]).all()


def test_a_root_squared_is_its_number_or_the_negative() -> None:
    x = drawn(5)
    root = fields.sqrt(x)
    square = fields.multiply(root, root)
    is_square = fields.squares(x)
    assert (np.where(is_square, square, fields.negate(square)) == x).all()
    assert fields.squares(root)[is_square].all()
    assert 0.3 < is_square.mean() < 0.7


def test_doubles_are_the_numbers_they_are() -> None:
    rng = np.random.default_rng(6)
    values = np.concatenate([rng.standard_normal(50) * 2.0 ** rng.integers(-300, 300, 50), [0.0, -0.0, 5e-324, 1e308]])
    found = fields.of_floats(values)
    for k, value in enumerate(values):
        exact = Fraction(float(value))
        assert [int(v) for v in found[:, k]] == [exact.numerator * pow(exact.denominator, -1, q) % q for q in ORDERS]


def test_numbers_drawn_for_values_are_odd_functions_of_them() -> None:
    values = np.random.default_rng(7).standard_normal(COUNT)
    made = fields.drawn(values, 3)
    assert (made == fields.drawn(values.copy(), 3)).all()
    assert (fields.negate(made) == fields.drawn(-values, 3)).all()
    assert len(np.unique(made[0])) == COUNT
    assert not (made == fields.drawn(values, 4)).all(axis=0).any()
    assert not fields.drawn(np.zeros(1), 3).any()


def test_infinity_and_underflow_follow_the_real_run() -> None:
    x = numbers.of_floats(np.array([-np.inf, -1e30, -130.0, 3.0, 200.0]))
    with np.errstate(all="ignore"):
        e = numbers.exp2(x)
        r = numbers.inverse(e)
    assert e.real.tolist() == [0.0, 0.0, 0.0, 8.0, np.inf]
    assert (e.residue[:, :3] == 0).all()
    assert e.taint.tolist()[:2] == [0, 0]
    assert e.taint[2] == numbers.DOUBTFUL
    assert e.present[4] == 0
    assert r.real[4] == 0.0
    assert r.taint[4] == numbers.DOUBTFUL


def test_a_float_near_a_named_number_stands_for_it() -> None:
    tenth = fraction(Fraction(1, 10))
    constants = Constants(1, [tenth])
    near = np.float64(np.float32(0.1))
    made = constants.of_floats(np.array([near, -near, 0.5, 0.1001, float(np.float32(LOG2_E))]))
    assert (made.residue[:, 0] == tenth.residue).all()
    assert (made.residue[:, 1] == fields.negate(tenth.residue)).all()
    assert (made.residue[:, 2] == fields.of_ratio(1, 2)).all()
    assert (made.residue[:, 3] == fields.of_floats(np.array([0.1001]))[:, 0]).all()
    assert (made.residue[:, 4] == constants.log2_e.residue).all()
    folded = constants.of_floats(np.array([float(np.float32(0.1 * LOG2_E))]))
    assert (folded.residue[:, 0] == fields.multiply(tenth.residue, constants.log2_e.residue)).all()
    rest = LOG2_E - float(np.float32(LOG2_E))
    assert not constants.of_floats(np.array([float(np.float32(rest))])).residue.any()


def test_a_fitted_coefficient_is_doubtful_unless_it_is_a_named_number() -> None:
    third = fraction(Fraction(1, 3))
    coefficient = float(np.float32(0.16666516661643982))
    constants = Constants(1, [third], [coefficient, float(np.float32(1 / 3))])
    made = constants.of_floats(np.array([coefficient, -coefficient, float(np.float32(1 / 3)), 0.5]))
    assert made.taint.tolist() == [numbers.DOUBTFUL, numbers.DOUBTFUL, 0, 0]
    assert (made.residue[:, 2] == third.residue).all()
    assert (made.residue[:, 0] == fields.of_floats(np.array([coefficient]))[:, 0]).all()


def test_a_constant_as_a_narrow_type_rounds_it_is_doubtful() -> None:
    """1.4453125 is log2(e) in bf16, 0.0999755859375 is a tenth in f16; 1/1024 is no rounding of 1/1023, and what no
    narrow type has is a number of its own."""
    constants = Constants(1, [fraction(Fraction(1, 10)), fraction(Fraction(1, 1023))])
    made = constants.of_floats(np.array([1.4453125, -1.4453125, float(np.float16(0.1)), 1 / 1024, 0.5, 1.4451]))
    assert (made.taint > 0).tolist() == [True, True, True, False, False, False]
    assert made.taint[0] == numbers.DOUBTFUL
