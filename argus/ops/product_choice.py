"""The fastest candidate for a matrix product: the row of these sizes if it was timed, else the least estimate.

    fastest(m, n, k, lambda row: row["kernel"] == "matmul")     -> a row of argus/kernels/matmul.json

Bounds from below cost little (`product_time.at_least`, `closer`). Estimates are made in their order until the
next bound is above the best estimate, so the choice is the same as with all of them made.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from operator import itemgetter
from pathlib import Path
from typing import Any, Literal, get_args

from argus.gfx942.chip import XCDS
from argus.ops.chiplets import MAPS, SPARE
from argus.ops.product_time import (
    NEIGHBORS,
    Chip,
    ProductModel,
    at_least,
    closer,
    estimate,
    model_of,
)

TABLE = Path(__file__).parents[1] / "kernels" / "matmul.json"
Row = Mapping[str, Any]
Form = Literal["plain", "rows", "turned"]
FORMS: tuple[Form, ...] = get_args(Form)
"""Products without bias and activation; with them; of operands stored by k."""
BY_BOUND = itemgetter(0)
BANDED = {"matmul_direct": 16, "matmul_tiles": 8}
"""Kernels whose tiles may be dealt out in bands, and the most rows of a band."""


LARGEST, LEAST = 16384, 256
"""M, N and K of sizes drawn to rank the candidates: up to the one, and N and K from the other on."""
OCTAVES = 14
"""From M = 1 to 8192, and all beyond."""


def octave(m: int) -> int:
    return min(m.bit_length(), OCTAVES) - 1


@dataclass(frozen=True, slots=True)
class Candidates:
    """The table ready for decisions: rows by their sizes, and every candidate with its model."""

    chip: Chip
    exact: Mapping[tuple[int, int, int], list[Row]]
    models: list[tuple[ProductModel, Row]]
    winners: Mapping[Form, list[list[tuple[ProductModel, Row]]]]

    @staticmethod
    def of(table: Mapping[str, Any]) -> Candidates:
        exact: dict[tuple[int, int, int], list[Row]] = {}
        for row in sorted(table["rows"], key=lambda row: float(row["us"])):
            exact.setdefault((row["M"], row["N"], row["K"]), []).append(row)
        models = [(model_of(row, table["combine"]), row) for row in table["candidates"]]
        winners = {
            form: [[(model, row) for model, row in models if at in row["wins"].get(form, ())] for at in range(OCTAVES)]
            for form in FORMS
        }
        return Candidates(Chip(**table["chip"]), exact, models, winners)

    def fastest(self, m: int, n: int, k: int, able: Callable[[Row], bool], form: Form | None = None) -> Row | None:
        """The row to take, None if there is none; `able` says whether a row's kernel can do what is asked. `form`: only
        candidates that win somewhere in this octave of M among those that can do it, at sizes like those drawn."""
        for row in self.exact.get((m, n, k), ()):
            if able(row):
                return row
        known = form is not None and m <= LARGEST and LEAST <= n <= LARGEST and LEAST <= k <= LARGEST
        chip, models = self.chip, self.winners[form][octave(m)] if form is not None and known else self.models
        bounds = list(zip(at_least(chip, [model for model, _ in models], m, n, k), models, strict=True))
        bounds.sort(key=BY_BOUND)
        best, least = None, float("inf")
        for bound, (model, row) in bounds:
            if bound >= least:
                break
            if closer(chip, model, m, n, k, bound) < least and able(row):
                us = estimated(chip, model, row, m, n, k)
                if us < least:
                    best, least = row, us
        return self.fastest(m, n, k, able) if best is None and form is not None else best


def estimated(chip: Chip, model: ProductModel, row: Row, m: int, n: int, k: int) -> float:
    """us of a candidate with the order of tiles over XCDs that it would have at these sizes."""
    return estimate(chip, model, m, n, k, order_of(row, model, m, n), row["knobs"].get("GROUP", 1))


def order_of(row: Row, model: ProductModel, m: int, n: int) -> int:
    """As `argus.ops.chiplets` would find it; bands of neighbors are taken to be as good as the best of them."""
    xm: int | str = row["knobs"]["XM"]
    if xm != "auto":
        return int(xm)
    if row["kernel"] in BANDED:
        return NEIGHBORS
    rows, columns = -(-m // model.bm), -(-n // model.bn)
    best, least = 0, 0.0
    for along in MAPS:
        across = XCDS // along
        if SPARE * (-rows % along * columns + -columns % across * rows) <= rows * columns:
            read = -(-rows // along) * model.bm + -(-columns // across) * model.bn
            if not best or read < least:
                best, least = along, read
    return best


@cache
def candidates() -> Candidates:
    """Those of the library."""
    return Candidates.of(json.loads(TABLE.read_text(encoding="utf-8")))


RECENT: dict[tuple[int, int, int, str], Row | None] = {}
"""Decisions of this process; those for operands stored by k depend on more."""
MOST_RECENT = 4096


def fastest(m: int, n: int, k: int, able: Callable[[Row], bool], form: Form | None = None) -> Row | None:
    """The library's row for these sizes, None if there is none. With `form`, `able` is what the form and sizes say."""
    if form is None or form == "turned":
        return candidates().fastest(m, n, k, able, form)
    key = m, n, k, form
    if key not in RECENT:
        if len(RECENT) >= MOST_RECENT:
            RECENT.clear()
        RECENT[key] = candidates().fastest(m, n, k, able, form)
    return RECENT[key]
