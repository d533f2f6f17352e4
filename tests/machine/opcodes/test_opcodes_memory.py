"""Loads, stores, atomics and LDS instructions against Python bytes and integers."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from opcode_harness import LANES, get, put, wave
from opcode_softfloat import F16, F32, F64

from argus.gfx942.inst import M0, Inst, Mod, Operand
from argus.machine.errors import MachineError
from argus.machine.interp_lds import compile_lds
from argus.machine.interp_memory import compile_vector_memory
from argus.machine.interp_scalar_memory import compile_scalar_memory
from argus.machine.interp_services import Services
from argus.machine.memory import Arena
from argus.machine.semantics import ATOMICS, MEMORY
from argus.machine.state import ALL, Wave

SIZE = 4096
LANE = list(range(LANES))


class Memory:
    """An arena with one allocation of known bytes, and a wave whose v[8:9] holds addresses into it."""

    def __init__(self, seed: int = 0, exec_: int = ALL) -> None:
        self.arena = Arena()
        self.allocation = self.arena.allocate(SIZE, "data")
        rng = np.random.default_rng(seed)
        self.initial = rng.integers(0, 256, SIZE).astype(np.uint8)
        self.arena.write(self.allocation, self.initial)
        self.services = Services(self.arena, 256, 0)
        self.wave = wave(exec_=exec_)

    @property
    def bytes(self) -> bytes:
        return self.arena.read(self.allocation).tobytes()

    def address(self, offsets: list[int]) -> None:
        put(self.wave, 8, [self.allocation.start + o for o in offsets], True)

    def run(self, op: str, operands: tuple[Operand, ...], **mods: Mod) -> None:
        with np.errstate(all="ignore"):
            compile_vector_memory(Inst(0, 8, op, "", operands, mods), self.services)(self.wave)


V4, ADDRESS, OFF = Operand("v", 4, 4), Operand("v", 8, 2), Operand("off")

LOADS: dict[str, Callable[[bytes, int], list[int]]] = {
    "ubyte": lambda m, a: [m[a]],
    "sbyte": lambda m, a: [int.from_bytes(m[a : a + 1], "little", signed=True) & 0xFFFFFFFF],
    "ushort": lambda m, a: [int.from_bytes(m[a : a + 2], "little")],
    "sshort": lambda m, a: [int.from_bytes(m[a : a + 2], "little", signed=True) & 0xFFFFFFFF],
    "dword": lambda m, a: list(struct.unpack_from("<1I", m, a)),
    "dwordx2": lambda m, a: list(struct.unpack_from("<2I", m, a)),
    "dwordx3": lambda m, a: list(struct.unpack_from("<3I", m, a)),
    "dwordx4": lambda m, a: list(struct.unpack_from("<4I", m, a)),
    "ubyte_d16": lambda m, a: [0xAAAA0000 | m[a]],
    "ubyte_d16_hi": lambda m, a: [0x5555 | m[a] << 16],
    "sbyte_d16": lambda m, a: [0xAAAA0000 | int.from_bytes(m[a : a + 1], "little", signed=True) & 0xFFFF],
    "sbyte_d16_hi": lambda m, a: [0x5555 | (int.from_bytes(m[a : a + 1], "little", signed=True) & 0xFFFF) << 16],
    "short_d16": lambda m, a: [0xAAAA0000 | int.from_bytes(m[a : a + 2], "little")],
    "short_d16_hi": lambda m, a: [0x5555 | int.from_bytes(m[a : a + 2], "little") << 16],
}


@pytest.mark.parametrize("form", sorted(LOADS))
@pytest.mark.parametrize("aligned", [True, False])
def test_global_loads(form: str, aligned: bool) -> None:
    rng = random.Random(form)
    memory = Memory()
    offsets = [rng.randrange(0, SIZE - 64) & ~(15 if aligned else 0) for _ in LANE]
    memory.address(offsets)
    for k in range(4):
        put(memory.wave, 4 + k, [0xAAAA5555] * 64, False)
    memory.run(f"global_load_{form}", (V4, ADDRESS, OFF), offset=16)
    content = memory.initial.tobytes()
    for lane, offset in enumerate(offsets):
        want = LOADS[form](content, offset + 16)
        assert [int(memory.wave.v[4 + k][lane]) for k in range(len(want))] == want


@pytest.mark.parametrize(
    "form", ["byte", "byte_d16_hi", "short", "short_d16_hi", "dword", "dwordx2", "dwordx3", "dwordx4"]
)
@pytest.mark.parametrize("shift", [0, 1])
def test_global_stores(form: str, shift: int) -> None:
    rng = random.Random(form)
    memory = Memory(exec_=0x5555555555555555)
    places = rng.sample(range((SIZE - 32) // 32), 64)
    memory.address([32 * p + shift for p in places])
    rows = [[rng.getrandbits(32) for _ in LANE] for _ in range(4)]
    for k, row in enumerate(rows):
        put(memory.wave, 4 + k, row, False)
    memory.run(f"global_store_{form}", (ADDRESS, V4, OFF))
    want = bytearray(memory.initial.tobytes())
    for lane in range(0, 64, 2):
        data = struct.pack("<4I", *(row[lane] for row in rows))
        if form.endswith("_hi"):
            data = data[2:]
        size = {"byte": 1, "short": 2, "dword": 4, "dwordx2": 8, "dwordx3": 12, "dwordx4": 16}[form.split("_")[0]]
        at = 32 * places[lane] + shift
        want[at : at + size] = data[:size]
    assert memory.bytes == bytes(want)


def test_scalar_base_with_vector_offset() -> None:
    memory = Memory()
    memory.wave.set_pair(10, memory.allocation.start + 64)
    put(memory.wave, 8, [4 * k for k in LANE], False)
    memory.run("global_load_dword", (Operand("v", 4), Operand("v", 8), Operand("s", 10, 2)), offset=-32)
    want = struct.unpack_from("<64I", memory.initial.tobytes(), 32)
    assert get(memory.wave, 4, False) == list(want)


def test_access_outside_every_allocation_names_lane_and_address() -> None:
    memory = Memory()
    memory.address([4 * k for k in range(63)] + [SIZE - 2])
    with pytest.raises(MachineError) as caught:
        memory.run("global_load_dword", (Operand("v", 4), ADDRESS, OFF))
    report = caught.value.report
    assert report.code == "ARG-M105"
    assert report.at.lane == 63
    assert report.address == memory.allocation.start + SIZE - 2
    assert "2 bytes past the end of data" in report.message


# buffers

RESOURCE = Operand("s", 12, 4)


def _resource(memory: Memory, records: int, stride: int = 0) -> None:
    start = memory.allocation.start
    memory.wave.s[12:16] = [start & 0xFFFFFFFF, start >> 32 | stride << 16, records, 0x20000]


@pytest.mark.parametrize("width", [1, 2, 3, 4])
def test_buffer_load_out_of_range_dwords_are_zero(width: int) -> None:
    memory = Memory()
    _resource(memory, 256)
    put(memory.wave, 8, [(0x80000000, 0xFFFFFFFC)[k % 2] if k > 61 else 4 * k for k in LANE], False)
    memory.wave.s[20] = 128
    op = "buffer_load_dword" + (f"x{width}" if width > 1 else "")
    memory.run(op, (Operand("v", 4, width), Operand("v", 8), RESOURCE, Operand("s", 20)), offen=True, offset=8)
    content = memory.initial.tobytes()
    for lane in LANE:
        for d in range(width):
            offset = (int(memory.wave.v[8][lane]) + 8) % 2**32 + 128 + 4 * d
            want = struct.unpack_from("<I", content, offset)[0] if offset + 4 <= 256 else 0
            assert int(memory.wave.v[4 + d][lane]) == want, (lane, d)


def test_scalar_offset_outside_the_range_check_on_request() -> None:
    memory = Memory()
    memory.services.soffset_in_range = False
    _resource(memory, 128)
    put(memory.wave, 8, [4 * k for k in LANE], False)
    memory.wave.s[20] = 64
    memory.run("buffer_load_dword", (Operand("v", 4), Operand("v", 8), RESOURCE, Operand("s", 20)), offen=True)
    content = memory.initial.tobytes()
    want = [struct.unpack_from("<I", content, 64 + 4 * k)[0] if 4 * k + 4 <= 128 else 0 for k in LANE]
    assert get(memory.wave, 4, False) == want


def test_buffer_store_out_of_range_does_nothing() -> None:
    memory = Memory()
    _resource(memory, 102)
    put(memory.wave, 8, [4 * k for k in LANE], False)
    put(memory.wave, 4, [0xDEADBEEF] * 64, False)
    memory.run("buffer_store_dword", (Operand("v", 4), Operand("v", 8), RESOURCE, Operand("imm", 0)), offen=True)
    assert memory.bytes == b"\xef\xbe\xad\xde" * 25 + memory.initial.tobytes()[100:]


def test_buffer_index_and_stride() -> None:
    memory = Memory()
    _resource(memory, 20, stride=12)
    put(memory.wave, 8, LANE, False)
    operands = (Operand("v", 4), Operand("v", 8), RESOURCE, Operand("imm", 0))
    memory.run("buffer_load_dword", operands, idxen=True, offset=4)
    content = memory.initial.tobytes()
    want = [struct.unpack_from("<I", content, 12 * k + 4)[0] if k < 20 else 0 for k in LANE]
    assert get(memory.wave, 4, False) == want


def test_buffer_load_to_lds() -> None:
    memory = Memory(exec_=ALL ^ 0b100)
    _resource(memory, 128)
    memory.wave.s[M0] = 64
    put(memory.wave, 8, [4 * k for k in LANE], False)
    memory.wave.group.lds[...] = 0x77
    operands = (Operand("v", 8), RESOURCE, Operand("imm", 0))
    memory.run("buffer_load_dword", operands, offen=True, lds=True, offset=4)
    content = memory.initial.tobytes()
    lds = memory.wave.group.lds.tobytes()
    for lane in LANE:
        got = lds[64 + 4 + 4 * lane : 64 + 8 + 4 * lane]
        inside = content[4 * lane + 4 : 4 * lane + 8] if 4 * lane + 8 <= 128 else bytes(4)
        assert got == (b"\x77" * 4 if lane == 2 else inside)


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
        sources.append(Operand("v", at, n))
        at += n
    if entry.atomic.startswith("cmpswap"):
        sources = [Operand("v", 20, 2 * n)]
    returns = lds and entry.returns
    with np.errstate(all="ignore"):
        if lds:
            operands = ((Operand("v", 4, n),) if returns else ()) + (Operand("v", 8), *sources)
            compile_lds(Inst(0, 8, op, "", operands), memory.services)(memory.wave)
        else:
            operands = (Operand("v", 4, n), ADDRESS, *sources, OFF)
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


def _lds(w: Wave, op: str, operands: tuple[Operand, ...], **mods: Mod) -> Services:
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
    _lds(w, op, (Operand("v", 4, MEMORY[op].dwords), Operand("v", 8)), offset=32)
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
    _lds(w, f"ds_read{form}_b{bits}", (Operand("v", 4, 2 * n), Operand("v", 8)), offset0=0, offset1=second)
    for lane in LANE:
        at = bits // 8 * (lane % 32)
        want = [*struct.unpack_from(f"<{n}I", content, at), *struct.unpack_from(f"<{n}I", content, at + second * unit)]
        assert [int(w.v[4 + k][lane]) for k in range(2 * n)] == want
    put(w, 8, [bits // 8 * (k % 4) for k in LANE], False)
    for k in range(2 * n):
        put(w, 20 + k, [100 * k + lane % 4 for lane in LANE], False)
    sources = (Operand("v", 20, n), Operand("v", 20 + n, n))
    _lds(w, f"ds_write{form}_b{bits}", (Operand("v", 8), *sources), offset0=0, offset1=second)
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
    _lds(w, f"ds_write_{op}", (Operand("v", 8), Operand("v", 20)))
    want = bytearray(content)
    for k in LANE:
        data = values[k].to_bytes(4, "little")[2 * half :]
        want[3 * k : 3 * k + size] = data[:size]
    assert w.group.lds.tobytes() == bytes(want)


def test_lds_out_of_range_reads_zero_writes_nothing_and_is_reported() -> None:
    w, content = _lds_wave()
    put(w, 8, [16 * k + 512 for k in LANE], False)
    services = _lds(w, "ds_read_b128", (Operand("v", 4, 4), Operand("v", 8)))
    for lane in LANE:
        want = struct.unpack_from("<4I", content, 16 * lane + 512) if lane < 32 else (0, 0, 0, 0)
        assert tuple(int(w.v[4 + k][lane]) for k in range(4)) == want
    (report,) = services.findings.reports()
    assert (report.code, report.at.lane, report.address, report.space) == ("ARG-M105", 32, 1024, "lds")
    services = _lds(w, "ds_write_b32", (Operand("v", 8), Operand("v", 4)), offset=1024)
    assert w.group.lds.tobytes() == content
    assert len(services.findings) == 1


# scalar memory and scratch


def test_scalar_loads_stores_and_atomics() -> None:
    memory = Memory()
    w = memory.wave
    w.set_pair(2, memory.allocation.start)

    def run(op: str, data: Operand, step: Operand, **mods: Mod) -> None:
        operands = (data, Operand("s", 2, 2), step)
        compile_scalar_memory(Inst(0, 8, op, "", operands, mods), memory.services)(w)

    words = struct.unpack_from("<32I", memory.initial.tobytes())
    for n in (1, 2, 4, 8, 16):
        name = "s_load_dword" + (f"x{n}" if n > 1 else "")
        run(name, Operand("s", 32, n), Operand("imm", 14))
        assert tuple(w.s[32 : 32 + n]) == words[3 : 3 + n]
    w.s[40], w.s[50] = 8, 123
    run("s_store_dword", Operand("s", 50), Operand("s", 40), offset=4)
    assert struct.unpack_from("<I", memory.bytes, 12)[0] == 123
    w.s[50] = 7
    run("s_atomic_add", Operand("s", 50), Operand("imm", 12), glc=True)
    assert w.s[50] == 123
    assert struct.unpack_from("<I", memory.bytes, 12)[0] == 130


def test_scalar_buffer_load_is_clamped() -> None:
    memory = Memory()
    _resource(memory, 12)
    operands = (Operand("s", 32, 4), RESOURCE, Operand("imm", 4))
    compile_scalar_memory(Inst(0, 8, "s_buffer_load_dwordx4", "", operands), memory.services)(memory.wave)
    words = struct.unpack_from("<4I", memory.initial.tobytes(), 4)
    assert memory.wave.s[32:36] == [words[0], words[1], 0, 0]


def test_scratch_is_private_to_a_lane() -> None:
    memory = Memory()
    memory.wave.scratch = np.zeros((64, 64), np.uint8)
    put(memory.wave, 4, [k * 7 for k in LANE], False)
    put(memory.wave, 8, [4 * (k % 8) for k in LANE], False)
    memory.run("scratch_store_dword", (Operand("v", 8), Operand("v", 4), OFF), offset=8)
    memory.run("scratch_load_dword", (Operand("v", 5), Operand("v", 8), OFF), offset=8)
    assert get(memory.wave, 5, False) == [k * 7 for k in LANE]
    memory.run("scratch_load_dword", (Operand("v", 5), OFF, OFF), offset=8)
    assert get(memory.wave, 5, False) == [k * 7 if k % 8 == 0 else 0 for k in LANE]
    put(memory.wave, 8, [60] * 64, False)
    with pytest.raises(MachineError, match="scratch"):
        memory.run("scratch_load_dwordx2", (Operand("v", 5, 2), Operand("v", 8), OFF))


def test_flat_reaches_global_and_scratch() -> None:
    memory = Memory()
    memory.wave.scratch = np.arange(64 * 64, dtype=np.int64).astype(np.uint8).reshape(64, 64)
    private = 0x0002_0000_0000_0000
    places: list[Any] = [private + 4 if k % 2 else memory.allocation.start + 4 * k for k in LANE]
    put(memory.wave, 8, places, True)
    memory.run("flat_load_dword", (Operand("v", 4), ADDRESS))
    content = memory.initial.tobytes()
    for k, got in enumerate(get(memory.wave, 4, False)):
        scratch = memory.wave.scratch[k, 4:8].tobytes()
        want = int.from_bytes(scratch, "little") if k % 2 else struct.unpack_from("<I", content, 4 * k)[0]
        assert got == want
