"""Convolutions: a whole transposed convolution from its phases, and what is refused, at reading and at a launch."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from argus.compile.cache import compile_cached
from argus.device.guards import LaunchRefused, check_sizes
from argus.device.simulated import JitDevice
from argus.ir.kernel import Kernel
from argus.ir.passes.schedule import scheduled
from argus.lang.errors import ProgramError
from tests.kernels.running import TYPES, kernel_of

SMALL: dict[str, Any] = {"ROWS": 2, "COLS": 32, "WO": 2, "XW": 1, "YW": 1, "CW": 1, "WAVES": 1}
BIAS = {"S0": "add_U", "HAS_U": "go"}
PLANE = {"N": 2, "G": 2, "C": 24, "IH": 9, "IW": 17, "O": 70, "OH": 9, "OW": 17}


def launched(kernel: Kernel, sizes: dict[str, int], arrays: dict[str, np.ndarray]) -> None:
    none = {name: np.zeros(1, TYPES["bf16"]) for name in "VW"}
    scalars = {f"p{number}": 1.0 for number in range(8)}
    JitDevice().launch(kernel, compile_cached(scheduled(kernel)).object, sizes, {**none, **arrays}, scalars)


def spread(x: np.ndarray, k: np.ndarray, stride: int, dilation: int, padding: int, more: int) -> np.ndarray:
    """A transposed convolution by its definition: every pixel over its window; `more`: output padding."""
    high, wide = (stride * (n - 1) + dilation * (r - 1) + 1 for n, r in zip(x.shape[3:], k.shape[2:4], strict=True))
    full = np.zeros((*x.shape[:2], k.shape[1], high + more, wide + more))
    for r, s, h, w in np.ndindex(k.shape[2], k.shape[3], *x.shape[3:]):
        spot = np.einsum("ngc,goc->ngo", x[..., h, w], k[:, :, r, s])
        full[..., stride * h + dilation * r, stride * w + dilation * s] += spot
    return full[..., padding : high + more - padding, padding : wide + more - padding]


@pytest.mark.parametrize(
    ("knobs", "more"),
    [
        ({"KH": 3, "KW": 3, "stride": 2, "dilation": 1, "padding": 1}, 1),
        pytest.param({"KH": 3, "KW": 2, "stride": 2, "dilation": 2, "padding": 0}, 0, marks=pytest.mark.full),
        pytest.param({"KH": 2, "KW": 5, "stride": 3, "dilation": 1, "padding": 2}, 2, marks=pytest.mark.full),
    ],
)
def test_phases_make_up_the_whole(knobs: dict[str, int], more: int) -> None:
    """Whole numbers of few bits: every sum is exact. Phases without taps are written by `no_taps`."""
    stride, dilation, padding = (knobs[name] for name in ("stride", "dilation", "padding"))
    axes = {a + b: v for a, v in zip("SDP", (stride, dilation, padding), strict=True) for b in "HW"}
    dice = np.random.default_rng(5)
    x = dice.integers(-3, 4, (1, 2, 5, 4, 6)).astype(TYPES["bf16"])
    k = dice.integers(-3, 4, (2, 3, knobs["KH"], knobs["KW"], 5)).astype(TYPES["bf16"])
    bias = dice.integers(-3, 4, (2, 3)).astype(TYPES["bf16"])
    want = spread(x.astype(np.float64), k.astype(np.float64), stride, dilation, padding, more)
    want += bias.astype(np.float64)[:, :, None, None]
    y = np.full(want.shape, np.nan, TYPES["bf16"])
    for first in product(range(stride), repeat=2):
        view = y[..., first[0] :: stride, first[1] :: stride]
        steps = [n // y.itemsize for n in view.strides]
        sizes = {"N": 1, "G": 2, "O": 3, "OH": view.shape[3], "OW": view.shape[4]}
        sizes |= dict(zip(("sN", "sG", "sO", "sP"), steps, strict=False))
        met = [
            any((f + padding - dilation * r) % stride == 0 for r in range(knobs[name]))
            for f, name in zip(first, ("KH", "KW"), strict=True)
        ]
        if all(met):
            settings = {**SMALL, **BIAS, "KH": knobs["KH"], "KW": knobs["KW"], **axes, "FH": first[0], "FW": first[1]}
            kernel = kernel_of("conv_transpose2d", "conv_transpose2d", settings)
            launched(kernel, {**sizes, "C": 5, "IH": 4, "IW": 6}, {"X": x, "K": k, "U": bias, "Y": view})
        else:
            kernel = kernel_of("no_taps", "no_taps", {"SW": stride, **BIAS})
            sizes |= {"OD": 1, "sT": steps[2]}
            launched(kernel, sizes, {"U": bias, "Y": view[:, :, :, None]})
    assert np.array_equal(y, want.astype(TYPES["bf16"]))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("OH", 8), ("OH", 10), ("OW", 16), ("OW", 0), ("IH", 0), ("IH", -1), ("IW", -17), ("C", 0), ("O", -1), ("N", 0),
        ("G", 0), ("C", 23),
    ],
)  # fmt: skip
def test_sizes_that_torch_refuses(name: str, value: int) -> None:
    """Empty results, negative extents, channels that groups or accesses do not divide."""
    kernel = kernel_of("conv2d", "conv2d", {**SMALL, "CW": 8})
    check_sizes(kernel, PLANE)
    with pytest.raises(LaunchRefused):
        check_sizes(kernel, {**PLANE, name: value})


def test_a_window_larger_than_the_padded_input_is_refused() -> None:
    kernel = kernel_of("conv2d", "conv2d", {**SMALL, "KH": 7})
    with pytest.raises(LaunchRefused, match="IH = 4"):
        check_sizes(kernel, {**PLANE, "IH": 4, "OH": 1})


@pytest.mark.parametrize("name", ["SH", "SW", "DH", "DW", "KH", "KW"])
@pytest.mark.parametrize("value", [0, -1])
def test_strides_dilations_and_windows_are_positive(name: str, value: int) -> None:
    with pytest.raises(ProgramError, match="AG201"):
        kernel_of("conv2d", "conv2d", {name: value})


def test_padding_is_not_negative() -> None:
    with pytest.raises(ProgramError, match="AG201"):
        kernel_of("conv2d", "conv2d", {"PH": -1})


def test_a_phase_is_less_than_the_stride() -> None:
    with pytest.raises(ProgramError, match="there are as many phases as the stride"):
        kernel_of("conv_transpose2d", "conv_transpose2d", {"SH": 2, "FH": 2})
