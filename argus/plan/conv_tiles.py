"""Tiles of the convolutions (`argus.kernels.implicit_gemm`): knobs that fit sizes, LDS and registers.

    tile_knobs("f32", Convolved(n=8, g=1, c=64, o=128, width=1024, results=(510, 1022), reach=((0, 2), (0, 2))))

A workgroup makes ROWS x COLS pixels of 32, 64 or 128 output channels. The first tile of a short list whose halo fits
into its share of LDS and into registers is taken, so that few kernels serve all sizes and each is proved once: for f32
128 pixels, for two-byte types 256. Accesses are as wide as the extents allow.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from itertools import product
from typing import Any

from argus.ir.kernel import KnobValue
from argus.ops.choice import BYTES
from argus.plan.choices import Alternative, Choices, varied

LDS = 1 << 16
REGISTERS = {2: 210, 1: 420}
"""Of a thread, by waves per SIMD: for its sums, the part of the halo it brings (twice: one is on its way while another
is stored) and an offset for every access. The others hold fragments and weights."""
ORDINARY = 256
"""Of a thread, for all but its sums; asked where weights are read one by one, since these need many, too."""
HELD = 232
"""Of 256, for what `_over_planes` counts where a window has several, or with an address for the weights of every tap
where eight are read one by one; the others hold places in LDS and what the allocator cannot use."""
MOST_WORK = 200
"""Taps times fragments of a wave, above which a kernel would be too long to read."""
SINGLE = 2
"""Where weights are read one by one, 16 bytes of a tap are as much to read as so many fragments."""
FORM = ("ROWS", "COLS", "WO", "WAVES")
"""What makes a tile another one; accesses are forms of the same."""
LINE, PLANE = (1,), (4, 8, 2, 16, 1)
"""Rows of a tile that are tried, for one row of results and for several."""


@dataclass(frozen=True, slots=True)
class Convolved:
    """Sizes of one launch. `results`: rows and columns of Y; `reach`: first and last place that taps meet, down and
    across; `stride`: rows and columns of X between neighbors of Y; `taps`: of the window; `apart`: Y's columns
    are not neighbors in memory; `planes`: of the window, one after the other."""

    c: int
    o: int
    width: int
    results: tuple[int, int]
    reach: tuple[tuple[int, int], tuple[int, int]]
    stride: tuple[int, int] = (1, 1)
    taps: int = 9
    apart: bool = False
    planes: int = 1


class NoTile(Exception):
    """No tile of the list fits."""


@dataclass(frozen=True, slots=True)
class ConvTile:
    """Knobs of a tile, by the kernels' names."""

    rows: int
    cols: int
    wo: int
    vec: int
    xw: int
    waves: int

    @property
    def fragments(self) -> int:
        """Of 32 pixels, per wave."""
        return self.rows * self.cols * self.wo // 128


def tile_knobs(
    dtype: str,
    sizes: Convolved,
    choices: Choices | None = None,
    images: int = 1,
    chain: Mapping[str, Any] | None = None,
    even: bool = False,
) -> dict[str, KnobValue]:
    """The tile and the accesses of a convolution; `images`: with all groups of each; `chain`: knobs of what follows;
    `even`: steps of half as many channels where fewer are filled up with zeros. Raises `NoTile`."""
    fitting = _fitting(dtype, sizes)
    first = min(fitting, key=lambda tile: -sizes.c % (4 * tile.vec), default=None) if even else next(fitting, None)
    if first is None:
        stated = f"no tile holds {sizes.taps} taps at strides {sizes.stride} of {sizes.c} channels of {dtype}"
        raise NoTile(f"{stated} in registers; nearest are fewer taps, smaller strides, or rows of a multiple of 8")
    rule = tile = _chosen(first)
    if choices is not None:
        shape = {**shape_of(dtype, sizes, images), **_steps(chain)}
        tile = choices.take("conv-tile", shape, rule, lambda: varied(map(_chosen, _fitting(dtype, sizes)), FORM))
    return {
        "DTYPE": dtype,
        **{name: tile[name] for name in ("ROWS", "COLS", "WO", "VEC", "XW")},
        "YW": 1 if sizes.apart else math.gcd(4, sizes.results[1]),
        "CW": math.gcd(int(tile["VEC"]), sizes.c),
        "WAVES": tile["WAVES"],
    }


def shape_of(dtype: str, sizes: Convolved, images: int) -> dict[str, KnobValue]:
    """What the time of a convolution depends on, as words and numbers."""
    flat = {name: value if type(value) in (int, bool) else str(value) for name, value in asdict(sizes).items()}
    return {"dtype": dtype, "images": images, **flat}


def _steps(chain: Mapping[str, Any] | None) -> dict[str, KnobValue]:
    """The chain needs registers, too."""
    return {"steps": " ".join(str(value) for name, value in (chain or {}).items() if name[0] == "S")}


def _chosen(tile: ConvTile) -> Alternative:
    return {
        "ROWS": tile.rows, "COLS": tile.cols, "WO": tile.wo, "VEC": tile.vec, "XW": tile.xw, "WAVES": tile.waves,
    }  # fmt: skip


def _fitting(dtype: str, sizes: Convolved) -> Iterator[ConvTile]:
    """Tiles that fit, the best first: with many channels a step, many pixels, two waves per SIMD and wide accesses."""
    size = BYTES[dtype]
    widest = math.gcd(16 // size, sizes.width)
    narrow, wide = (1, 4) if size == 4 else (4, 8)
    most_vec = next((vec for vec in (1, 2, 4, 8) if narrow <= vec <= wide and 4 * vec >= sizes.c), wide)
    vecs = [vec for vec in (8, 4, 2, 1) if narrow <= vec <= most_vec]
    most, ways = (128, (1, 2)) if size == 4 else (256, (1, 2, 4))
    wo = next((wo for wo in ways if 32 * wo >= sizes.o), ways[-1])
    accesses = [xw for xw in (8, 4, 2, 1) if xw <= widest]
    rows = LINE if sizes.results[0] == 1 else PLANE
    places = ((most, most // 2, 64, 32), (2, 1), rows, (wo, 4), accesses)
    for vec, pixels, waves, high, across, xw in product(vecs, *places):
        tile = ConvTile(high, pixels // high, across, vec, xw, waves)
        if tile.cols in (16, 32, 64, 128, 256) and _even(tile) and _held(tile, sizes, size):
            yield tile


def _even(tile: ConvTile) -> bool:
    """Every wave has whole fragments: rows of 32 pixels, or two of 16."""
    high = 2 if tile.cols == 16 else 1
    return tile.fragments >= 1 and tile.rows % high == 0 and (tile.cols <= 128 or tile.rows == 1)


def _held(tile: ConvTile, sizes: Convolved, size: int) -> bool:
    """Whether the halo has place in LDS, and what a thread brings of it, with its sums, in registers."""
    slots = _passes(tile, sizes) * 64 * tile.xw
    accesses = _passes(tile, sizes) * tile.vec
    needed = 16 * tile.fragments + 2 * accesses * max(1, tile.xw * size // 4) + accesses
    reads = tile.vec // math.gcd(tile.vec, sizes.c)
    needed += sizes.taps * max(1, reads // 2) if sizes.planes > 1 else 0
    singles = reads * size // 16
    work = sizes.taps * (tile.fragments + SINGLE * singles)
    fits = needed <= REGISTERS[tile.waves] and work <= MOST_WORK
    fits = fits and (not singles or needed - 16 * tile.fragments <= ORDINARY)
    fits = fits and (sizes.planes > 1 or needed + sizes.taps * (reads // 8) <= HELD)
    fits = fits and (sizes.planes == 1 or _over_planes(tile, sizes, size) <= HELD)
    return fits and slots * 4 * tile.vec * size <= LDS // tile.waves


def _over_planes(tile: ConvTile, sizes: Convolved, size: int) -> int:
    """Addresses of all taps' weights and of the halo of every plane; the halo of one, and what turns its accesses in
    registers; four fragments. Two waves have their sums among the same 256, one has others for them."""
    accesses = _passes(tile, sizes) * tile.vec
    halo = accesses * max(1, tile.xw * size // 4) + 2 * tile.xw
    sums = 16 * tile.fragments if tile.waves > 1 else 0
    return sizes.taps + sizes.planes * accesses + halo + tile.vec * size + sums


def _passes(tile: ConvTile, sizes: Convolved) -> int:
    """Accesses of a thread that bring the halo, as the kernels count them."""
    (top, low), (left, right) = sizes.reach
    start = left // tile.xw * tile.xw
    high = sizes.stride[0] * (tile.rows - 1) + low - top + 1
    pieces = (sizes.stride[1] * (tile.cols - 1) + right - start + tile.xw) // tile.xw
    return -(-high * pieces // 64)
