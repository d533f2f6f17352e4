"""The tile of a product in a plan, by rule: of a few tiles whose times are known at some sizes, the one that would take
the least at these.

    carried_row(rows, 1024, 8192, 8192)     -> a row of argus/kernels/plan_tiles.json

Each tile's nearest row is carried over: beside what a launch takes, in proportion to the rounds of workgroups over the
compute units and to the steps along K, not less than memory takes. Plans of products, whose kernels do more than the
product, keep this rule; the library's dispatcher has a formula fitted to plain products (`argus.ops.product_time`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from argus.gfx942.chip import CUS, fact

HBM = 4.2e6
"""Bytes per us that memory gives."""
LAUNCH = fact("launch_floor").value
"""us that a launch takes whatever it does."""
DOUBT = 1.01
"""How much longer a guess counts for every doubling of a size it is away."""

Row = Mapping[str, Any]


def carried_row(rows: Sequence[Row], m: int, n: int, k: int) -> Row:
    """The row to take; one of these very sizes needs no guess."""
    same = [row for row in rows if not _far(row, m, n, k)]
    nearest = {(row["kernel"], *row["knobs"].items()): row for row in sorted(rows, key=lambda r: -_far(r, m, n, k))}
    return min(same or nearest.values(), key=lambda row: carried(row, m, n, k))


def carried(row: Row, m: int, n: int, k: int) -> float:
    """What a row's kernel would take at other sizes, in us; a guess from far away counts as longer."""
    more = _rounds(row["knobs"], m, n) * k / (_rounds(row["knobs"], row["M"], row["N"]) * int(row["K"]))
    scaled = LAUNCH + (float(row["us"]) - LAUNCH) * more
    return max(scaled, 2 * (m * k + n * k + m * n) / HBM) * math.pow(DOUBT, _far(row, m, n, k))


def _far(row: Row, m: int, n: int, k: int) -> float:
    return sum(abs(math.log2(int(row[x]) / size)) for x, size in (("M", m), ("N", n), ("K", k)))


def _rounds(knobs: Mapping[str, Any], m: int, n: int) -> int:
    return -(-(-(-m // int(knobs["BM"])) * -(-n // int(knobs["BN"]))) // CUS)
