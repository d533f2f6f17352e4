"""Loading real code objects: assembled here by Triton's assembler, linked by its linker, or compiled by llvmlite."""

from __future__ import annotations

import struct
from pathlib import Path

import llvmlite.binding as llvm
import pytest
from triton._C.libtriton import amd
from triton._C.libtriton import llvm as triton_llvm

from argus.gfx942.decoder import decode_all
from argus.machine.loader import CodeObject, load_object

ASSEMBLY = """
.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
.text
.globl first
.p2align 8
.type first,@function
first:
  s_getpc_b64 s[4:5]
  s_add_u32 s4, s4, table@rel32@lo+4
  s_addc_u32 s5, s5, table@rel32@hi+12
  s_getpc_b64 s[6:7]
  s_add_u32 s6, s6, shared@gotpcrel32@lo+4
  s_addc_u32 s7, s7, shared@gotpcrel32@hi+12
  s_endpgm
.Lfirst_end:
.size first, .Lfirst_end-first
.globl second
.p2align 8
.type second,@function
second:
  s_nop 7
  s_endpgm
.Lsecond_end:
.size second, .Lsecond_end-second
.section .rodata,"a"
.globl shared
.p2align 2
shared: .long 7
table: .long 1, 2, 3
.p2align 6
.amdhsa_kernel first
  .amdhsa_next_free_vgpr 200
  .amdhsa_next_free_sgpr 40
  .amdhsa_accum_offset 128
  .amdhsa_group_segment_fixed_size 4096
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_user_sgpr_kernarg_preload_length 6
  .amdhsa_user_sgpr_kernarg_preload_offset 2
  .amdhsa_system_sgpr_workgroup_id_y 1
  .amdhsa_system_vgpr_workitem_id 2
  .amdhsa_float_denorm_mode_32 3
  .amdhsa_ieee_mode 0
.end_amdhsa_kernel
.amdhsa_kernel second
  .amdhsa_next_free_vgpr 8
  .amdhsa_next_free_sgpr 8
  .amdhsa_accum_offset 8
.end_amdhsa_kernel
.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.kernels:
  - .name: first
    .symbol: first.kd
    .kernarg_segment_size: 24
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 4096
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 40
    .vgpr_count: 200
    .agpr_count: 72
    .max_flat_workgroup_size: 256
    .reqd_workgroup_size: [64, 2, 1]
    .args:
      - {.name: x, .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}
      - {.name: n, .offset: 8, .size: 4, .value_kind: by_value}
      - {.offset: 16, .size: 4, .value_kind: hidden_block_count_x}
...
.end_amdgpu_metadata
"""


def assemble(source: str) -> bytes:
    triton_llvm.init_targets()
    return amd.assemble_amdgcn(source, "amdgcn-amd-amdhsa", "gfx942", "")


def link(data: bytes, folder: Path) -> bytes:
    (folder / "in.o").write_bytes(data)
    amd.link_hsaco(str(folder / "in.o"), str(folder / "out.hsaco"))
    return (folder / "out.hsaco").read_bytes()


@pytest.fixture(scope="module")
def unlinked() -> CodeObject:
    return load_object(assemble(ASSEMBLY))


@pytest.fixture(scope="module")
def linked(tmp_path_factory: pytest.TempPathFactory) -> CodeObject:
    return load_object(link(assemble(ASSEMBLY), tmp_path_factory.mktemp("link")))


@pytest.fixture(params=["unlinked", "linked"])
def loaded(request: pytest.FixtureRequest) -> CodeObject:
    found: CodeObject = request.getfixturevalue(request.param)
    return found


def test_target_and_kernels(loaded: CodeObject) -> None:
    assert loaded.isa.name == "gfx942"
    assert set(loaded.kernels) == {"first", "second"}


def test_code_ranges_hold_the_code_of_each_kernel(loaded: CodeObject) -> None:
    first, second = loaded.kernels["first"], loaded.kernels["second"]
    assert (first.end - first.entry, second.end - second.entry) == (44, 8)
    assert [i.op for i in decode_all(loaded.text, second.entry, second.end)] == ["s_nop", "s_endpgm"]
    assert [i.op for i in decode_all(loaded.text, first.entry, first.end)][-1] == "s_endpgm"


def test_descriptor_says_what_the_assembly_said(loaded: CodeObject) -> None:
    kernel = loaded.kernels["first"]
    found = kernel.descriptor
    assert (found.vgprs, found.accum_offset, kernel.group_segment_fixed_size) == (200, 128, 4096)
    assert found.sgprs >= 40
    assert found.user_sgprs == ("kernarg_segment_ptr",)
    assert (found.kernarg_preload_length, found.kernarg_preload_offset) == (6, 2)
    assert found.user_sgpr_count == 8
    assert found.workgroup_ids == (True, True, False)
    assert found.workitem_id_mode == 2
    assert (found.float_mode.denorm_f32, found.float_mode.ieee, found.float_mode.dx10_clamp) == (3, False, True)
    assert kernel.start == kernel.entry + 256
    assert loaded.kernels["second"].start == loaded.kernels["second"].entry


def test_arguments_and_limits_come_from_the_metadata(loaded: CodeObject) -> None:
    kernel = loaded.kernels["first"]
    assert [(a.name, a.offset, a.size, a.value_kind, a.hidden) for a in kernel.args] == [
        ("x", 0, 8, "global_buffer", False),
        ("n", 8, 4, "by_value", False),
        ("", 16, 4, "hidden_block_count_x", True),
    ]
    assert (kernel.kernarg_size, kernel.max_flat_workgroup_size, kernel.wavefront_size) == (24, 256, 64)
    assert kernel.required_workgroup_size == (64, 2, 1)


def follow(loaded: CodeObject, index: int) -> int:
    """The address that the index-th getpc/add/addc triple of `first` computes."""
    code = loaded.text[loaded.kernels["first"].entry :]
    words = struct.unpack_from("<11I", code)
    base = index * 5
    after_getpc = loaded.text_address + loaded.kernels["first"].entry + 4 * base + 4
    return after_getpc + (words[base + 4] << 32 | words[base + 2]) & (1 << 64) - 1


def read(loaded: CodeObject, address: int, size: int) -> bytes:
    segment = next(s for s in loaded.segments if s.address <= address < s.address + s.size)
    return segment.data[address - segment.address :][:size]


def test_relative_addresses_lead_to_the_table(loaded: CodeObject) -> None:
    assert read(loaded, follow(loaded, 0), 12) == struct.pack("<III", 1, 2, 3)


def test_offset_table_leads_to_the_symbol_and_is_listed_for_rebasing(loaded: CodeObject) -> None:
    slot = follow(loaded, 1)
    assert slot in loaded.pointers
    target = int.from_bytes(read(loaded, slot, 8), "little")
    assert read(loaded, target, 4) == struct.pack("<I", 7)
    assert target == loaded.symbols["shared"]


def test_object_compiled_by_llvmlite_loads_without_linking() -> None:
    source = """
    target triple = "amdgcn-amd-amdhsa"
    define amdgpu_kernel void @store(ptr addrspace(1) %p, i32 %v) {
      store i32 %v, ptr addrspace(1) %p
      ret void
    }
    """
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    module = llvm.parse_assembly(source)
    machine = llvm.Target.from_triple("amdgcn-amd-amdhsa").create_target_machine(cpu="gfx942", reloc="pic")
    loaded = load_object(machine.emit_object(module))
    kernel = loaded.kernels["store"]
    assert [(a.offset, a.size) for a in kernel.args[:2]] == [(0, 8), (8, 4)]
    ops = [i.op for i in decode_all(loaded.text, kernel.entry, kernel.end)]
    assert "global_store_dword" in ops
    assert "s_endpgm" in ops
