"""LDS addresses are register plus offset modulo 2^32: -4 with an offset of 4 is byte 0, as LLVM has it from gfx7 on."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest

from argus import machine
from tests.machine.assembly import assemble

HEAD = """
s_load_dwordx2 s[4:5], s[0:1], 0x0
v_lshlrev_b32 v1, 2, v0
v_add_u32 v2, 100, v0
ds_write_b32 v1, v2
s_waitcnt lgkmcnt(0)
v_add_u32 v3, -16, v1
"""
TAIL = """
s_waitcnt lgkmcnt(0)
global_store_dword v1, v2, s[4:5]
s_endpgm
"""
ACCESSES = {
    "load": "ds_read_b32 v2, v3 offset:16",
    "two loads": "ds_read2_b32 v[2:3], v3 offset0:4 offset1:5",
    "some lanes": "s_mov_b64 exec, 0x0f\nds_read_b32 v2, v3 offset:16\ns_mov_b64 exec, -1",
    "atomic": "ds_add_rtn_u32 v2, v3, v0 offset:16",
    "store": "v_mov_b32 v4, v2\nds_write_b32 v3, v4 offset:16\ns_waitcnt lgkmcnt(0)\nds_read_b32 v2, v1",
}


@pytest.mark.parametrize("executor", ["checking", "jit"])
@pytest.mark.parametrize("name", ACCESSES)
def test_a_negative_register_with_an_offset_is_inside(name: str, executor: Literal["checking", "jit"]) -> None:
    kernel = machine.load(assemble(HEAD + ACCESSES[name] + TAIL, args=1, lds=264)).kernel()
    found = np.zeros(64, np.int32)
    result = kernel((1,), (64,), found, executor=executor)
    assert not result.reports
    assert found.tolist() == list(range(100, 164))
