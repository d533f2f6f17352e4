"""Smaller sizes of KernelBench's tasks: what is kept, what is cut, and which reduction has how many elements."""

from __future__ import annotations

import pytest

from argus.bench.kernelbench.reduced import VARIANTS, aligned, compact, shrunk


@pytest.mark.parametrize(
    ("name", "value", "few"),
    [
        ("batch_size", 16, 2),
        ("in_channels", 64, 32),
        ("in_channels", 3, 3),
        ("depth", 64, 16),
        ("width", 32, 16),
        ("height", 512, 16),
        ("height", 130, 16),
        ("kernel_size", 64, 64),
        ("num_groups", 64, 8),
    ],
)
def test_compact_sizes(name: str, value: int, few: int) -> None:
    """Volumes of 64 x 64 x 64 get fewer elements, too, although 64 is aligned already."""
    assert compact(name, value) == few <= max(aligned(name, value), 2)


@pytest.mark.parametrize("value", [32, 64])
def test_aligned_extents_are_kept_where_a_module_needs_them(value: int) -> None:
    assert shrunk("width", value) == value
    assert shrunk("width", 512) == compact("width", 512)
    assert VARIANTS["aligned"] == (aligned, compact, shrunk)
