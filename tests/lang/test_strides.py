"""The condition of a written tensor: no two coordinates are one element, and every phase of an array has it."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from argus.lang.strides import no_overlap
from argus.layout import expr as E
from argus.layout.expr import Expr, var

AXES = 3
SHAPE = tuple(var(f"n{axis}", 1, 100) for axis in range(AXES))
STRIDES = tuple(var(f"s{axis}", 1, 10000) for axis in range(AXES))


def conditions() -> list[Expr]:
    unused: Any = None
    return no_overlap(unused, unused, SHAPE, STRIDES)


def met(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    values = {f"n{axis}": n for axis, n in enumerate(shape)} | {f"s{axis}": s for axis, s in enumerate(strides)}
    return all(bool(E.evaluate(condition, values)) for condition in conditions())


def test_where_it_holds_elements_are_distinct() -> None:
    dice, held = np.random.default_rng(2), 0
    for _ in range(2000):
        shape = tuple(int(n) for n in dice.integers(1, 5, AXES))
        strides = tuple(int(s) for s in sorted(dice.integers(1, 40, AXES), reverse=True))
        if met(shape, strides):
            held += 1
            places = [sum(i * s for i, s in zip(at, strides, strict=True)) for at in product(*map(range, shape))]
            assert len(set(places)) == len(places), (shape, strides)
    assert held > 200


@pytest.mark.parametrize("step", [1, 2, 3])
def test_phases_of_an_array_have_it(step: int) -> None:
    """Also those whose last row is the array's last: they end before a whole row of the phase would."""
    for high, wide, first in product(range(step, 8), range(step, 8), range(step)):
        view = np.zeros((2, high, wide), np.int8)[:, first::step, first::step]
        if min(view.shape) >= 1:
            assert met(view.shape, view.strides), (high, wide, first)
