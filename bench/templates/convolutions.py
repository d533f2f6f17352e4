"""Parameter sets of the convolutions over channels and of transposed ones, and their definitions in float64.

A case of a transposed convolution is one phase; its definition spreads every pixel of X over all of Y and cuts the
phase out, so it knows nothing of how taps fall into phases.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product

import numpy as np
import numpy.typing as npt

from argus.ir.kernel import KnobValue
from bench.templates.chains import BIAS, chained, gated
from bench.templates.template import Case, Floats, Template, one

Array = npt.NDArray[np.float64]
Symbols = Mapping[str, float]
Settings = Mapping[str, KnobValue]
Knobs = dict[str, KnobValue]


def _numbers(knobs: Settings, letter: str, axes: str) -> list[int]:
    return [int(knobs[letter + axis]) for axis in axes]


def _finished(total: Array, given: Floats, symbols: Symbols, knobs: Settings) -> Array:
    n, g, o = total.shape[:3]
    spatial = (1,) * (total.ndim - 3)
    return chained(total, given, symbols, knobs, {"go": (1, g, o, *spatial), "ngo": (n, g, o, *spatial)})


def convolved(given: Floats, symbols: Symbols, knobs: Settings) -> Array:
    """Tap by tap: a view of the padded image, `stride` apart, times the weights of the tap."""
    x, k = given["X"], given["K"]
    axes = "DHW"[-(x.ndim - 3) :]
    pads, strides, dilations = (_numbers(knobs, letter, axes) for letter in "PSD")
    windows = k.shape[2:-1]
    padded = np.pad(x, [(0, 0)] * 3 + [(p, p) for p in pads])
    out = [
        (size - d * (r - 1) - 1) // s + 1
        for size, d, r, s in zip(padded.shape[3:], dilations, windows, strides, strict=True)
    ]
    total = np.zeros((x.shape[0], x.shape[1], k.shape[1], *out))
    for tap in np.ndindex(*windows):
        cut = tuple(
            slice(d * at, d * at + s * (n - 1) + 1, s) for d, at, s, n in zip(dilations, tap, strides, out, strict=True)
        )
        total += np.einsum("ngc...,goc->ngo...", padded[(..., *cut)], k[(slice(None), slice(None), *tap)])
    return _finished(total, given, symbols, knobs)


def spread(given: Floats, symbols: Symbols, knobs: Settings) -> Array:
    """Every pixel of X to where its window lies in Y, then the phase."""
    x, k = given["X"], given["K"]
    axes = "DHW"[-(x.ndim - 3) :]
    pads, strides, dilations, first = (_numbers(knobs, letter, axes) for letter in "PSDF")
    sizes = [s * (int(symbols["O" + axis]) - 1) + f + 1 for axis, s, f in zip(axes, strides, first, strict=True)]
    total = np.zeros((x.shape[0], x.shape[1], k.shape[1], *sizes))
    for tap, at in product(np.ndindex(*k.shape[2:-1]), np.ndindex(*x.shape[3:])):
        place = [s * i + d * r - p for s, i, d, r, p in zip(strides, at, dilations, tap, pads, strict=True)]
        if all(0 <= y < n for y, n in zip(place, sizes, strict=True)):
            total[(..., *place)] += np.einsum("ngc,goc->ngo", x[(..., *at)], k[(slice(None), slice(None), *tap)])
    cut = tuple(slice(f, None, s) for f, s in zip(first, strides, strict=True))
    return _finished(total[(..., *cut)], given, symbols, knobs)


def channelwise(given: Floats, symbols: Symbols, knobs: Settings) -> Array:
    """A depthwise convolution: every channel is a group of its own with one output channel."""
    x, f = given["X"], given["F"]
    b, c = x.shape[:2]
    plain = {**knobs, **{f"S{number}": "none" for number in range(8)}, **{f"HAS_{name}": "none" for name in "UVW"}}
    nothing = {name: np.zeros(1) for name in "UVW"}
    total = convolved({"X": x[:, :, None], "K": f[:, None, :, :, None], **nothing}, symbols, plain)[:, :, 0]
    return chained(total, given, symbols, knobs, {"c": (1, c, 1, 1), "bc": (b, c, 1, 1)})


SMALL: Knobs = {"ROWS": 2, "COLS": 32, "WO": 2, "XW": 1, "YW": 1, "CW": 1, "WAVES": 1}
"""2 x 32 pixels of 64 channels to a workgroup, steps of 32 channels, single elements per access."""
FLOAT: Knobs = {**SMALL, "DTYPE": "f32", "VEC": 4}
LINE: Knobs = {**SMALL, "ROWS": 1, "COLS": 64, "KH": 1, "PH": 0}
CHANNEL: Knobs = {**BIAS, "HAS_U": "go"}
"""A bias."""
CHANNELS = (1, 31, 32, 33, 8, 70)
"""Input channels beside the 32 (f32: 16) of a step."""
RESULTS = (1, 63, 64, 65, 32, 3)
"""Output channels beside the 64 of a workgroup."""
DEPTHS = (1, 31, 32, 33, 2, 5)
ROWS, COLS = (1, 2, 3, 4, 5, 6), (1, 31, 32, 33, 64, 65)


def _axis(knobs: Knobs, axis: str, results: int, extra: int) -> tuple[int, int]:
    """The size of X along an axis that has about so many results, and their number; `extra`: what a stride skips."""
    k, s, d, p = (int(knobs.get(letter + axis, default)) for letter, default in zip("KSDP", (3, 1, 1, 1), strict=True))
    span = d * (k - 1) + 1
    size = max((results - 1) * s + span - 2 * p + extra % s, 1, span - 2 * p)
    return size, (size + 2 * p - span) // s + 1


def _sized(file: str, knobs: Knobs, axes: str, at: int, turn: int) -> Case:
    """The at-th case of a setting; `turn` lets sizes meet in other pairs."""
    sizes = {"N": 1 + at % 2, "G": 1 + (at + turn) % 3, "C": CHANNELS[at], "O": RESULTS[(at + turn) % 6]}
    if sizes["C"] > 40:
        sizes["G"] = 1
    wanted = {"D": 1 + at % 3, "H": ROWS[at], "W": COLS[(at + 2 * turn) % 6]}
    for axis in axes:
        sizes["I" + axis], sizes["O" + axis] = _axis(knobs, axis, wanted[axis], at)
    if axes == "W":
        sizes["IH"] = sizes["OH"] = 1
    return one(file, knobs, **sizes)


def _cases(file: str, axes: str, settings: Sequence[Knobs], each: int = 6) -> tuple[Case, ...]:
    return tuple(_sized(file, knobs, axes, at, turn) for turn, knobs in enumerate(settings) for at in range(each))


PLANE: tuple[Knobs, ...] = (
    SMALL,
    {**SMALL, "KH": 1, "KW": 1, "PH": 0, "PW": 0, "SH": 2, "SW": 2, **CHANNEL},
    {**SMALL, "KH": 2, "SH": 3, "DW": 2, "PW": 2, "S0": "relu"},
    {**SMALL, "KH": 5, "KW": 4, "PH": 2, "PW": 0, "SH": 2, "SW": 3},
    {**SMALL, "DH": 4, "DW": 4, "PH": 4, "PW": 4, "DTYPE": "f16"},
    {**SMALL, "KH": 4, "KW": 2, "SH": 4, "SW": 4, "PH": 3, "COLS": 16, "WO": 4, "VEC": 4},
    {**FLOAT, **CHANNEL, "S1": "gelu"},
    {**FLOAT, "VEC": 1, "KH": 2, "KW": 5, "SH": 2, "DW": 3, "WO": 1, "TO": 2, "ROWS": 4},
    {**SMALL, "KH": 2, "KW": 2, "TO": 2, **gated("ngo")},
)
VECTORS: Knobs = {"ROWS": 2, "COLS": 64, "WAVES": 1}


def _plane() -> tuple[Case, ...]:
    wide = [
        one("conv2d", VECTORS, N=1, G=1, C=c, IH=h, IW=w, O=o, OH=h, OW=w)
        for c, h, w, o in ((8, 1, 8, 1), (40, 3, 64, 128), (64, 2, 72, 129))
    ]
    return (*_cases("conv2d", "HW", PLANE), *wide)


def _line() -> tuple[Case, ...]:
    settings: list[Knobs] = [
        LINE,
        {**LINE, "SW": 3, "DW": 4, "PW": 0, **CHANNEL},
        {**LINE, "KW": 7, "PW": 3, "SW": 2, "DTYPE": "f32", "VEC": 4},
        {**LINE, "KW": 1, "PW": 0, "S0": "relu"},
        {**LINE, "KW": 5, "PW": 8, "DW": 2, "COLS": 128},
        {**LINE, "KW": 2, "SW": 5, "DTYPE": "f32", "VEC": 1, "WO": 4},
        {**LINE, "KW": 4, "SW": 2, "PW": 2, "DTYPE": "f16", "WO": 1, "COLS": 128},
    ]
    return _cases("conv2d", "W", settings)


def _volume() -> tuple[Case, ...]:
    small: Knobs = {"KD": 2, "KH": 2, "KW": 2}
    settings: list[Knobs] = [
        SMALL,
        {**SMALL, **small, "SD": 2, "SH": 2, "SW": 2, **CHANNEL},
        {**SMALL, "KD": 1, "PD": 0, "DH": 2, "SW": 2, "S0": "relu"},
        {**SMALL, **small, "DD": 2, "PD": 2, "SH": 3, "DW": 3},
        {**FLOAT, "KD": 2, "KW": 1, "PW": 0, **CHANNEL},
        {**FLOAT, "VEC": 1, **small, "PD": 0, "PH": 0, "PW": 0, "SD": 3},
        {**SMALL, "KD": 4, "KH": 1, "PH": 0, "KW": 3, "SD": 2, "DTYPE": "f16", "ROWS": 4, "COLS": 16},
        {**SMALL, **small, **gated("go")},
    ]
    return _cases("conv3d", "DHW", settings)


def _phases(file: str, axes: str, knobs: Knobs, turn: int) -> tuple[Case, ...]:
    """One case for every phase that has a tap, with the sizes of Y that torch gives, output padding included."""
    found: list[Case] = []
    values = {
        axis: [int(knobs.get(letter + axis, default)) for letter, default in zip("KSDP", (3, 2, 1, 1), strict=True)]
        for axis in axes
    }
    for number, first in enumerate(product(*(range(values[axis][1]) for axis in axes))):
        at = (number + turn) % 6
        sizes = {"N": 1 + at % 2, "G": 1 + (at + turn) % 3, "C": CHANNELS[at] % 40, "O": RESULTS[(at + turn) % 6]}
        x = {"D": 1 + at % 3, "H": ROWS[at], "W": COLS[(at + 2 * turn) % 6] % 60 + 2}
        whole, phase = [], {}
        for axis, f in zip(axes, first, strict=True):
            k, s, d, p = values[axis]
            least = max(1, -((d * (k - 1) - 2 * p) // s) + 1)
            size = max(x[axis], least)
            full = (size - 1) * s - 2 * p + d * (k - 1) + 1 + (at % s)
            if not any((f + p - d * r) % s == 0 for r in range(k)) or full <= f:
                break
            whole.append(full)
            phase["F" + axis] = f
            sizes |= {"I" + axis: size, "O" + axis: (full - f + s - 1) // s}
        else:
            if axes == "W":
                sizes, whole = {**sizes, "IH": 1, "OH": 1}, [1, *whole]
            found.append(one(file, {**knobs, **phase}, **sizes, **_strides(file, whole, knobs, sizes)))
    return tuple(found)


def _strides(file: str, whole: list[int], knobs: Knobs, sizes: dict[str, int]) -> dict[str, int]:
    """Strides of a phase of Y, an array of the whole size."""
    plane = int(np.prod(whole))
    strides = {"sN": sizes["G"] * sizes["O"] * plane, "sG": sizes["O"] * plane, "sO": plane}
    if file == "conv_transpose3d":
        strides["sT"] = int(knobs.get("SD", 2)) * whole[1] * whole[2]
    return {**strides, "sP": int(knobs.get("SH", 2)) * whole[-1]}


def _spread_plane() -> tuple[Case, ...]:
    settings: list[Knobs] = [
        SMALL,
        {**SMALL, "KH": 4, "KW": 4, **CHANNEL},
        {**SMALL, "KH": 3, "KW": 5, "SW": 3, "DH": 2, "PW": 2},
        {**SMALL, "SH": 1, "SW": 1, "PH": 0, "PW": 0, "S0": "relu"},
        {**SMALL, "SH": 1, "SW": 1, "KW": 7, "PH": 2, "PW": 3, "DTYPE": "f32", "VEC": 4},
        {**SMALL, "KH": 2, "KW": 2, "PH": 0, "PW": 0, "DTYPE": "f32", "VEC": 1},
        {**SMALL, "KH": 5, "KW": 3, "SH": 3, "SW": 3, "PH": 0, "DTYPE": "f16", **CHANNEL},
        {**SMALL, "SH": 5, "SW": 1, "KH": 5, "PH": 2, "DW": 3, "ROWS": 4, "COLS": 16},
        {**SMALL, "SH": 1, "SW": 4, "KW": 5, "PH": 1, "PW": 0},
        {**SMALL, "KH": 2, "KW": 2, **gated("ngo")},
    ]
    made = tuple(case for turn, knobs in enumerate(settings) for case in _phases("conv_transpose2d", "HW", knobs, turn))
    again = tuple(case for turn in (3, 4) for case in _phases("conv_transpose2d", "HW", settings[1], turn))
    return (*made, *again)


def _spread_line() -> tuple[Case, ...]:
    line: Knobs = {**LINE, "SH": 1}
    settings: list[Knobs] = [
        line,
        {**line, "KW": 5, "SW": 1, "PW": 0, "DW": 3, **CHANNEL},
        {**line, "KW": 4, "SW": 3, "PW": 2, "DTYPE": "f32", "VEC": 4},
        {**line, "KW": 3, "SW": 2, "DW": 2, "S0": "relu"},
        {**line, "KW": 7, "SW": 5, "PW": 3, "COLS": 128},
    ]
    return tuple(
        case for knobs in settings for turn in range(4) for case in _phases("conv_transpose2d", "W", knobs, turn)
    )


def _spread_volume() -> tuple[Case, ...]:
    settings: list[Knobs] = [
        SMALL,
        {**SMALL, "KD": 2, "KH": 2, "KW": 2, "PD": 0, "PH": 0, "PW": 0, **CHANNEL},
        {**FLOAT, "SD": 1, "SH": 2, "SW": 3, "KH": 4, "DD": 2, "PD": 2},
        {**SMALL, "SD": 3, "SH": 1, "SW": 1, "KD": 4, "KH": 1, "PH": 0, "S0": "relu"},
        {**SMALL, "DD": 2, "DH": 2, "DW": 2, "DTYPE": "f16"},
        {**FLOAT, "VEC": 1, "SD": 1, "SH": 1, "SW": 1, "KD": 2, "KH": 2, "KW": 3, **CHANNEL},
        {**SMALL, "SD": 1, "KD": 2, "KH": 2, "KW": 2, **gated("go")},
    ]
    made = [case for turn, knobs in enumerate(settings) for case in _phases("conv_transpose3d", "DHW", knobs, turn)]
    again = [case for turn in (2, 3) for case in _phases("conv_transpose3d", "DHW", settings[1], turn)]
    return (*made, *again)


def _channelwise() -> tuple[Case, ...]:
    """Results beside the 16 x 64 of a workgroup (narrow: 32 x 32), single pixels per access and four."""
    narrow: Knobs = {"XW": 1, "YW": 1, "LANES": 8, "DEEP": 1}
    settings: list[Knobs] = [
        narrow,
        {**narrow, "SH": 2, "SW": 2, **BIAS, "HAS_U": "c", "S1": "relu"},
        {**narrow, "KH": 5, "KW": 4, "PH": 2, "PW": 0, "SW": 3, "DEEP": 4, "WIDE": 2},
        {**narrow, "KH": 2, "KW": 7, "DH": 3, "DW": 2, "PW": 6, "DEEP": 2, "DTYPE": "bf16", **gated("bc")},
        {**narrow, "KH": 1, "PH": 0, "SH": 2, "DEEP": 2, "WIDE": 1, "LANES": 32, **gated("c")},
        {**narrow, "KH": 4, "SH": 3, "DH": 2, "PH": 3, "DEEP": 8, "DTYPE": "f16"},
    ]
    found: list[Case] = []
    for turn, knobs in enumerate(settings):
        for at in range(6):
            sizes = {"B": 1 + at % 2, "C": 1 + (at + turn) % 3}
            for axis, wanted in (("H", DEPTHS[at]), ("W", COLS[(at + 2 * turn) % 6])):
                sizes["I" + axis], sizes["O" + axis] = _axis(knobs, axis, wanted, at)
            found.append(one("depthwise2d", knobs, **sizes))
    wide = ((1, 4), (16, 64), (17, 68), (3, 256), (33, 260), (5, 8))
    return (*found, *(one("depthwise2d", {"LANES": 16}, B=2, C=3, IH=h, IW=w, OH=h, OW=w) for h, w in wide))


def _unlike(cases: tuple[Case, ...]) -> tuple[Case, ...]:
    """Each parameter set once."""
    return tuple({tuple(step.text() for step in case): case for case in cases}.values())


LARGE = {"N": 16, "G": 1, "C": 64, "IH": 512, "IW": 512, "O": 128, "OH": 512, "OW": 512}
CUBE = {"N": 16, "G": 1, "C": 64, "ID": 32, "IH": 64, "IW": 64, "O": 128, "OD": 32, "OH": 64, "OW": 64}
PHASE = {"N": 16, "G": 1, "C": 64, "IH": 256, "IW": 256, "O": 128, "OH": 256, "OW": 256}
WHOLE = {"sN": 128 * 512 * 512, "sG": 128 * 512 * 512, "sO": 512 * 512, "sP": 2 * 512}
CUBE_PHASE = {"sN": 128 * 64 * 128 * 128, "sG": 128 * 64 * 128 * 128, "sO": 64 * 128 * 128, "sT": 2 * 128 * 128}

IMAGES = {"B": 16, "C": 64, "IH": 512, "IW": 512, "OH": 512, "OW": 512}

CONVOLUTIONS = (
    Template(
        "depthwise convolution, padded",
        _unlike(_channelwise()),
        one("depthwise2d", {}, **IMAGES),
        channelwise,
        moved=2 * 4 * 16 * 64 * 512 * 512,
    ),
    Template("convolution, 2-D", _unlike(_plane()), one("conv2d", {}, **LARGE), convolved, bound="matrix"),
    Template(
        "convolution, 1-D",
        _unlike(_line()),
        one(
            "conv2d",
            {"KH": 1, "PH": 0, "ROWS": 1, "COLS": 256},
            **{**LARGE, "IH": 1, "OH": 1, "IW": 262144, "OW": 262144},
        ),
        convolved,
        bound="matrix",
    ),
    Template("convolution, 3-D", _unlike(_volume()), one("conv3d", {"ROWS": 2}, **CUBE), convolved, bound="matrix"),
    Template(
        "transposed convolution, 2-D (a phase of four)",
        _unlike(_spread_plane()),
        one("conv_transpose2d", {"FH": 1, "FW": 1}, **PHASE, **WHOLE),
        spread,
        bound="matrix",
    ),
    Template(
        "transposed convolution, 1-D (a phase of two)",
        _unlike(_spread_line()),
        one(
            "conv_transpose2d",
            {"KH": 1, "PH": 0, "SH": 1, "FW": 1, "ROWS": 1, "COLS": 256},
            **{**PHASE, "IH": 1, "OH": 1, "IW": 65536, "OW": 65536},
            **{**WHOLE, "sP": 131072, "sO": 131072},
        ),
        spread,
        bound="matrix",
    ),
    Template(
        "transposed convolution, 3-D (a phase of eight)",
        _unlike(_spread_volume()),
        one("conv_transpose3d", {"FD": 1, "FH": 1, "FW": 1}, **CUBE, **CUBE_PHASE, sP=2 * 128),
        spread,
        bound="matrix",
    ),
)
