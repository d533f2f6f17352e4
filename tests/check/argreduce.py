"""Places of extremes for the mutation suite: the templates of `argus/kernels/argreduce.py`, and mistakes in them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

import numpy as np

from argus.ir.interp import extents
from argus.ir.kernel import Kernel
from argus.lang import read
from tests.check.mutants import Mutant
from tests.check.programs import Program
from tests.check.scans import Mistake, Settings, made_in

PLACES = Path(__file__).parents[2] / "argus" / "kernels" / "argreduce.py"
SIZES: dict[str, tuple[dict[str, int], ...]] = {
    "argrow": ({"M": 3, "N": 256}, {"M": 8, "N": 252}, {"M": 5, "N": 100}, {"M": 1, "N": 4}),
    "argrow_long": ({"M": 3, "N": 700}, {"M": 8, "N": 600}, {"M": 5, "N": 256}, {"M": 2, "N": 4}),
    "argaxis": ({"A": 2, "K": 24, "C": 300}, {"A": 1, "K": 8, "C": 1}, {"A": 3, "K": 16, "C": 5}),
}


def program(kernel: str, settings: Settings, file: Path = PLACES) -> Program:
    """A kernel of the template with what it should compute."""
    pick = np.argmin if settings.get("OP") == "min" else np.argmax
    given = {"CHUNKS": 1, **settings}
    made = read(file, settings=given, kernel=kernel)
    return Program(made, SIZES[kernel], lambda arrays: pick(arrays["X"], axis=1), "Y", inputs)


def inputs(kernel: Kernel, sizes: Mapping[str, int]) -> dict[str, np.ndarray]:
    """Few different numbers, so that extremes are met at several places, or, where the first size is even, all
    different, once with the extreme at the end; below zero or above, so that zeros beyond the end would be found."""
    dice = np.random.default_rng(5)
    shape = extents(kernel.tensors[0], sizes)
    drawn = dice.integers(2, 2 + max(3, shape[1] // 16), shape)
    if shape[0] % 2 == 0:
        drawn = 2 + np.argsort(dice.random(shape), axis=1)
    drawn[(0, -1, *[-1] * (len(shape) - 2))] = 1  # once the extreme stands at the very end
    return {"X": (drawn if kernel.settings.get("OP") == "min" else -drawn).astype(np.float32)}


MAX: Settings = {}
MIN: Settings = {"OP": "min"}
SHORT: Settings = {"PLACE": "i32"}
BOTH = (MAX, MIN)

PROGRAMS: dict[str, Callable[[], Program]] = {
    "argrow": partial(program, "argrow", MAX),
    "argrow_long": partial(program, "argrow_long", MIN),
    "argaxis": partial(program, "argaxis", SHORT),
}

MISTAKES: tuple[Mistake, ...] = (
    ("argrow", "the last index on ties", 'x.n, LAST).min("n")', 'x.n, -1).max("n")', BOTH),
    ("argrow_long", "the last index on ties", 'LAST).min("n"))', '-1).max("n"))', BOTH),
    ("argrow", "every element not smaller", 'x == extreme(x, "n")', 'x >= extreme(x, "n")', BOTH),
    ("argrow", "every element not greater", 'x == extreme(x, "n")', 'x <= extreme(x, "n")', BOTH),
    ("argrow", "every other element", 'x == extreme(x, "n")', 'x != extreme(x, "n")', BOTH),
    ("argrow", "other places count for zero", "LAST = 2**31 - 1", "LAST = 0", BOTH),
    ("argrow", "other places count for a small number", "LAST = 2**31 - 1", "LAST = 50", BOTH),
    ("argrow", "zeros beyond the end", "x = ag.where(x.n < N, x, START)", "x = x", BOTH),
    ("argrow", "one element beyond the end", "ag.where(x.n < N, x", "ag.where(x.n <= N, x", BOTH),
    ("argrow", "the last element is left out", "ag.where(x.n < N, x", "ag.where(x.n < N - 1, x", BOTH),
    ("argrow", "zero for what is masked", "x = ag.where(x.n < N, x, START)", "x = ag.where(x.n < N, x, 0.0)", BOTH),
    ("argrow", "the other extreme", 'return x.max(axis) if OP == "max"', 'return x.min(axis) if OP == "max"', BOTH),
    ("argrow", "the place after", "x.n, LAST)", "x.n + 1, LAST)", BOTH),
    ("argrow", "places in steps of two", "x.n, LAST)", "x.n * 2, LAST)", BOTH),
    ("argrow", "the row before", "Y[row].store(first", "Y[ag.max(row - 1, 0)].store(first", (MAX,)),
    (
        "argrow",
        "the place of lane 1",
        "guard=(ag.lane() == 0) & (row < M))",
        "guard=(ag.lane() == 1) & (row < M))",
        (MAX,),
    ),
    ("argrow_long", "the base of the piece is dropped", "u == top, j * SPAN + u.n", "u == top, u.n", BOTH),
    ("argrow_long", "the base of the next piece", "u == top, j * SPAN + u.n", "u == top, j * SPAN + SPAN + u.n", BOTH),
    ("argrow_long", "the extreme of the piece alone", "u == top, j", 'u == extreme(u, "n"), j', BOTH),
    (
        "argrow_long",
        "the extreme is not carried",
        "top = joined(top, extreme(",
        "top = joined(START + top * 0.0, extreme(",
        (MAX,),
    ),
    (
        "argrow_long",
        "the extreme starts with zero",
        "top = ag.full(ONE, f32, START)",
        "top = ag.full(ONE, f32, 0.0)",
        BOTH,
    ),
    (
        "argrow_long",
        "the first piece is not searched",
        "for j in ag.range(ag.cdiv(N, SPAN)):",
        "for j in ag.range(1, ag.cdiv(N, SPAN)):",
        BOTH,
    ),
    (
        "argrow_long",
        "the tail is not searched",
        "for j in ag.range(ag.cdiv(N, SPAN)):",
        "for j in ag.range(N // SPAN):",
        BOTH,
    ),
    (
        "argrow_long",
        "the tail has no extreme",
        "for i in ag.range(ag.cdiv(N, SPAN)):",
        "for i in ag.range(N // SPAN):",
        BOTH,
    ),
    ("argrow_long", "zeros beyond the end are found", "u = ag.where(j * SPAN + u.n < N, u, START)", "u = u", BOTH),
    (
        "argrow_long",
        "the first place is not kept",
        "first = ag.min(first, ag.where(u == top",
        "first = ag.min(LAST, ag.where(u == top",
        (MAX,),
    ),
    (
        "argrow_long",
        "the start of places is zero",
        "first = ag.full(ONE, i32, LAST)",
        "first = ag.full(ONE, i32, 0)",
        BOTH,
    ),
    ("argaxis", "the base of the step is dropped", "u == top, j * DEPTH + u.k", "u == top, u.k", BOTH),
    ("argaxis", "the last index on ties", 'LAST).min("k"))', '-1).max("k"))', BOTH),
    (
        "argaxis",
        "places of the column beside",
        "X[a, j * DEPTH, bc * 256].load",
        "X[a, j * DEPTH, bc * 256 + 1].load",
        (MAX,),
    ),
    ("argaxis", "zeros beyond the end", "and K % {DEPTH} == 0", "and K % 1 == 0", (MAX,)),
    (
        "argaxis",
        "one step is not searched",
        "for j in ag.range(K // DEPTH):",
        "for j in ag.range(1, K // DEPTH):",
        BOTH,
    ),
    (
        "argaxis",
        "the last step has no extreme",
        "for i in ag.range(K // DEPTH):",
        "for i in ag.range(K // DEPTH - 1):",
        BOTH,
    ),
    ("argaxis", "any element that is not smaller", "u == top", "u >= top", BOTH),
)


def mistakes() -> Iterator[tuple[Program, Mutant]]:
    return made_in(PLACES, MISTAKES, program)
