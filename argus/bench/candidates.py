"""The kernels and knobs among which the dispatcher of matrix products chooses: to add one, add a line.

argus bench gemm --search --write      times it where it may win, and writes its numbers into the table

"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Row = Mapping[str, Any]


def _direct(bm: int, bn: int, wk: int, wm: int, wn: int, depth: int = 2, *, together: bool = False) -> Row:
    knobs = {
        "BM": bm, "BN": bn, "WK": wk, "WM": wm, "WN": wn, "INST": 16, "DEPTH": depth, "TOGETHER": together,
        "XM": "auto",
    }  # fmt: skip
    return {"kernel": "matmul_direct", "knobs": knobs}


def _staged(bm: int, bn: int, inst: int, depth: int, stages: int, xm: int | str = "auto", group: int = 1) -> Row:
    knobs = {
        "BM": bm, "BN": bn, "WM": 2, "WN": 2, "INST": inst, "DEPTH": depth, "STAGES": stages, "XM": xm, "GROUP": group,
    }  # fmt: skip
    return {"kernel": "matmul", "knobs": knobs}


def _filling(bm: int, bn: int) -> Row:
    knobs = {"BM": bm, "BN": bn, "WM": 2, "WN": 2, "INST": 16, "XM": "auto", "GROUP": 1}
    if bm * bn <= CROWDED:
        knobs |= {"READ": 2, "WRITE": 3}
    return {"kernel": "matmul_tiles", "knobs": knobs}


def _split(row: Row, splits: int) -> Row:
    kernel = "split_direct" if row["kernel"] == "matmul_direct" else "split"
    return {"kernel": kernel, "knobs": {**row["knobs"], "XM": 0, "SPLITS": splits}}


CROWDED = 192 * 96
"""Elements of a tile up to which its products are so few that memory accesses stand closer between them."""
FILLING = (
    (256, 256), (256, 224), (224, 256), (256, 192), (192, 256), (256, 160), (160, 256), (128, 256), (192, 224),
    (224, 192), (192, 192), (192, 160), (160, 192), (128, 224), (224, 128), (128, 192), (192, 128), (160, 160),
    (128, 160), (160, 128), (192, 96), (96, 192), (128, 128), (128, 96), (96, 128),
)  # fmt: skip
"""Tiles of which 304 or a little fewer make a product."""
_SMALL, _MIDDLE = _staged(64, 64, 16, 4, 2), _staged(128, 128, 32, 2, 1)
CANDIDATES: tuple[Row, ...] = (
    _direct(16, 16, 4, 1, 1, 4),
    _direct(16, 32, 4, 1, 1, 4),
    _direct(16, 64, 4, 1, 1),
    _direct(32, 32, 4, 1, 1, 4),
    _direct(32, 64, 4, 1, 1),
    _direct(64, 32, 4, 1, 1),
    _direct(64, 64, 4, 1, 1),
    _direct(64, 64, 2, 2, 1, together=True),
    _direct(96, 64, 2, 2, 1, together=True),
    _direct(128, 64, 2, 2, 1, together=True),
    _direct(96, 96, 2, 2, 1, together=True),
    _direct(96, 128, 1, 2, 2, together=True),
    _direct(128, 96, 1, 2, 2, together=True),
    _direct(128, 128, 1, 2, 2, together=True),
    _SMALL,
    _MIDDLE,
    _staged(256, 128, 32, 1, 1),
    _staged(128, 256, 32, 1, 1),
    _staged(256, 256, 32, 1, 1),
    _staged(256, 256, 32, 1, 1, xm=2, group=4),
    *(_filling(bm, bn) for bm, bn in FILLING),
    _split(_direct(32, 32, 4, 1, 1, 4), 16),
    _split(_SMALL, 4),
    _split(_SMALL, 16),
    _split(_MIDDLE, 4),
    _split(_MIDDLE, 8),
    _split(_MIDDLE, 16),
    _split(_MIDDLE, 2),
)
