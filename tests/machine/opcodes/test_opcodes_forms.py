"""Encodings and modes: exec, SDWA, DPP, modifiers, clamp, op_sel, denormal modes, indexing."""

from __future__ import annotations

import random

import numpy as np
import pytest
from opcode_harness import get, instruction, put, run, wave
from opcode_softfloat import F16, F32

from argus.gfx942.inst import Inst, InstOperand
from argus.machine.interp_lanes import compile_lane_move, lds_lane_row
from argus.machine.interp_packed import compile_vector
from argus.machine.semantics.lanes import dpp_sources, swizzle_sources
from argus.machine.semantics.numpy_backend import ArithmeticMode
from argus.machine.state import ALL

EVEN = 0x5555555555555555
LANE = list(range(64))


def f(x: float) -> int:
    return int(np.float32(x).view(np.uint32))


def test_inactive_lanes_are_not_written() -> None:
    got = run("v_add_u32", "u32 = u32 u32", [LANE, [100] * 64], exec_=EVEN, old=[7] * 64)
    assert got == [100 + k if k % 2 == 0 else 7 for k in range(64)]


def test_compare_writes_zero_for_inactive_lanes() -> None:
    got = run("v_cmp_lt_u32", "mask = u32 u32", [LANE, [32] * 64], exec_=EVEN)
    assert got == [k % 2 == 0 and k < 32 for k in range(64)]


def test_compare_to_exec() -> None:
    mask, exec_ = run("v_cmpx_ge_u32", "mask exec = u32 u32", [LANE, [10] * 64], exec_=EVEN)
    assert mask == exec_ == [k % 2 == 0 and k >= 10 for k in range(64)]


def test_source_signs() -> None:
    got = run("v_add_f32", "f32 = f32 f32", [[f(-3)] * 64, [f(2)] * 64], neg=[True, True], absolute=[True, False])
    assert got == [f(-5)] * 64
    got = run("v_add_f16", "f16 = f16 f16", [[0xC200] * 64, [0x4000] * 64], absolute=[True])
    assert got == [0x4500] * 64
    got = run("v_add_f64", "f64 = f64 f64", [[0x4008 << 48] * 64, [0x4000 << 48] * 64], neg=[True])
    assert got == [0xBFF0 << 48] * 64


def test_clamp_and_output_scale() -> None:
    xs = [f(x) for x in (-1.0, 0.25, 0.75, 3.0)] * 16
    assert run("v_mov_b32", "u32 = u32", [xs]) == xs
    got = run("v_mul_f32", "f32 = f32 f32", [xs, [f(1)] * 64], mods={"mul": 2, "clamp": True})
    assert got[:4] == [0, f(0.5), f(1), f(1)]
    got = run("v_mul_f32", "f32 = f32 f32", [xs, [f(1)] * 64], mods={"div": 2})
    assert got[:4] == [f(-0.5), f(0.125), f(0.375), f(1.5)]
    nan = run("v_mul_f32", "f32 = f32 f32", [[0x7FC00000] * 64, [f(1)] * 64], mods={"clamp": True})
    assert nan == [0] * 64


def test_integer_clamp_saturates() -> None:
    big = [0xFFFFFFFF, 0x7FFFFFFF, 0x80000000, 5] * 16
    assert run("v_add_u32", "u32 = u32 u32", [big, [2] * 64], mods={"clamp": True})[:4] == [
        M,
        0x80000001,
        0x80000002,
        7,
    ]
    assert run("v_sub_u32", "u32 = u32 u32", [[1] * 64, [2] * 64], mods={"clamp": True})[0] == 0
    assert run("v_subrev_u32", "u32 = u32 u32", [[3] * 64, [2] * 64], mods={"clamp": True})[0] == 0
    assert run("v_add_i32", "u32 = u32 u32", [big, [2] * 64], mods={"clamp": True})[:4] == [
        1,
        0x7FFFFFFF,
        0x80000002,
        7,
    ]
    assert run("v_sub_i32", "u32 = u32 u32", [big, [2] * 64], mods={"clamp": True})[2] == 0x80000000


M = 0xFFFFFFFF


def test_half_results_keep_or_clear_the_other_half() -> None:
    old = [0xAAAA5555] * 64
    legacy = run("v_add_f16", "f16 = f16 f16", [[0x3C00] * 64, [0x3C00] * 64], old=old)
    assert legacy == [0x4000] * 64
    low = run("v_fma_f16", "h16 = f16 f16 f16", [[0x3C00] * 64] * 3, old=old)
    assert low == [0xAAAA4000] * 64
    high = run("v_fma_f16", "h16 = f16 f16 f16", [[0x3C000000] * 64] * 3, old=old, mods={"op_sel": (1, 1, 1, 1)})
    assert high == [0x40005555] * 64


def test_fp8_conversion_chooses_its_half_and_saturates_on_request() -> None:
    one, huge = [f(1.0)] * 64, [f(1e6)] * 64
    signature, old = "h16 = f32 f32", [0x11112222] * 64
    assert run("v_cvt_pk_fp8_f32", signature, [one, one], old=old) == [0x11114040] * 64
    assert run("v_cvt_pk_fp8_f32", signature, [one, one], old=old, mods={"op_sel": (0, 0, 1)}) == [0x40402222] * 64
    assert run("v_cvt_pk_fp8_f32", signature, [huge, one], old=old) == [0x11114080] * 64
    saturating = ArithmeticMode(saturate_fp8=True)
    assert run("v_cvt_pk_fp8_f32", signature, [huge, one], old=old, mode=saturating) == [0x1111407F] * 64


def test_stochastic_rounding_adds_the_random_bits() -> None:
    x, old = [f(1.0625)] * 64, [0x44332211] * 64
    for random_bits, want in ((0, 0x40), (0x80000000 - (1 << 12), 0x40), (0x80000000, 0x41), (M, 0x41)):
        got = run("v_cvt_sr_fp8_f32", "u32 = f32 u32", [x, [random_bits] * 64], old=old, mods={"op_sel": (0, 0, 1, 0)})
        assert got == [0x44330011 | want << 8] * 64, hex(random_bits)
    got = run("v_cvt_sr_bf8_f32", "u32 = f32 u32", [[f(-1.0)] * 64, [M] * 64], old=old, mods={"op_sel": (0, 0, 1, 1)})
    assert got == [0x00332211 | 0xC0 << 24] * 64


def test_denormal_mode_flushes_inputs_and_results() -> None:
    tiny, flush = [0x00000001, 0x80000001, 0x007FFFFF, 0x00800000] * 16, ArithmeticMode(flush_f32=True)
    one = [f(1)] * 64
    assert run("v_mul_f32", "f32 = f32 f32", [tiny, one])[:4] == tiny[:4]
    assert run("v_mul_f32", "f32 = f32 f32", [tiny, one], mode=flush)[:4] == [0, 0x80000000, 0, 0x00800000]
    half = [f(0.5)] * 64
    assert run("v_mul_f32", "f32 = f32 f32", [[0x00800000] * 64, half], mode=flush) == [0] * 64
    assert run("v_fma_f32", "f32 = f32 f32 f32", [[0x00800000] * 64, half, [0] * 64], mode=flush) == [0] * 64
    assert run("v_cmp_eq_f32", "mask = f32 f32", [tiny, [0] * 64], mode=flush)[:4] == [True, True, True, False]
    assert run("v_mov_b32", "u32 = u32", [tiny], mode=flush)[:4] == tiny[:4]
    f16 = ArithmeticMode(flush_f64_f16=True)
    assert run("v_add_f16", "f16 = f16 f16", [[0x0001] * 64, [0x0001] * 64], mode=f16) == [0] * 64
    assert run("v_add_f64", "f64 = f64 f64", [[1] * 64, [1] * 64], mode=f16) == [0] * 64
    assert run("v_add_f64", "f64 = f64 f64", [[1] * 64, [1] * 64], mode=flush) == [2] * 64


def test_mbcnt_counts_lanes_below() -> None:
    rng = random.Random(0)
    for op, base in (("v_mbcnt_lo_u32_b32", 0), ("v_mbcnt_hi_u32_b32", 32)):
        masks = [rng.getrandbits(32) for _ in range(64)]
        got = run(op, "u32 = u32 u32 lane", [masks, LANE])
        below = [bin(m & (1 << max(0, min(32, k - base))) - 1).count("1") + k for k, m in enumerate(masks)]
        assert got == below


SDWA = {"DWORD": (0, 32), "WORD_0": (0, 16), "WORD_1": (16, 16), **{f"BYTE_{k}": (8 * k, 8) for k in range(4)}}


@pytest.mark.parametrize("source", SDWA)
@pytest.mark.parametrize("sext", [False, True])
def test_sdwa_source_selection(source: str, sext: bool) -> None:
    rng = random.Random(source)
    values = [rng.getrandbits(32) for _ in range(64)]
    w = wave()
    put(w, 20, values, False)
    operands = (InstOperand("v", 4), InstOperand("v", 20, sext=sext))
    compile_vector(Inst(0, 8, "v_mov_b32", "sdwa", operands, {"src0_sel": source, "dst_sel": "DWORD"}), 256)(w)
    shift, size = SDWA[source]
    for got, value in zip(get(w, 4, False), values, strict=True):
        want = value >> shift & (1 << size) - 1
        if sext and want >> size - 1:
            want |= M << size & M
        assert got == want


@pytest.mark.parametrize("target", [k for k in SDWA if k != "DWORD"])
@pytest.mark.parametrize("unused", ["UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE"])
def test_sdwa_destination_selection(target: str, unused: str) -> None:
    w = wave()
    put(w, 20, [0x123456F0 + (k & 15) for k in range(64)], False)
    put(w, 4, [0xA1B2C3D4] * 64, False)
    mods = {"dst_sel": target, "dst_unused": unused, "src0_sel": "DWORD"}
    compile_vector(Inst(0, 8, "v_mov_b32", "sdwa", (InstOperand("v", 4), InstOperand("v", 20)), mods), 256)(w)
    shift, size = SDWA[target]
    field = (1 << size) - 1
    for k, got in enumerate(get(w, 4, False)):
        value = 0x123456F0 + (k & 15) & field
        if unused == "UNUSED_PRESERVE":
            want = 0xA1B2C3D4 & ~(field << shift) | value << shift
        elif unused == "UNUSED_PAD":
            want = value << shift
        else:
            negative = value >> size - 1
            want = (value | (M << size if negative else 0)) << shift & M
        assert got == want & M


DPP: list[tuple[dict[str, object], list[int]]] = [
    ({"quad_perm": (1, 0, 3, 2)}, [k ^ 1 for k in LANE]),
    ({"row_shl": 3}, [k + 3 if k % 16 < 13 else -1 for k in LANE]),
    ({"row_shr": 1}, [k - 1 if k % 16 else -1 for k in LANE]),
    ({"row_ror": 5}, [k // 16 * 16 + (k - 5) % 16 for k in LANE]),
    ({"row_newbcast": 7}, [k // 16 * 16 + 7 for k in LANE]),
    ({"row_mirror": True}, [k // 16 * 16 + 15 - k % 16 for k in LANE]),
    ({"row_half_mirror": True}, [k // 8 * 8 + 7 - k % 8 for k in LANE]),
    ({"row_bcast": 15}, [k // 16 * 16 - 1 if k >= 16 else -1 for k in LANE]),
    ({"row_bcast": 31}, [31 if k >= 32 else -1 for k in LANE]),
    ({"wave_shl": 1}, [k + 1 if k < 63 else -1 for k in LANE]),
    ({"wave_shr": 1}, [k - 1 for k in LANE]),
    ({"wave_rol": 1}, [(k + 1) % 64 for k in LANE]),
    ({"wave_ror": 1}, [(k - 1) % 64 for k in LANE]),
]


@pytest.mark.parametrize(("control", "sources"), DPP)
@pytest.mark.parametrize("bound", [False, True])
@pytest.mark.parametrize("exec_", [ALL, EVEN])
def test_dpp(control: dict[str, object], sources: list[int], bound: bool, exec_: int) -> None:
    assert list(dpp_sources(control)) == sources  # type: ignore[arg-type]
    mods = {**control, "row_mask": 0b1011, "bank_mask": 0b0111} | ({"bound_ctrl": 1} if bound else {})
    w = wave(exec_=exec_)
    put(w, 20, [1000 + k for k in LANE], False)
    put(w, 22, [10000 * k for k in LANE], False)
    put(w, 4, [5] * 64, False)
    compile_vector(instruction("v_add_u32", "u32 = u32 u32", mods, "dpp"), 256)(w)  # type: ignore[arg-type]
    for k, got in enumerate(get(w, 4, False)):
        written = bool(exec_ >> k & 1) and (0b1011 >> k // 16 & 1) and (0b0111 >> k // 4 % 4 & 1)
        valid = sources[k] >= 0 and bool(exec_ >> sources[k] & 1)
        if not written or (not valid and not bound):
            assert got == 5, k
        else:
            assert got == (1000 + sources[k] if valid else 0) + 10000 * k, k


def test_read_and_write_lanes() -> None:
    w = wave(exec_=0xF0)
    put(w, 20, [k * 3 for k in LANE], False)
    compile_lane_move(Inst(0, 4, "v_readfirstlane_b32", "", (InstOperand("s", 5), InstOperand("v", 20))), 256)(w)
    assert w.s[5] == 12
    w.s[6] = 64 + 9
    compile_lane_move(
        Inst(0, 8, "v_readlane_b32", "", (InstOperand("s", 5), InstOperand("v", 20), InstOperand("s", 6))), 256
    )(w)
    assert w.s[5] == 27
    operands = (InstOperand("v", 20), InstOperand("s", 5), InstOperand("imm", 60))
    compile_lane_move(Inst(0, 8, "v_writelane_b32", "", operands), 256)(w)
    assert get(w, 20, False)[60] == 27
    w.set_exec(0)
    compile_lane_move(Inst(0, 4, "v_readfirstlane_b32", "", (InstOperand("s", 5), InstOperand("v", 20))), 256)(w)
    assert w.s[5] == 0


def test_swap_exchanges_active_lanes() -> None:
    w = wave(exec_=EVEN)
    put(w, 4, LANE, False)
    put(w, 20, [100 + k for k in LANE], False)
    compile_lane_move(Inst(0, 4, "v_swap_b32", "", (InstOperand("v", 4), InstOperand("v", 20))), 256)(w)
    assert get(w, 4, False) == [100 + k if k % 2 == 0 else k for k in LANE]
    assert get(w, 20, False) == [k if k % 2 == 0 else 100 + k for k in LANE]


def test_permutes_pull_and_push() -> None:
    rng = random.Random(4)
    target = [rng.randrange(64) for _ in LANE]
    w = wave(exec_=ALL ^ 1)
    put(w, 20, [4 * t + 256 * rng.randrange(4) for t in target], False)
    put(w, 22, [500 + k for k in LANE], False)
    operands = (InstOperand("v", 4), InstOperand("v", 20), InstOperand("v", 22))
    pulled = lds_lane_row(Inst(0, 8, "ds_bpermute_b32", "", operands), 256)(w).tolist()
    assert pulled == [500 + t if t else 0 for t in target]
    pushed = lds_lane_row(Inst(0, 8, "ds_permute_b32", "", operands), 256)(w).tolist()
    want = [0] * 64
    for k in LANE[1:]:
        want[target[k]] = 500 + k
    assert pushed == want


def test_swizzle_modes() -> None:
    assert list(swizzle_sources(0x8000 | 0b00011011)) == [k // 4 * 4 + (3 - k % 4) for k in LANE]
    assert list(swizzle_sources(0x1F | 1 << 10)) == [k ^ 1 for k in LANE]
    assert list(swizzle_sources(0x10 | 3 << 5)) == [k // 32 * 32 + (k % 32 & 16 | 3) for k in LANE]
    rotate = swizzle_sources(0xC000 | 5 << 5)
    assert list(rotate) == [k // 32 * 32 + (k % 32 + 5) % 32 for k in LANE]


def test_rounding_helper_agrees_with_numpy_on_f16() -> None:
    values = np.arange(0x7C00, dtype=np.uint16).view(np.float16).astype(np.float32)
    codes = values.view(np.uint32).tolist()[::37]
    assert [F32.convert(c, F16) for c in codes] == list(range(0, 0x7C00, 37))
