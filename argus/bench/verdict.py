"""Who is faster, ours or the best other, and how surely: `argus.clock.paired` for rows of a bench table.

    found = verdict(row.ours, best, lambda: (ours(...), theirs(...)), clocks=20)
    cell(found)     -> "faster, 0.93 (0.88 to 0.99)"        time of ours over time of the other, 90 % interval

With `clocks` both are timed again under that many perturbed clocks. Without, only what the clock gets wrong about one
family of programs and not about another counts (the spread between families, from `residuals.json`), and nothing is
timed again.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from argus.bench.contestant import Contestant
from argus.bench.kept import Timed
from argus.bench.others import Best
from argus.clock.paired import Paired, decided, paired
from argus.clock.protocol import Protocol
from argus.clock.uncertainty import family_spread

HEADER = "verdict: time of ours ÷ best other (90 % interval)"


def verdict(
    ours: Timed,
    best: Best,
    contestants: Callable[[], tuple[Contestant, Contestant]],
    clocks: int,
    protocol: Protocol = "stream",
) -> Paired | None:
    """Ours against the best other; None when one of the times has no interval."""
    if clocks:
        one, other = contestants()
        return paired(
            lambda parameters: one.launches(parameters, protocol),
            lambda parameters: other.launches(parameters, protocol),
            clocks=clocks,
        )
    if ours.interval is None or best.interval is None:
        return None
    spread = family_spread(ours.interval.regime, best.interval.regime)
    return decided(math.log(ours.us / best.us), [], spread)


def cell(found: Paired | None) -> str:
    """The verdict in a cell of a table."""
    return "-" if found is None else f"{found.verdict}, {found.ratio:.2f} ({found.low:.2f} to {found.high:.2f})"


def counted(found: list[Paired | None]) -> str:
    """How many rows have which verdict."""
    known = [pair.verdict for pair in found if pair is not None]
    if not known:
        return ""
    return "; " + ", ".join(f"{name} at {known.count(name)}" for name in ("faster", "tie", "slower"))
