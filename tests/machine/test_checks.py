"""Each check on a kernel with one planted fault, and on the same kernel without it."""

from __future__ import annotations

import numpy as np
import pytest
from assembly import assemble

from argus import machine
from argus.machine import MachineError, MachineReport, Watch

OUT = "s_load_dwordx2 s[4:5], s[0:1], 0\nv_lshlrev_b32 v1, 2, v0\n"
END = "s_endpgm\n"


def launch(body: str, block: int = 64, grid: int = 1, words: int = 4096, **more: object) -> machine.LaunchResult:
    options = {k: more.pop(k) for k in ("lds", "vgprs", "accum") if k in more}
    hsaco = assemble(body, lds=int(str(options.get("lds", 0))), vgprs=64, accum=32)
    out = np.zeros(words, np.uint32)
    more.setdefault("checks", "all")
    return machine.load(hsaco).kernel()(grid, block, out, **more)  # type: ignore[arg-type]


def codes(result: machine.LaunchResult) -> list[str]:
    return [r.code for r in result.reports]


def only(result: machine.LaunchResult) -> MachineReport:
    assert len(result.reports) == 1, [str(r) for r in result.reports]
    return result.reports[0]


STORE = OUT + "{wait}\nglobal_store_dword v1, v0, s[4:5]\n" + END


def test_missing_scalar_wait() -> None:
    assert launch(STORE.format(wait="s_waitcnt lgkmcnt(0)")).ok
    report = only_or_fault(STORE.format(wait="s_nop 0"), "ARG-M102")
    assert "s4" in report.message
    assert "lgkmcnt" in report.message
    assert report.other is not None
    assert report.other.text.startswith("s_load_dwordx2")


def only_or_fault(body: str, code: str, **more: object) -> MachineReport:
    """The first report with the code; wrong data may also fault later, which is fine."""
    hsaco = assemble(body, lds=int(str(more.pop("lds", 0))))
    kernel = machine.load(hsaco).kernel()
    findings: list[MachineReport] = []
    try:
        findings = kernel(1, 64, np.zeros(4096, np.uint32), checks="all", **more).reports  # type: ignore[arg-type]
    except MachineError as error:
        findings = [*error.findings, error.report]
    return next(r for r in findings if r.code == code)


LOAD = (
    OUT
    + "s_waitcnt lgkmcnt(0)\nglobal_load_dword v2, v1, s[4:5]\n{wait}\nv_add_u32 v3, v2, v0\n"
    + "global_store_dword v1, v3, s[4:5]\n"
    + END
)


def test_missing_vector_wait_gives_wrong_data_and_a_report() -> None:
    hsaco = assemble(LOAD.format(wait="s_nop 0"))
    out = np.full(64, 5, np.uint32)
    result = machine.load(hsaco).kernel()(1, 64, out, checks=("waits",))
    report = only(result)
    assert report.code == "ARG-M102"
    assert report.at.text == "v_add_u32_e32 v3, v2, v0"
    assert "reads v2" in report.message
    assert "vmcnt" in report.message
    assert not np.array_equal(out, 5 + np.arange(64))
    good = np.full(64, 5, np.uint32)
    assert machine.load(assemble(LOAD.format(wait="s_waitcnt vmcnt(0)"))).kernel()(1, 64, good, checks="all").ok
    assert np.array_equal(good, 5 + np.arange(64))


def test_counts_complete_the_oldest_first() -> None:
    body = (
        OUT
        + "s_waitcnt lgkmcnt(0)\nglobal_load_dword v2, v1, s[4:5]\nglobal_load_dword v3, v1, s[4:5] offset:4\n"
        + "s_waitcnt vmcnt(1)\nv_mov_b32 v4, v2\nv_mov_b32 v5, v{n}\n"
        + END
    )
    assert launch(body.format(n=2)).ok
    assert "reads v3" in only(launch(body.format(n=3))).message


def test_scalar_loads_return_in_any_order() -> None:
    body = "s_load_dword s4, s[0:1], 0\ns_load_dword s5, s[0:1], 4\ns_waitcnt lgkmcnt({n})\ns_mov_b32 s6, s4\n" + END
    assert launch(body.format(n=0)).ok
    assert "reads s4" in only(launch(body.format(n=1))).message


EXCHANGE = (
    OUT
    + "v_mov_b32 v2, 0xfc\nv_sub_u32 v3, 0x1fc, v1\ns_waitcnt lgkmcnt(0)\n"
    + "ds_write_b32 v1, v0\n{wait}\n{barrier}\nds_read_b32 v4, v3\ns_waitcnt lgkmcnt(0)\n"
    + "global_store_dword v1, v4, s[4:5]\n"
    + END
)


def exchange(wait: str, barrier: str, **more: object) -> tuple[machine.LaunchResult, bool]:
    """Two waves swap their values through LDS; returns (result, whether the data is right)."""
    hsaco = assemble(EXCHANGE.format(wait=wait, barrier=barrier), lds=512)
    out = np.zeros(128, np.uint32)
    result = machine.load(hsaco).kernel()(1, 128, out, **more)  # type: ignore[arg-type]
    return result, bool(np.array_equal(out, 127 - np.arange(128)))


@pytest.mark.parametrize("schedule", ["rounds", "sequential", "random"])
def test_exchange_through_lds_with_wait_and_barrier(schedule: str) -> None:
    result, right = exchange("s_waitcnt lgkmcnt(0)", "s_barrier", checks="all", schedule=schedule)
    assert right
    assert result.ok


def test_missing_barrier_is_a_race_naming_both_sides() -> None:
    result, right = exchange("s_waitcnt lgkmcnt(0)", "s_nop 0", checks=("lds-races",), schedule="sequential")
    report = next(r for r in result.reports if r.code == "ARG-M101")
    assert report.space == "lds"
    assert {report.at.text.split()[0], (report.other or report.at).text.split()[0]} == {"ds_write_b32", "ds_read_b32"}
    assert report.other is not None
    assert report.other.wave != report.at.wave
    assert not right


def test_missing_wait_before_a_barrier_is_a_race() -> None:
    result, right = exchange("s_nop 0", "s_barrier", checks=("lds-races",))
    assert not right
    assert any("in flight" in r.message or r.code == "ARG-M101" for r in result.reports)


def test_plain_run_without_checks_completes_at_once() -> None:
    result, right = exchange("s_nop 0", "s_barrier")
    assert right
    assert result.ok


def test_lanes_of_one_store_that_disagree() -> None:
    body = "v_mov_b32 v1, 0\nds_write_b32 v1, {value}\ns_waitcnt lgkmcnt(0)\n" + END
    assert launch(body.format(value="v1"), lds=64).ok
    report = only(launch(body.format(value="v0"), lds=64))
    assert report.code == "ARG-M112"
    assert "lanes 0 and 1" in report.message


GLOBAL = (
    OUT + "s_mul_i32 s6, s2, {stride}\nv_add_u32 v1, s6, v1\ns_waitcnt lgkmcnt(0)\nv_add_u32 v0, s2, v0\n"
    "{access}\ns_waitcnt vmcnt(0)\n" + END
)


def test_workgroups_that_write_the_same_words_race() -> None:
    store = "global_store_dword v1, v0, s[4:5]"
    assert launch(GLOBAL.format(stride=256, access=store), grid=4).ok
    report = only(launch(GLOBAL.format(stride=128, access=store), grid=4))
    assert report.code == "ARG-M101"
    assert report.space == "global"
    assert "workgroup number" in report.message
    assert launch(GLOBAL.format(stride=128, access="global_atomic_add v1, v0, s[4:5]"), grid=4).ok


FLAG = """
s_load_dwordx2 s[4:5], s[0:1], 0
v_mov_b32 v1, 0
v_mov_b32 v2, 7
v_mov_b32 v3, 1
s_waitcnt lgkmcnt(0)
s_cmp_eq_u32 s2, {producer}
s_cbranch_scc0 L_consumer
global_store_dword v1, v2, s[4:5] offset:64
s_waitcnt vmcnt(0)
{release}
s_waitcnt vmcnt(0)
s_endpgm
L_consumer:
L_spin:
{acquire}
s_waitcnt vmcnt(0)
v_readfirstlane_b32 s8, v4
s_cmp_eq_u32 s8, 0
s_cbranch_scc1 L_spin
global_load_dword v5, v1, s[4:5] offset:64
s_waitcnt vmcnt(0)
global_store_dword v1, v5, s[4:5] offset:128
s_endpgm
"""
RELEASE = "global_atomic_add v1, v3, s[4:5]"
ACQUIRE = "global_load_dword v4, v1, s[4:5] sc0 sc1"


@pytest.mark.parametrize("producer", [0, 1])
def test_waiting_for_another_workgroup_ends_and_is_ordered(producer: int) -> None:
    hsaco = assemble(FLAG.format(producer=producer, release=RELEASE, acquire=ACQUIRE))
    out = np.zeros(64, np.uint32)
    result = machine.load(hsaco).kernel()(2, 64, out, checks="all", switch_after=2000)
    assert out[32] == 7
    assert [str(r) for r in result.reports] == []


def test_a_plain_flag_does_not_order() -> None:
    release = "global_store_dword v1, v3, s[4:5]"
    hsaco = assemble(FLAG.format(producer=0, release=release, acquire="global_load_dword v4, v1, s[4:5]"))
    result = machine.load(hsaco).kernel()(2, 64, np.zeros(64, np.uint32), checks="all", switch_after=2000)
    assert "ARG-M101" in codes(result)


def test_missing_wait_states() -> None:
    body = (
        "v_mov_b32 v0, 0\nv_mov_b32 v1, 0\nv_mov_b32 v2, 0\nv_mov_b32 v3, 0\ns_nop 1\n"
        "v_mfma_f32_16x16x16_bf16 v[4:7], v[0:1], v[2:3], 0\ns_nop {n}\nv_mov_b32 v8, v4\n" + END
    )
    assert launch(body.format(n=6)).ok
    report = only(launch(body.format(n=4)))
    assert report.code == "ARG-M103"
    assert "7 wait states are required, 5 are there" in report.message
    assert report.other is not None
    assert report.other.text.startswith("v_mfma")


def test_uninitialised_values_are_reported_where_they_matter() -> None:
    body = OUT + "v_add_u32 v9, v8, v0\ns_waitcnt lgkmcnt(0)\n{use}\n" + END
    assert launch(body.format(use="v_mov_b32 v10, v9")).ok
    report = only(launch(body.format(use="global_store_dword v1, v9, s[4:5]")))
    assert report.code == "ARG-M104"
    assert "v9, undefined in lane 0" in report.message


def test_a_half_that_a_packed_instruction_does_not_take_may_be_undefined() -> None:
    body = (
        OUT
        + "v_mov_b32 v2, 1.0\nv_mov_b32 v3, 2.0\nv_mov_b32 {half}, 2.0\ns_nop 1\n"
        + "v_pk_mul_f32 v[6:7], v[2:3], v[4:5] {select}\ns_waitcnt lgkmcnt(0)\nglobal_store_dword v1, v7, s[4:5]\n"
        + END
    )
    low, high = "op_sel_hi:[1,0]", "op_sel:[0,1] op_sel_hi:[1,1]"
    assert launch(body.format(half="v4", select=low)).ok
    assert launch(body.format(half="v5", select=high)).ok
    assert only(launch(body.format(half="v5", select=low))).code == "ARG-M104"
    assert only(launch(body.format(half="v4", select=""))).code == "ARG-M104"


def test_the_low_half_of_a_64_bit_product_does_not_need_high_halves() -> None:
    body = (
        OUT
        + "{half}\nv_mad_u64_u32 v[6:7], s[6:7], v0, v0, v[2:3]\ns_waitcnt lgkmcnt(0)\n"
        + "global_store_dword v1, {stored}, s[4:5]\n"
        + END
    )
    low, high = "v_mov_b32 v2, 1", "v_mov_b32 v3, 1"
    assert launch(body.format(half=low, stored="v6")).ok
    assert only(launch(body.format(half=low, stored="v7"))).code == "ARG-M104"
    assert only(launch(body.format(half=high, stored="v6"))).code == "ARG-M104"


def test_uninitialised_scalar_condition() -> None:
    report = only(launch("s_cmp_eq_u32 s9, 0\ns_cbranch_scc1 L_x\nL_x:\n" + END))
    assert (report.code, report.message) == ("ARG-M104", "branches on scc, which was never written")


@pytest.mark.parametrize("move", ["s_cmov_b32 s30, s31", "s_cmov_b64 s[30:31], s[32:33]", "s_cmovk_i32 s30, 0x20"])
def test_a_conditional_move_reads_its_destination_only_where_it_keeps_it(move: str) -> None:
    body = """
    s_mov_b32 s31, 8
    s_mov_b64 s[32:33], 0
    s_cmp_eq_u32 s31, {number}
    {move}
    s_cmp_lg_u32 s30, 0
    s_cbranch_scc1 end
end:
    s_endpgm
"""
    assert codes(launch(body.format(number=8, move=move))) == []
    assert codes(launch(body.format(number=9, move=move))) == ["ARG-M104"]


def test_uninitialised_lds() -> None:
    body = OUT + "{write}ds_read_b32 v2, v1 offset:4\ns_waitcnt lgkmcnt(0)\nglobal_store_dword v1, v2, s[4:5]\n" + END
    report = only(launch(body.format(write="ds_write_b32 v1, v0\n"), lds=512))
    assert report.code == "ARG-M104"
    assert report.at.lane == 63
    assert report.other is not None
    assert report.other.text == "ds_read_b32 v2, v1 offset:4"
    full = "v_mov_b32 v3, 0\nds_write_b32 v3, v3 offset:256\nds_write_b32 v1, v0\n"
    assert launch(body.format(write=full), lds=512).ok


def test_what_comes_out_of_unwritten_lds_is_traced_back_to_its_load() -> None:
    """Through arithmetic, a scalar, and LDS itself."""
    body = (
        OUT
        + "ds_read_b32 v2, v1 offset:1024\ns_waitcnt lgkmcnt(0)\nv_add_u32 v3, v2, v0\nds_write_b32 v1, v3\n"
        + "s_waitcnt lgkmcnt(0)\nds_read_b32 v4, v1\ns_waitcnt lgkmcnt(0)\n{use}\n"
        + END
    )
    for use in ("global_store_dword v1, v4, s[4:5]", "v_readfirstlane_b32 s6, v4\ns_load_dword s7, s[4:5], s6"):
        reports = launch(body.format(use=use), lds=2048, checks=("uninitialised",)).reports
        assert [r.code for r in reports] == ["ARG-M104"]
        assert reports[0].other is not None
        assert reports[0].other.text == "ds_read_b32 v2, v1 offset:1024"


def test_mismatched_barriers() -> None:
    body = (
        "s_mov_b64 s[6:7], exec\nv_readfirstlane_b32 s8, v0\ns_cmp_eq_u32 s8, 0\ns_cbranch_scc1 L_x\ns_barrier\nL_x:\n"
    )
    report = only(launch(body + END, block=128))
    assert report.code == "ARG-M106"
    assert "wave 1 executed 1 barriers, wave 0 only 0" in report.message


def test_endless_kernel() -> None:
    with pytest.raises(MachineError) as caught:
        launch("L_x:\ns_branch L_x\n" + END, max_steps=10_000)
    assert caught.value.report.code == "ARG-M107"
    assert caught.value.report.at.wave == 0


def test_unsupported_and_undecodable_instructions_are_reported_when_executed() -> None:
    assert launch("s_branch L_x\n.long 0xffffffff\nL_x:\n" + END).ok
    with pytest.raises(MachineError) as caught:
        launch(".long 0xffffffff\n" + END)
    assert caught.value.report.code == "ARG-M110"
    with pytest.raises(MachineError) as caught:
        launch("v_mqsad_pk_u16_u8 v[0:1], v[2:3], v4, v[6:7]\n" + END)
    assert caught.value.report.code == "ARG-M109"
    assert caught.value.report.at.text == "v_mqsad_pk_u16_u8 v[0:1], v[2:3], v4, v[6:7]"
    with pytest.raises(MachineError, match="s_trap 2"):
        launch("s_trap 2\n" + END)


def test_watch_and_trace() -> None:
    body = "v_mov_b32 v5, 3\nv_add_u32 v5, v5, v0\ns_mov_b32 s9, 17\n" + END
    hsaco = assemble(body)
    kernel = machine.load(hsaco).kernel()
    watch = [Watch("v5", wave=1, lane=2), Watch("s9", workgroup=0, wave=0)]
    events = kernel(2, 128, None, watch=watch).events
    assert [(e.workgroup, e.wave, e.register, e.lane, e.old, e.new) for e in events] == [
        (0, 0, "s9", None, 0, 17),
        (0, 1, "v5", 2, 0, 3),
        (0, 1, "v5", 2, 3, 69),
        (1, 1, "v5", 2, 0, 3),
        (1, 1, "v5", 2, 3, 69),
    ]
    trace = kernel(1, 64, None, watch=[Watch("*", workgroup=0, wave=0, lane=0)]).events
    assert [e.instruction.split()[0] for e in trace if not e.register] == [
        "v_mov_b32_e32",
        "v_add_u32_e32",
        "s_mov_b32",
        "s_endpgm",
    ]


def test_reports_are_structured() -> None:
    report = only(launch(GLOBAL.format(stride=128, access="global_store_dword v1, v0, s[4:5]"), grid=4))
    data = report.to_json()
    assert data["code"] == "ARG-M101"
    assert data["at"]["workgroup"] == (1, 0, 0)
    assert data["at"]["instruction"].startswith("global_store_dword")
    assert data["other"]["pc"] == report.at.pc
    assert data["count"] >= 1
    assert "ARG-M101 race" in str(report)


COPY = (
    OUT
    + "s_mov_b32 s6, 4096\ns_mov_b32 s7, 0x20000\ns_mov_b32 m0, 0\nv_mov_b32 v2, 7\ns_waitcnt lgkmcnt(0)\n"
    + "{body}\ns_waitcnt vmcnt(0) lgkmcnt(0)\n"
    + END
)
"""One wave copies its 256 bytes to LDS, and touches LDS by ordinary instructions."""
DIRECT = "buffer_load_dword v1, s[4:7], 0 offen lds"


@pytest.mark.parametrize(
    ("first", "second", "wait", "said"),
    [
        (DIRECT, "ds_read_b32 v4, v1", "vmcnt(0)", "reads LDS byte 0 before s_waitcnt vmcnt"),
        (DIRECT, "ds_write_b32 v1, v2", "vmcnt(0)", "writes LDS byte 0 before s_waitcnt vmcnt"),
        (DIRECT, "ds_write_b8 v1, v2 offset:3", "vmcnt(0)", "writes LDS byte 3 before s_waitcnt vmcnt"),
        (DIRECT, "ds_add_u32 v1, v2", "vmcnt(0)", "writes LDS byte 0 before s_waitcnt vmcnt"),
        ("ds_write_b32 v1, v2", DIRECT, "lgkmcnt(0)", "writes LDS byte 0 before s_waitcnt lgkmcnt"),
        ("ds_read_b32 v4, v1", DIRECT, "lgkmcnt(0)", "writes LDS byte 0 before s_waitcnt lgkmcnt"),
    ],
)
def test_a_direct_copy_and_an_access_of_one_wave_need_a_wait(first: str, second: str, wait: str, said: str) -> None:
    checks = ("lds-races",)
    report = only(launch(COPY.format(body=f"{first}\n{second}"), lds=1024, checks=checks))
    assert report.code == "ARG-M102"
    assert said in report.message
    assert report.at.text.split()[0] == second.split()[0]
    assert report.other is not None
    assert report.other.text.split()[0] == first.split()[0]
    assert launch(COPY.format(body=f"{first}\ns_waitcnt {wait}\n{second}"), lds=1024, checks=checks).ok
    wrong = "lgkmcnt(0)" if wait == "vmcnt(0)" else "vmcnt(0)"
    assert not launch(COPY.format(body=f"{first}\ns_waitcnt {wrong}\n{second}"), lds=1024, checks=checks).ok
    if second != DIRECT and "offset" not in second:
        assert launch(COPY.format(body=f"{first}\n{second} offset:512"), lds=1024, checks=checks).ok
