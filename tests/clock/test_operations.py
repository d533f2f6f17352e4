"""Real encodings as operations: units, clocks, registers and counters, assembled by LLVM when it is installed."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from argus.clock.operations import operations
from argus.clock.program import Op, Unit, registers
from argus.gfx942.decoder import decode_all
from argus.gfx942.waits import Waits

SOURCE = """
v_mfma_f32_32x32x8_bf16 a[0:15], v[2:3], v[4:5], a[0:15]
v_smfmac_f32_16x16x32_f16 v[8:11], v[2:3], v[4:7], v1
v_exp_f32 v7, v8
v_mul_lo_u32 v7, v8, v9
v_pk_fma_f32 v[0:1], v[2:3], v[4:5], v[6:7]
ds_read_b128 a[4:7], v1 offset:16
buffer_load_dwordx4 v[8:11], v1, s[4:7], 0 offen
flat_load_dword v3, v[4:5]
s_load_dwordx4 s[8:11], s[0:1], 0x0
s_waitcnt vmcnt(7) lgkmcnt(2)
s_nop 4
s_setprio 2
s_barrier
s_cbranch_scc1 0
s_add_u32 s0, s1, s2
s_endpgm
"""


@pytest.fixture(scope="module")
def ops() -> list[Op]:
    if shutil.which("llvm-mc-22") is None:
        pytest.skip("llvm-mc-22 is not installed")
    done = subprocess.run(
        ["llvm-mc-22", "-triple=amdgcn-amd-amdhsa", "-mcpu=gfx942", "-show-encoding"],
        input=SOURCE,
        capture_output=True,
        text=True,
        check=True,
    )
    code = b"".join(
        bytes(int(byte, 16) for byte in line.split("[")[-1].rstrip("]").split(","))
        for line in done.stdout.splitlines()
        if "encoding:" in line
    )
    return list(operations(decode_all(code)).values())


def test_units(ops: list[Op]) -> None:
    assert [op.unit for op in ops] == [
        *(Unit.MATRIX, Unit.MATRIX, Unit.VALU, Unit.VALU, Unit.VALU, Unit.LDS, Unit.VMEM, Unit.VMEM, Unit.SMEM),
        *(Unit.WAIT, Unit.NOP, Unit.PRIORITY, Unit.BARRIER, Unit.BRANCH, Unit.SALU, Unit.END),
    ]


def test_clocks_and_amounts(ops: list[Op]) -> None:
    assert [op.clocks for op in ops[:5]] == [32, 16, 16, 16, 4]
    assert [op.alone for op in ops[:5]] == [False, False, False, False, True]
    assert ops[9].waits == Waits(vm=7, lgkm=2)
    assert (ops[10].amount, ops[11].amount) == (5, 2)


def test_registers(ops: list[Op]) -> None:
    matrix, sparse, ds = ops[0], ops[1], ops[5]
    assert (matrix.reads, matrix.writes) == (registers(2, 4), registers(0, 16, acc=True))
    assert matrix.c == matrix.writes
    assert sparse.c == sparse.writes == registers(8, 4)
    assert sparse.reads == registers(1, 7)
    assert (ds.reads, ds.writes) == (registers(1, 1), registers(4, 4, acc=True))


def test_counters(ops: list[Op]) -> None:
    assert [(op.vm, op.lgkm) for op in ops[5:9]] == [(False, True), (True, False), (True, True), (False, True)]
