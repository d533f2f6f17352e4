"""The facts per opcode, against the ISA document and against the widths of the operands."""

from __future__ import annotations

import re
import struct
from pathlib import Path

import pytest

from argus.gfx942.decoder import decode
from argus.gfx942.instructions import MemoryEffect, destinations, spec, specs, writes_lds

SAMPLES = Path(__file__).with_name("decoder_samples.txt")


@pytest.mark.parametrize(
    ("op", "cls", "memory", "counters"),
    [
        ("v_add_f32", "valu", MemoryEffect(), ()),
        ("v_exp_f32", "trans", MemoryEffect(), ()),
        ("v_mfma_f32_32x32x8_bf16", "mfma", MemoryEffect(), ()),
        ("v_accvgpr_read_b32", "valu", MemoryEffect(), ()),
        ("s_add_u32", "salu", MemoryEffect(), ()),
        ("s_load_dwordx4", "smem", MemoryEffect("load", "global", 16), ("lgkm",)),
        ("s_atomic_dec", "smem", MemoryEffect("atomic", "global", 4), ("lgkm",)),
        ("ds_read_b128", "lds", MemoryEffect("load", "lds", 16), ("lgkm",)),
        ("ds_write2st64_b64", "lds", MemoryEffect("store", "lds", 16), ("lgkm",)),
        ("ds_read_u8_d16_hi", "lds", MemoryEffect("load", "lds", 1), ("lgkm",)),
        ("ds_pk_add_rtn_bf16", "lds", MemoryEffect("atomic", "lds", 4), ("lgkm",)),
        ("ds_bpermute_b32", "lds", MemoryEffect(), ("lgkm",)),
        ("buffer_load_ushort", "vmem", MemoryEffect("load", "global", 2), ("vm",)),
        ("buffer_store_dwordx3", "vmem", MemoryEffect("store", "global", 12), ("vm",)),
        ("global_load_lds_dword", "vmem", MemoryEffect("load", "global", 4), ("vm",)),
        ("global_atomic_cmpswap_x2", "vmem", MemoryEffect("atomic", "global", 8), ("vm",)),
        ("flat_load_dwordx2", "vmem", MemoryEffect("load", "flat", 8), ("vm", "lgkm")),
        ("scratch_store_byte", "vmem", MemoryEffect("store", "scratch", 1), ("vm",)),
        ("s_cbranch_scc1", "branch", MemoryEffect(), ()),
        ("s_barrier", "barrier", MemoryEffect(), ()),
        ("s_waitcnt", "waitcnt", MemoryEffect(), ()),
        ("s_nop", "nop", MemoryEffect(), ()),
        ("s_sendmsg", "message", MemoryEffect(), ("lgkm",)),
        ("s_endpgm", "other", MemoryEffect(), ()),
    ],
)
def test_class_memory_and_counter(op: str, cls: str, memory: MemoryEffect, counters: tuple[str, ...]) -> None:
    found = spec(op)
    assert (found.cls, found.memory, found.counters) == (cls, memory, counters)


@pytest.mark.parametrize(
    ("op", "reads", "writes"),
    [
        ("s_add_u32", set(), {"scc"}),
        ("s_addc_u32", {"scc"}, {"scc"}),
        ("s_mul_i32", set(), set()),
        ("s_cselect_b64", {"scc"}, set()),
        ("s_cmp_lt_i32", set(), {"scc"}),
        ("s_and_saveexec_b64", {"exec"}, {"exec", "scc"}),
        ("s_cbranch_vccnz", {"vcc"}, set()),
        ("s_cbranch_execz", {"exec"}, set()),
        ("v_cmpx_lt_f32", {"exec"}, {"exec"}),
        ("v_div_fmas_f32", {"exec", "vcc"}, set()),
        ("v_mfma_f32_16x16x16_f16", set(), set()),
        ("v_readlane_b32", set(), set()),
        ("global_load_lds_dword", {"exec", "m0"}, set()),
        ("s_set_gpr_idx_on", {"m0"}, {"m0"}),
    ],
)
def test_implicit_operands(op: str, reads: set[str], writes: set[str]) -> None:
    found = spec(op)
    assert (found.implicit_reads, found.implicit_writes) == (reads, writes)


def test_bytes_agree_with_the_data_registers_of_the_samples() -> None:
    """A load or store of n dwords moves 4n bytes; sub-dword accesses, which share a register, move fewer."""
    for line in SAMPLES.read_text(encoding="utf-8").splitlines():
        numbers = [int(number, 16) for number in line.partition(" | ")[0].split()]
        inst = decode(struct.pack(f"<{len(numbers)}I", *numbers))
        memory = spec(inst.op).memory
        match = re.search(r"_(?:load|store)_dword(?:x(\d+))?$", inst.op)
        if match:
            assert memory.bytes == 4 * int(match[1] or 1)
        if memory.kind == "load" and destinations(inst):
            assert memory.bytes <= 4 * inst.operands[0].count <= memory.bytes + 3


def test_destinations_follow_the_instruction() -> None:
    silent = decode(struct.pack("<II", 0xDD088000, 0x007F0200))
    returning = decode(struct.pack("<II", 0xDD098000, 0x057F0200))
    to_lds = decode(struct.pack("<II", 0xE0511000, 0x80010001))
    assert (destinations(silent), destinations(returning), destinations(to_lds)) == (0, 1, 0)
    assert writes_lds(to_lds)
    assert spec("v_add_co_u32").destinations == 2
    assert spec("v_cmp_lt_f32").destinations == 1
    assert spec("s_cmp_lt_i32").destinations == 0
    assert spec("buffer_store_dword").destinations == 0


def test_accumulating_instructions_read_their_destination() -> None:
    wanted = {"v_fmac_f32", "v_writelane_b32", "v_smfmac_f32_16x16x32_f16", "s_cmov_b32"}
    assert {op for op in wanted if not spec(op).reads_destination} == set()
    assert not spec("v_mfma_f32_16x16x16_f16").reads_destination
    assert not spec("v_mov_b32").reads_destination
    assert not spec("ds_read_u16_d16").reads_destination


def test_every_vector_memory_instruction_counts_and_nothing_else_touches_memory() -> None:
    for op, found in specs().items():
        assert (found.cls == "vmem") == ("vm" in found.counters), op
        if found.memory.kind != "none":
            assert found.cls in ("vmem", "lds", "smem"), op
            assert found.memory.bytes > 0, op
