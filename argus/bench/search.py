"""The dispatch table of matrix products, made on the clock: `argus/kernels/matmul.json`.

    best = searched((2048, 2048, 2048), kept)      -> [Found(row, Choice(...), time), ...], fastest first
    write(*made(kept))                             the table: numbers of every candidate, and rows of SHAPES

The numbers of the candidates (`argus.bench.product_table`) are fitted at the shapes `drawn(TRAINED, SHAPES_TRAINED)`
and at SHAPES, which have rows besides: shape, kernel, knobs and time. The fastest kernel has a row; if it has one
layout and no bias, the fastest of the others has one, too. Candidates whose estimate is far from the best are not
timed.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from argus.bench.candidates import CANDIDATES
from argus.bench.kept import Kept, Timed
from argus.bench.product_fit import chip_of, to_json
from argus.bench.product_shapes import Shape, drawn
from argus.bench.product_table import BANDS, Entrant, band_at, near, of_table, trained
from argus.bench.product_times import timed
from argus.clock import LABEL
from argus.ops.choice import DIRECT, KERNELS, Choice, forms_of, table
from argus.ops.launch import prepared
from argus.ops.product_choice import FORMS, Form, octave
from argus.pipeline import Unproved

RULE = "a row of these very sizes, else the least estimate of what can do what is asked (ops/product_time.py)"
SQUARES = (1024, 2048, 4096, 8192, 16384)
FEW = (16, 64, 128)
WEIGHTS = ((8192, 8192), (28672, 8192))
"""N, K of Llama-70B."""
SHAPES: tuple[Shape, ...] = (*((s, s, s) for s in SQUARES), *((m, n, k) for n, k in WEIGHTS for m in FEW))
TRAINED, SHAPES_TRAINED, SHAPES_RANKED = 101, 48, 3000
"""Seed and number of the shapes at which the candidates are fitted, and at which their estimates are compared."""
ABOUT = 1.02
"""Estimates this close to the least count as winning, too."""
BAND = 1.3
"""How far from the best estimate a candidate is timed at a shape that gets a row, or is searched."""


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """A candidate at a shape: us, or why it cannot be built; and what it was expected to take."""

    row: Mapping[str, Any]
    choice: Choice
    time: Timed
    estimate: float


def known_field() -> list[Entrant]:
    """The candidates with the numbers of the library's table."""
    return of_table(CANDIDATES, table("matmul"))


def searched(shape: Shape, kept: Kept, field: Sequence[Entrant] | None = None, band: float = BAND) -> list[Found]:
    """Every candidate whose estimate comes near the best, the fastest first, those that cannot be built last."""
    entrants = known_field() if field is None else field
    found = [
        Found(entrant.row, choice, timed(choice, shape, kept), guess)
        for entrant, choice, guess in near(entrants, shape, band_at(shape, band))
    ]
    return sorted(found, key=lambda f: (bool(f.time.why), f.time.us))


def _proved(found: Found) -> bool:
    try:
        prepared(found.choice)
    except Unproved:
        return False
    return True


def rows(
    shapes: Sequence[Shape], kept: Kept, field: Sequence[Entrant], proved: Callable[[Found], bool] = _proved
) -> Iterator[dict[str, Any]]:
    """Rows of the dispatch table for these shapes; what is not proved gets none."""
    for shape in shapes:
        good = [f for f in searched(shape, kept, field) if not f.time.why]
        others = [entrant for entrant in field if entrant.row["kernel"] not in DIRECT]
        any_layout = [f for f in searched(shape, kept, others) if not f.time.why]
        chosen = [next(filter(proved, good), None), next(filter(proved, any_layout), None)]
        for found in {f.choice.text(): f for f in chosen if f is not None}.values():
            sizes = dict(zip("MNK", shape, strict=True))
            yield {**sizes, "kernel": found.row["kernel"], "knobs": found.row["knobs"], "us": round(found.time.us, 2)}


def made(kept: Kept, proved: Callable[[Found], bool] = _proved) -> dict[str, Any]:
    """The whole table."""
    field = trained(CANDIDATES, [*drawn(TRAINED, SHAPES_TRAINED), *SHAPES], kept, BANDS)
    return {
        "rule": RULE,
        "clock": LABEL,
        "family": "bf16 or f16, C = A @ B.T",
        "chip": asdict(chip_of()),
        "combine": list(field[0].model.combine),
        "rows": [{**row, "forms": forms_of(row)} for row in rows(SHAPES, kept, field, proved)],
        "candidates": candidates_of(field),
    }


def candidates_of(field: Sequence[Entrant]) -> list[dict[str, Any]]:
    """The candidates of the table: the forms of products that each can do, the octaves of M in which it wins among
    those at some of the sizes drawn, and its numbers."""
    wins: dict[str, dict[Form, set[int]]] = {str(entrant.row): {} for entrant in field}
    for shape in drawn(TRAINED, SHAPES_RANKED):
        order = near(field, shape, math.inf)
        for form in FORMS:
            able = [(entrant, us) for entrant, _, us in order if form in forms_of(entrant.row)]
            for entrant, us in able:
                if us <= ABOUT * able[0][1]:
                    wins[str(entrant.row)].setdefault(form, set()).add(octave(shape[0]))
    return [
        {
            **entrant.row,
            "forms": forms_of(entrant.row),
            "wins": {form: sorted(found) for form, found in wins[str(entrant.row)].items()},
            "fit": to_json(entrant.model),
        }
        for entrant in field
    ]


def write(made_table: Mapping[str, Any], path: Path = KERNELS / "matmul.json") -> None:
    """The table, a row a line."""
    entries = []
    for name, value in made_table.items():
        if name in ("rows", "candidates"):
            lines = ",\n".join(f"  {json.dumps(row)}" for row in value)
            entries.append(f' "{name}": [\n{lines}\n ]')
        else:
            entries.append(f' "{name}": {json.dumps(value)}')
    path.write_text("{\n" + ",\n".join(entries) + "\n}\n", encoding="utf-8")
