"""Which tiles of a product go to which chiplet: the XM of a kernel whose `place` deals tiles out to XCDs.

    map_of(4096, 462, 128, 64)      -> 8: an XCD takes every eighth row of tiles and all columns

Workgroup number % 8 is the XCD, and every XCD has its own L2. XCDs take every XM-th row of tiles and every (8 // XM)-th
column, so A is read by 8 // XM of the L2s and B by XM of them. The map that reads the least is taken. It makes the rows
of tiles a multiple of XM and the columns one of 8 // XM; workgroups without a tile are only allowed as long as there
are no more rounds over the compute units.
"""

from __future__ import annotations

from argus.gfx942.chip import CUS, XCDS

MAPS = (1, 2, 4, 8)
NO_MAP = 0


def map_of(m: int, n: int, bm: int, bn: int) -> int:
    """XM for C[m, n] in tiles of bm x bn; 0, row-major workgroups, where every map would cost a round."""
    rows, columns = -(-m // bm), -(-n // bn)
    most = -(-rows * columns // CUS) * CUS
    best, least = NO_MAP, 0
    for along in MAPS:
        across = XCDS // along
        if -(-rows // along) * along * -(-columns // across) * across <= most:
            read = across * m + along * n
            if not least or read < least:
                best, least = along, read
    return best
