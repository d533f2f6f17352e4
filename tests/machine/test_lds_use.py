"""Lost data in LDS (ARG-M114): shifted reads are reported; kernels that rightly leave data unread are not."""

from __future__ import annotations

import numpy as np
import pytest
import triton
import triton.language as tl
from assembly import assemble
from triton_kernels import Compiled, compile_kernel

from argus import machine
from argus.machine.checks.lds_use import regular

TILE = (
    "s_load_dwordx2 s[4:5], s[0:1], 0\nv_lshlrev_b32 v1, 2, v0\nv_lshlrev_b32 v2, 4, v0\n"
    "v_mov_b32 v4, v0\nv_mov_b32 v5, v0\nv_mov_b32 v6, v0\nv_mov_b32 v7, v0\ns_waitcnt lgkmcnt(0)\n"
    "ds_write_b128 v2, v[4:7]\n{store}\ns_waitcnt lgkmcnt(0)\ns_barrier\n"
    "ds_read_b64 v[8:9], v2\nds_read_b64 v[10:11], v2 offset:{offset}\n{more}\n"
    "s_waitcnt lgkmcnt(0)\nv_add_u32 v3, v8, v10\nglobal_store_dword v1, v3, s[4:5]\ns_endpgm\n"
)


def tile(offset: int, store: str = "", more: str = "", lds: int = 2048 + 16) -> list[machine.MachineReport]:
    """Two waves store 16 bytes per lane and read them as two halves, the second at `offset`."""
    code = assemble(TILE.format(offset=offset, store=store, more=more), lds=lds)
    return machine.load(code).kernel()(1, 128, np.zeros(128, np.uint32), checks="all").reports


def test_reading_everything_is_right() -> None:
    assert not tile(8)


def test_a_shifted_read_names_the_store_and_the_reader() -> None:
    (report,) = [r for r in tile(0) if r.code == "ARG-M114"]
    assert report.level == "warning"
    assert report.at.text == "ds_write_b128 v2, v[4:7]"
    assert report.other is not None
    assert report.other.text.startswith("ds_read_b64")
    assert "1024 are never read, from byte 8 on" in report.message
    assert report.address == 8


@pytest.mark.parametrize(("halves", "found"), [("offset1:1", 0), ("offset0:1 offset1:1", 1)])
def test_both_halves_of_an_instruction_read_the_same(halves: str, found: int) -> None:
    """Every lane stores 8 bytes and reads them as two halves; shifted, the second of them twice and the first never."""
    body = (
        "s_load_dwordx2 s[4:5], s[0:1], 0\nv_lshlrev_b32 v1, 2, v0\nv_lshlrev_b32 v2, 3, v0\nv_mov_b32 v4, v0\n"
        "v_mov_b32 v5, v0\ns_waitcnt lgkmcnt(0)\nds_write_b64 v2, v[4:5]\ns_waitcnt lgkmcnt(0)\ns_barrier\n"
        f"ds_read2_b32 v[8:9], v2 {halves}\ns_waitcnt lgkmcnt(0)\nv_add_u32 v3, v8, v9\n"
        "global_store_dword v1, v3, s[4:5]\ns_endpgm\n"
    )
    kernel = machine.load(assemble(body, lds=512)).kernel()
    reports = kernel(1, 64, np.zeros(64, np.uint32), checks="all").reports
    assert [r.code for r in reports] == ["ARG-M114"] * found


def test_a_warning_is_not_an_error() -> None:
    code = assemble(TILE.format(offset=0, store="", more=""), lds=2064)
    result = machine.load(code).kernel()(1, 128, np.zeros(128, np.uint32), checks=("lds-use",), stop=True)
    assert result.ok
    assert not result.errors
    assert [r.code for r in result.reports] == ["ARG-M114"]


def test_data_overwritten_before_it_is_read() -> None:
    """A second store on top of the first: the first is lost as a whole, which is not reported."""
    assert not tile(8, store="s_waitcnt lgkmcnt(0)\nv_add_u32 v4, 1, v4\nds_write_b128 v2, v[4:7]")


def test_a_store_nobody_reads_is_not_reported() -> None:
    assert not tile(8, store="v_mov_b32 v12, v2\nds_write_b32 v12, v4 offset:2048", lds=4096 + 16)


@pytest.mark.parametrize("base", [0, 48])
def test_regular_addresses(base: int) -> None:
    lane = np.arange(64)
    assert regular(base + 8 * lane)
    assert regular(base * 4096 + (lane // 8 * 128 + (lane % 8 ^ lane // 8) * 16))
    assert regular(base + lane // 16 * 1056 + lane % 16 * 4)
    assert not regular(base + 4 * (lane * lane % 61))
    assert not regular(base + 4 * np.random.default_rng(0).permutation(64))


@triton.jit
def prefix_sums(x, y, M: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(y + at, tl.cumsum(tl.load(x + at), 0))


@triton.jit
def look_up(x, i, y, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(y + at, tl.gather(tl.load(x + at), tl.load(i + at), 0))


def test_prefix_sums_may_leave_the_last_row() -> None:
    made = compile_kernel(prefix_sums, {"x": "*fp32", "y": "*fp32"}, {"M": 64, "N": 128}, ("x", "y"), num_warps=4)
    x = np.random.default_rng(0).standard_normal((64, 128), np.float32)
    y = np.zeros_like(x)
    run(made, x, y)
    np.testing.assert_allclose(y, x.cumsum(0), atol=1e-4)


def test_look_ups_may_leave_anything() -> None:
    made = compile_kernel(look_up, {"x": "*fp32", "i": "*i32", "y": "*fp32"}, {"N": 512}, ("x", "i", "y"), num_warps=4)
    rng = np.random.default_rng(0)
    x, i, y = (
        rng.standard_normal(512, np.float32),
        rng.integers(0, 512, 512).astype(np.int32),
        np.zeros(512, np.float32),
    )
    run(made, x, i, y)
    np.testing.assert_array_equal(y, x[i])


def run(made: Compiled, *arrays: np.ndarray) -> None:
    kernel = machine.load(made.hsaco).kernel(made.name)
    visible = sum(1 for a in kernel.info.args if not a.hidden)
    missing = [None] * (visible - len(arrays))
    result = kernel(1, 64 * made.warps, *arrays, *missing, lds=made.lds, checks="all")
    assert not result.reports, str(result.reports[0])
