"""The dispatch table of matrix products, searched on the clock, and what it is worth at shapes it does not hold.

    best = searched((2048, 2048, 2048), kept)      -> [Found(row, Choice(...), time), ...], fastest first
    rows(SHAPES, kept)                             -> the rows of argus/kernels/matmul.json
    regrets(rows, kept, BETWEEN)                   -> {shape: time of the row chosen without that shape / best time}

`CANDIDATES` are the tiles and pipelines the library knows; those whose tile is much larger than the product are left
out. A row of the table says shape, kernel, knobs and time. The fastest kernel has a row; if it is `matmul_direct`,
which has one layout and no bias, the fastest of the others has a row too. `regrets` holds one shape out at a time: its
own rows are removed, the dispatcher chooses by the others, and the time of that choice is divided by the best; the
shapes `BETWEEN` have no rows anyway.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from argus.bench.contestant import Contestant, from_choice
from argus.bench.kept import Kept, Timed
from argus.clock import LABEL
from argus.gfx942.chip import CUS
from argus.ir.compile_error import CompileError
from argus.lang.errors import ProgramError
from argus.lang.imports import text_with_imports
from argus.ops.choice import DIRECT, KERNELS, SPLIT, Choice, choose_matmul, matmul_with
from argus.ops.launch import prepared
from argus.pipeline import Unproved

Shape = tuple[int, int, int]
RULE = "least time carried over to M, N, K (ops/choice.py); rows of kernels that cannot do what is asked are left out"
SQUARES = (1024, 2048, 4096, 8192, 16384)
FEW = (16, 64, 128)
WEIGHTS = ((8192, 8192), (28672, 8192))
"""N, K of Llama-70B."""
SHAPES: tuple[Shape, ...] = (*((s, s, s) for s in SQUARES), *((m, n, k) for n, k in WEIGHTS for m in FEW))

BETWEEN: tuple[Shape, ...] = (
    *((s, s, s) for s in (1536, 3072, 6144)), (1, 8192, 8192), (32, 28672, 8192), (256, 8192, 8192), (48, 7168, 2048),
    (4096, 28672, 8192), (1000, 3000, 2000),
)  # fmt: skip
"""Shapes that have no row."""


class CandidateRefused(Exception):
    """A candidate that is not legal or does not fit the registers."""


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """A candidate at a shape: us, or why it cannot be built."""

    row: Mapping[str, Any]
    choice: Choice
    time: Timed


def _direct(
    bm: int, bn: int, wk: int, wm: int, wn: int, together: bool, xm: int | str, depth: int = 2
) -> dict[str, Any]:
    knobs = {
        "BM": bm, "BN": bn, "WK": wk, "WM": wm, "WN": wn, "INST": 16, "DEPTH": depth, "TOGETHER": together, "XM": xm,
    }  # fmt: skip
    return {"kernel": "matmul_direct", "knobs": knobs}


def _staged(bm: int, bn: int, inst: int, depth: int, stages: int, xm: int, group: int = 1) -> dict[str, Any]:
    knobs = {
        "BM": bm, "BN": bn, "WM": 2, "WN": 2, "INST": inst, "DEPTH": depth, "STAGES": stages, "XM": xm, "GROUP": group,
    }  # fmt: skip
    return {"kernel": "matmul", "knobs": knobs}


def _split(row: Mapping[str, Any], splits: int) -> dict[str, Any]:
    """A staged or direct row with K divided over workgroups."""
    knobs = {**row["knobs"], "XM": 0, "SPLITS": splits}
    if row["kernel"] == "matmul_direct":
        return {"kernel": "split_direct", "knobs": knobs}
    return {"kernel": "split", "knobs": {**knobs, "GROUP": 1}}


_SMALL, _MIDDLE = _staged(64, 64, 16, 4, 2, 2), _staged(128, 128, 32, 2, 1, 4)
CANDIDATES: tuple[Mapping[str, Any], ...] = (
    *(_direct(bm, 64, 4, 1, 1, False, 0) for bm in (16, 32, 64)),
    _direct(16, 16, 4, 1, 1, False, 0, depth=4),
    _direct(16, 32, 4, 1, 1, False, 0, depth=4),
    _direct(32, 32, 4, 1, 1, False, 0, depth=4),
    *(_direct(bm, bn, 4, 1, 1, False, "auto") for bm, bn in ((32, 64), (64, 32))),
    *(_direct(bm, bn, 2, 2, 1, True, "auto") for bm, bn in ((64, 64), (96, 64), (128, 64))),
    _direct(96, 96, 2, 2, 1, True, "auto", depth=3),
    *(_direct(bm, bn, 1, 2, 2, True, "auto") for bm, bn in ((96, 128), (128, 96), (128, 128))),
    _direct(64, 64, 2, 2, 1, True, 2),
    _direct(64, 64, 2, 2, 1, True, 0),
    _direct(128, 64, 2, 2, 1, True, 2),
    _direct(128, 128, 1, 2, 2, True, 2),
    _direct(128, 128, 1, 2, 2, True, 0),
    _SMALL,
    _MIDDLE,
    _staged(256, 128, 32, 1, 1, 2),
    _staged(256, 256, 32, 1, 1, 2),
    _staged(256, 256, 32, 1, 1, 8),
    _staged(128, 192, 32, 1, 1, 4),
    *(_staged(256, 256, 32, 1, 1, 2, group=group) for group in (2, 4)),
    _split(_SMALL, 4),
    _split(_MIDDLE, 4),
    _split(_MIDDLE, 8),
    _split(_direct(32, 32, 4, 1, 1, False, 0, depth=4), 16),
)


def _sensible(row: Mapping[str, Any], shape: Shape) -> bool:
    """No tile of which more than half lies outside, unless there is no smaller one; none much smaller than the product;
    no division of a full grid's K; the XCD map where there are many rows."""
    m, n, _ = shape
    knobs, kernel = row["knobs"], row["kernel"]
    bm, bn = int(knobs["BM"]), int(knobs["BN"])
    tiles = -(-m // bm) * -(-n // bn)
    if bm > max(16, 2 * m - 1) or bn > max(64, n) or (tiles > 800 and bm * bn < 256 * 256):
        return False
    if 4 * bm < min(m, 256) and tiles > 2 * CUS:
        return False
    if kernel == "matmul_direct":
        return m < 1024 or bool(knobs["XM"])
    return tiles <= 152 if kernel in SPLIT else tiles >= 24


def searched(shape: Shape, kept: Kept, candidates: Sequence[Mapping[str, Any]] = CANDIDATES) -> list[Found]:
    """Every sensible candidate at this shape, the fastest first, those that cannot be built last."""
    choices: dict[str, tuple[Mapping[str, Any], Choice]] = {}
    for row in candidates:
        if _sensible(row, shape):
            choice = matmul_with(row, *shape, "bf16")
            choices.setdefault(choice.text(), (row, choice))
    timed = [(row, choice, _timed(choice, shape, kept)) for row, choice in choices.values()]
    found = [Found(row, choice, time) for row, choice, time in timed]
    return sorted(found, key=lambda f: (bool(f.time.why), f.time.us))


def _timed(choice: Choice, shape: Shape, kept: Kept) -> Timed:
    return kept.time(f"{choice.text()} at {shape} of {_source(choice)}", lambda: _made(choice, shape), CandidateRefused)


def _source(choice: Choice) -> str:
    """The text of everything its kernels are read from."""
    made = [choice, *([choice.then] if choice.then is not None else [])]
    return "".join(text_with_imports(each.path) for each in made)


def _made(choice: Choice, shape: Shape) -> Contestant:
    try:
        return from_choice("candidate", choice, dict(zip("MNK", shape, strict=True)), proved=False)
    except (CompileError, ProgramError) as error:
        raise CandidateRefused(str(error)) from error


def _proved(found: Found) -> bool:
    try:
        prepared(found.choice)
    except Unproved:
        return False
    return True


def rows(shapes: Sequence[Shape], kept: Kept, proved: Callable[[Found], bool] = _proved) -> Iterator[dict[str, Any]]:
    """Rows of the dispatch table for these shapes; what is not proved gets none."""
    for shape in shapes:
        good = [f for f in searched(shape, kept) if not f.time.why]
        any_layout = [f for f in good if f.row["kernel"] not in DIRECT]
        chosen = [next(filter(proved, good), None), next(filter(proved, any_layout), None)]
        for found in dict.fromkeys(found for found in chosen if found is not None):
            sizes = dict(zip("MNK", shape, strict=True))
            yield {**sizes, "kernel": found.row["kernel"], "knobs": found.row["knobs"], "us": round(found.time.us, 2)}


def regrets(table: Sequence[Mapping[str, Any]], kept: Kept, between: Sequence[Shape] = ()) -> dict[Shape, float]:
    """For each shape of the table and `between`: the time of what is chosen without its rows, to the best of the
    search."""
    found = {}
    for shape in dict.fromkeys([*((row["M"], row["N"], row["K"]) for row in table), *between]):
        others = [row for row in table if (row["M"], row["N"], row["K"]) != shape]
        choice = choose_matmul(*shape, "bf16", rows=others)
        us = _timed(choice, shape, kept).us
        found[shape] = us / min(us, *(f.time.us for f in searched(shape, kept) if not f.time.why))
    return found


def write(table: Sequence[Mapping[str, Any]], path: Path = KERNELS / "matmul.json") -> None:
    """The table with its rule and the clock it was searched on."""
    lines = ",\n".join(f"  {json.dumps(row)}" for row in table)
    head = f' "rule": {json.dumps(RULE)},\n "clock": {json.dumps(LABEL)},\n "family": "bf16 or f16, C = A @ B.T",\n'
    path.write_text(f'{{\n{head} "rows": [\n{lines}\n ]\n}}\n', encoding="utf-8")
