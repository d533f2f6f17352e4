"""Launching: arguments, grids, resources, options, records, and errors in plain words."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from assembly import assemble

from argus import machine
from argus.machine import LaunchError, MachineError, record

IDS = """
s_load_dwordx2 s[4:5], s[0:1], 0
v_lshlrev_b32 v1, 2, v0
s_mul_i32 s6, s2, 256
v_add_u32 v1, s6, v1
s_lshl_b32 s7, s2, 16
v_or_b32 v2, s7, v0
s_waitcnt lgkmcnt(0)
global_store_dword v1, v2, s[4:5]
s_endpgm
"""


def ids() -> machine.LoadedKernel:
    return machine.load(assemble(IDS)).kernel("kernel")


def test_workgroup_and_item_numbers() -> None:
    out = np.zeros((3, 64), np.uint32)
    result = ids()((3, 1, 1), (64, 1, 1), out)
    assert np.array_equal(out, (np.arange(3)[:, None] << 16) + np.arange(64))
    assert result.workgroups == 3
    assert result.instructions == 3 * 9


def test_lanes_beyond_the_block_are_off() -> None:
    out = np.zeros(64, np.uint32)
    ids()(1, 40, out)
    assert np.array_equal(out[:40], np.arange(40))
    assert not out[40:].any()


def test_work_item_numbers_are_packed() -> None:
    out = np.zeros(64, np.uint32)
    body = "s_load_dwordx2 s[4:5], s[0:1], 0\nv_mbcnt_lo_u32_b32 v1, -1, 0\nv_mbcnt_hi_u32_b32 v1, -1, v1\n"
    body += "v_lshlrev_b32 v1, 2, v1\ns_waitcnt lgkmcnt(0)\nglobal_store_dword v1, v0, s[4:5]\ns_endpgm"
    machine.load(assemble(body)).kernel()(1, (4, 4, 4), out)
    lane = np.arange(64)
    assert np.array_equal(out, lane % 4 | lane // 4 % 4 << 10 | lane // 16 << 20)


def test_sampled_workgroups() -> None:
    out = np.zeros((4, 64), np.uint32)
    result = ids()(4, 64, out, workgroups=[2, (3, 0, 0)])
    assert result.workgroups == 2
    assert not out[:2].any()
    assert np.array_equal(out[2:], (np.arange(2, 4)[:, None] << 16) + np.arange(64))
    with pytest.raises(LaunchError, match="workgroup 4 is not in the grid"):
        ids()(4, 64, out, workgroups=[4])


def test_arrays_are_written_in_place_whatever_their_layout() -> None:
    backing = np.zeros((64, 2), np.uint32)
    column = backing[:, 1]
    ids()(1, 64, column)
    assert np.array_equal(column, np.arange(64))
    assert not backing[:, 0].any()
    half = np.zeros(128, ml_dtypes.bfloat16)
    ids()(1, 64, half)
    assert half.view(np.uint32)[5] == 5


def test_read_only_arrays_are_left_alone() -> None:
    out = np.zeros(64, np.uint32)
    out.flags.writeable = False
    ids()(1, 64, out)
    assert not out.any()


def test_arrays_are_written_back_when_the_launch_fails() -> None:
    body = IDS.replace("s_endpgm", "s_trap 1\ns_endpgm")
    out = np.zeros(64, np.uint32)
    with pytest.raises(MachineError, match="trap"):
        machine.load(assemble(body)).kernel()(1, 64, out)
    assert out[9] == 9


def test_two_arguments_may_be_the_same_array_but_not_overlap() -> None:
    kernel = machine.load(assemble(IDS, args=2)).kernel()
    out = np.zeros(64, np.uint32)
    kernel(1, 64, out, out)
    with pytest.raises(LaunchError, match="overlaps"):
        kernel(1, 64, out, out[1:])


def test_explicit_offsets() -> None:
    out = np.zeros(64, np.uint32)
    ids()(1, 64, np.float32(1), out, offsets=[16, 0])
    assert out[3] == 3
    with pytest.raises(LaunchError, match="needs a size"):
        ids()(1, 64, out, 5, offsets=[0, 8])


WRONG: list[tuple[dict[str, object], str]] = [
    ({"args": ()}, "takes 1 arguments"),
    ({"args": (5,)}, "is a pointer: pass an array or None"),
    ({"grid": 0}, "grid must be one to three positive numbers"),
    ({"block": (2, 2, 2, 2)}, "block must be one to three positive numbers"),
    ({"block": 2048}, "a workgroup of 2048 threads"),
    ({"lds": 70000}, "asks for 70000 bytes of LDS; a workgroup has at most 65536"),
]


@pytest.mark.parametrize(("change", "message"), WRONG)
def test_wrong_launches_are_refused_in_words(change: dict[str, object], message: str) -> None:
    how: dict[str, object] = {"grid": 1, "block": 64, "args": (np.zeros(64, np.uint32),), "lds": 0} | change
    with pytest.raises(LaunchError, match=message):
        ids()(how["grid"], how["block"], *how["args"], lds=how["lds"])  # type: ignore[arg-type, misc]


def test_unknown_names() -> None:
    with pytest.raises(LaunchError, match="no kernel 'other'; the object holds: kernel"):
        machine.load(assemble(IDS)).kernel("other")
    with pytest.raises(ValueError, match="unknown check 'race'"):
        ids()(1, 64, np.zeros(64, np.uint32), checks=("race",))


def test_null_pointer_is_out_of_bounds() -> None:
    with pytest.raises(MachineError) as caught:
        ids()(1, 64, None)
    assert caught.value.report.code == "ARG-M105"
    assert caught.value.report.address == 0


def test_writing_past_the_end_names_the_array() -> None:
    with pytest.raises(MachineError) as caught:
        ids()(1, 64, np.zeros(50, np.uint32))
    report = caught.value.report
    assert report.at.lane == 50
    assert "4 bytes past the end of p0 (200 bytes" in report.message


def test_register_indexing_moves_sources_and_targets() -> None:
    body = """
    s_load_dwordx2 s[4:5], s[0:1], 0
    v_lshlrev_b32 v1, 2, v0
    v_mov_b32 v10, 100
    v_mov_b32 v11, 111
    v_mov_b32 v12, 122
    s_mov_b32 s8, 2
    s_set_gpr_idx_on s8, gpr_idx(SRC0)
    v_mov_b32 v20, v10
    s_set_gpr_idx_off
    s_set_gpr_idx_on s8, gpr_idx(DST)
    v_mov_b32 v20, v11
    s_set_gpr_idx_off
    v_lshl_add_u32 v20, v22, 8, v20
    s_waitcnt lgkmcnt(0)
    global_store_dword v1, v20, s[4:5]
    s_endpgm
    """
    out = np.zeros(64, np.uint32)
    machine.load(assemble(body)).kernel()(1, 64, out)
    assert (out == (111 << 8) + 122).all()


def test_vector_skip() -> None:
    body = IDS.replace(
        "v_or_b32 v2, s7, v0", "v_mov_b32 v2, 9\ns_mov_b32 s8, 4\ns_setvskip s8, 2\nv_mov_b32 v2, 5\ns_setvskip 0, 0"
    )
    out = np.zeros(64, np.uint32)
    machine.load(assemble(body)).kernel()(1, 64, out)
    assert (out == 9).all()


def test_calls_through_registers() -> None:
    body = """
    s_load_dwordx2 s[4:5], s[0:1], 0
    v_lshlrev_b32 v1, 2, v0
    s_getpc_b64 s[10:11]
    s_add_u32 s10, s10, 28
    s_addc_u32 s11, s11, 0
    s_swappc_b64 s[12:13], s[10:11]
    s_waitcnt lgkmcnt(0)
    global_store_dword v1, v2, s[4:5]
    s_endpgm
    v_mov_b32 v2, 77
    s_setpc_b64 s[12:13]
    """
    out = np.zeros(64, np.uint32)
    kernel = machine.load(assemble(body)).kernel()
    kernel(1, 64, out)
    assert (out == 77).all()


def test_denormal_mode_of_the_descriptor() -> None:
    body = """
    s_load_dwordx2 s[4:5], s[0:1], 0
    v_lshlrev_b32 v1, 2, v0
    v_mov_b32 v2, 1
    v_add_f32 v2, v2, v2
    s_waitcnt lgkmcnt(0)
    global_store_dword v1, v2, s[4:5]
    {more}
    s_endpgm
    """
    keep, flush, switched = (np.zeros(64, np.uint32) for _ in range(3))
    machine.load(assemble(body.format(more=""), denorm=3)).kernel()(1, 64, keep)
    machine.load(assemble(body.format(more=""), denorm=0)).kernel()(1, 64, flush)
    assert keep[0] == 2
    assert flush[0] == 0
    more = "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 3\nv_mov_b32 v2, 1\nv_add_f32 v2, v2, v2\n"
    more += "global_store_dword v1, v2, s[4:5]"
    machine.load(assemble(body.format(more=more), denorm=0)).kernel()(1, 64, switched)
    assert switched[0] == 2


def test_accumulation_registers_share_the_file() -> None:
    body = IDS.replace("v_or_b32 v2, s7, v0", "v_accvgpr_write_b32 a0, v0\nv_mov_b32 v2, v32")
    out = np.zeros(64, np.uint32)
    machine.load(assemble(body, accum=32)).kernel()(1, 64, out)
    assert np.array_equal(out, np.arange(64))


def test_scratch() -> None:
    body = IDS.replace("v_or_b32 v2, s7, v0", "scratch_store_dword off, v0, off offset:4\ns_waitcnt vmcnt(0)\n")
    body = body.replace(
        "global_store_dword", "scratch_load_dword v2, off, off offset:4\ns_waitcnt vmcnt(0)\nglobal_store_dword"
    )
    out = np.zeros(64, np.uint32)
    machine.load(assemble(body, scratch=16)).kernel()(1, 64, out, checks="all")
    assert np.array_equal(out, np.arange(64))


def test_record() -> None:
    body = IDS.replace("s_waitcnt", "ds_write_b32 v0, v2 offset:16\ns_barrier\ns_waitcnt")
    out = np.zeros((2, 64), np.uint32)
    result = machine.load(assemble(body, lds=1024)).kernel()(2, 64, out, record=True)
    assert result.record is not None
    assert result.record.instructions == result.instructions
    assert sorted(result.record.waves) == [(0, 0), (1, 0)]
    wave = result.record.waves[1, 0]
    assert len(wave.pc) == len(wave.exec) == 11
    assert (wave.exec == np.uint64(2**64 - 1)).all()
    assert wave.space.tolist() == [record.SCALAR, record.LDS, record.GLOBAL]
    assert wave.bytes.tolist() == [8, 4, 4]
    assert wave.addr_index.tolist() == [0, 6, 9]
    assert wave.barriers.tolist() == [7]
    assert np.array_equal(wave.addr[1], np.arange(64) + 16)
    assert np.array_equal(np.diff(wave.addr[2].astype(np.int64)), np.full(63, 4))
    assert wave.addr[2][0] % 256 == 0
    assert (wave.addr[0][1:] == record.NO_ADDRESS).all()


def test_same_seed_same_run() -> None:
    def run(seed: int) -> list[int]:
        out = np.zeros((2, 64), np.uint32)
        result = ids()(2, 64, out, schedule="random", seed=seed, quantum=3, record=True)
        assert np.array_equal(out, (np.arange(2)[:, None] << 16) + np.arange(64))
        return [result.instructions]

    assert run(1) == run(1)


def test_progress_is_called() -> None:
    seen: list[tuple[int, int]] = []
    ids()(3, 64, np.zeros(192, np.uint32), progress=lambda done, total: seen.append((done, total)))
    assert seen == [(1, 3), (2, 3), (3, 3)]


class OnlyDlpack:
    """Stands for a tensor of another library: it shares its memory through DLPack and offers nothing else."""

    def __init__(self, array: np.ndarray) -> None:
        self._array = array

    def __dlpack__(self, **options: object) -> object:
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._array.__dlpack_device__()


def test_tensors_of_other_libraries_by_dlpack() -> None:
    data = np.zeros(64, np.uint32)
    body = "v_mov_b32 v1, 7\nv_lshlrev_b32 v2, 2, v0\ns_load_dwordx2 s[4:5], s[0:1], 0x0\ns_waitcnt lgkmcnt(0)\n"
    body += "global_store_dword v2, v1, s[4:5]\ns_endpgm"
    kernel = machine.load(assemble(body)).kernel()
    kernel(1, 64, OnlyDlpack(data))
    np.testing.assert_array_equal(data, 7)


@pytest.mark.parametrize("executor", ["checking", "jit"])
@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("v_mov_b32 v200, 0", "v200"),
        ("v_mov_b32 v1, v8", "v8"),
        ("v_accvgpr_write_b32 a4, 0", "a4"),
        ("s_mov_b32 s40, 0", "s40"),
        ("s_mov_b64 s[30:31], s[32:33]", "s33"),
    ],
)
def test_registers_beyond_the_allocation(executor: Any, line: str, what: str) -> None:
    code = assemble(line + "\ns_endpgm", vgprs=8, accum=4, sgprs=24)
    with pytest.raises(MachineError) as stopped:
        machine.load(code).kernel()(1, 64, None, executor=executor)
    report = stopped.value.report
    assert report.code == "ARG-M108"
    assert report.message.startswith(f"names {what}; the kernel has allocated ")
    assert report.at.text.split()[0].startswith(line.split()[0])
    assert report.at.wave == 0


@pytest.mark.parametrize("executor", ["checking", "jit"])
def test_registers_within_the_allocation_and_beyond_it_in_code_not_reached(executor: Any) -> None:
    body = (
        "v_mov_b32 v7, 0\nv_accvgpr_write_b32 a3, 0\ns_mov_b32 s23, 0\ns_cbranch_execnz L_x\nv_mov_b32 v99, 0\nL_x:\n"
    )
    code = assemble(body + "s_endpgm", vgprs=8, accum=4, sgprs=24)
    assert machine.load(code).kernel()(1, 64, None, executor=executor).ok


def test_an_executor_that_is_none_is_refused() -> None:
    with pytest.raises(LaunchError, match="there are checking, jit"):
        ids()(1, 64, np.zeros(64, np.uint32), executor="interp")  # type: ignore[arg-type]
