"""Loads, stores, atomics and LDS instructions against Python bytes and integers."""

from __future__ import annotations

import random
import struct
from typing import Any

import numpy as np
import pytest
from opcode_harness import get, put
from opcode_memory import ADDRESS, LANE, LOADS, OFF, SIZE, V4, Memory

from argus.gfx942.inst import M0, Inst, InstOperand, Mod
from argus.machine.errors import MachineError
from argus.machine.interp_scalar_memory import compile_scalar_memory
from argus.machine.state import ALL


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
    memory.run("global_load_dword", (InstOperand("v", 4), InstOperand("v", 8), InstOperand("s", 10, 2)), offset=-32)
    want = struct.unpack_from("<64I", memory.initial.tobytes(), 32)
    assert get(memory.wave, 4, False) == list(want)


def test_access_outside_every_allocation_names_lane_and_address() -> None:
    memory = Memory()
    memory.address([4 * k for k in range(63)] + [SIZE - 2])
    with pytest.raises(MachineError) as caught:
        memory.run("global_load_dword", (InstOperand("v", 4), ADDRESS, OFF))
    report = caught.value.report
    assert report.code == "ARG-M105"
    assert report.at.lane == 63
    assert report.address == memory.allocation.start + SIZE - 2
    assert "2 bytes past the end of data" in report.message


# buffers

RESOURCE = InstOperand("s", 12, 4)


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
    memory.run(
        op, (InstOperand("v", 4, width), InstOperand("v", 8), RESOURCE, InstOperand("s", 20)), offen=True, offset=8
    )
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
    memory.run(
        "buffer_load_dword", (InstOperand("v", 4), InstOperand("v", 8), RESOURCE, InstOperand("s", 20)), offen=True
    )
    content = memory.initial.tobytes()
    want = [struct.unpack_from("<I", content, 64 + 4 * k)[0] if 4 * k + 4 <= 128 else 0 for k in LANE]
    assert get(memory.wave, 4, False) == want


def test_buffer_store_out_of_range_does_nothing() -> None:
    memory = Memory()
    _resource(memory, 102)
    put(memory.wave, 8, [4 * k for k in LANE], False)
    put(memory.wave, 4, [0xDEADBEEF] * 64, False)
    memory.run(
        "buffer_store_dword", (InstOperand("v", 4), InstOperand("v", 8), RESOURCE, InstOperand("imm", 0)), offen=True
    )
    assert memory.bytes == b"\xef\xbe\xad\xde" * 25 + memory.initial.tobytes()[100:]


def test_buffer_index_and_stride() -> None:
    memory = Memory()
    _resource(memory, 20, stride=12)
    put(memory.wave, 8, LANE, False)
    operands = (InstOperand("v", 4), InstOperand("v", 8), RESOURCE, InstOperand("imm", 0))
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
    operands = (InstOperand("v", 8), RESOURCE, InstOperand("imm", 0))
    memory.run("buffer_load_dword", operands, offen=True, lds=True, offset=4)
    content = memory.initial.tobytes()
    lds = memory.wave.group.lds.tobytes()
    for lane in LANE:
        got = lds[64 + 4 + 4 * lane : 64 + 8 + 4 * lane]
        inside = content[4 * lane + 4 : 4 * lane + 8] if 4 * lane + 8 <= 128 else bytes(4)
        assert got == (b"\x77" * 4 if lane == 2 else inside)


# scalar memory and scratch


def test_scalar_loads_stores_and_atomics() -> None:
    memory = Memory()
    w = memory.wave
    w.set_pair(2, memory.allocation.start)

    def run(op: str, data: InstOperand, step: InstOperand, **mods: Mod) -> None:
        operands = (data, InstOperand("s", 2, 2), step)
        compile_scalar_memory(Inst(0, 8, op, "", operands, mods), memory.services)(w)

    words = struct.unpack_from("<32I", memory.initial.tobytes())
    for n in (1, 2, 4, 8, 16):
        name = "s_load_dword" + (f"x{n}" if n > 1 else "")
        run(name, InstOperand("s", 32, n), InstOperand("imm", 14))
        assert tuple(w.s[32 : 32 + n]) == words[3 : 3 + n]
    w.s[40], w.s[50] = 8, 123
    run("s_store_dword", InstOperand("s", 50), InstOperand("s", 40), offset=4)
    assert struct.unpack_from("<I", memory.bytes, 12)[0] == 123
    w.s[50] = 7
    run("s_atomic_add", InstOperand("s", 50), InstOperand("imm", 12), glc=True)
    assert w.s[50] == 123
    assert struct.unpack_from("<I", memory.bytes, 12)[0] == 130


def test_scalar_buffer_load_is_clamped() -> None:
    memory = Memory()
    _resource(memory, 12)
    operands = (InstOperand("s", 32, 4), RESOURCE, InstOperand("imm", 4))
    compile_scalar_memory(Inst(0, 8, "s_buffer_load_dwordx4", "", operands), memory.services)(memory.wave)
    words = struct.unpack_from("<4I", memory.initial.tobytes(), 4)
    assert memory.wave.s[32:36] == [words[0], words[1], 0, 0]


def test_scratch_is_private_to_a_lane() -> None:
    memory = Memory()
    memory.wave.scratch = np.zeros((64, 64), np.uint8)
    put(memory.wave, 4, [k * 7 for k in LANE], False)
    put(memory.wave, 8, [4 * (k % 8) for k in LANE], False)
    memory.run("scratch_store_dword", (InstOperand("v", 8), InstOperand("v", 4), OFF), offset=8)
    memory.run("scratch_load_dword", (InstOperand("v", 5), InstOperand("v", 8), OFF), offset=8)
    assert get(memory.wave, 5, False) == [k * 7 for k in LANE]
    memory.run("scratch_load_dword", (InstOperand("v", 5), OFF, OFF), offset=8)
    assert get(memory.wave, 5, False) == [k * 7 if k % 8 == 0 else 0 for k in LANE]
    put(memory.wave, 8, [60] * 64, False)
    with pytest.raises(MachineError, match="scratch"):
        memory.run("scratch_load_dwordx2", (InstOperand("v", 5, 2), InstOperand("v", 8), OFF))


def test_flat_reaches_global_and_scratch() -> None:
    memory = Memory()
    memory.wave.scratch = np.arange(64 * 64, dtype=np.int64).astype(np.uint8).reshape(64, 64)
    private = 0x0002_0000_0000_0000
    places: list[Any] = [private + 4 if k % 2 else memory.allocation.start + 4 * k for k in LANE]
    put(memory.wave, 8, places, True)
    memory.run("flat_load_dword", (InstOperand("v", 4), ADDRESS))
    content = memory.initial.tobytes()
    for k, got in enumerate(get(memory.wave, 4, False)):
        scratch = memory.wave.scratch[k, 4:8].tobytes()
        want = int.from_bytes(scratch, "little") if k % 2 else struct.unpack_from("<I", content, 4 * k)[0]
        assert got == want
