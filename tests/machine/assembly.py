"""Hand-written gfx942 kernels for tests, assembled by the assembler inside Triton.

    hsaco = assemble("s_endpgm", args=2, vgprs=8, lds=256)

The kernel is named `kernel`, gets its kernarg pointer in s[0:1] and the workgroup number in s2, and takes `args`
pointers of 8 bytes each.
"""

from __future__ import annotations

from functools import cache

from triton.backends.amd.compiler import assemble_amdgcn

TEMPLATE = """
.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
.text
.globl kernel
.p2align 8
.type kernel,@function
kernel:
{body}
.Lend:
.size kernel, .Lend-kernel
.rodata
.p2align 6
.amdhsa_kernel kernel
  .amdhsa_group_segment_fixed_size {lds}
  .amdhsa_private_segment_fixed_size {scratch}
  .amdhsa_enable_private_segment {has_scratch}
  .amdhsa_kernarg_size {kernarg}
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_user_sgpr_count 2
  .amdhsa_system_sgpr_workgroup_id_x 1
  .amdhsa_system_sgpr_workgroup_id_y 0
  .amdhsa_system_sgpr_workgroup_id_z 0
  .amdhsa_system_vgpr_workitem_id 0
  .amdhsa_next_free_vgpr {vgprs}
  .amdhsa_next_free_sgpr {sgprs}
  .amdhsa_accum_offset {accum}
  .amdhsa_float_denorm_mode_32 {denorm}
  .amdhsa_float_denorm_mode_16_64 3
  .amdhsa_ieee_mode 1
  .amdhsa_dx10_clamp 1
.end_amdhsa_kernel
.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.target: amdgcn-amd-amdhsa--gfx942
amdhsa.kernels:
  - .name: kernel
    .symbol: kernel.kd
    .kernarg_segment_size: {kernarg}
    .kernarg_segment_align: 8
    .group_segment_fixed_size: {lds}
    .private_segment_fixed_size: {scratch}
    .wavefront_size: 64
    .sgpr_count: 96
    .vgpr_count: {vgprs}
    .max_flat_workgroup_size: 1024
    .args:
{args}
...
.end_amdgpu_metadata
"""
ARG = "      - {{.name: p{k}, .offset: {offset}, .size: 8, .value_kind: global_buffer, .address_space: global}}"


@cache
def assemble(
    body: str,
    *,
    args: int = 1,
    vgprs: int = 64,
    accum: int = 32,
    sgprs: int = 96,
    lds: int = 0,
    scratch: int = 0,
    denorm: int = 3,
) -> bytes:
    """An object file (not linked) with one kernel."""
    lines = "\n".join(ARG.format(k=k, offset=8 * k) for k in range(args)) or "      []"
    text = TEMPLATE.format(
        body=body,
        args=lines,
        kernarg=8 * max(args, 1),
        vgprs=vgprs,
        accum=accum,
        sgprs=sgprs,
        lds=lds,
        scratch=scratch,
        has_scratch=int(scratch > 0),
        denorm=denorm,
    )
    return bytes(assemble_amdgcn(text, "gfx942", ""))
