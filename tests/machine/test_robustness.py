"""Untrusted code: random and damaged instruction streams end in a result or a coded report, nothing else; seeded faults
of each kind are found."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
import triton_cases
from assembly import assemble

from argus import machine
from argus.gfx942.decoder import decode_all
from argus.machine import MachineError
from argus.machine.errors import CODES

NOP = struct.pack("<I", 0xBF800000)
END = struct.pack("<I", 0xBF810000)
FAMILIES = (0x80000000, 0xBE000000, 0xBF000000, 0x7E000000, 0xD1000000, 0xD3000000, 0xD8000000, 0xDC000000, 0xE0000000)


def _code(launch: Callable[[], object]) -> str:
    """The code of the report that ended the launch; empty if it ended by itself."""
    try:
        launch()
    except MachineError as error:
        return error.report.code
    return ""


def _stream(rng: random.Random) -> bytes:
    """64 words that look like instructions of all families."""
    words = []
    for _ in range(60):
        family = rng.choice((*FAMILIES, 0))
        words.append(family | rng.getrandbits(24) if family else rng.getrandbits(32))
    return b"".join(struct.pack("<I", w) for w in words) + END * 4


@pytest.mark.parametrize("seed", range(20))
def test_random_streams(seed: int) -> None:
    rng = random.Random(seed)
    base = assemble("s_nop 0\n" * 63 + "s_endpgm", args=2, lds=1024, scratch=64)
    at = base.index(NOP * 63)
    for _ in range(10):
        damaged = base[:at] + _stream(rng) + base[at + 256 :]
        kernel = machine.load(damaged).kernel()
        a, b = np.zeros(64, np.uint32), np.zeros(64, np.uint32)
        checks = rng.choice(((), "all"))
        assert _code(partial(kernel, 1, 128, a, b, checks=checks, max_steps=2000)) in ("", *CODES)


@pytest.mark.parametrize("seed", range(12))
def test_flipped_bits_in_a_kernel(seed: int) -> None:
    rng = random.Random(seed)
    case = triton_cases.CASES["softmax"]()
    code = machine.load(case.compiled.hsaco).code.text
    at = case.compiled.hsaco.index(code)
    for _ in range(4):
        damaged = bytearray(case.compiled.hsaco)
        for _ in range(rng.randint(1, 5)):
            damaged[at + rng.randrange(len(code))] ^= 1 << rng.randrange(8)
        checks = rng.choice(((), "all"))
        assert _code(partial(case.run, bytes(damaged), checks=checks, max_steps=6000)) in ("", *CODES)


@pytest.mark.parametrize("kind", ["s_waitcnt", "s_barrier", "s_nop"])
def test_seeded_faults_are_reported(kind: str) -> None:
    """Every second fault of a kind in one kernel; bench/machine_faults.py does all kinds in all kernels."""
    case = triton_cases.CASES["gemm-bf16-16"]()
    module = machine.load(case.compiled.hsaco)
    info = module.kernel(case.compiled.name).info
    code = module.code.text
    at = case.compiled.hsaco.index(code)
    insts = decode_all(code, info.start, info.end)
    places = [i.pc for i in insts if i.op == kind and (kind != "s_nop" or i.operands[0].value >= 1)]
    caught = 0
    for pc in places[::2]:
        patched = case.compiled.hsaco[: at + pc] + NOP + case.compiled.hsaco[at + pc + 4 :]
        try:
            caught += bool(case.run(patched, checks="all").reports)
        except MachineError as error:
            caught += bool(error.findings) or error.report.code == "ARG-M105"
    assert caught >= 0.9 * len(places[::2])
