"""Packed instructions: the single-element statement applied to halves chosen by op_sel, signs by neg."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from opcode_harness import get, instruction, put, wave
from opcode_softfloat import F16, F32

from argus.gfx942.inst import Inst, InstOperand
from argus.machine.interp_packed import compile_vector
from argus.machine.semantics import VALU

M16, M32 = 0xFFFF, 0xFFFFFFFF


def s16(x: int) -> int:
    return x - 0x10000 if x & 0x8000 else x


HALVES: dict[str, Callable[..., int]] = {
    "v_pk_add_u16": lambda a, b: a + b & M16,
    "v_pk_add_i16": lambda a, b: a + b & M16,
    "v_pk_sub_u16": lambda a, b: a - b & M16,
    "v_pk_sub_i16": lambda a, b: a - b & M16,
    "v_pk_mul_lo_u16": lambda a, b: a * b & M16,
    "v_pk_mad_u16": lambda a, b, c: a * b + c & M16,
    "v_pk_mad_i16": lambda a, b, c: a * b + c & M16,
    "v_pk_lshlrev_b16": lambda n, a: a << (n & 15) & M16,
    "v_pk_lshrrev_b16": lambda n, a: a >> (n & 15),
    "v_pk_ashrrev_i16": lambda n, a: s16(a) >> (n & 15) & M16,
    "v_pk_min_u16": min,
    "v_pk_max_u16": max,
    "v_pk_min_i16": lambda a, b: min(a, b, key=s16),
    "v_pk_max_i16": lambda a, b: max(a, b, key=s16),
    "v_pk_add_f16": F16.add,
    "v_pk_mul_f16": F16.mul,
    "v_pk_min_f16": F16.minimum,
    "v_pk_max_f16": F16.maximum,
    "v_pk_fma_f16": F16.fma,
}
PAIRS: dict[str, Callable[..., int]] = {"v_pk_add_f32": F32.add, "v_pk_mul_f32": F32.mul, "v_pk_fma_f32": F32.fma}


def test_every_packed_instruction_is_here() -> None:
    packed = {op for op, entry in VALU.items() if entry.shape in ("pk16", "pk32")}
    assert packed == set(HALVES) | set(PAIRS)


def _random_bits(rng: random.Random, count: int, bits: int) -> tuple[int, ...]:
    return tuple(rng.randint(0, 1) for _ in range(count)) if bits else (0,) * count


@pytest.mark.parametrize("op", sorted(HALVES))
@pytest.mark.parametrize("selected", [False, True])
def test_halves(op: str, selected: bool) -> None:
    rng = random.Random(op)
    count = HALVES[op].__code__.co_argcount if hasattr(HALVES[op], "__code__") else 2
    count = 3 if op in ("v_pk_fma_f16", "v_pk_mad_u16", "v_pk_mad_i16") else 2
    is_float = "_f16" in op
    sel = _random_bits(rng, count, selected)
    sel_hi = _random_bits(rng, count, selected) if selected else (1,) * count
    neg, neg_hi = _random_bits(rng, count, selected and is_float), _random_bits(rng, count, selected and is_float)
    mods = {"op_sel": sel, "op_sel_hi": sel_hi, "neg_lo": neg, "neg_hi": neg_hi}
    rows = [[rng.getrandbits(32) for _ in range(64)] for _ in range(count)]
    w = wave()
    for k, row in enumerate(rows):
        put(w, 20 + 2 * k, row, False)
    compile_vector(instruction(op, "u32 = " + "u32 " * count, mods), 256)(w)
    for lane, got in enumerate(get(w, 4, False)):
        for shift, chosen, sign in ((0, sel, neg), (16, sel_hi, neg_hi)):
            args = [
                (row[lane] >> 16 * c & M16) ^ (0x8000 if n else 0) for row, c, n in zip(rows, chosen, sign, strict=True)
            ]
            want, half = HALVES[op](*args), got >> shift & M16
            assert half == want or (is_float and F16.is_nan(half) and F16.is_nan(want)), (op, [hex(a) for a in args])


@pytest.mark.parametrize("op", sorted(PAIRS))
def test_register_pairs(op: str) -> None:
    rng = random.Random(op)
    count = 3 if "fma" in op else 2
    sel, sel_hi = _random_bits(rng, count, 1), _random_bits(rng, count, 1)
    neg, neg_hi = _random_bits(rng, count, 1), _random_bits(rng, count, 1)
    mods = {"op_sel": sel, "op_sel_hi": sel_hi, "neg_lo": neg, "neg_hi": neg_hi}
    rows = [[rng.getrandbits(64) for _ in range(64)] for _ in range(count)]
    w = wave()
    for k, row in enumerate(rows):
        put(w, 20 + 2 * k, row, True)
    compile_vector(instruction(op, "u64 = " + "u64 " * count, mods), 256)(w)
    for lane, got in enumerate(get(w, 4, True)):
        for shift, chosen, sign in ((0, sel, neg), (32, sel_hi, neg_hi)):
            args = [
                (row[lane] >> 32 * c & M32) ^ (1 << 31 if n else 0)
                for row, c, n in zip(rows, chosen, sign, strict=True)
            ]
            want, half = PAIRS[op](*args), got >> shift & M32
            assert half == want or (F32.is_nan(half) and F32.is_nan(want)), (op, [hex(a) for a in args])


def test_packed_move_takes_one_register_of_each_source() -> None:
    w = wave()
    put(w, 20, [0x1111111100000000 + k for k in range(64)], True)
    put(w, 22, [0x3333333322222222] * 64, True)
    compile_vector(instruction("v_pk_mov_b32", "u64 = u64 u64", {"op_sel": (1, 0)}), 256)(w)
    assert get(w, 4, True) == [0x2222222211111111] * 64


def test_packed_f32_constant_is_both_halves_and_f16_constant_only_the_low_one() -> None:
    w = wave()
    put(w, 20, [0x3F8000003F800000] * 64, True)
    operands = (InstOperand("v", 4, 2), InstOperand("v", 20, 2), InstOperand("fimm", 0x40000000))
    compile_vector(Inst(0, 8, "v_pk_mul_f32", "", operands), 256)(w)
    assert get(w, 4, True) == [0x4000000040000000] * 64
    put(w, 20, [0x3C003C00] * 64, False)
    operands = (InstOperand("v", 4), InstOperand("v", 20), InstOperand("fimm", 0x40000000))
    compile_vector(Inst(0, 8, "v_pk_add_f16", "", operands), 256)(w)
    assert get(w, 4, False) == [0x3C004200] * 64
    compile_vector(Inst(0, 8, "v_pk_add_f16", "", operands, {"op_sel_hi": (1, 0)}), 256)(w)
    assert get(w, 4, False) == [0x42004200] * 64


@pytest.mark.parametrize("op", ["v_fma_mix_f32", "v_fma_mixlo_f16", "v_fma_mixhi_f16"])
def test_mixed_precision(op: str) -> None:
    rng = random.Random(op)
    rows = [[rng.getrandbits(32) & 0x7FFF7FFF for _ in range(64)] for _ in range(3)]
    sel, half = (1, 0, 1), (1, 1, 0)
    w = wave()
    put(w, 4, [0xAAAA5555] * 64, False)
    for k, row in enumerate(rows):
        put(w, 20 + 2 * k, row, False)
    mods = {"op_sel": sel, "op_sel_hi": half, "neg_lo": (0, 1, 0), "neg_hi": (1, 0, 0)}
    compile_vector(instruction(op, "u32 = u32 u32 u32", mods), 256)(w)
    for lane, got in enumerate(get(w, 4, False)):
        args = []
        for k, row in enumerate(rows):
            x = F16.convert(row[lane] >> 16 * sel[k] & M16, F32) if half[k] else row[lane]
            args.append(x)
        args[0] &= 0x7FFFFFFF
        args[1] ^= 1 << 31
        exact = F32.fma(*args)
        if op == "v_fma_mix_f32":
            assert got == exact or (F32.is_nan(got) and F32.is_nan(exact))
            continue
        want = F32.convert(exact, F16)
        mine, other = (got >> 16, got & M16) if op.endswith("hi_f16") else (got & M16, got >> 16)
        assert mine == want or (F16.is_nan(mine) and F16.is_nan(want))
        assert other == (0x5555 if op.endswith("hi_f16") else 0xAAAA)
