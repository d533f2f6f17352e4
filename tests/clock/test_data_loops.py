"""Loops that count on data, in assembled programs whose control flow is known, and in the library's own kernels."""

from __future__ import annotations

from pathlib import Path

import pytest

from argus.cli.main import main
from argus.clock.data_loops import data_loops
from argus.gfx942.decoder import decode_all
from argus.gfx942.inst import Inst
from argus.machine import load
from tests.machine.assembly import assemble

COUNTED = """
  s_load_dword s4, s[0:1], 0x0
  s_waitcnt lgkmcnt(0)
loop:
  s_sub_u32 s4, s4, 1
  s_cmp_lg_u32 s4, 0
  s_cbranch_scc1 loop
  s_endpgm
"""
THROUGH_A_POINTER = COUNTED.replace(
    "s_waitcnt lgkmcnt(0)\n",
    "s_waitcnt lgkmcnt(0)\n  s_load_dwordx2 s[6:7], s[0:1], 0x8\n"
    "  s_waitcnt lgkmcnt(0)\n  s_load_dword s4, s[6:7], 0x0\n  s_waitcnt lgkmcnt(0)\n",
)
FIRST_LANE = """
  s_load_dwordx2 s[6:7], s[0:1], 0x0
  s_waitcnt lgkmcnt(0)
  v_mov_b32 v0, 0
  global_load_dword v1, v0, s[6:7]
  s_waitcnt vmcnt(0)
  v_readfirstlane_b32 s4, v1
  s_mov_b32 s5, 0
loop:
  s_add_u32 s5, s5, 1
  s_cmp_ge_u32 s5, s4
  s_cbranch_scc1 out
  s_branch loop
out:
  s_endpgm
"""
THROUGH_LDS = FIRST_LANE.replace(
    "v_readfirstlane_b32 s4, v1",
    "ds_write_b32 v0, v1\n  s_waitcnt lgkmcnt(0)\n  ds_read_b32 v2, v0\n"
    "  s_waitcnt lgkmcnt(0)\n  v_readfirstlane_b32 s4, v2",
)
BY_LANES = """
  s_load_dwordx2 s[6:7], s[0:1], 0x0
  s_waitcnt lgkmcnt(0)
  v_mov_b32 v0, 0
  global_load_dword v1, v0, s[6:7]
  s_waitcnt vmcnt(0)
  s_mov_b64 s[8:9], 0
loop:
  v_add_u32 v0, 1, v0
  v_cmp_ge_u32 vcc, v0, v1
  s_or_b64 s[8:9], vcc, s[8:9]
  s_andn2_b64 exec, exec, s[8:9]
  s_cbranch_execnz loop
  s_or_b64 exec, exec, s[8:9]
  s_endpgm
"""
TEST_INSIDE = """
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  s_waitcnt lgkmcnt(0)
  v_mov_b32 v0, 0
  s_mov_b32 s4, 64
loop:
  global_load_dword v1, v0, s[6:7]
  s_waitcnt vmcnt(0)
  v_cmp_lt_u32 vcc, 3, v1
  s_and_saveexec_b64 s[8:9], vcc
  s_cbranch_execz behind
  v_add_u32 v2, v1, v2
behind:
  s_or_b64 exec, exec, s[8:9]
  s_sub_u32 s4, s4, 1
  s_cmp_lg_u32 s4, 0
  s_cbranch_scc1 loop
  s_endpgm
"""
ON_DATA = {"pointer": THROUGH_A_POINTER, "first lane": FIRST_LANE, "lds": THROUGH_LDS, "lanes": BY_LANES}
ON_ARGUMENTS = {"counted": COUNTED, "test inside": TEST_INSIDE, "straight": "s_endpgm"}


def decoded(text: str) -> tuple[Inst, ...]:
    kernel = load(assemble(text, args=2, lds=64)).kernel()
    return tuple(decode_all(kernel.code.text, kernel.info.start, kernel.info.end))


@pytest.mark.parametrize("name", ON_DATA)
def test_a_loop_on_data_is_named_by_the_branch_that_leaves_it(name: str) -> None:
    insts = decoded(ON_DATA[name])
    leaving = {"first lane": "s_cbranch_scc1", "lds": "s_cbranch_scc1", "lanes": "s_cbranch_execnz"}
    (found,) = data_loops(insts)
    assert [inst.op for inst in insts if inst.pc == found] == [leaving.get(name, "s_cbranch_scc1")]


@pytest.mark.parametrize("name", ON_ARGUMENTS)
def test_loops_on_arguments_and_tests_inside_of_loops_are_not(name: str) -> None:
    assert data_loops(decoded(ON_ARGUMENTS[name])) == ()


@pytest.mark.parametrize(("text", "said"), [(FIRST_LANE, True), (TEST_INSIDE, False)])
def test_who_reads_the_time_is_told(text: str, said: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "kernel.o"
    path.write_bytes(assemble(text, args=2))
    launch = ["--grid", "8", "--block", "64", "--arg", "i32[64]:ones", "--arg", "i32[64]:ones"]
    assert main(["time", str(path), *launch]) == 0
    assert ("turn as often as loaded data say" in capsys.readouterr().out) == said
    assert main(["compare", " ".join([str(path), *launch]), " ".join([str(path), *launch])]) == 0
    assert capsys.readouterr().out.count("turn as often as loaded data say") == 2 * said
