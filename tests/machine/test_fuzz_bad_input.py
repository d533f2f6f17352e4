"""Kernels that do what they must not: both executors report it, name the place, and the process goes on.

Each kernel is assembled here; the expected place (workgroup, wave, lane, offset of the instruction, address) follows
from its text. After every fault a good kernel is run in the same process: nothing was damaged.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from assembly import assemble

from argus import machine
from argus.machine import LaunchError, MachineError, MachineReport

EXECUTORS = ("checking", "jit")
POINTER = "s_load_dwordx2 s[4:5], s[0:1], 0x0\ns_waitcnt lgkmcnt(0)\n"
LIMIT = 100_000
ARRAY = 4096
"""Bytes of the array every kernel gets."""
GOOD = POINTER + "v_lshlrev_b32 v1, 2, v0\nglobal_store_dword v1, v0, s[4:5]\ns_endpgm"


@pytest.fixture(autouse=True)
def _one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARGUS_THREADS", "1")


@pytest.fixture(params=EXECUTORS)
def executor(request: pytest.FixtureRequest) -> Iterator[str]:
    """An executor, which runs a good kernel after the test."""
    yield request.param
    numbers = np.zeros(ARRAY // 4, np.uint32)
    assert launch(GOOD, request.param, array=numbers).ok
    assert numbers[:128].tolist() == list(range(128))


def launch(
    body: str, executor: str, *, grid: int = 4, array: Any = None, lds: int = 0, **resources: int
) -> machine.LaunchResult:
    memory = np.zeros(ARRAY // 4, np.uint32) if array is None else array
    kernel = machine.load(assemble(body, **resources)).kernel()
    return kernel(grid, 128, memory, executor=executor, max_steps=LIMIT, lds=lds)


def fault(body: str, executor: str, **resources: int) -> MachineReport:
    with pytest.raises(MachineError) as stopped:
        launch(body, executor, **resources)
    return stopped.value.report


def place(report: MachineReport) -> tuple[Any, ...]:
    return report.at.workgroup, report.at.wave, report.at.lane, report.at.pc


@pytest.mark.parametrize(
    "body",
    [
        "again:\ns_branch again\ns_endpgm",
        "again:\ns_sleep 1\ns_barrier\ns_branch again\ns_endpgm",
        POINTER
        + "again:\ns_load_dword s6, s[4:5], 0x0 glc\ns_waitcnt lgkmcnt(0)\n"
        + "s_cmp_eq_u32 s6, 1\ns_cbranch_scc0 again\ns_endpgm",
        "v_mov_b32 v1, 1\nagain:\nv_cmp_eq_u32 vcc, 1, v1\ns_cbranch_vccnz again\ns_endpgm",
    ],
    ids=["branch", "barrier", "flag-never-set", "vector-condition"],
)
def test_a_kernel_that_never_ends(body: str, executor: str) -> None:
    report = fault(body, executor)
    assert report.code == "ARG-M107"
    assert report.at.workgroup is not None
    assert report.at.wave in (0, 1)
    assert report.at.pc is not None
    assert 0 <= report.at.pc < 0x40
    assert report.at.text
    assert str(LIMIT) in report.message


ONE_LANE = (
    POINTER
    + "v_lshlrev_b32 v1, 2, v0\nv_mov_b32 v2, 0x1000\nv_cmp_eq_u32 vcc, 101, v0\nv_cndmask_b32 v1, v1, v2, vcc\n"
    + "s_cmp_eq_u32 s2, 2\ns_cbranch_scc0 done\nglobal_store_dword v1, v0, s[4:5]\ndone:\ns_endpgm"
)


def test_one_lane_writes_one_dword_past_the_end(executor: str) -> None:
    report = fault(ONE_LANE, executor)
    assert report.code == "ARG-M105"
    assert place(report) == ((2, 0, 0), 1, 101 - 64, 0x2C)
    assert report.at.text == "global_store_dword v1, v0, s[4:5]"
    assert report.address is not None
    assert report.address % 256 == 0
    assert f"{report.address:#x}" in report.message
    assert f"4 bytes past the end of p0 ({ARRAY} bytes" in report.message


WILD = {
    "load": ("v_mov_b32 v1, 0x1000\nglobal_load_dwordx4 v[2:5], v1, s[4:5]", 0x14),
    "before-the-start": ("v_mov_b32 v1, 0\nglobal_store_dword v1, v0, s[4:5] offset:-4", 0x10),
    "straddling": ("v_mov_b32 v1, 0xffe\nglobal_store_dword v1, v0, s[4:5]", 0x14),
    "atomic": ("v_mov_b32 v1, 0x1000\nglobal_atomic_add v1, v0, s[4:5]", 0x14),
    "flat": ("v_mov_b32 v2, 0x1000\nv_mov_b32 v3, 0\nflat_store_dword v[2:3], v0", 0x18),
    "null": ("v_mov_b32 v2, 0\nv_mov_b32 v3, 0\nflat_load_dword v4, v[2:3]", 0x14),
    "highest-address": ("v_mov_b32 v2, -1\nv_mov_b32 v3, -1\nglobal_load_dwordx2 v[4:5], v[2:3], off", 0x14),
    "scalar": ("s_load_dwordx4 s[8:11], s[4:5], 0x1000", 0xC),
    "scalar-null": ("s_mov_b64 s[4:5], 0\ns_load_dword s8, s[4:5], 0x0", 0x10),
    "scalar-store": ("s_mov_b32 s8, 1\ns_store_dword s8, s[4:5], 0x1000", 0x10),
    "buffer-of-2-GiB": (
        "s_mov_b32 s6, 0x7fffffff\ns_mov_b32 s7, 0x20000\nv_mov_b32 v1, 0x100000\n"
        "buffer_store_dword v0, v1, s[4:7], 0 offen",
        0x24,
    ),
    "buffer-to-lds": (
        "s_mov_b32 s6, 0x7fffffff\ns_mov_b32 s7, 0x20000\nv_mov_b32 v1, 0x100000\ns_mov_b32 m0, 0\ns_nop 0\n"
        "buffer_load_dword v1, s[4:7], 0 offen lds",
        0x2C,
    ),
}


@pytest.mark.parametrize("kind", WILD)
def test_wild_accesses(kind: str, executor: str) -> None:
    body, pc = WILD[kind]
    report = fault(f"{POINTER}{body}\ns_endpgm", executor, lds=1024)
    assert report.code == "ARG-M105"
    workgroup, wave, lane, found = place(report)
    assert (workgroup, wave, found) == ((0, 0, 0), 0, pc)
    assert lane in (0, None) if kind.startswith("scalar") else lane == 0
    assert report.at.text.split()[0] in body
    assert report.address is not None
    assert f"{report.address:#x}" in report.message


@pytest.mark.parametrize(
    ("access", "first"),
    [("ds_write_b32 v1, v0", 1024), ("ds_read_b128 v[4:7], v1 offset:65520", 66544), ("ds_add_u32 v1, v0", 1024)],
)
def test_lds_beyond_the_workgroups_share(access: str, first: int, executor: str) -> None:
    result = launch(f"v_mov_b32 v1, 0x400\n{access}\ns_waitcnt lgkmcnt(0)\ns_endpgm", executor, lds=1024)
    report = result.reports[0]
    assert report.code == "ARG-M105"
    assert place(report) == ((0, 0, 0), 0, 0, 8)
    assert (report.space, report.address) == ("lds", first)


def test_scratch_beyond_the_lanes_share(executor: str) -> None:
    report = fault("v_mov_b32 v1, 0x100\nscratch_store_dword v1, v0, off\ns_endpgm", executor, scratch=64)
    assert report.code == "ARG-M105"
    assert place(report) == ((0, 0, 0), 0, 0, 8)
    assert (report.space, report.address) == ("scratch", 256)


@pytest.mark.parametrize("body", [".long 0xffffffff\ns_endpgm", "s_nop 0"], ids=["undecodable", "runs-off-the-end"])
def test_code_that_is_none(body: str, executor: str) -> None:
    report = fault(body, executor)
    assert report.code == "ARG-M110"
    assert report.at.pc == (0 if "long" in body else 4)


@pytest.mark.parametrize(("fixed", "dynamic"), [(65540, 0), (1024, 65536), (0, 1 << 40)])
def test_more_lds_than_there_is(fixed: int, dynamic: int, executor: str) -> None:
    kernel = machine.load(assemble("s_endpgm", lds=fixed)).kernel()
    with pytest.raises(LaunchError, match=f"kernel kernel asks for {fixed + dynamic} bytes of LDS") as refused:
        kernel(1, 64, None, executor=executor, lds=dynamic)
    assert refused.value.report.code == "ARG-M108"


def test_more_registers_than_there_are(executor: str) -> None:
    """The descriptor cannot state more than 512; the metadata can."""
    stated = b".vgpr_count\xcd"
    data = assemble("s_endpgm", vgprs=512, accum=256)
    assert stated + (512).to_bytes(2, "big") in data
    greedy = data.replace(stated + (512).to_bytes(2, "big"), stated + (600).to_bytes(2, "big"))
    with pytest.raises(LaunchError, match="kernel kernel asks for 600 registers") as refused:
        machine.load(greedy).kernel()(1, 64, None, executor=executor)
    assert refused.value.report.code == "ARG-M108"


def test_more_scratch_than_there_is(executor: str) -> None:
    kernel = machine.load(assemble("s_endpgm", scratch=1 << 30)).kernel()
    with pytest.raises(LaunchError, match=f"kernel kernel asks for {1 << 30} bytes of scratch") as refused:
        kernel(1, 64, None, executor=executor)
    assert refused.value.report.code == "ARG-M108"
