"""What torch refuses is refused here, with a code: empty and negative sizes at the launch, strides, dilations and
windows that are not positive at reading, windows larger than the padded input at the launch."""

from __future__ import annotations

from typing import Any

import pytest

from argus.device.guards import LaunchRefused, check_sizes
from argus.lang.errors import ProgramError
from bench.templates.families import TEMPLATES
from bench.templates.template import Step
from tests.kernels.running import kernel_of

STEPS: dict[str, Step] = {f"{s.file}:{s.kernel}": s for t in TEMPLATES for s in t.cases[0]}


@pytest.mark.parametrize("name", STEPS)
def test_every_size_is_positive(name: str) -> None:
    step = STEPS[name]
    kernel = step.program.kernel
    check_sizes(kernel, step.sizes)
    for size in step.sizes:
        for value in (0, -1):
            with pytest.raises(LaunchRefused) as refused:
                check_sizes(kernel, {**step.sizes, size: value})
            assert refused.value.code in ("ARG-D101", "ARG-D102")


WINDOWED = {
    "conv2d": ("SH", "SW", "DH", "DW", "KH", "KW"),
    "conv3d": ("SD", "SH", "SW", "DD", "DH", "DW", "KD", "KH", "KW"),
    "conv_transpose2d": ("SH", "SW", "DH", "DW", "KH", "KW"),
    "conv_transpose3d": ("SD", "SH", "SW", "DD", "DH", "DW", "KD", "KH", "KW"),
    "depthwise2d": ("SH", "SW", "DH", "DW", "KH", "KW"),
    "depthwise": ("STRIDE", "DILATION", "KH", "KW"),
    "pool": ("STRIDE", "DILATION", "KH", "KW"),
    "window_channels": ("SD", "SH", "DD", "DH", "KD", "KH"),
}


@pytest.mark.parametrize(("name", "knob"), [(name, knob) for name, knobs in WINDOWED.items() for knob in knobs])
def test_strides_dilations_and_windows_are_positive(name: str, knob: str) -> None:
    for value in (0, -1):
        with pytest.raises(ProgramError, match="AG201"):
            kernel_of(name, name, {knob: value})


@pytest.mark.parametrize(
    ("name", "knobs", "sizes"),
    [
        ("conv2d", {"KH": 7, "PH": 1, "XW": 1, "YW": 1, "CW": 1}, {"IH": 4, "OH": 1}),
        ("conv2d", {"KW": 5, "DW": 4, "PW": 1, "XW": 1, "YW": 1, "CW": 1}, {"IW": 14, "OW": 1}),
        ("conv3d", {"KD": 3, "PD": 0, "ROWS": 2, "XW": 1, "YW": 1, "CW": 1}, {"ID": 2, "OD": 1}),
        ("depthwise2d", {"KH": 7, "PH": 0}, {"IH": 6, "OH": 1}),
        ("window_channels", {"KD": 5, "DD": 2, "PD": 1}, {"ID": 6, "OD": 1}),
    ],
)
def test_a_window_larger_than_the_padded_input_is_refused(
    name: str, knobs: dict[str, Any], sizes: dict[str, int]
) -> None:
    """With the output that an input one larger would have, and with none."""
    kernel = kernel_of(name, name, knobs)
    given = {**dict(kernel.example), **sizes}
    for result in (given, {**given, next(n for n in sizes if n.startswith("O")): 0}):
        with pytest.raises(LaunchRefused):
            check_sizes(kernel, result)
    grown = {size: value + 1 for size, value in sizes.items() if size.startswith("I")}
    check_sizes(kernel, {**given, **grown})
