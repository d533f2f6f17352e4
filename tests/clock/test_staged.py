"""A launch set up once: same addresses and results as an ordinary one, arrays unchanged, operands in device memory."""

from __future__ import annotations

import numpy as np
import pytest
from kernels import STREAM, compile_ir

from argus import machine
from argus.clock.staged import BLOCK, Operand, Staged, _readdressed
from argus.machine.launch import Executor
from argus.machine.record import GLOBAL


@pytest.mark.parametrize("executor", ["checking", "jit"])
def test_runs_in_parts_and_leaves_arrays_alone(executor: Executor) -> None:
    kernel = machine.load(compile_ir(STREAM)).kernel()
    source, target = np.arange(4 * 1024, dtype=np.int32), np.zeros(4 * 1024, np.int32)
    staged = Staged(kernel, 4, 256, (source, target))
    for part in ([0, 1], [2, 3]):
        record = staged.run(part, executor).record
        assert record is not None
        assert sorted({number for number, _ in record.waves}) == part
        wave = record.waves[part[0], 0]
        read, written = wave.addr[wave.space == GLOBAL, 0].tolist()
        assert written - read == pytest.approx(source.nbytes, abs=8192)
    assert not target.any()


def test_only_whole_pointers_are_sent_elsewhere() -> None:
    words = (0x10_0000_0000, 0x1000, 0x0010_0000_0000_0000)
    kernarg = b"".join(word.to_bytes(8, "little") for word in words) + b"\x07\0\0\0"
    moved = _readdressed(kernarg, {0x10_0000_0000: 0x1000, 0x1000: 0x2000})
    assert moved == b"".join(word.to_bytes(8, "little") for word in (0x1000, 0x2000, words[2])) + b"\x07\0\0\0"


def test_operands_repeat_a_block_of_values() -> None:
    operand = Operand((BLOCK + 100,), np.float32, seed=3)
    place = np.zeros(operand.nbytes, np.uint8)
    operand.write(place)
    values = place.view(np.float32)
    assert (values[:100] == values[BLOCK:]).all()
    assert abs(float(values.mean())) < 0.01
    assert float(values.std()) == pytest.approx(1, abs=0.01)


def test_a_blank_operand_costs_no_memory() -> None:
    """One GiB of untouched memory; one workgroup writes its first 4 KiB."""
    kernel = machine.load(compile_ir(STREAM)).kernel()
    huge = Operand((1 << 28,), np.int32, blank=True)
    staged = Staged(kernel, 4, 256, (np.arange(4096, dtype=np.int32), huge))
    record = staged.run([0], "checking").record
    assert record is not None
    assert record.waves
