"""Which sizes `argus bench gemm --sizes` takes: M, N, K of our C[m, n] = A[m, k] @ B[n, k].T, the smallest first.

    sizes("inference")                                             -> the 30 shapes of inference.json
    sizes("table", Path("objects"), "bf16", "TN")                  -> all sizes of hipBLASLt's tables, batch 1
    sizes("drawn", Path("objects"), "bf16", "TN", count=20, seed=3)    -> 20 of these; all, if there are fewer

`published` are the squares that figures were published for, `squares` these and the square ones of the tables. Batched
products are no sizes here: the library has no kernel for them; `GemmSizes.left_out` counts them.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from argus.bench import hipblaslt
from argus.bench.search import SQUARES

WHICH = ("published", "squares", "table", "inference", "drawn")
Shape = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class GemmSizes:
    """Shapes, and what of a table is none."""

    shapes: tuple[Shape, ...]
    left_out: tuple[str, ...] = ()


@cache
def inference() -> Mapping[str, Any]:
    """Layers of language models with their sources, and the shapes taken of them."""
    found: Mapping[str, Any] = json.loads(Path(__file__).with_name("inference.json").read_text(encoding="utf-8"))
    return found


def layers() -> dict[Shape, str]:
    """The shapes of `inference` with the layer each belongs to."""
    found = {}
    for model, layer, m in inference()["shapes"]:
        sizes = inference()["models"][model][layer]
        found[m, sizes["N"], sizes["K"]] = f"{model} {layer}"
    return found


def sizes(
    which: str, root: Path | None = None, dtype: str = "bf16", layout: str = "TN", count: int = 20, seed: int = 0
) -> GemmSizes:
    """The sizes of one kind; HipblasltError if they are those of a table that is not there."""
    if which == "inference":
        return GemmSizes(_ordered(layers()))
    squares = {(n, n, n) for n in SQUARES}
    if which == "published":
        return GemmSizes(_ordered(squares))
    if which == "squares":
        known = set() if root is None else {s for s in _of_tables(root, dtype, layout)[0] if len(set(s)) == 1}
        return GemmSizes(_ordered(squares | known))
    if root is None:
        raise hipblaslt.MissingSolutionError(f"the sizes {which!r} are those of hipBLASLt's tables: no folder is given")
    known, batched = _of_tables(root, dtype, layout)
    left_out = (f"{batched} entries of the tables are batched products",) if batched else ()
    every = _ordered(known)
    if which == "drawn" and count < len(every):
        every = _ordered(random.Random(seed).sample(every, count))
    return GemmSizes(every, left_out)


def _of_tables(root: Path, dtype: str, layout: str) -> tuple[set[Shape], int]:
    entries = {entry for table in hipblaslt.tables(root, layout, dtype) for entry in table.entries}
    return {(e.n, e.m, e.k) for e in entries if e.batch == 1}, sum(e.batch != 1 for e in entries)


def _ordered(shapes: set[Shape] | dict[Shape, str] | list[Shape]) -> tuple[Shape, ...]:
    return tuple(sorted(shapes, key=lambda shape: (math.prod(shape), shape)))
