"""Parameter sets of pooling and depthwise convolution, and their definitions on the image, not on its windows."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from argus.ir.kernel import KnobValue
from bench.templates.chains import BIAS, chained, gated
from bench.templates.template import Case, Floats, Template, one, step

Array = npt.NDArray[np.float64]
Symbols = Mapping[str, float]
Settings = Mapping[str, KnobValue]
Knobs = dict[str, KnobValue]


def windows(h: int, w: int, knobs: Knobs, down: tuple[int, int] = (1, 1)) -> dict[str, int]:
    """Sizes of the windows of an h x w image; `down`: stride and dilation along h."""
    kh, kw = int(knobs.get("KH", 3)), int(knobs.get("KW", 3))
    stride, dilation = int(knobs.get("STRIDE", 1)), int(knobs.get("DILATION", 1))
    return {
        "P": (h - down[1] * (kh - 1) - 1) // down[0] + 1,
        "Q": (w - dilation * (kw - 1) - 1) // stride + 1,
        "sZ": h * w,
        "sP": down[0] * w,
        "sR": down[1] * w,
    }


def image(view: Array, symbols: Symbols, knobs: Settings) -> Array:
    """The memory that windows [Z, P, Q, r, s] were taken from, one row for each z; NaN where none of them reaches."""
    z, p, q, r, s = (np.arange(n) for n in view.shape)
    place = (
        p[:, None, None, None] * int(symbols["sP"])
        + q[:, None, None] * int(knobs["STRIDE"])
        + r[:, None] * int(symbols["sR"])
        + s * int(knobs["DILATION"])
    )
    memory = np.full((len(z), int(place.max()) + 1), np.nan)
    memory[:, place] = view
    if not np.array_equal(memory[:, place], view):
        raise AssertionError("windows that overlap hold different values")
    return memory


def _corner(memory: Array, p: int, q: int, symbols: Symbols, knobs: Settings) -> Array:
    """One window cut out of the memory, rows of taps first."""
    start = p * int(symbols["sP"]) + q * int(knobs["STRIDE"])
    rows = [memory[:, start + r * int(symbols["sR"]) :] for r in range(int(knobs["KH"]))]
    step, count = int(knobs["DILATION"]), int(knobs["KW"])
    return np.stack([row[:, : step * (count - 1) + 1 : step] for row in rows], axis=1)


def pooled(given: Floats, symbols: Symbols, knobs: Settings) -> Array:
    memory = image(given["X"], symbols, knobs)
    want = np.empty(given["X"].shape[:3])
    for p, q in np.ndindex(want.shape[1:]):
        window = _corner(memory, p, q, symbols, knobs)
        want[:, p, q] = window.max((1, 2)) if knobs["OP"] == "max" else window.mean((1, 2))
    return chained(want, given, symbols, knobs, {})


def pooled_volumes(given: Floats, symbols: Symbols, knobs: Settings) -> Array:
    """Windows of planes [Z * D, P, Q, r, s], then of `KH` planes: the maximum or mean over all three axes."""
    x = given["X"]
    z, deep, kd = int(symbols["Z"]), int(symbols["P"]), int(knobs["KH"])
    planes = x.reshape(z, len(x) // z, *x.shape[1:])
    step_ = int(symbols["sP"]) // int(symbols["Q"])
    cubes = [planes[:, d * step_ : d * step_ + kd] for d in range(deep)]
    over = np.max if knobs["OP"] == "max" else np.mean
    return np.stack([over(cube, axis=(1, 4, 5)).reshape(z, -1) for cube in cubes], axis=1)


def averaged(given: Floats, symbols: Symbols, knobs: Settings) -> Array:
    """Windows of the padded volume, and their means."""
    border = [(0, 0), *((int(knobs["P" + axis]),) * 2 for axis in "DHW")]
    window, (d, h, w) = (tuple(int(knobs[name + axis]) for axis in "DHW") for name in "KS")
    seen = np.lib.stride_tricks.sliding_window_view(np.pad(given["X"], border), window, (1, 2, 3))  # type: ignore[call-overload]
    return chained(seen[:, ::d, ::h, ::w].mean((4, 5, 6)), given, symbols, knobs, {})


def padded(given: Floats, symbols: Symbols, knobs: Settings) -> Array:
    return given["X"]


def channels(given: Floats, symbols: Symbols, knobs: Settings) -> Array:
    """Every tap's planes and rows cut out of the padded volume."""
    kd, kh, sd, sh, dd, dh, pd, ph = (int(knobs[name]) for name in ("KD", "KH", "SD", "SH", "DD", "DH", "PD", "PH"))
    x = np.pad(given["X"], ((0, 0), (0, 0), (pd, pd), (ph, ph), (0, 0)))
    deep, down = (x.shape[2] - dd * (kd - 1) - 1) // sd + 1, (x.shape[3] - dh * (kh - 1) - 1) // sh + 1
    want = np.empty((*x.shape[:2], kd, kh, deep, down, x.shape[4]))
    for d, r in np.ndindex(kd, kh):
        planes = x[:, :, dd * d : dd * d + sd * (deep - 1) + 1 : sd]
        want[:, :, d, r] = planes[:, :, :, dh * r : dh * r + sh * (down - 1) + 1 : sh]
    return want


def convolved(given: Floats, symbols: Symbols, knobs: Settings) -> Array:
    x = given["X"]
    memory = image(x.reshape(-1, *x.shape[2:]), symbols, knobs)
    want = np.empty(x.shape[:4])
    filters = np.tile(given["F"], (len(x), 1, 1))
    for p, q in np.ndindex(want.shape[2:]):
        window = _corner(memory, p, q, symbols, knobs)
        want[:, :, p, q] = np.einsum("zrs,zrs->z", window, filters).reshape(x.shape[:2])
    b, c = want.shape[:2]
    return chained(want, given, symbols, knobs, {"c": (1, c, 1, 1), "bc": (b, c, 1, 1)})


NARROW: Knobs = {"WIDE": 1, "LANES": 16}
"""A workgroup makes 16 rows of 16 results."""
TILES = (1, 2, 15, 16, 17, 33)


def _sizes(sets: list[tuple[Knobs, tuple[int, int]]]) -> list[tuple[Knobs, dict[str, int]]]:
    """For each setting, images whose results lie beside the 16 x 16 of a workgroup."""
    found = []
    for number, (knobs, down) in enumerate(sets):
        kh, kw = int(knobs.get("KH", 3)), int(knobs.get("KW", 3))
        stride, dilation = int(knobs.get("STRIDE", 1)), int(knobs.get("DILATION", 1))
        for at in range(6):
            p, q = TILES[at], TILES[(at + number) % 6]
            h, w = (p - 1) * down[0] + down[1] * (kh - 1) + 1, (q - 1) * stride + dilation * (kw - 1) + 1
            found.append((NARROW | knobs, windows(h + at % 2, w, knobs, down)))
    return found


SETS: list[tuple[Knobs, tuple[int, int]]] = [
    ({}, (1, 1)),
    ({"STRIDE": 2}, (2, 1)),
    ({"STRIDE": 3, "KH": 2, "KW": 2}, (3, 1)),
    ({"DILATION": 2, "KW": 4}, (1, 3)),
    ({"KH": 1, "KW": 8, "DILATION": 3}, (1, 1)),
    ({"KH": 5, "KW": 1, "STRIDE": 2}, (1, 2)),
    ({"KH": 4, "KW": 4, "STRIDE": 4}, (4, 1)),
]
LARGE: list[tuple[Knobs, tuple[int, int]]] = [({"KH": 11, "KW": 11}, (1, 1))]
"""Windows of pooling alone: a filter of as many taps is no depthwise convolution that anybody has."""


def _pool(operation: str) -> tuple[Case, ...]:
    narrow = [one("pool", {**k, "OP": operation}, Z=1 + n % 3, **s) for n, (k, s) in enumerate(_sizes([*SETS, *LARGE]))]
    wide: Knobs = {"OP": operation, "LANES": 8, **gated("one")}
    return (*narrow, *(one("pool", wide, Z=2, **windows(h, w, {})) for h, w in ((3, 6), (34, 34), (35, 38), (70, 10))))


AFTER: tuple[Knobs, ...] = ({**BIAS, "HAS_U": "c", "S1": "relu"}, {}, {**BIAS, "HAS_U": "c"}, {})
"""What comes after a depthwise convolution."""


def _depthwise() -> tuple[Case, ...]:
    def case(knobs: Knobs, b: int, c: int, sizes: dict[str, int]) -> Case:
        return one("depthwise", knobs, B=b, C=c, sB=c * sizes["sZ"], **sizes)

    narrow = [case({**k, **AFTER[n % 4]}, 1 + n % 2, 1 + n % 3, s) for n, (k, s) in enumerate(_sizes(SETS))]
    wide: Knobs = {"LANES": 8, **gated("bc")}
    return (*narrow, *(case(wide, 2, 3, windows(h, w, {})) for h, w in ((3, 6), (34, 34), (35, 38), (70, 10))))


def _volume(knobs: Knobs, z: int, sides: tuple[int, int, int], kd: int, stride: int) -> Case:
    """A launch for the planes, one along the depth, where a whole plane of results is one row."""
    d, h, w = sides
    planes = windows(h, w, knobs, (int(knobs.get("STRIDE", 1)), 1))
    row = planes["P"] * planes["Q"]
    along: Knobs = {"OP": knobs["OP"], "KH": kd, "KW": 1, "WIDE": knobs.get("WIDE", 4)}
    sizes = {"P": (d - kd) // stride + 1, "Q": row, "sZ": d * row, "sP": stride * row, "sR": row}
    return one("pool", knobs, Z=z * d, **planes)[0], step("pool", "pool", along, takes={"X": "Y"}, Z=z, **sizes)


def _volumes() -> tuple[Case, ...]:
    sides = [(3, 3, 4), (4, 17, 18), (5, 18, 19), (9, 6, 35), (8, 10, 10)]
    settings: list[Knobs] = [{}, {"STRIDE": 2}, {"KH": 2, "KW": 2, "STRIDE": 2}, {"KW": 2}]
    return tuple(
        _volume({**NARROW, **knobs, "OP": operation}, 1 + n % 2, side, 2 + n % 2, 1 + n % 2)
        for operation in ("max", "mean")
        for n, side in enumerate(sides)
        for knobs in settings
    )


def _padded() -> tuple[Case, ...]:
    """Rows and columns beside the 16 x 16 or 4 x 64 of a thread's row, borders of 0 to 3."""
    sides = [(1, 1), (15, 16), (16, 15), (17, 17), (4, 63), (5, 64), (3, 65), (33, 130), (1, 200), (70, 1)]
    return tuple(
        one("pad", {"LANES": lanes, "DEEP": 2}, Z=2, H=h, W=w, sZ=(h + border) * (w + border), sH=w + border)
        for lanes in (16, 64)
        for h, w in sides
        for border in (0, 3)
    )


def _rows() -> tuple[Case, ...]:
    """Windows beside the rows of a wave; all windows, channels and strides, some rows of Y longer than they must be."""
    found = []
    for number, (high, wide, stride) in enumerate(
        (h, w, s) for h, w in ((5, 5), (7, 5), (7, 7), (9, 11), (11, 11)) for s in (1, 2, 4)
    ):
        for channels, (p, q) in (
            (1 + number % 4, (2, 17)),
            (1 + (number + 1) % 4, (1, 1)),
            (1 + (number + 2) % 4, (3, 16)),
        ):
            height, width = (p - 1) * stride + high, (q - 1) * stride + wide
            knobs: Knobs = {"CHANNELS": channels, "KH": high, "KW": wide, "STRIDE": stride}
            row = channels * high * wide + number % 3
            image_ = {"sN": channels * height * width, "sP": stride * width, "sC": height * width, "sR": width}
            rows = {"yN": p * q * row, "yP": q * row, "yQ": row}
            found.append(one("window_rows", knobs, N=1 + number % 2, P=p, Q=q, **image_, **rows))
    return tuple(found)


def _lines(knobs: Knobs, n: int, c: int, space: tuple[int, int, int], spare: int) -> Case:
    """`spare`: channels that Y has for each image beside those that are written."""

    def results(extent: int, axis: str) -> int:
        window, stride, dilation, border = (int(knobs.get(name + axis, least)) for name, least in FORM)
        return (extent + 2 * border - dilation * (window - 1) - 1) // stride + 1

    (depth, height, width), kd, kh = space, int(knobs.get("KD", 3)), int(knobs.get("KH", 3))
    deep, down = results(depth, "D"), results(height, "H")
    each = deep * down * width
    sizes = {"N": n, "C": c, "ID": depth, "IH": height, "IW": width, "OD": deep, "OH": down}
    sizes |= {"yN": (c * kd * kh + spare) * each, "yC": kd * kh * each, "yD": kh * each, "yR": each, "yT": down * width}
    return one("window_channels", knobs, **sizes)


FORM = (("K", 3), ("S", 1), ("D", 1), ("P", 0))
LINES: tuple[Knobs, ...] = (
    {"WIDE": 1},
    {"WIDE": 2, "KD": 2, "KH": 5, "PH": 2},
    {"WIDE": 4, "SD": 2, "SH": 3, "PD": 1, "PH": 1, "LANES": 16},
    {"WIDE": 8, "DD": 2, "DH": 3, "PD": 2, "KD": 4, "KH": 2},
    {"WIDE": 1, "KD": 1, "KH": 7, "SH": 2, "DH": 2, "PH": 3, "LANES": 64},
    {"WIDE": 2, "KD": 7, "KH": 1, "PD": 8, "SD": 5},
    {"WIDE": 8, "KD": 5, "KH": 11, "PD": 4, "PH": 6, "SD": 3, "SH": 2, "LANES": 32},
)


def _volumes_as_channels() -> tuple[Case, ...]:
    """Rows and columns beside those of a workgroup; borders that whole windows lie in."""
    found = []
    for number, knobs in enumerate(LINES):
        spans = [int(knobs.get("D" + axis, 1)) * (int(knobs.get("K" + axis, 3)) - 1) + 1 for axis in "DH"]
        least = [max(1, span - 2 * int(knobs.get("P" + axis, 0))) for span, axis in zip(spans, "DH", strict=True)]
        lanes, wide = int(knobs.get("LANES", 8)), int(knobs["WIDE"])
        for at, (deeper, higher) in enumerate(
            ((0, 0), (1, 256 // lanes - 1), (4, 256 // lanes), (2, 3), (3, 70), (5, 1))
        ):
            width = wide * (1, lanes - 1, lanes, lanes + 1, 3, 2 * lanes + 1)[(at + number) % 6]
            space = (least[0] + deeper, least[1] + higher * int(knobs.get("SH", 1)), width)
            found.append(_lines(knobs, 1 + number % 2, 1 + at % 3, space, at % 3))
    return tuple(found)


SMALL: Knobs = {"WIDE": 1, "XW": 1, "YW": 1, "LANES": 8, "DEEP": 1, "FRONT": 1}
"""A workgroup makes 32 rows of 8 results of a plane."""
VOLUMES: tuple[tuple[Knobs, tuple[tuple[int, int, int], ...]], ...] = (
    (SMALL, ((1, 1, 1), (2, 63, 15), (3, 64, 16), (4, 65, 17), (5, 2, 33), (1, 66, 3))),
    ({**SMALL, "WIDE": 4, "SD": 1, "SW": 1, "PW": 2, "KW": 5, **gated("one")}, ((1, 2, 31), (3, 64, 32), (2, 70, 33))),
    ({**SMALL, "WIDE": 8, "DEEP": 2, "FRONT": 2}, ((1, 1, 1), (5, 127, 127), (6, 129, 129), (8, 3, 70), (3, 5, 2))),
    (
        {**SMALL, "KD": 7, "KH": 5, "SH": 5, "PD": 3, "PW": 0, "SD": 3},
        ((1, 1, 3), (9, 40, 18), (10, 165, 9), (4, 4, 4)),
    ),
    ({"DEEP": 4, "FRONT": 4, "LANES": 8}, ((2, 2, 16), (15, 255, 128), (17, 257, 144), (32, 5, 112), (3, 9, 272))),
    ({"DEEP": 1, "XW": 4, "YW": 4, "LANES": 8}, ((5, 64, 120), (1, 1, 8), (3, 65, 136), (8, 31, 24))),
    ({"SW": 1, "XW": 2, "YW": 2, "KW": 3, "SD": 1, "SH": 1, "LANES": 16}, ((4, 33, 6), (1, 16, 128), (5, 31, 130))),
    ({**SMALL, "DTYPE": "f32", "WIDE": 4, "PD": 0, "PH": 2, "KH": 4, "SH": 3}, ((3, 4, 5), (6, 97, 65), (7, 100, 63))),
    (
        {"DTYPE": "f32", "XW": 4, "YW": 4, "WIDE": 4, "LANES": 8, "DEEP": 2},
        ((3, 3, 8), (8, 128, 64), (7, 129, 72), (1, 1, 8)),
    ),
    (
        {"DTYPE": "f16", "KW": 2, "PW": 0, "KD": 2, "PD": 0, **gated("one")},
        ((2, 30, 16), (5, 66, 256), (9, 63, 272), (3, 2, 16)),
    ),
)


def _averages() -> tuple[Case, ...]:
    """Results beside the rows, columns and planes of a workgroup; padding on all sides, and none."""
    found = []
    for knobs, spaces in VOLUMES:
        for number, space in enumerate(spaces):
            extents = {}
            for axis, extent in zip("DHW", space, strict=True):
                border = 2 * int(knobs.get("P" + axis, 1))
                window, stride = int(knobs.get("K" + axis, 3)), int(knobs.get("S" + axis, 2))
                least = max(extent, window - border)
                extents |= {"I" + axis: least, "O" + axis: (least + border - window) // stride + 1}
            found.append(one("pool_volumes", knobs, Z=1 + number % 3, **extents))
    return tuple(found)


H = W = 514
"""512 x 512 results of 3 x 3 windows: an image of that size, padded."""
IMAGES, CHANNELS = 16, 64
MOVED = 4 * IMAGES * CHANNELS * (H * W + 512 * 512)

WINDOWS = (
    Template(
        "max pooling", _pool("max"), one("pool", {}, Z=IMAGES * CHANNELS, **windows(H, W, {})), pooled, moved=MOVED
    ),
    Template(
        "average pooling",
        _pool("mean"),
        one("pool", {"OP": "mean"}, Z=IMAGES * CHANNELS, **windows(H, W, {})),
        pooled,
        moved=MOVED,
    ),
    Template(
        "3-D pooling, two launches",
        _volumes(),
        _volume({"OP": "max", "LANES": 16}, 16 * 32, (66, 66, 66), 3, 1),
        pooled_volumes,
        moved=4 * 16 * 32 * (66**3 + 64**3),
    ),
    Template(
        "average pooling of volumes",
        _averages(),
        one("pool_volumes", {"DEEP": 4, "FRONT": 4}, Z=255, ID=128, IH=128, IW=256, OD=64, OH=64, OW=128),
        averaged,
        moved=2 * 255 * (128 * 128 * 256 + 64 * 64 * 128),
    ),
    Template(
        "padding",
        _padded(),
        one("pad", {}, Z=IMAGES * CHANNELS, H=512, W=512, sZ=H * W, sH=W),
        padded,
        moved=2 * 4 * IMAGES * CHANNELS * 512 * 512,
    ),
    Template(
        "windows as rows of a matrix",
        _rows(),
        one("window_rows", {}, N=256, P=55, Q=55, sN=155952, sP=912, sC=51984, sR=228, yN=1161600, yP=21120, yQ=384),
        padded,
        moved=2 * 256 * (155952 + 3025 * 363),
    ),
    Template(
        "windows of volumes as channels",
        _volumes_as_channels(),
        _lines({"KD": 3, "KH": 5}, 16, 3, (64, 64, 64), 3),
        channels,
        moved=2 * 16 * 3 * (64**3 + 15 * 62 * 60 * 64),
    ),
    Template(
        "depthwise convolution",
        _depthwise(),
        one("depthwise", {}, B=IMAGES, C=CHANNELS, sB=CHANNELS * H * W, **windows(H, W, {})),
        convolved,
        moved=MOVED,
    ),
)
