"""Convolutions and pooling of the mutation suite.

Small tiles, so that a launch of few pixels has remainders of all kinds. `conv2d` has 2 x 2 taps, strides 2 and 1,
padding 1; `conv_transpose2d` 3 x 2 taps, stride 1, padding 1, so that its one phase is all of Y and every element is
written (`tests/check/truth.py` counts writes); `pool` is a maximum, `average` a mean, over windows of 2 x 3.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import ml_dtypes
import numpy as np

from argus.ir.kernel import Kernel, KnobValue
from argus.lang import read
from argus.tasks.inputs import make_arrays
from tests.check.programs import Program

KERNELS = Path(__file__).parents[2] / "argus" / "kernels"
SMALL: dict[str, KnobValue] = {
    "ROWS": 2, "COLS": 16, "WO": 4, "VEC": 4, "XW": 1, "YW": 1, "CW": 1, "WAVES": 1
}  # fmt: skip
PARAMETERS = {f"p{number}": 0.5 for number in range(8)}
"""Of a chain without steps."""


def _rounded(exact: np.ndarray) -> np.ndarray:
    return exact.astype(ml_dtypes.bfloat16).astype(np.float32)


def _convolved(arrays: dict[str, np.ndarray]) -> np.ndarray:
    """2 x 2 taps, stride (2, 1), padding 1: pixel by pixel."""
    x, k = (arrays[name].astype(np.float64) for name in "XK")
    padded = np.pad(x, ((0, 0), (0, 0), (0, 0), (1, 1), (1, 1)))
    high, wide = (padded.shape[3] - 2) // 2 + 1, padded.shape[4] - 1
    y = np.zeros((*x.shape[:2], k.shape[1], high, wide))
    for p, q, r, s in np.ndindex(high, wide, 2, 2):
        y[..., p, q] += np.einsum("ngc,goc->ngo", padded[..., 2 * p + r, q + s], k[:, :, r, s])
    return _rounded(y)


def _spread(arrays: dict[str, np.ndarray]) -> np.ndarray:
    """3 x 2 taps, stride 1, padding 1: every pixel over its window, without the first and last rows and columns."""
    x, k = (arrays[name].astype(np.float64) for name in "XK")
    y = np.zeros((*x.shape[:2], k.shape[1], x.shape[3] + 2, x.shape[4] + 1))
    for h, w, r, s in np.ndindex(x.shape[3], x.shape[4], 3, 2):
        y[..., h + r, w + s] += np.einsum("ngc,goc->ngo", x[..., h, w], k[:, :, r, s])
    return _rounded(y[..., 1:-1, 1:-1])


def conv2d() -> Program:
    kernel = read(KERNELS / "conv2d.py", settings={**SMALL, "KH": 2, "KW": 2, "SH": 2})
    sizes = [{"N": 1, "G": 2, "C": 20, "IH": 3, "IW": 17, "O": 33}, {"N": 2, "G": 1, "C": 16, "IH": 2, "IW": 3, "O": 5}]
    done = tuple({**one, "OH": one["IH"] // 2 + 1, "OW": one["IW"] + 1} for one in sizes)
    return Program(kernel, done, _convolved, "Y", scalars=PARAMETERS)


def conv_transpose2d() -> Program:
    kernel = read(KERNELS / "conv_transpose2d.py", settings={**SMALL, "KW": 2, "SH": 1, "SW": 1})
    sizes = [{"N": 1, "G": 2, "C": 20, "IH": 3, "IW": 18, "O": 33}, {"N": 2, "G": 1, "C": 16, "IH": 2, "IW": 3, "O": 5}]
    done = []
    for one in sizes:
        high, wide = one["IH"], one["IW"] - 1
        strides = {"sP": wide, "sO": high * wide, "sG": one["O"] * high * wide, "sN": one["G"] * one["O"] * high * wide}
        done.append({**one, "OH": high, "OW": wide, **strides})
    return Program(kernel, tuple(done), _spread, "Y", scalars=PARAMETERS)


def _windows(kernel: Kernel, sizes: Mapping[str, int]) -> dict[str, np.ndarray]:
    """An image of small numbers as its windows: elements of the view that are one place in memory are equal."""
    arrays = make_arrays(kernel, sizes, 3)
    view = np.asarray(arrays["X"])
    length = int(sum((n - 1) * s for n, s in zip(view.shape, view.strides, strict=True))) // view.itemsize + 1
    image = np.random.default_rng(4).integers(-9, 10, length).astype(view.dtype)
    return {"X": np.lib.stride_tricks.as_strided(image, view.shape, view.strides)}


def _maximum(arrays: dict[str, np.ndarray]) -> np.ndarray:
    return np.asarray(arrays["X"].max((3, 4)), np.float32)


def _mean(arrays: dict[str, np.ndarray]) -> np.ndarray:
    return np.asarray(arrays["X"].astype(np.float64).mean((3, 4)), np.float32)


def _pool(operation: str, reference: Callable[[dict[str, np.ndarray]], np.ndarray]) -> Program:
    knobs: dict[str, KnobValue] = {"KH": 2, "KW": 3, "WIDE": 1, "LANES": 16, "DEEP": 1, "STRIDE": 2, "OP": operation}
    kernel = read(KERNELS / "pool.py", settings=knobs)
    sizes = (
        {"Z": 2, "P": 17, "Q": 17, "sZ": 1400, "sP": 37, "sR": 37},
        {"Z": 1, "P": 3, "Q": 5, "sZ": 60, "sP": 14, "sR": 14},
    )
    return Program(kernel, sizes, reference, "Y", _windows, scalars=PARAMETERS, tolerance=1e-6)


CONVOLUTIONS: dict[str, Callable[[], Program]] = {
    "conv2d": conv2d,
    "conv_transpose2d": conv_transpose2d,
    "pool": lambda: _pool("max", _maximum),
    "average": lambda: _pool("mean", _mean),
}
