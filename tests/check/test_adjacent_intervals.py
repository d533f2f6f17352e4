"""Intervals that a reduction has taken: which of them meet, beside plain Python sets."""

from __future__ import annotations

import random
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

from argus.check.domain.reduction_intervals import joined
from argus.layout import expr as E


def never_asked(*_: object) -> bool:
    raise AssertionError("the prover is asked only about intervals whose distance is not a constant")


def test_pieces_at_constant_distances_are_joined_as_sets_are() -> None:
    flow: Any = SimpleNamespace(prover=SimpleNamespace(holds=never_asked))
    rest = E.var("b", 0, 1000) * 64
    for seed in range(60):
        draw = random.Random(seed)
        cuts = sorted(draw.sample(range(400), 24))
        pieces = [(low, high) for low, high in pairwise(cuts) if draw.random() < 0.7]
        draw.shuffle(pieces)
        found = joined(flow, (), [(rest + low, rest + high) for low, high in pieces])
        taken = {n for low, high in pieces for n in range(low, high)}
        starts = sorted(n for n in taken if n - 1 not in taken)
        ends = sorted(n + 1 for n in taken if n + 1 not in taken)
        assert {(str(low), str(high)) for low, high in found} == {
            (str(rest + low), str(rest + high)) for low, high in zip(starts, ends, strict=True)
        }


def test_other_distances_are_asked() -> None:
    asked: list[str] = []

    def holds(facts: tuple[E.Expr, ...], fact: E.Expr) -> bool | None:
        asked.append(str(fact))
        return "N" in str(fact) and "M" not in str(fact)

    flow: Any = SimpleNamespace(prover=SimpleNamespace(holds=holds))
    n, m, zero = E.var("N", 1, 99), E.var("M", 1, 99), E.const(0)
    found = joined(flow, (), [(zero, n // 2), (n - n // 2, m)])
    assert len(found) == 1
    assert asked
