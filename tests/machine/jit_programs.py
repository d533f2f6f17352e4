"""Small hand-assembled programs run on both executors, and the registers they leave behind.

    program = Program(["v_add_u32 v40, v8, v9", "s_add_u32 s60, s20, s21"])
    program.run("jit")   ->  Registers(vector=(200, 64) words v40.., scalar=words s52..)

The frame around the body loads v8..v39, a0..a3 and s20..s51 with special and random values, different in every lane,
and stores v40..v239, a0..a7 and s52..s101, vcc, exec and scc afterwards. Assembled by Triton's assembler (a test
dependency). Not a test module itself.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from triton._C.libtriton import amd
from triton._C.libtriton import llvm as triton_llvm

from argus.machine import load
from argus.machine.launch import LaunchResult

FIRST_SOURCE, SOURCES = 8, 32
FIRST_TARGET, TARGETS = 40, 200
FIRST_SCALAR, SCALARS = 20, 32
FIRST_SCALAR_TARGET, SCALAR_TARGETS = 52, 50
SPECIALS = np.array(
    [0, 0x80000000, 0x3F800000, 0xBF800000, 0x7F800000, 0xFF800000, 0x7FC00000, 1, 0x807FFFFF, 0x00800000, 0x7F7FFFFF,
     0x3F000000, 0x40490FDB, 0x4B800001, 0x4F000000, 0xCF000001, 0x33800000, 0x00003C00, 0x0000FC00, 0x00008001,
     0x7E000001, 0x12345678, 0xFFFFFFFF, 31, 32, 0x00010001, 0x3C003C00, 0x43004000, 0xFFFF0001, 0x3FF00000],
    np.uint32,
)  # fmt: skip

FRAME = """
.text
.globl k
.p2align 8
.type k,@function
k:
  s_load_dwordx4 s[8:11], s[0:1], 0x0
  s_waitcnt lgkmcnt(0)
  s_mov_b32 s12, s2
  v_and_b32 v0, 0x3ff, v0
  v_mov_b32 v6, v0
  v_and_b32 v0, 63, v0
  v_lshlrev_b32 v1, 2, v0
  s_mov_b64 s[14:15], s[8:9]
{loads}
  s_load_dwordx16 s[20:35], s[8:9], 0x2400
  s_load_dwordx16 s[36:51], s[8:9], 0x2440
  s_waitcnt vmcnt(0) lgkmcnt(0)
{body}
.Lstop:
  s_waitcnt vmcnt(0) lgkmcnt(0)
  s_cselect_b32 s16, 1, 0
  s_mov_b64 s[18:19], exec
  s_mov_b64 exec, -1
{stores}
  s_endpgm
.Lend:
.size k, .Lend-k
.section .rodata,"a"
.p2align 6
.amdhsa_kernel k
  .amdhsa_next_free_vgpr 256
  .amdhsa_next_free_sgpr 102
  .amdhsa_accum_offset 244
  .amdhsa_group_segment_fixed_size {lds}
  .amdhsa_private_segment_fixed_size {private}
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_system_sgpr_workgroup_id_x 1
  .amdhsa_float_denorm_mode_32 {denorm32}
  .amdhsa_float_denorm_mode_16_64 {denorm64}
.end_amdhsa_kernel
.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.kernels:
  - .name: k
    .symbol: k.kd
    .kernarg_segment_size: 16
    .kernarg_segment_align: 8
    .group_segment_fixed_size: {lds}
    .private_segment_fixed_size: {private}
    .wavefront_size: 64
    .sgpr_count: 102
    .vgpr_count: 256
    .max_flat_workgroup_size: 1024
    .args:
      - {{.name: in, .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}}
      - {{.name: out, .offset: 8, .size: 8, .value_kind: global_buffer, .address_space: global}}
...
.end_amdgpu_metadata
"""
ROWS_OUT = TARGETS + 8 + SCALAR_TARGETS + 5


def _loads() -> str:
    lines = []
    for row in range(SOURCES + 4):
        if row and row % 16 == 0:
            lines += ["s_add_u32 s14, s14, 0x1000", "s_addc_u32 s15, s15, 0"]
        register = f"v{FIRST_SOURCE + row}" if row < SOURCES else "v2"
        lines.append(f"global_load_dword {register}, v1, s[14:15] offset:{row % 16 * 256}")
        if row >= SOURCES:
            lines += ["s_waitcnt vmcnt(0)", f"v_accvgpr_write_b32 a{row - SOURCES}, v2"]
    return "\n".join(lines)


def _stores() -> str:
    sources = [f"v{FIRST_TARGET + i}" for i in range(TARGETS)]
    moves = [f"v_accvgpr_read_b32 v2, a{i}" for i in range(8)]
    scalars = [*range(FIRST_SCALAR_TARGET, FIRST_SCALAR_TARGET + SCALAR_TARGETS), 106, 107, 18, 19, 16]
    moves += [f"v_mov_b32 v2, {'vcc_lo' if s == 106 else 'vcc_hi' if s == 107 else f's{s}'}" for s in scalars]
    lines = ["s_mul_i32 s13, s12, 0x10800", "s_add_u32 s14, s10, s13", "s_addc_u32 s15, s11, 0"]
    for row in range(ROWS_OUT):
        if row and row % 16 == 0:
            lines += ["s_add_u32 s14, s14, 0x1000", "s_addc_u32 s15, s15, 0"]
        if row >= TARGETS:
            lines.append(moves[row - TARGETS])
        register = sources[row] if row < TARGETS else "v2"
        lines.append(f"global_store_dword v1, {register}, s[14:15] offset:{row % 16 * 256}")
    return "\n".join(lines)


def assemble(source: str) -> bytes:
    triton_llvm.init_targets()
    made: bytes = amd.assemble_amdgcn(source, "amdgcn-amd-amdhsa", "gfx942", "")
    return made


@functools.cache
def is_valid(line: str) -> bool:
    """Whether the assembler accepts the line."""
    return bool(assemble(f".text\n{line}\n"))


@dataclass(frozen=True)
class Registers:
    """What a program left: vector rows (v40.., then a0..a7), scalars s52.., vcc, exec, scc; its input array."""

    vector: np.ndarray
    scalar: np.ndarray
    memory: np.ndarray
    result: LaunchResult


def inputs(seed: int) -> np.ndarray:
    """36 rows of 64 words, then 64 scalars: special values and random ones."""
    rng = np.random.default_rng(seed)
    words = rng.integers(0, 1 << 32, 37 * 64, dtype=np.uint64).astype(np.uint32)
    special = rng.random(len(words)) < 0.6
    words[special] = rng.choice(SPECIALS, int(special.sum()))
    return words


class Program:
    """A body between the frame's loads and stores."""

    def __init__(self, body: Sequence[str], *, flush: bool = False, lds: int = 4096, private: int = 0) -> None:
        self.source = FRAME.format(
            loads=_loads(),
            body="\n".join(body),
            stores=_stores(),
            lds=lds,
            private=private,
            denorm32=0 if flush else 3,
            denorm64=0 if flush else 3,
        )
        self.code = assemble(self.source)

    def run(
        self, executor: str, seed: int = 0, grid: int = 1, block: int = 64, keep: int = 0xFFFFFFFF, **settings: object
    ) -> Registers:
        """Run it; `keep` masks the input words."""
        out = np.zeros((grid, ROWS_OUT + 1, 64), np.uint32)
        memory = inputs(seed) & np.uint32(keep)
        result = load(self.code).kernel()(grid, block, memory, out, executor=executor, **settings)
        return Registers(out[:, : TARGETS + 8], out[:, TARGETS + 8 : ROWS_OUT, 0], memory, result)


def same_words(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Rows equal bit for bit, or both NaN as f32, as f16 halves, or as f64 with the next row."""
    equal = a == b
    both32 = np.isnan(a.view(np.float32)) & np.isnan(b.view(np.float32))
    halves = [x.view(np.uint16).reshape(*x.shape, 2) for x in (a, b)]
    nans = [np.isnan(h.view(np.float16)) for h in halves]
    both16 = ((halves[0] == halves[1]) | (nans[0] & nans[1])).all(-1)
    high = [(x & 0x7FF00000) == 0x7FF00000 for x in (a, b)]
    both64 = high[0] & high[1]
    low64 = np.zeros_like(both64)
    low64[..., :-1, :] = both64[..., 1:, :]
    return equal | both32 | both16 | both64 | low64
