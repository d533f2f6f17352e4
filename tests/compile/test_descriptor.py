"""A descriptor or metadata that is not the kernel's: a coded refusal, whichever bit it is."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import argus
from argus.compile import CompileError, compile_kernel
from argus.compile.compiler import Compiled
from argus.compile.decoded import decode
from argus.compile.object.known_descriptor import refuse_other_descriptors
from argus.compile.objects import read_object
from argus.compile.recheck import recheck
from argus.device.guards import LaunchRefused
from argus.device.simulated import CheckingDevice
from argus.gfx942.elf import ET_DYN, LoadError
from argus.ir.interp import extents
from argus.ir.interp.numbers import numpy_dtype
from argus.ir.passes.schedule import scheduled
from argus.ir.stages import Scheduled
from argus.lang import read

KERNEL = Path(argus.__file__).parent / "kernels" / "transpose.py"


@pytest.fixture(scope="module")
def transposed() -> tuple[Scheduled, Compiled]:
    program = scheduled(read(KERNEL))
    return program, compile_kernel(program)


def descriptor_place(data: bytes, kernel: str) -> int:
    """The file's byte at which the descriptor begins: it is unique."""
    source = read_object(data, ET_DYN)
    symbol = next(s for s in source.symbols if s.name == f"{kernel}.kd")
    section = source.sections[symbol.section]
    at = symbol.value - section.address
    return data.index(bytes(section.data[at : at + 64]))


@pytest.mark.parametrize(("byte", "bit"), [(0, 6), (1, 2), (4, 3), (8, 2), (16, 2), (17, 0), (49, 4), (50, 0), (57, 2)])
def test_another_descriptor_is_refused(transposed: tuple[Scheduled, Compiled], byte: int, bit: int) -> None:
    program, compiled = transposed
    refuse_other_descriptors(program.kernel, compiled.object, decode(compiled.object, program.kernel.name))
    data = bytearray(compiled.object)
    data[descriptor_place(compiled.object, program.kernel.name) + byte] ^= 1 << bit
    with pytest.raises(CompileError, match="C304"):
        refuse_other_descriptors(program.kernel, bytes(data), decode(bytes(data), program.kernel.name))


def test_flipped_metadata_ends_in_a_code(transposed: tuple[Scheduled, Compiled]) -> None:
    program, compiled = transposed
    start, end = compiled.object.index(b"amdhsa.kernels"), compiled.object.index(b"amdhsa.target")
    dice = np.random.default_rng(4)
    for place, bit in zip(dice.integers(start, end, 60), dice.integers(0, 8, 60), strict=True):
        data = bytearray(compiled.object)
        data[place] ^= 1 << int(bit)
        changed = replace(compiled, object=bytes(data))
        with suppress(CompileError, LoadError):  # anything else is a traceback
            recheck(program, changed)


def test_an_output_that_cannot_be_written_is_refused(transposed: tuple[Scheduled, Compiled]) -> None:
    program, compiled = transposed
    sizes = {name: int(n) for name, n in program.kernel.example.items()}
    tensors = program.kernel.tensors
    arrays = {t.name: np.zeros(extents(t, sizes), numpy_dtype(t.dtype)) for t in tensors}
    written = next(t.name for t in tensors if t.written)
    arrays[written].flags.writeable = False
    with pytest.raises(LaunchRefused, match="read-only"):
        CheckingDevice().launch(program.kernel, compiled.object, sizes, arrays, {})
