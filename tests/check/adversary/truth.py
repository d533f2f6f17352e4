"""Executes an adversary at every launch of its family under adversarial schedules and compares with numpy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from argus.ir.interp import ADVERSARIES, InterpError, extents, run
from argus.ir.interp.numbers import numpy_dtype
from argus.ir.kernel import Kernel
from argus.layout import expr as E
from tests.check.adversary.table import Arrays, Family


def inputs(kernel: Kernel, sizes: Mapping[str, int], seed: int = 5) -> dict[str, Any]:
    """Small whole numbers, so that sums are exact; small fractions for attention's exponents; numbers that grow along
    the row for running maxima; tables in range."""
    dice = np.random.default_rng(seed)
    made: dict[str, Any] = {}
    for t in kernel.tensors:
        shape = extents(t, sizes)
        if not t.read:
            continue
        if t.name == "table":
            made[t.name] = dice.integers(0, sizes["P"], shape).astype(np.int32)
        elif t.name == "R":
            made[t.name] = (dice.integers(-8, 9, shape) / 8 + np.arange(shape[-1]) / 64).astype(numpy_dtype(t.dtype))
        elif t.name in ("Q", "K", "V", "X", "W"):
            made[t.name] = (dice.integers(-8, 9, shape) / 8).astype(np.float32).astype(numpy_dtype(t.dtype))
        else:
            made[t.name] = dice.integers(-4, 5, shape).astype(np.float32).astype(numpy_dtype(t.dtype))
    return made


def differs(kernel: Kernel, family: Family, sizes: Mapping[str, int]) -> str:
    """Empty when this launch is right under every schedule, else what is wrong with it."""
    if not all(E.evaluate(condition, sizes) for condition in kernel.requires):
        return ""
    given = inputs(kernel, sizes)
    wanted = family.reference(given)
    for schedule in ADVERSARIES:
        try:
            outcome = run(kernel, given, sizes, schedule=schedule, provenance=True)
        except InterpError as error:
            return f"error: {error}"
        if outcome.hazards:
            return f"hazard: {outcome.hazards[0]}"
        wrong = _compare(outcome.arrays, outcome.writes, wanted, family)
        if wrong:
            return wrong
    return ""


def _compare(arrays: Arrays, writes: Arrays, wanted: dict[str, Any], family: Family) -> str:
    for name, expected in wanted.items():
        got = arrays[name].astype(np.float64)
        rounded = np.asarray(expected).astype(arrays[name].dtype).astype(np.float64)
        scale = max(1.0, float(np.abs(rounded).max()))
        if not np.allclose(got, rounded, rtol=family.tolerance, atol=family.tolerance * scale):
            return f"wrong result in {name}"
        if not family.atomic and (writes[name] != 1).any():
            return f"not every element of {name} is written exactly once"
    return ""


def truth(kernel: Kernel, family: Family, more: tuple[Mapping[str, int], ...] = ()) -> str:
    """Over all launches of the family, and `more`."""
    for sizes in (*family.launches, *more):
        wrong = differs(kernel, family, sizes)
        if wrong:
            return f"{dict(sizes)}: {wrong}"
    return ""
