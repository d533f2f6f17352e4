"""Bugs that were reported in public, rebuilt as small kernels: each is refuted, its repair is proved.

| where | what | found by |
|---|---|---|
| https://github.com/triton-lang/triton/issues/11696 | barrier before the reads of LDS have arrived | `race_free` |
| https://github.com/triton-lang/triton/pull/9720 | four pipeline stages, three buffers | `race_free` |
| https://github.com/triton-lang/triton/issues/9887 | global stores read back by other waves | `fresh` |
| https://github.com/triton-lang/triton/pull/10290 | operands advance k differently | `conform` |
| https://github.com/iree-org/iree/pull/22669 | no barrier before a prologue's store | `race_free` |
| https://github.com/iree-org/iree/issues/22256 | swizzle for rows of another width | `bank_free` |
| https://github.com/AMD-Ecosystem/flashinfer/pull/207 | swizzle repeats within a phase | `bank_free` |
| https://github.com/causalflow-ai/avelang | last K tile lost when their number is odd | `reduced` |
| https://github.com/NVIDIA/cutlass/issues/2955 | composition of layouts silently wrong | law |
| https://github.com/ROCm/FlyDSL/issues/634 | swizzle rescaled with the element type | law |
"""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from argus.check import Report, check
from argus.ir.passes.schedule import scheduled
from argus.lang import read
from argus.layout import Layout, LayoutError

KERNELS = Path(__file__).parent / "kernels"

FOUND_BY = {
    "triton_11696": ("race_free", "two waves touch the same bytes of sA"),
    "triton_9720": ("race_free", "two waves touch the same bytes of a"),
    "triton_9887": ("fresh", "a load of C meets a store of the same kernel"),
    "triton_10290": ("conform", "the operands of an MFMA do not pair the same K"),
    "iree_22669": ("race_free", "two waves touch the same bytes of sA"),
    "iree_22256": ("bank_free", "an access takes 32 clocks instead of 8"),
    "flashinfer_207": ("bank_free", "an access takes 8 clocks instead of 4"),
    "ave_gemm": ("reduced", "K=128 is never accumulated"),
}


def report(name: str, fixed: int) -> Report:
    return check(scheduled(read(KERNELS / f"{name}.py", settings={"FIXED": fixed})))


@pytest.mark.parametrize("name", FOUND_BY)
def test_the_bug_is_refuted_with_a_counterexample(name: str) -> None:
    rule, message = FOUND_BY[name]
    found = [v.counterexample for v in report(name, 0).verdicts if v.status == "refuted"]
    assert any(c is not None and c.rule == rule and c.message.startswith(message) for c in found), found


@pytest.mark.parametrize("name", FOUND_BY)
def test_its_repair_is_proved(name: str) -> None:
    repaired = report(name, 1)
    if name == "triton_9887":
        assert {v.rule for v in repaired.verdicts if v.status == "unknown"} <= {"fresh"}, repaired.render()
        assert repaired.status != "refuted"
    else:
        assert repaired.status == "proved", repaired.render()


def test_the_published_kernel_loses_a_tile_at_the_smallest_odd_number() -> None:
    (found,) = [v.counterexample for v in report("ave_gemm", 0).verdicts if v.status == "refuted"]
    assert found is not None
    assert found.sizes["K"] == 192


def by_strides(shape: tuple[int, ...], strides: tuple[int, ...], count: int, step: int) -> list[int]:
    """The composition with `count` steps of `step` as the usual algebra makes it: strides divided, extents cut.
    Modes run fastest first, as there."""
    modes: list[tuple[int, int]] = []
    rest, stride = count, step
    for extent, d in zip(shape[:-1], strides[:-1], strict=True):
        here = min(max(1, extent // stride), rest)
        if here != 1:
            modes.append((here, stride * d))
        rest //= here
        stride = -(-stride // extent)
    modes.append((rest, stride * strides[-1]))
    made = []
    for n in range(count):
        address, left = 0, n
        for extent, d in modes:
            address += left % extent * d
            left //= extent
        made.append(address)
    return made


def test_cutlass_2955_a_composition_is_right_at_every_point_or_refused() -> None:
    """The usual algebra divides strides that do not divide; here every composition is compared point by point."""
    silent = refused = 0
    for slow, fast, count, step in itertools.product((4, 6), (3, 6, 8), (3, 4, 8), (1, 2, 4, 6)):
        if (count - 1) * step >= slow * fast:
            continue
        outer = Layout(a=(slow, 10), b=(fast, 1))  # last axis fastest
        wanted = [n * step // fast * 10 + n * step % fast for n in range(count)]
        silent += by_strides((fast, slow), (1, 10), count, step) != wanted
        try:
            made = outer.compose(Layout(t=(count, step)))
        except LayoutError:
            refused += 1
            continue
        assert made.table().reshape(-1).tolist() == wanted
    assert silent > 10, "the usual algebra is silently wrong on some of these"
    assert refused


@pytest.mark.parametrize("width", [2, 4, 8, 16])
def test_flydsl_634_a_swizzle_stays_on_bytes_when_elements_change(width: int) -> None:
    """Rows of 128 bytes, 16-byte chunks exclusive-ored with the row: seen as elements of any width it is the same."""
    base = Layout(row=(16, 128), chunk=(8, 16), e=(16, 1), k=("chunk", "e")).xor(chunk="row[0:3]")
    seen = base.view(width)
    for row, k in itertools.product(range(16), range(128 // width)):
        byte = k * width
        assert seen.address(row=row, k=k).value == row * 128 + (byte // 16 ^ row % 8) * 16 + byte % 16
