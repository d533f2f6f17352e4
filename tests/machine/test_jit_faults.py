"""Of several faulting workgroups the earliest is reported, however the threads run; long kernels compiled quickly."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from assembly import assemble

from argus import machine
from argus.machine import MachineError, load
from argus.machine.jit import executor, translator

SLOW_FIRST = (
    "s_mov_b32 s6, {slow}\ns_cmp_lt_u32 s2, 7\ns_cbranch_scc1 L_end\ns_cmp_gt_u32 s2, 7\ns_cbranch_scc1 L_bad\n"
    "L_spin:\ns_sub_u32 s6, s6, 1\ns_cmp_lg_u32 s6, 0\ns_cbranch_scc1 L_spin\n"
    "L_bad:\nv_mov_b32 v2, 0\nv_mov_b32 v3, 0\nglobal_load_dword v4, v[2:3], off\nL_end:\ns_endpgm\n"
)


@pytest.mark.parametrize("threads", ["1", "2", "3"])
def test_the_fault_of_the_earliest_workgroup_is_reported(threads: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Workgroups from 7 on fault; the seventh takes long to come to it."""
    monkeypatch.setenv("ARGUS_THREADS", threads)
    with pytest.raises(MachineError) as stopped:
        load(assemble(SLOW_FIRST.format(slow=200_000))).kernel()(40, 64, None, executor="jit")
    assert stopped.value.report.at.workgroup == (7, 0, 0)


OUTSIDE = "v_mov_b32 v2, 0\ns_cmp_lt_u32 s2, 5\ns_cbranch_scc1 L_end\nds_read_b32 v3, v2 offset:512\nL_end:\ns_endpgm\n"


@pytest.mark.parametrize("threads", ["1", "2"])
def test_an_access_outside_lds_names_its_workgroup(threads: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARGUS_THREADS", threads)
    result = load(assemble(OUTSIDE, lds=64)).kernel()(200, 64, None, executor="jit")
    (report,) = result.reports
    assert report.code == "ARG-M105"
    assert report.at.workgroup == (5, 0, 0)


def test_kernels_compiled_quickly_give_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARGUS_CACHE", str(tmp_path))
    monkeypatch.setattr(translator, "QUICK_LINES", 1)
    monkeypatch.setattr(executor, "_TRANSLATED", {})
    body = (
        "s_load_dwordx2 s[4:5], s[0:1], 0\nv_lshlrev_b32 v1, 2, v0\nv_mov_b32 v2, v0\ns_mov_b32 s6, 9\n"
        "s_waitcnt lgkmcnt(0)\nL_x:\nv_mul_lo_u32 v2, v2, v0\nv_add_u32 v2, s6, v2\nds_write_b32 v1, v2\n"
        "s_waitcnt lgkmcnt(0)\ns_barrier\nds_read_b32 v3, v1\ns_waitcnt lgkmcnt(0)\n"
        "v_add_u32_dpp v2, v3, v2 row_shr:1 row_mask:0xf bank_mask:0xf\ns_sub_u32 s6, s6, 1\ns_cmp_lg_u32 s6, 0\n"
        "s_cbranch_scc1 L_x\nglobal_store_dword v1, v2, s[4:5]\ns_endpgm\n"
    )
    kernel = load(assemble(body, lds=512)).kernel()
    got, meant = np.zeros(128, np.uint32), np.zeros(128, np.uint32)
    kernel(1, 128, got, executor="jit")
    kernel(1, 128, meant, executor="checking")
    assert meant.any()
    np.testing.assert_array_equal(got, meant)


def test_wild_addresses_are_not_said_to_be_near_the_machines_own_memory() -> None:
    """Around the code, the arguments and the dispatch packet lies nothing a user knows."""
    body = "v_mov_b32 v2, s0\nv_mov_b32 v3, s1\nglobal_load_dword v4, v[2:3], off offset:2048\ns_endpgm\n"
    for executor_ in ("checking", "jit"):
        with pytest.raises(MachineError) as stopped:
            load(assemble(body)).kernel()(1, 64, None, executor=executor_)
        report = stopped.value.report
        assert report.code == "ARG-M105"
        for word in ("arguments", "packet", "code"):
            assert word not in report.message, report.message


def test_wild_addresses_are_said_to_be_near_an_argument() -> None:
    body = (
        "s_load_dwordx2 s[4:5], s[0:1], 0\nv_mov_b32 v2, 0\ns_waitcnt lgkmcnt(0)\n"
        "global_load_dword v4, v2, s[4:5] offset:400\ns_endpgm\n"
    )
    with pytest.raises(machine.MachineError) as stopped:
        load(assemble(body)).kernel()(1, 64, np.zeros(64, np.uint32))
    assert "past the end of p0" in stopped.value.report.message
