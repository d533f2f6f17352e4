"""Cross entropy for the mutation suite: the templates of `argus/kernels/cross_entropy.py`, and mistakes in them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

import numpy as np

from argus.ir.kernel import Kernel
from argus.lang import read
from tests.check.mutants import Mutant
from tests.check.programs import Program
from tests.check.scans import Mistake, Settings, made_in

CROSS_ENTROPY = Path(__file__).parents[2] / "argus" / "kernels" / "cross_entropy.py"
SMALL: Settings = {"DTYPE": "f32", "CHUNKS": 1, "WIDTH": 4}
SIZES: dict[str, tuple[dict[str, int], ...]] = {
    "cross_entropy": ({"M": 3, "N": 256}, {"M": 8, "N": 249}, {"M": 5, "N": 100}, {"M": 1, "N": 1}),
    "cross_entropy_long": ({"M": 3, "N": 700}, {"M": 5, "N": 1100}, {"M": 8, "N": 256}, {"M": 2, "N": 1}),
}


def negative_log_softmax(arrays: dict[str, np.ndarray]) -> np.ndarray:
    """Row by row, in float64."""
    x = arrays["X"].astype(np.float64)
    return np.array([np.logaddexp.reduce(row) - row[at] for row, at in zip(x, arrays["Y"], strict=True)])


def inputs(kernel: Kernel, sizes: Mapping[str, int]) -> dict[str, np.ndarray]:
    """Logits that rise or fall along the rows, so that the maximum moves, once by more than exponentials hold; targets
    all over the row, its ends among them."""
    dice, m, n = np.random.default_rng(5), sizes["M"], sizes["N"]
    trend = np.array([6.0, -6.0, -600.0])[np.arange(m) % 3][:, None] * np.arange(n)[None, :] / n
    targets = dice.integers(0, n, m)
    targets[0], targets[-1] = n - 1, 0 if m > 1 else n - 1
    whole = np.int32 if kernel.settings.get("INDEX") == "i32" else np.int64
    return {"X": (dice.standard_normal((m, n)) + trend).astype(np.float32), "Y": targets.astype(whole)}


def program(kernel: str, settings: Settings, file: Path = CROSS_ENTROPY) -> Program:
    """A kernel of the template with what it should compute."""
    made = read(file, settings={**SMALL, **settings}, kernel=kernel)
    return Program(made, SIZES[kernel], negative_log_softmax, "P", inputs, tolerance=2e-5)


ONE: Settings = {}
NARROW: Settings = {"INDEX": "i32"}
FOUR: Settings = {"WAVES": 4}
BOTH = (ONE, FOUR)

PROGRAMS: dict[str, Callable[[], Program]] = {
    "cross_entropy": partial(program, "cross_entropy", ONE),
    "cross_entropy_long": partial(program, "cross_entropy_long", NARROW),
    "cross_entropy_waves": partial(program, "cross_entropy", FOUR),
}

SHORT, LONG = "cross_entropy", "cross_entropy_long"
MASKED = "x = x if EXACT else ag.where(x.n < N, x, -inf)"
STORED = "top + ag.log(total) - chosen"
STORED_LONG = "high + ag.log(of_waves(sums)) - chosen"
TARGET = "ag.as_index(Y[row].load"
WALK = "for i in ag.range(ag.cdiv(N, SPAN)):"
AGAIN = "for j in ag.range(ag.cdiv(N, SPAN)):"

MISTAKES: tuple[Mistake, ...] = (
    (SHORT, "zeros beyond the end", MASKED, "x = x", BOTH),
    (SHORT, "one element beyond the end", MASKED, MASKED.replace("< N", "<= N"), BOTH),
    (SHORT, "the last element is left out", MASKED, MASKED.replace("< N", "< N - 1"), BOTH),
    (SHORT, "zero for what is masked", MASKED, MASKED.replace("-inf", "0.0"), BOTH),
    (SHORT, "the chosen one is added", STORED, "top + ag.log(total) + chosen", (ONE, NARROW)),
    (SHORT, "nothing is chosen", STORED, "top + ag.log(total)", (ONE,)),
    (SHORT, "the maximum is not put back", STORED, "ag.log(total) - chosen", BOTH),
    (SHORT, "the maximum is put back twice", STORED, "top + top + ag.log(total) - chosen", (ONE,)),
    (SHORT, "another logarithm", STORED, "top + ag.log2(total) - chosen", (ONE,)),
    (SHORT, "another base of the exponential", "exp2((x - top) * LOG2E)", "exp2(x - top)", (ONE,)),
    (SHORT, "no logarithm", STORED, "top + total - chosen", (ONE,)),
    (SHORT, "the largest probability", STORED, "ag.log(total)", (ONE,)),
    (SHORT, "the target of the next row", TARGET, "ag.as_index(Y[ag.min(row + 1, M - 1)].load", (ONE, FOUR)),
    (SHORT, "the target of the first row", TARGET, "ag.as_index(Y[0].load", (ONE, NARROW)),
    (SHORT, "the row before", "X[row, target].load", "X[ag.max(row - 1, 0), target].load", (ONE, FOUR)),
    (SHORT, "the element before", "X[row, target].load", "X[row, ag.max(target - 1, 0)].load", (ONE, NARROW)),
    (SHORT, "the first element", "X[row, target].load", "X[row, 0].load", (ONE,)),
    (SHORT, "another half of the row", "X[row, target].load", "X[row, target // 2].load", (ONE,)),
    (SHORT, "the exponential of the chosen one", STORED, "top + ag.log(total) - ag.exp2(chosen)", (ONE,)),
    (SHORT, "the result of the row before", "P[row].store(top", "P[ag.max(row - 1, 0)].store(top", (ONE,)),
    (SHORT, "a maximum for each wave", "largest_of_waves(largest(x))", "largest(x)", BOTH),
    (SHORT, "the sum of one wave", "of_waves(added(ag.exp2", "(added(ag.exp2", BOTH),
    (SHORT, "every wave stores", "width=4, guard=first_lane()", "width=4, guard=ag.lane() == 1", BOTH),
    (LONG, "the sum is not rescaled", "sums = sums * ag.exp2((top - new) * LOG2E) +", "sums = sums +", (ONE, NARROW)),
    (LONG, "rescaled the other way", "ag.exp2((top - new) * LOG2E)", "ag.exp2((new - top) * 0.001)", (ONE,)),
    (LONG, "rescaled by half", "ag.exp2((top - new) * LOG2E)", "ag.exp2((top - new) * 0.5)", (ONE,)),
    (LONG, "the maximum is not carried", "        top = new", "        top = top", BOTH),
    (LONG, "the tail is not walked", WALK, "for i in ag.range(N // SPAN):", (ONE, NARROW)),
    (LONG, "the first piece is not walked", WALK, "for i in ag.range(1, ag.cdiv(N, SPAN)):", (ONE, NARROW)),
    (LONG, "zeros beyond the end", "x = ag.where(i * SPAN + x.n < N, x, -inf)", "x = x", (ONE,)),
    (LONG, "the mask of the first piece", "ag.where(i * SPAN + x.n < N", "ag.where(x.n < N", (ONE,)),
    (LONG, "the sum starts with one", "ag.zeros(ONE, f32).without()", "ag.full(ONE, f32, 1.0).without()", BOTH),
    (LONG, "the maximum of the piece", "new = ag.max(top, largest(x))", "new = largest(x)", (ONE,)),
    (LONG, "the smallest element", "new = ag.max(top, largest(x))", "new = ag.min(top, largest(x))", (ONE,)),
    (LONG, "the maximum starts with zero", "LOWEST = -1e30", "LOWEST = 0.0", (ONE,)),
    (LONG, "the tail is not added", AGAIN, "for j in ag.range(N // SPAN):", (FOUR,)),
    (LONG, "the first piece is not added", AGAIN, "for j in ag.range(1, ag.cdiv(N, SPAN)):", (FOUR,)),
    (LONG, "the same piece again", "u = X[row, j * SPAN]", "u = X[row, 0 * SPAN]", (FOUR,)),
    (LONG, "zeros are added", "(ag.where(j * SPAN + u.n < N, u, -inf) - high)", "(u - high)", (FOUR,)),
    (LONG, "the maximum of one wave", "high = largest_of_waves(top)", "high = top", (FOUR,)),
    (LONG, "the sum of one wave", STORED_LONG, "high + ag.log(sums) - chosen", (FOUR,)),
    (LONG, "the chosen one is added", STORED_LONG, "high + ag.log(of_waves(sums)) + chosen", BOTH),
    (LONG, "the maximum is not put back", STORED_LONG, "ag.log(of_waves(sums)) - chosen", BOTH),
    (LONG, "nothing is chosen", STORED_LONG, "high + ag.log(of_waves(sums))", (ONE,)),
)


def mistakes() -> Iterator[tuple[Program, Mutant]]:
    return made_in(CROSS_ENTROPY, MISTAKES, program)
