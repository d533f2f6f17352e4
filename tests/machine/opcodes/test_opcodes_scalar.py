"""Every scalar instruction against a second statement in Python integers."""

from __future__ import annotations

import random
import zlib
from collections.abc import Callable
from typing import Any

import pytest
from opcode_harness import SPECIAL, run_scalar

from argus.machine.semantics import SALU

M32, M64 = 0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF
ORACLES: dict[str, tuple[str, Callable[..., Any]]] = {}


def say(names: str, signature: str, fn: Callable[..., Any]) -> None:
    for name in names.split():
        ORACLES[name] = (signature, fn)


def s(x: int, bits: int = 32) -> int:
    x &= (1 << bits) - 1
    return x - (1 << bits) if x >> bits - 1 else x


def nz(x: int) -> tuple[int, int]:
    return x, int(x != 0)


def k16(k: int) -> int:
    return s(k, 16)


say("s_mov_b32", "u32 = u32", lambda a: a)
say("s_mov_b64", "u64 = u64", lambda a: a)
say("s_movk_i32", "u32 = k16", lambda k: k16(k) & M32)
say("s_cmov_b32", "u32 = u32 old scc", lambda a, old, c: a if c else old)
say("s_cmov_b64", "u64 = u64 old64 scc", lambda a, old, c: a if c else old)
say("s_cmovk_i32", "u32 = k16 old scc", lambda k, old, c: k16(k) & M32 if c else old)
say("s_cselect_b32", "u32 = u32 u32 scc", lambda a, b, c: a if c else b)
say("s_cselect_b64", "u64 = u64 u64 scc", lambda a, b, c: a if c else b)
say("s_pack_ll_b32_b16", "u32 = u32 u32", lambda a, b: a & 0xFFFF | (b & 0xFFFF) << 16)
say("s_pack_lh_b32_b16", "u32 = u32 u32", lambda a, b: a & 0xFFFF | b >> 16 << 16)
say("s_pack_hh_b32_b16", "u32 = u32 u32", lambda a, b: a >> 16 | b >> 16 << 16)
say("s_sext_i32_i8", "u32 = u32", lambda a: s(a, 8) & M32)
say("s_sext_i32_i16", "u32 = u32", lambda a: s(a, 16) & M32)
say("s_add_u32", "u32 scc = u32 u32", lambda a, b: (a + b & M32, int(a + b > M32)))
say("s_sub_u32", "u32 scc = u32 u32", lambda a, b: (a - b & M32, int(b > a)))
say("s_addc_u32", "u32 scc = u32 u32 scc", lambda a, b, c: (a + b + c & M32, int(a + b + c > M32)))
say("s_subb_u32", "u32 scc = u32 u32 scc", lambda a, b, c: (a - b - c & M32, int(a - b - c < 0)))


def overflow(x: int) -> tuple[int, int]:
    return x & M32, int(not -(2**31) <= x < 2**31)


say("s_add_i32", "u32 scc = u32 u32", lambda a, b: overflow(s(a) + s(b)))
say("s_sub_i32", "u32 scc = u32 u32", lambda a, b: overflow(s(a) - s(b)))
say("s_addk_i32", "u32 scc = k16 old", lambda k, a: overflow(s(a) + k16(k)))
say("s_mulk_i32", "u32 = k16 old", lambda k, a: s(a) * k16(k) & M32)
say("s_mul_i32", "u32 = u32 u32", lambda a, b: a * b & M32)
say("s_mul_hi_u32", "u32 = u32 u32", lambda a, b: a * b >> 32)
say("s_mul_hi_i32", "u32 = u32 u32", lambda a, b: s(a) * s(b) >> 32 & M32)
for _k in range(1, 5):
    say(f"s_lshl{_k}_add_u32", "u32 scc = u32 u32", lambda a, b, k=_k: ((a << k) + b & M32, int((a << k) + b > M32)))
say("s_abs_i32", "u32 scc = u32", lambda a: nz(abs(s(a)) & M32))
say("s_absdiff_i32", "u32 scc = u32 u32", lambda a, b: nz(abs(s(a - b)) & M32))
say("s_min_u32", "u32 scc = u32 u32", lambda a, b: (min(a, b), int(a < b)))
say("s_max_u32", "u32 scc = u32 u32", lambda a, b: (max(a, b), int(a > b)))
say("s_min_i32", "u32 scc = u32 u32", lambda a, b: (min(a, b, key=s), int(s(a) < s(b))))
say("s_max_i32", "u32 scc = u32 u32", lambda a, b: (max(a, b, key=s), int(s(a) > s(b))))

LOGIC: dict[str, Callable[[int, int], int]] = {
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "andn2": lambda a, b: a & ~b,
    "orn2": lambda a, b: a | ~b,
    "nand": lambda a, b: ~(a & b),
    "nor": lambda a, b: ~(a | b),
    "xnor": lambda a, b: ~(a ^ b),
}
for _name, _fn in LOGIC.items():
    say(f"s_{_name}_b32", "u32 scc = u32 u32", lambda a, b, f=_fn: nz(f(a, b) & M32))
    say(f"s_{_name}_b64", "u64 scc = u64 u64", lambda a, b, f=_fn: nz(f(a, b) & M64))
for _name, _fn in (LOGIC | {"andn1": lambda a, b: ~a & b, "orn1": lambda a, b: ~a | b}).items():

    def _save(a: int, e: int, f: Callable[[int, int], int] = _fn) -> tuple[int, int, int]:
        new = f(a, e) & M64
        return e, new, int(new != 0)

    say(f"s_{_name}_saveexec_b64", "u64 exec scc = u64 exec", _save)
say("s_andn1_wrexec_b64", "u64 exec scc = u64 exec", lambda a, e: (~a & e & M64, ~a & e & M64, int(bool(~a & e))))
say("s_andn2_wrexec_b64", "u64 exec scc = u64 exec", lambda a, e: (a & ~e & M64, a & ~e & M64, int(bool(a & ~e))))
say("s_not_b32", "u32 scc = u32", lambda a: nz(~a & M32))
say("s_not_b64", "u64 scc = u64", lambda a: nz(~a & M64))
say("s_lshl_b32", "u32 scc = u32 u32", lambda a, n: nz(a << (n & 31) & M32))
say("s_lshr_b32", "u32 scc = u32 u32", lambda a, n: nz(a >> (n & 31)))
say("s_ashr_i32", "u32 scc = u32 u32", lambda a, n: nz(s(a) >> (n & 31) & M32))
say("s_lshl_b64", "u64 scc = u64 u32", lambda a, n: nz(a << (n & 63) & M64))
say("s_lshr_b64", "u64 scc = u64 u32", lambda a, n: nz(a >> (n & 63)))
say("s_ashr_i64", "u64 scc = i64 u32", lambda a, n: nz(s(a, 64) >> (n & 63) & M64))

COMPARE: dict[str, Callable[[int, int], bool]] = {
    "eq": lambda a, b: a == b,
    "lg": lambda a, b: a != b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
}
for _name, _cmp in COMPARE.items():
    say(f"s_cmp_{_name}_u32", "scc = u32 u32", lambda a, b, f=_cmp: int(f(a, b)))
    say(f"s_cmp_{_name}_i32", "scc = u32 u32", lambda a, b, f=_cmp: int(f(s(a), s(b))))
    say(f"s_cmpk_{_name}_u32", "scc = u32 k16u", lambda a, k, f=_cmp: int(f(a, k)))
    say(f"s_cmpk_{_name}_i32", "scc = u32 k16", lambda a, k, f=_cmp: int(f(s(a), k16(k))))
say("s_cmp_eq_u64", "scc = u64 u64", lambda a, b: int(a == b))
say("s_cmp_lg_u64", "scc = u64 u64", lambda a, b: int(a != b))


def bfe(bits: int, signed: bool) -> Callable[[int, int], tuple[int, int]]:
    def run(a: int, spec: int) -> tuple[int, int]:
        offset, width = spec & bits - 1, min(spec >> 16 & 127, bits)
        mask = (1 << bits) - 1
        if width == 0:
            return nz(0)
        if signed:
            return nz(s(s(a, bits) >> offset, width) & mask)
        return nz(a >> offset & (1 << width) - 1)

    return run


say("s_bfe_u32", "u32 scc = u32 u32", bfe(32, False))
say("s_bfe_i32", "u32 scc = u32 u32", bfe(32, True))
say("s_bfe_u64", "u64 scc = u64 u32", bfe(64, False))
say("s_bfe_i64", "u64 scc = i64 u32", bfe(64, True))
say("s_bfm_b32", "u32 = u32 u32", lambda w, o: (1 << (w & 31)) - 1 << (o & 31) & M32)
say("s_bfm_b64", "u64 = u32 u32", lambda w, o: (1 << (w & 63)) - 1 << (o & 63) & M64)
for _bits, _word in ((32, "u32"), (64, "u64")):
    _m = (1 << _bits) - 1
    say(f"s_brev_b{_bits}", f"{_word} = {_word}", lambda a, n=_bits: int(f"{a:0{n}b}"[::-1], 2))
    say(f"s_bcnt1_i32_b{_bits}", f"u32 scc = {_word}", lambda a: nz(bin(a).count("1")))
    say(f"s_bcnt0_i32_b{_bits}", f"u32 scc = {_word}", lambda a, n=_bits: nz(n - bin(a).count("1")))
    say(f"s_ff1_i32_b{_bits}", f"u32 = {_word}", lambda a: ((a & -a).bit_length() - 1) & M32)
    say(f"s_ff0_i32_b{_bits}", f"u32 = {_word}", lambda a, m=_m: ((~a & m & -(~a & m)).bit_length() - 1) & M32)
    say(f"s_flbit_i32_b{_bits}", f"u32 = {_word}", lambda a, n=_bits: (n - a.bit_length() if a else -1) & M32)

    def _flbit(a: int, n: int = _bits) -> int:
        text = f"{a:0{n}b}"
        return text.find("1" if text[0] == "0" else "0") & M32

    say("s_flbit_i32" if _bits == 32 else "s_flbit_i32_i64", f"u32 = {_word}", _flbit)
    _old = "old" if _bits == 32 else "old64"
    say(f"s_bitset0_b{_bits}", f"{_word} = u32 {_old}", lambda n, a, k=_bits: a & ~(1 << n % k))
    say(f"s_bitset1_b{_bits}", f"{_word} = u32 {_old}", lambda n, a, k=_bits: a | 1 << n % k)
    say(f"s_bitcmp0_b{_bits}", f"scc = {_word} u32", lambda a, n, k=_bits: int(not a >> n % k & 1))
    say(f"s_bitcmp1_b{_bits}", f"scc = {_word} u32", lambda a, n, k=_bits: a >> n % k & 1)

    def _quads(a: int, n: int = _bits) -> list[bool]:
        return [bool(a >> k & 15) for k in range(0, n, 4)]

    say(
        f"s_wqm_b{_bits}",
        f"{_word} scc = {_word}",
        lambda a, q=_quads: nz(sum(15 << 4 * k for k, on in enumerate(q(a)) if on)),
    )
    say(
        f"s_quadmask_b{_bits}",
        f"{_word} scc = {_word}",
        lambda a, q=_quads: nz(sum(1 << k for k, on in enumerate(q(a)) if on)),
    )
say("s_bitreplicate_b64_b32", "u64 = u32", lambda a: sum(3 << 2 * k for k in range(32) if a >> k & 1))


def _value(rng: random.Random, word: str) -> int:
    pool = {"old": "u32", "old64": "u64", "exec": "u64", "k16": "u16", "k16u": "u16"}.get(word, word)
    if word == "scc":
        return rng.randint(0, 1)
    bits = {"u32": 32, "u64": 64, "i64": 64, "u16": 16}[pool]
    return rng.choice(SPECIAL[pool]) if rng.random() < 0.6 else rng.getrandbits(bits)


def test_every_instruction_is_stated_twice() -> None:
    assert set(SALU) == set(ORACLES)


@pytest.mark.parametrize("op", sorted(ORACLES))
def test_scalar_instruction(op: str) -> None:
    signature, oracle = ORACLES[op]
    left, right = (side.split() for side in signature.split("="))
    rng = random.Random(zlib.crc32(op.encode()))
    for _ in range(200):
        args = [_value(rng, word) for word in right]
        want = oracle(*args)
        wanted = dict(zip(left, want if len(left) > 1 else (want,), strict=True))
        assert run_scalar(op, signature, args) == wanted, (op, [hex(a) for a in args])
