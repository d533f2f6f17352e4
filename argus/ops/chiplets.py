"""Which tiles of a product go to which chiplet: the knobs XM and BAND of kernels whose `place` deals tiles out to XCDs.

    map_of(4096, 462, 128, 64)      -> {"XM": 8}: an XCD takes every eighth row of tiles and all columns
    map_of(1408, 1408, 128, 64)     -> {"XM": 0, "BAND": 11}: an XCD takes some columns of 11 x 22 tiles

Workgroup number % 8 is the XCD, and every XCD has its own L2: the map decides how many rows of A and of B are read by
several of them. With XM, XCDs take every XM-th row of tiles and every (8 // XM)-th column; counts that are no multiples
leave workgroups without a tile, which few may be. With BAND an XCD has neighboring tiles, whatever their number is, in
bands of so many rows of tiles, a divisor of their count. What an XCD
works on at a time meets in its L2, so of every round of its tiles the rows that they touch count. The map by which an
XCD reads the fewest rows is taken.
"""

from __future__ import annotations

import math

from argus.gfx942.chip import CUS_PER_XCD, XCDS

MAPS = (1, 2, 4, 8)
BANDS = range(1, 17)
SPARE = 64
"""Workgroups with a tile for one without."""


def map_of(m: int, n: int, bm: int, bn: int, bands: int = BANDS[-1]) -> dict[str, int]:
    """XM, and BAND if it is not 0, for C[m, n] in tiles of bm x bn; `bands`: the most rows of a band, 0: no BAND."""
    rows, columns = -(-m // bm), -(-n // bn)
    able: list[tuple[float, dict[str, int]]] = [
        (_across(rows, columns, along, bm, bn), {"XM": along})
        for along in MAPS
        if SPARE * (-rows % along * columns + -columns % (XCDS // along) * rows) <= rows * columns
    ]
    able += [
        (_in_bands(rows, columns, band, bm, bn), {"XM": 0, "BAND": band})
        for band in BANDS
        if band <= bands and rows % band == 0
    ]
    return min([(_by_rows(rows, columns, bm, bn), {"XM": 0}), *able], key=lambda one: one[0])[1]


def _by_rows(rows: int, columns: int, bm: int, bn: int) -> float:
    """Rows of A and of B that an XCD reads of every eighth tile, row by row."""
    run = -(-rows * columns // XCDS)
    at_once = min(run, CUS_PER_XCD)
    touched = min(columns // math.gcd(columns, XCDS), at_once)
    return run / at_once * (min(rows, XCDS * at_once / columns + 1) * bm + touched * bn)


def _across(rows: int, columns: int, along: int, bm: int, bn: int) -> float:
    """The same of every `along`-th row and (8 // along)-th column, row by row."""
    mine, wide = -(-rows // along), -(-columns * along // XCDS)
    run = mine * wide
    at_once = min(run, CUS_PER_XCD)
    return run / at_once * (-(-at_once // wide) * bm + min(wide, at_once) * bn)


def _in_bands(rows: int, columns: int, band: int, bm: int, bn: int) -> float:
    """The same of its run of neighboring tiles, column by column of each band."""
    run = -(-rows * columns // XCDS)
    at_once = min(run, CUS_PER_XCD)
    touched = (at_once + band - 2) // band + 1  # the tiles may begin in the middle of a column
    return run / at_once * (min(rows, band * (1 + (touched - 1) / columns)) * bm + min(touched, columns) * bn)
