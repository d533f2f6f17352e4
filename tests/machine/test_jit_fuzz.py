"""Damaged code through the translator and on the host processor, in child processes: an answer, never a crash."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from jit_programs import Program

CHILD = Path(__file__).with_name("jit_fuzz_child.py")
BODY = [
    "v_lshlrev_b32 v7, 2, v6",
    "s_mov_b32 s52, 0",
    ".Lloop:",
    "ds_write_b32 v7, v8",
    "s_waitcnt lgkmcnt(0)",
    "s_barrier",
    "v_xor_b32 v4, 0x1fc, v7",
    "ds_read_b32 v40, v4",
    "global_load_dwordx4 v[44:47], v1, s[8:9]",
    "v_mfma_f32_16x16x16_f16 v[48:51], v[8:9], v[10:11], v[44:47]",
    "v_cmp_lt_f32 vcc, v8, v9",
    "s_and_saveexec_b64 s[60:61], vcc",
    "v_add_f32_dpp v52, v8, v9 row_shr:1 row_mask:0xf bank_mask:0xf",
    "v_exp_f32 v53, v10",
    "global_atomic_add v1, v11, s[8:9]",
    "s_or_b64 exec, exec, s[60:61]",
    "v_readfirstlane_b32 s54, v40",
    "s_waitcnt vmcnt(0) lgkmcnt(0)",
    "s_barrier",
    "s_add_u32 s52, s52, 1",
    "s_cmp_lt_u32 s52, 3",
    "s_cbranch_scc1 .Lloop",
]


def survive(folder: Path, first: int, count: int) -> list[str]:
    (folder / "k.o").write_bytes(Program(BODY).code)
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), "ARGUS_CACHE": str(folder)}
    command = [sys.executable, str(CHILD), str(folder / "k.o"), str(first), str(count)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=3600, env=environment)
    lines = done.stdout.split("\n")[:-1]
    assert done.returncode == 0, (lines[-1:], done.stderr[-2000:])
    assert len(lines) == count
    return [line.split()[1] for line in lines]


def test_damaged_kernels_end_in_an_answer(tmp_path: Path) -> None:
    ends = survive(tmp_path, 0, 12)
    assert len(set(ends)) > 1


@pytest.mark.full
@pytest.mark.parametrize("first", range(1000, 2000, 100))
def test_a_thousand_damaged_kernels_end_in_an_answer(tmp_path: Path, first: int) -> None:
    survive(tmp_path, first, 100)
