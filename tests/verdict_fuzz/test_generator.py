"""The generator is right: its own meaning agrees with what the kernels state, and the machine with both.

Two oracles that share nothing: the numpy meaning written beside each text, and `computes` evaluated by `argus.spec`.
"""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from bench.verdict_fuzz.bounded import FUNCTIONS, Real, call, given
from bench.verdict_fuzz.judge import program_of_text
from bench.verdict_fuzz.launch_data import inputs
from bench.verdict_fuzz.mutators import mutants
from bench.verdict_fuzz.sources import FAMILIES, WEIGHTS, source
from bench.verdict_fuzz.stated import stated_meaning
from bench.verdict_fuzz.truth import legal


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_two_meanings_agree(family: str) -> None:
    """Wherever both judge an element, they are within each other's bounds."""
    for seed in range(6):
        program = FAMILIES[family](Random(f"{family}{seed}"))
        kernel = program_of_text(program, program.source).kernel
        stated = stated_meaning(kernel, dict(program.scalars))
        launches = [s for s in program.launches if legal(kernel, s)][:3]
        assert launches, program.source
        for sizes in launches:
            arrays = inputs(program, kernel, sizes, "mixed", seed=3)
            theirs = stated(arrays, sizes)
            for name, mine in program.meaning(arrays, sizes).items():
                other = theirs[name]
                judged = np.isfinite(mine.error) & np.isfinite(other.error) & np.isfinite(other.value)
                apart = np.abs(mine.value - other.value) <= mine.error + other.error + 1e-9 * np.abs(other.value)
                assert np.broadcast_to(apart | ~judged, other.value.shape).all(), (program.source, sizes)


def test_bounds_hold_for_f32() -> None:
    """Each function computed in f32 by numpy is within the bound of the exact value."""
    dice = np.random.default_rng(1)
    x, y, z, w = (dice.normal(0, 3, 4000).astype(np.float32) for _ in range(4))
    for name in FUNCTIONS:
        args = (x, y, z, w)[: {"fma": 3, "where_gt": 4}.get(name, 1 if name in ONE else 2)]
        if name in ("log", "log2", "sqrt", "rsqrt"):
            args = (np.abs(args[0]) + np.float32(0.1),)
        exact = call(name, *(given(a) for a in args))
        narrow = call(name, *(Real(a, np.zeros_like(a)) for a in args)).value.astype(np.float32)
        assert (np.abs(narrow.astype(np.float64) - exact.value) <= exact.error)[np.isfinite(exact.error)].all(), name


ONE = frozenset({"rcp", "neg", "abs", "floor", "exp", "exp2", "log", "log2", "sqrt", "rsqrt", "tanh", "erf", "sigmoid"})


def test_sources_follow_from_their_number() -> None:
    assert [source(3, n).text for n in range(5)] == [source(3, n).text for n in range(5)]


def test_library_mutants_are_at_most_a_fifth() -> None:
    weights = WEIGHTS["families"]
    assert set(weights) == set(FAMILIES)
    assert weights["library"] + weights["naive"] <= 0.2 * sum(weights.values())


def test_a_mutant_differs_in_one_place() -> None:
    program = FAMILIES["tile"](Random(4))
    found = list(mutants(program.source, Random(1), 20))
    assert len({m.source for m in found}) == len(found) > 10
    assert all("computes" in m.source for m in found)
