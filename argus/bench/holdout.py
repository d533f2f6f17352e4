"""What the dispatcher of matrix products loses at sizes it has never seen.

    judged = regrets(drawn(7, 60), kept, band=1.25, whole=4)
    judged[0].regret       -> 1.02: time of the dispatcher's choice to that of the fastest candidate

At every shape the candidates are timed whose estimate is within a band of the least; at the first few shapes all of
them are, whatever their estimates, which says what the band overlooks. `decision_us` times the dispatcher itself.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from argus.bench.kept import Kept
from argus.bench.product_shapes import Shape
from argus.bench.product_table import Entrant, near
from argus.bench.product_times import timed
from argus.ops.choice import choose_matmul
from argus.ops.product_choice import RECENT, candidates

BAND = 1.25
"""How far from the least estimate a candidate is timed."""
WHOLE = 3
"""Shapes at which every candidate is timed."""
ROUNDS = 5


@dataclass(frozen=True, slots=True)
class Regret:
    """One shape: the choice and the fastest candidate, us each; `beyond`: the fastest was outside the band."""

    shape: Shape
    choice: str
    us: float
    best: str
    best_us: float
    timed: int
    of: int
    whole: bool
    beyond: bool

    @property
    def regret(self) -> float:
        return self.us / self.best_us


def regrets(
    shapes: Sequence[Shape], kept: Kept, field: Sequence[Entrant], band: float = BAND, whole: int = WHOLE
) -> Iterator[Regret]:
    """One after the other; `whole`: at so many shapes, spread over the sizes, all candidates are timed."""
    known = candidates().exact
    by_size = sorted(shapes, key=math.prod)
    full = {by_size[(2 * part + 1) * len(by_size) // (2 * whole)] for part in range(whole)} if whole else set()
    for shape in shapes:
        if shape in known:
            raise ValueError(f"{shape} has a row in the table")
        chosen = choose_matmul(*shape, "bf16")
        every = near(field, shape, math.inf)
        inside = {choice.text() for _, choice, _ in near(field, shape, band)}
        tried = {choice.text(): choice for _, choice, _ in every if shape in full or choice.text() in inside}
        times = {text: timed(choice, shape, kept) for text, choice in {chosen.text(): chosen, **tried}.items()}
        good = {text: found.us for text, found in times.items() if not found.why}
        best = min(good, key=lambda text: good[text])
        yield Regret(
            shape, chosen.text(), good[chosen.text()], best, good[best], len(good), len(every), shape in full,
            best not in inside,
        )  # fmt: skip


def geometric_mean(judged: Sequence[Regret]) -> float:
    return math.exp(statistics.fmean(math.log(one.regret) for one in judged))


def decision_us(shapes: Sequence[Shape]) -> tuple[float, float]:
    """us of processor time that a decision takes, each the least of some rounds: the mean over shapes that were not
    asked for before, and over the same shapes again."""
    choose_matmul(*shapes[0], "bf16")
    new: list[list[float]] = [[] for _ in shapes]
    again: list[list[float]] = [[] for _ in shapes]
    for _ in range(ROUNDS):
        RECENT.clear()
        for taken in (new, again):
            for shape, found in zip(shapes, taken, strict=True):
                started = time.process_time_ns()
                choose_matmul(*shape, "bf16")
                found.append((time.process_time_ns() - started) * 1e-3)
    first, second = (statistics.fmean(min(each) for each in taken) for taken in (new, again))
    return first, second


def table(judged: Sequence[Regret]) -> str:
    """Markdown; times are simulated."""
    lines = [
        "| M x N x K, without a row | choice, µs (simulated) | fastest candidate, µs (simulated) | choice to fastest "
        "| timed |",
        "|---|---|---|---|---|",
    ]
    for one in judged:
        best = "the same" if one.best == one.choice else f"{one.best_us:.1f}; {one.best}"
        beyond = ", outside the band" if one.beyond else ""
        lines.append(
            f"| {' x '.join(map(str, one.shape))} | {one.us:.1f}; {one.choice} | {best}{beyond} | {one.regret:.3f} | "
            f"{one.timed} of {one.of} |"
        )
    return "\n".join(lines)


def summary(judged: Sequence[Regret], band: float, decision: tuple[float, float]) -> str:
    worst = max(judged, key=lambda one: one.regret)
    whole = [one for one in judged if one.whole]
    beyond = sum(one.beyond for one in whole)
    return (
        f"{len(judged)} shapes: geometric mean {geometric_mean(judged):.4f}, worst {worst.regret:.3f} at "
        f"{' x '.join(map(str, worst.shape))}; a decision takes {decision[0]:.0f} µs, the same again "
        f"{decision[1]:.0f}\ncandidates whose estimate is above {band} of the least were not timed, but at "
        f"{len(whole)} shapes, where the fastest was outside {beyond} times"
    )
