"""Every conversion that the reader takes means one thing: interpreter, both executors of the machine and an exact model
agree, bit by bit but for the payload of NaN.

One kernel for each source type writes every target type with every `rounding`, `saturate` and `finite`. It is given all
numbers of types of one and two bytes, and those around every end, tie and least number of all types for wider ones. Of
types of two bytes the default run takes those edges; all their numbers run with `full`.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from argus.compile.cache import compile_cached
from argus.device.simulated import CheckingDevice, JitDevice
from argus.ir.conversions import roundable
from argus.ir.interp import run
from argus.ir.interp.numbers import convert
from argus.ir.passes.schedule import scheduled
from argus.ir.stages import Scheduled
from argus.ir.types import DTYPES
from argus.lang import ProgramError, read
from tests.compile import conversion_model
from tests.compile.harness import NUMPY

Array = NDArray[Any]
TYPES = tuple(NUMPY)
WAYS = tuple(product(("rne", "rtz"), (False, True), (False, True)))
EACH, BLOCK = 4, 256
SOURCE = """
import argus as ag
from argus import {types}
P = ag.Owner(t=64, e=4, n="t*4 + e")


@ag.kernel(threads=64, requires="N % 256 == 0 and N > 0", example=dict(N=256))
def k({parameters}):
    at = 256 * ag.grid(ag.cdiv(N, 256))
    x = X[at].load(P, width={width})
    {stores}
"""


def results(source: str) -> list[tuple[str, str, bool, bool]]:
    """Target, rounding, saturate and finite of every conversion that is taken."""
    kinds = DTYPES[source]
    return [(t, *way) for t in TYPES for way in WAYS if t != source and roundable(kinds, DTYPES[t], way[0])]


def written(target: str, rounding: str, saturate: bool, finite: bool) -> str:
    return f"x.to({target}, rounding={rounding!r}, saturate={saturate}, finite={finite})"


def text(source: str, ways: list[tuple[str, str, bool, bool]]) -> str:
    def width(name: str) -> int:
        return min(16, EACH * DTYPES[name].bytes)

    outputs = [f'Z{n}: ag.Out["N", {t}]' for n, (t, *_) in enumerate(ways)]
    return SOURCE.format(
        types=", ".join(TYPES), width=width(source),
        parameters=", ".join([f'X: ag.In["N", {source}]', *outputs]),
        stores="\n    ".join(f"Z{n}[at].store({written(*way)}, width={width(way[0])})" for n, way in enumerate(ways)),
    )  # fmt: skip


@lru_cache
def program(source: str) -> Scheduled:
    return scheduled(read(text(source, results(source))))


def _interesting() -> list[int | float]:
    """Ends, least numbers, ties and what lies beside them, of every type."""
    found: list[int | float] = [0, -0.0, 0.5, 1.5, 2.5, 3.7, 255.5, 32767.5, 1e30, 1e300, float("inf"), float("nan")]
    for name in TYPES:
        _, high = conversion_model.ends(name)
        found += [high, high + 1, high // 2, high // 2 + 1]
        if name in conversion_model.NARROW:
            numbers = conversion_model.table(name)
            last, step = numbers[-1], numbers[-1] - numbers[-2]
            found += [last + step / 2, last + step, last + step * 0.49, last + step * 0.51]
            for at in (0, 1, 2, len(numbers) // 2, len(numbers) - 3):
                low, up = numbers[at], numbers[at + 1]
                middle = low + (up - low) / 2
                found += [low, middle, float(np.nextafter(middle, 0)), float(np.nextafter(middle, np.inf))]
                found += [float(np.nextafter(np.float32(middle), np.float32(n))) for n in (0, np.inf)]
    for power in (-1074, -1022, -149, -126, 11, 24, 31, 40, 53, 62, 127):
        found += [2.0**power, 2.0**power * 1.5]
    for power, below in product((11, 16, 24, 25, 40, 53, 54, 62), (3, 7, 10, 23)):
        one = 1 << power
        tie = one + (one >> below + 1)
        found += [one - 1, one + 1, tie, tie + 1, tie - 1, one + tie // 3]
    return found


def edges(source: str) -> Array:
    kind = NUMPY[source]
    wanted = [x for one in _interesting() for x in (one, -one)]
    if source in conversion_model.WHOLE:
        low, high = conversion_model.ends(source)
        whole = [int(x) for x in wanted if abs(x) < 1e30 and low <= int(x) <= high]
        return np.unique(np.array([*whole, low], dtype=kind))
    dice = np.random.default_rng(7)
    with np.errstate(all="ignore"):
        several = np.array([float(x) for x in wanted])
        drawn = dice.standard_normal(200) * 2.0 ** dice.integers(-40, 40, 200)
        return np.concatenate([several, drawn]).astype(np.float64).astype(kind)


def every(source: str) -> Array:
    """All numbers of a type of one or two bytes."""
    bits = DTYPES[source].bits
    return np.arange(1 << bits).astype(f"u{bits // 8}").view(NUMPY[source])


def padded(x: Array) -> Array:
    return np.resize(x, -(-len(x) // BLOCK) * BLOCK)


def same(got: Array, want: Array) -> bool:
    if got.dtype.kind in "iu":
        return np.array_equal(got, want)
    unlike = got.view(f"u{got.dtype.itemsize}") != want.view(f"u{want.dtype.itemsize}")
    with np.errstate(all="ignore"):
        return not (unlike & ~(np.isnan(got.astype(np.float64)) & np.isnan(want.astype(np.float64)))).any()


def exactly(x: Array, source: str, way: tuple[str, str, bool, bool]) -> Array:
    target, rounding, saturate, _ = way
    with np.errstate(all="ignore"):
        given = x.tolist() if x.dtype.kind in "iu" else x.astype(np.float64).tolist()
    made = conversion_model.model(given, source, target, rounding, saturate)
    if target in conversion_model.WHOLE:
        return np.array(made, dtype=NUMPY[target])
    with np.errstate(all="ignore"):
        wide = np.array([float("nan") if y is None else y for y in made], dtype=np.float64)
        return np.where((wide == 0) & (target not in ("fp8", "bf8")), np.copysign(0.0, signs(x)), wide).astype(
            NUMPY[target]
        )


def signs(x: Array) -> Array:
    return np.where(np.signbit(x.astype(np.float64)), -1.0, 1.0) if x.dtype.kind not in "iu" else np.sign(x * 1.0)


def told(x: Array, way: tuple[str, str, bool, bool], got: Array, want: Array) -> str:
    with np.errstate(all="ignore"):
        at = np.argwhere(~((got == want) | (np.isnan(got * 1.0) & np.isnan(want * 1.0))))[:4, 0]
    return f"{x.dtype} {written(*way)}: " + "; ".join(f"{x[n]!r} gives {got[n]!r}, not {want[n]!r}" for n in at)


def check(source: str, x: Array, checking: bool) -> None:
    """Interpreter, object and model, on these numbers."""
    x, made, ways = padded(x), program(source), results(source)
    kernel, code = made.kernel, compile_cached(made).object
    launched = {"JIT": JitDevice(), **({"checking interpreter": CheckingDevice()} if checking else {})}
    outputs = {f"Z{n}": (len(x), NUMPY[way[0]]) for n, way in enumerate(ways)}
    found: dict[str, dict[str, Array]] = {}
    for name, device in launched.items():
        arrays = {"X": x.copy(), **{z: np.zeros(*shape) for z, shape in outputs.items()}}
        outcome = device.launch(kernel, code, {"N": len(x)}, arrays)
        assert not outcome.reports, outcome.reports[0]
        found[name] = arrays
    if checking:
        found["IR"] = run(kernel, {"X": x.copy()}, {"N": len(x)}).arrays
    for n, way in enumerate(ways):
        target, rounding, saturate, finite = way
        with np.errstate(all="ignore"):
            number = ~np.isnan(x.astype(np.float64)) if finite else np.ones(len(x), dtype=bool)
        want = exactly(x, source, way)[number]
        wrong = {name: arrays[f"Z{n}"][number] for name, arrays in found.items()}
        wrong["numbers"] = convert(x, DTYPES[source], DTYPES[target], rounding, saturate)[number]
        for name, got in wrong.items():
            assert same(got, want), name + ": " + told(x[number], way, got, want)


@pytest.mark.parametrize("source", TYPES)
def test_all_ways_agree(source: str) -> None:
    check(source, every(source) if DTYPES[source].bits == 8 else edges(source), True)


@pytest.mark.full
@pytest.mark.parametrize("source", [name for name in TYPES if DTYPES[name].bits == 16])
def test_all_ways_agree_on_all_numbers_of_two_bytes(source: str) -> None:
    check(source, every(source), False)


def test_what_is_not_rounded_so_is_refused() -> None:
    """Rounding toward zero to f64, fp8 and bf8, unless nothing is rounded."""
    taken = {(s, t) for s, t in product(TYPES, TYPES) if s != t and roundable(DTYPES[s], DTYPES[t], "rtz")}
    refused = set(product(TYPES, TYPES)) - taken - {(t, t) for t in TYPES}
    assert refused == {("i64", "f64"), *product(TYPES, ("fp8", "bf8"))} - {("fp8", "fp8"), ("bf8", "bf8")}
    for source, target in sorted(refused):
        with pytest.raises(ProgramError, match="AG112"):
            read(text(source, [(target, "rtz", False, False)]))
