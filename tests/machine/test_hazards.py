"""Required wait states: each rule just met and just missed, on assembled instructions."""

from __future__ import annotations

import pytest
from assembly import assemble

from argus.gfx942.decoder import decode_all
from argus.gfx942.hazards import HazardViolation, registers, violations
from argus.machine.loader import load_object


def check(body: str) -> list[HazardViolation]:
    found = load_object(assemble(body + "\ns_endpgm", vgprs=256, accum=128))
    info = found.kernels["kernel"]
    return violations(decode_all(found.text, info.start, info.end))


RULES: list[tuple[str, str, int]] = [
    ("v_mfma_f32_16x16x16_bf16 v[4:7], v[0:1], v[2:3], v[8:11]", "v_mov_b32 v20, v4", 7),
    ("v_mfma_f32_32x32x8_bf16 v[16:31], v[0:1], v[2:3], 0", "v_mov_b32 v40, v31", 11),
    ("v_mfma_f32_32x32x8_bf16 a[0:15], v[0:1], v[2:3], 0", "ds_write_b32 v40, a3", 11),
    ("v_mfma_f32_32x32x2_f32 v[16:31], v0, v2, 0", "v_mov_b32 v40, v31", 18),
    ("v_mfma_f32_4x4x4_16b_f16 v[4:7], v[0:1], v[2:3], 0", "v_mov_b32 v20, v4", 5),
    ("v_mfma_f32_16x16x16_bf16 v[4:7], v[0:1], v[2:3], v[8:11]", "v_mov_b32 v4, v20", 7),
    ("v_mfma_f32_16x16x16_bf16 v[4:7], v[0:1], v[2:3], v[8:11]", "v_mov_b32 v9, v20", 3),
    ("v_mfma_f32_16x16x16_bf16 v[4:7], v[0:1], v[2:3], 0", "v_mfma_f32_16x16x16_bf16 v[8:11], v[4:5], v[2:3], 0", 7),
    (
        "v_mfma_f32_16x16x16_bf16 v[4:7], v[0:1], v[2:3], 0",
        "v_mfma_f32_16x16x16_bf16 v[12:15], v[0:1], v[2:3], v[6:9]",
        5,
    ),
    (
        "v_mfma_f32_16x16x16_bf16 v[4:7], v[0:1], v[2:3], 0",
        "v_mfma_f32_16x16x16_f16 v[4:7], v[0:1], v[2:3], v[4:7]",
        5,
    ),
    (
        "v_mfma_f32_32x32x8_bf16 a[0:15], v[0:1], v[2:3], 0",
        "v_mfma_f32_32x32x8_f16 a[0:15], v[0:1], v[2:3], a[0:15]",
        9,
    ),
    ("v_mfma_f64_16x16x4_f64 v[8:15], v[0:1], v[2:3], 0", "v_mov_b32 v20, v8", 11),
    ("v_mfma_f64_16x16x4_f64 v[8:15], v[0:1], v[2:3], 0", "global_store_dword v20, v8, s[4:5]", 18),
    ("v_mfma_f64_4x4x4_4b_f64 v[8:9], v[0:1], v[2:3], 0", "v_mov_b32 v20, v8", 6),
    ("v_mfma_f64_16x16x4_f64 v[8:15], v[0:1], v[2:3], 0", "v_fma_f64 v[20:21], v[22:23], v[24:25], v[26:27]", 2),
    ("v_mov_b32 v0, 0", "v_mfma_f32_16x16x16_bf16 v[4:7], v[0:1], v[2:3], 0", 2),
    ("v_cmpx_eq_u32 vcc, v1, v2", "v_mfma_f32_16x16x16_bf16 v[4:7], v[0:1], v[2:3], 0", 4),
    ("v_readfirstlane_b32 s4, v1", "global_load_dword v2, v3, s[4:5]", 5),
    ("v_mov_b32 v1, 0", "v_mov_b32_dpp v2, v1 row_shr:1 row_mask:0xf bank_mask:0xf", 2),
    ("v_cmpx_eq_u32 vcc, v5, v6", "v_mov_b32_dpp v2, v1 row_shr:1 row_mask:0xf bank_mask:0xf", 5),
    ("v_cmp_eq_u32 vcc, v1, v2", "v_div_fmas_f32 v3, v4, v5, v6", 4),
    ("v_readfirstlane_b32 s4, v1", "v_readlane_b32 s5, v2, s4", 4),
    ("v_mov_b32 v1, 0", "v_readfirstlane_b32 s4, v1", 1),
    ("v_cmp_eq_u32 s[4:5], v1, v2", "v_cndmask_b32 v3, v4, v5, s[4:5]", 2),
    ("v_exp_f32 v1, v2", "v_add_f32 v3, v1, v1", 1),
    ("v_fma_f16 v1, v2, v3, v4 op_sel:[0,0,0,1]", "v_add_f32 v3, v1, v1", 1),
    (
        "v_add_f32_sdwa v1, v2, v3 dst_sel:WORD_1 dst_unused:UNUSED_PAD src0_sel:DWORD src1_sel:DWORD",
        "v_mov_b32 v4, v1",
        1,
    ),
    ("global_store_dwordx4 v0, v[4:7], s[4:5]", "v_mov_b32 v5, 0", 2),
    ("buffer_store_dwordx4 v[4:7], v0, s[4:7], 0 offen", "v_mov_b32 v7, 0", 2),
    ("buffer_store_dwordx4 v[4:7], v0, s[4:7], s9 offen", "v_mov_b32 v7, 0", 1),
    ("s_mov_b32 m0, 0", "buffer_load_dword v0, s[4:7], 0 offen lds", 1),
    ("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 3", "s_getreg_b32 s4, hwreg(HW_REG_MODE)", 2),
]


@pytest.mark.parametrize(("first", "second", "states"), RULES)
def test_rule(first: str, second: str, states: int) -> None:
    kept = f"{first}\ns_nop {states - 1}\n{second}"
    assert check(kept) == []
    broken = f"{first}\n{f's_nop {states - 2}' if states > 1 else ''}\n{second}"
    (found,) = check(broken)
    assert found.rule.states == states
    assert (found.states, found.missing) == (states - 1, 1)


FREE = [
    ("v_mfma_f32_16x16x16_bf16 v[4:7], v[0:1], v[2:3], 0", "v_mfma_f32_16x16x16_bf16 v[4:7], v[0:1], v[2:3], v[4:7]"),
    ("v_mfma_f32_16x16x16_bf16 v[4:7], v[0:1], v[2:3], 0", "v_mov_b32 v20, v8"),
    ("v_exp_f32 v1, v2", "v_exp_f32 v3, v1"),
    ("v_mov_b32 v1, 0", "v_add_f32 v3, v1, v1"),
    ("global_store_dwordx2 v0, v[4:5], s[4:5]", "v_mov_b32 v5, 0"),
]


@pytest.mark.parametrize(("first", "second"), FREE)
def test_pairs_that_need_nothing(first: str, second: str) -> None:
    assert check(f"{first}\n{second}") == []


def test_other_instructions_count_as_wait_states() -> None:
    mfma = "v_mfma_f32_16x16x16_bf16 v[4:7], v[0:1], v[2:3], 0\n"
    assert check(mfma + "s_mov_b32 s4, 0\n" * 7 + "v_mov_b32 v20, v4") == []
    assert len(check(mfma + "s_mov_b32 s4, 0\n" * 6 + "v_mov_b32 v20, v4")) == 1


def test_a_busy_matrix_core_counts_its_passes() -> None:
    def mfma(d: int) -> str:
        return f"v_mfma_f32_16x16x16_bf16 v[{d}:{d + 3}], v[0:1], v[2:3], 0\n"

    (near,) = check(mfma(4) + mfma(8) + "v_mov_b32 v20, v4")
    assert (near.states, near.elapsed, near.certain) == (1, 4, True)
    (far,) = check(mfma(4) + mfma(8) + mfma(12) + "v_mov_b32 v20, v4")
    assert (far.states, far.elapsed, far.certain) == (2, 8, False)


def test_paths_through_branches_and_loops() -> None:
    mfma = "v_mfma_f32_16x16x16_bf16 v[4:7], v[0:1], v[2:3], 0\n"
    body = mfma + "s_cbranch_scc1 L_x\ns_nop 7\nL_x:\nv_mov_b32 v20, v4\n"
    (found,) = check(body)
    assert (found.states, found.jumped, found.certain) == (1, True, False)
    (found,) = check(body.replace("s_nop 7", "s_nop 1"))
    assert (found.states, found.jumped, found.certain) == (3, False, True)
    loop = "L_top:\nv_mov_b32 v20, v4\ns_nop 7\n" + mfma + "s_cbranch_scc1 L_top\n"
    (found,) = check(loop)
    assert found.second.pc == 0


def test_distances_of_amds_own_assembly_are_not_certain() -> None:
    (found,) = check("v_cmp_eq_u32 s[4:5], v1, v2\nv_cndmask_b32 v3, v4, v5, s[4:5]")
    assert not found.certain
    (found,) = check("v_exp_f32 v1, v2\nv_add_f32 v3, v1, v1")
    assert found.certain


def test_different_matrix_instructions_on_one_accumulator_are_kept_apart_but_not_certainly_wrong() -> None:
    """llvm-project pull request 218363 measured it on gfx950; LLVM 22 and AMD's assembly for gfx942 do without."""
    first = "v_mfma_f32_16x16x16_bf16 v[4:7], v[0:1], v[2:3], 0"
    (found,) = check(f"{first}\nv_mfma_f32_16x16x16_f16 v[4:7], v[0:1], v[2:3], v[4:7]")
    assert not found.certain
    assert "different instruction" in found.rule.why


def test_registers_of_an_instruction() -> None:
    found = load_object(
        assemble("v_mfma_f32_16x16x16_bf16 a[4:7], v[0:1], a[2:3], a[4:7]\nv_fmac_f32 v1, s4, v2\ns_endpgm")
    )
    info = found.kernels["kernel"]
    mfma, fmac, _ = decode_all(found.text, info.start, info.end)
    assert registers(mfma).reads == {0, 1, 514, 515, 516, 517, 518, 519}
    assert registers(mfma).writes == {516, 517, 518, 519}
    assert registers(fmac).reads == {1, 2}
    assert 4 in registers(fmac).scalar_reads
