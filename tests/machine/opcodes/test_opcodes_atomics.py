"""Atomics and LDS instructions against Python integers and bytes."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable

import ml_dtypes
import numpy as np
import pytest
from opcode_harness import get, put, wave
from opcode_memory import ADDRESS, LANE, LOADS, OFF, Memory
from opcode_softfloat import F16, F32, F64

from argus.gfx942.inst import Inst, InstOperand, Mod
from argus.machine.interp_lds import compile_lds
from argus.machine.interp_memory import compile_vector_memory
from argus.machine.interp_services import Services
from argus.machine.memory import Arena
from argus.machine.semantics import ATOMICS, MEMORY
from argus.machine.state import Wave

# atomics

M32, M64 = 0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF


def s(x: int, bits: int) -> int:
    return x - (1 << bits) if x >> bits - 1 else x


def _bf16_add(a: int, b: int) -> int:
    total = F32.add(a << 16, b << 16)
    if F32.is_nan(total):
        return 0x7FC0
    return int(np.uint32(total).view(np.float32).astype(ml_dtypes.bfloat16).view(np.uint16))


def updates(bits: int) -> dict[str, Callable[..., int]]:
    m = (1 << bits) - 1
    return {
        "swap": lambda old, x: x,
        "add": lambda old, x: old + x & m,
        "sub": lambda old, x: old - x & m,
        "rsub": lambda old, x: x - old & m,
        "smin": lambda old, x: min(old, x, key=lambda v: s(v, bits)),
        "smax": lambda old, x: max(old, x, key=lambda v: s(v, bits)),
        "umin": lambda old, x: min(old, x),
        "umax": lambda old, x: max(old, x),
        "and": lambda old, x: old & x,
        "or": lambda old, x: old | x,
        "xor": lambda old, x: old ^ x,
        "inc": lambda old, x: 0 if old >= x else old + 1,
        "dec": lambda old, x: x if old == 0 or old > x else old - 1,
        "cmpswap": lambda old, new, compare: new if old == compare else old,
        "cmpst": lambda old, new, compare: new if old == compare else old,
        "mskor": lambda old, value, mask: old & ~mask & m | value,
    }


UPDATES: dict[str, Callable[..., int]] = {
    **{f"{name}32": fn for name, fn in updates(32).items()},
    **{f"{name}64": fn for name, fn in updates(64).items()},
    "add_f32": F32.add,
    "min_f32": F32.minimum,
    "max_f32": F32.maximum,
    "add_f64": F64.add,
    "min_f64": F64.minimum,
    "max_f64": F64.maximum,
    "pk_add_f16": lambda old, x: sum(F16.add(old >> k & 0xFFFF, x >> k & 0xFFFF) << k for k in (0, 16)),
    "pk_add_bf16": lambda old, x: sum(_bf16_add(old >> k & 0xFFFF, x >> k & 0xFFFF) << k for k in (0, 16)),
}


def test_every_update_is_stated_twice() -> None:
    assert set(UPDATES) == set(ATOMICS)


def _finite(rng: random.Random, atomic: str, bits: int) -> int:
    if "f32" in atomic:
        return int(np.float32(rng.uniform(-100, 100)).view(np.uint32))
    if "f64" in atomic:
        return int(np.float64(rng.uniform(-100, 100)).view(np.uint64))
    if "bf16" in atomic:
        return sum(int(ml_dtypes.bfloat16(rng.uniform(-9, 9)).view(np.uint16)) << k for k in (0, 16))
    if "f16" in atomic:
        return sum(int(np.float16(rng.uniform(-9, 9)).view(np.uint16)) << k for k in (0, 16))
    return rng.choice([0, 1, 3, rng.getrandbits(bits), (1 << bits) - 1, 1 << bits - 1])


def _rows(values: list[int], dwords: int) -> list[list[int]]:
    return [[v >> 32 * d & M32 for v in values] for d in range(dwords)]


@pytest.mark.parametrize(
    "op", sorted(o for o, m in MEMORY.items() if m.kind == "atomic" and o.startswith(("global", "ds_")))
)
@pytest.mark.parametrize("clash", [False, True])
def test_atomics_lane_after_lane(op: str, clash: bool) -> None:
    entry, rng = MEMORY[op], random.Random(op)
    bits, n = 8 * entry.size, entry.dwords
    cells = 8 if clash else 64
    where = [rng.randrange(cells) if clash else k for k in LANE]
    initial = [_finite(rng, entry.atomic, bits) for _ in range(cells)]
    data = [_finite(rng, entry.atomic, bits) for _ in LANE]
    second = [rng.choice(initial) for _ in LANE]
    two = entry.atomic.rstrip("0123456789") in ("cmpswap", "cmpst", "mskor")
    memory = Memory()
    raw = b"".join(v.to_bytes(entry.size, "little") for v in initial)
    lds = op.startswith("ds_")
    if lds:
        memory.wave.group.lds[: len(raw)] = np.frombuffer(raw, np.uint8)
        put(memory.wave, 8, [entry.size * p for p in where], False)
    else:
        memory.arena.buffer[memory.allocation.start - memory.arena.base :][: len(raw)] = np.frombuffer(raw, np.uint8)
        memory.address([entry.size * p for p in where])
    # operand order: cmpswap data is (new, comparand) in one register group, cmpst and mskor have (second, first)
    groups = [data, second] if entry.atomic.startswith("cmpswap") else [second, data] if two else [data]
    at = 20
    sources = []
    for group in groups:
        for d, row in enumerate(_rows(group, n)):
            put(memory.wave, at + d, row, False)
        sources.append(InstOperand("v", at, n))
        at += n
    if entry.atomic.startswith("cmpswap"):
        sources = [InstOperand("v", 20, 2 * n)]
    returns = lds and entry.returns
    with np.errstate(all="ignore"):
        if lds:
            operands = ((InstOperand("v", 4, n),) if returns else ()) + (InstOperand("v", 8), *sources)
            compile_lds(Inst(0, 8, op, "", operands), memory.services)(memory.wave)
        else:
            operands = (InstOperand("v", 4, n), ADDRESS, *sources, OFF)
            compile_vector_memory(Inst(0, 8, op, "", operands, {"sc0": True}), memory.services)(memory.wave)
            returns = True
    cell, old = list(initial), []
    for lane in LANE:
        old.append(cell[where[lane]])
        extra = (second[lane],) if two else ()
        cell[where[lane]] = UPDATES[entry.atomic](old[-1], data[lane], *extra)
    final = (memory.wave.group.lds.tobytes() if lds else memory.bytes)[: len(raw)]
    assert [int.from_bytes(final[k : k + entry.size], "little") for k in range(0, len(raw), entry.size)] == cell
    if returns:
        assert get(memory.wave, 4, n == 2) == old


# LDS


def _lds(w: Wave, op: str, operands: tuple[InstOperand, ...], **mods: Mod) -> Services:
    services = Services(Arena(), 256, 0)
    compile_lds(Inst(0, 8, op, "", operands, mods), services)(w)
    return services


def _lds_wave(seed: int = 1) -> tuple[Wave, bytes]:
    w = wave()
    content = np.random.default_rng(seed).integers(0, 256, 1024).astype(np.uint8)
    w.group.lds[...] = content
    return w, content.tobytes()


DS_READS: dict[str, Callable[[bytes, int], list[int]]] = {
    "ds_read_b32": LOADS["dword"],
    "ds_read_b64": LOADS["dwordx2"],
    "ds_read_b96": LOADS["dwordx3"],
    "ds_read_b128": LOADS["dwordx4"],
    "ds_read_u8": LOADS["ubyte"],
    "ds_read_i8": LOADS["sbyte"],
    "ds_read_u16": LOADS["ushort"],
    "ds_read_i16": LOADS["sshort"],
    "ds_read_u8_d16": LOADS["ubyte_d16"],
    "ds_read_u8_d16_hi": LOADS["ubyte_d16_hi"],
    "ds_read_i8_d16": LOADS["sbyte_d16"],
    "ds_read_i8_d16_hi": LOADS["sbyte_d16_hi"],
    "ds_read_u16_d16": LOADS["short_d16"],
    "ds_read_u16_d16_hi": LOADS["short_d16_hi"],
}


@pytest.mark.parametrize("op", sorted(DS_READS))
def test_lds_reads(op: str) -> None:
    rng, (w, content) = random.Random(op), _lds_wave()
    offsets = [rng.randrange(0, 900) for _ in LANE]
    put(w, 8, offsets, False)
    for k in range(4):
        put(w, 4 + k, [0xAAAA5555] * 64, False)
    _lds(w, op, (InstOperand("v", 4, MEMORY[op].dwords), InstOperand("v", 8)), offset=32)
    for lane, offset in enumerate(offsets):
        want = DS_READS[op](content, offset + 32)
        assert [int(w.v[4 + k][lane]) for k in range(len(want))] == want


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("form", ["2", "2st64"])
def test_lds_pairs(bits: int, form: str) -> None:
    w, content = _lds_wave()
    n = bits // 32
    unit = bits // 8 * (64 if form == "2st64" else 1)
    second = 1 if form == "2st64" else 5
    put(w, 8, [bits // 8 * (k % 32) for k in LANE], False)
    _lds(w, f"ds_read{form}_b{bits}", (InstOperand("v", 4, 2 * n), InstOperand("v", 8)), offset0=0, offset1=second)
    for lane in LANE:
        at = bits // 8 * (lane % 32)
        want = [*struct.unpack_from(f"<{n}I", content, at), *struct.unpack_from(f"<{n}I", content, at + second * unit)]
        assert [int(w.v[4 + k][lane]) for k in range(2 * n)] == want
    put(w, 8, [bits // 8 * (k % 4) for k in LANE], False)
    for k in range(2 * n):
        put(w, 20 + k, [100 * k + lane % 4 for lane in LANE], False)
    sources = (InstOperand("v", 20, n), InstOperand("v", 20 + n, n))
    _lds(w, f"ds_write{form}_b{bits}", (InstOperand("v", 8), *sources), offset0=0, offset1=second)
    after = w.group.lds.tobytes()
    for cell in range(4):
        at = bits // 8 * cell
        assert struct.unpack_from(f"<{n}I", after, at) == tuple(100 * k + cell for k in range(n))
        assert struct.unpack_from(f"<{n}I", after, at + second * unit) == tuple(100 * k + cell for k in range(n, 2 * n))


@pytest.mark.parametrize(
    ("op", "size", "half"), [("b8", 1, 0), ("b16", 2, 0), ("b8_d16_hi", 1, 1), ("b16_d16_hi", 2, 1)]
)
def test_lds_small_writes(op: str, size: int, half: int) -> None:
    w, content = _lds_wave()
    put(w, 8, [3 * k for k in LANE], False)
    values = [0x01020304 + 0x01010101 * k & 0xFFFFFFFF for k in LANE]
    put(w, 20, values, False)
    _lds(w, f"ds_write_{op}", (InstOperand("v", 8), InstOperand("v", 20)))
    want = bytearray(content)
    for k in LANE:
        data = values[k].to_bytes(4, "little")[2 * half :]
        want[3 * k : 3 * k + size] = data[:size]
    assert w.group.lds.tobytes() == bytes(want)


def test_lds_out_of_range_reads_zero_writes_nothing_and_is_reported() -> None:
    w, content = _lds_wave()
    put(w, 8, [16 * k + 512 for k in LANE], False)
    services = _lds(w, "ds_read_b128", (InstOperand("v", 4, 4), InstOperand("v", 8)))
    for lane in LANE:
        want = struct.unpack_from("<4I", content, 16 * lane + 512) if lane < 32 else (0, 0, 0, 0)
        assert tuple(int(w.v[4 + k][lane]) for k in range(4)) == want
    (report,) = services.findings.reports()
    assert (report.code, report.at.lane, report.address, report.space) == ("ARG-M105", 32, 1024, "lds")
    services = _lds(w, "ds_write_b32", (InstOperand("v", 8), InstOperand("v", 4)), offset=1024)
    assert w.group.lds.tobytes() == content
    assert len(services.findings) == 1
