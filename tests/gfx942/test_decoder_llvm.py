"""The decoder against llvm-mc and llvm-objdump 22, on fresh samples; needs both tools."""

from __future__ import annotations

import random
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from argus.gfx942.decoder import DecodeError, decode
from argus.gfx942.disasm import text

TOOLS = Path(__file__).resolve().parents[2] / "tools"
sys.path.insert(0, str(TOOLS))

import gfx942_llvm  # noqa: E402
import gfx942_samples  # noqa: E402

pytestmark = pytest.mark.skipif(
    not (shutil.which("llvm-mc-22") and shutil.which("llvm-objdump-22")), reason="llvm-mc-22 and llvm-objdump-22 needed"
)


def ours(number: int) -> tuple[str, int] | None:
    try:
        inst = decode(struct.pack("<Q", number))
    except DecodeError:
        return None
    return text(inst), inst.size // 4


def test_legal_instructions_of_every_opcode_read_the_same() -> None:
    numbers = [number for _, number in gfx942_samples.samples(seed=20, per_row=4)]
    answers = gfx942_llvm.disassemble(numbers)
    assert len(numbers) > 7000
    assert [(hex(n), a, ours(n)) for n, a in zip(numbers, answers, strict=True) if a != ours(n)] == []


def test_text_assembles_back_to_the_same_instruction() -> None:
    numbers = [number for _, number in gfx942_samples.samples(seed=21, per_row=1)]
    lines = [text(decode(struct.pack("<Q", number))) for number in numbers]
    command = ["llvm-mc-22", "-triple=amdgcn-amd-amdhsa", "-mcpu=gfx942", "-show-encoding"]
    run = subprocess.run(command, input="\n".join(lines) + "\n", capture_output=True, text=True, check=False)
    refused = {int(line.split(":")[1]) - 1 for line in run.stderr.splitlines() if ": error:" in line}
    kept = [line for index, line in enumerate(lines) if index not in refused]
    encodings = [line.split("encoding: [")[1].rstrip("]") for line in run.stdout.splitlines() if "encoding: [" in line]
    assert len(encodings) == len(kept) > 0.9 * len(lines)
    back = [text(decode(bytes(int(byte, 16) for byte in encoding.split(",")))) for encoding in encodings]
    assert [pair for pair in zip(kept, back, strict=True) if pair[0] != pair[1]] == []


def test_whatever_both_accept_reads_the_same() -> None:
    """Random bits around legal instructions: acceptance of reserved bits may differ, meaning may not."""
    rng = random.Random(22)
    numbers = []
    for row, number in gfx942_samples.samples(seed=23, per_row=2):
        if row.family in ("VOP3", "VOP3P") or row.family.endswith("_SDWA") or row.mnemonic == "v_nop":
            continue
        numbers.append(number ^ 1 << rng.randrange(64))
    answers = gfx942_llvm.disassemble(numbers)
    both = [(a, ours(n)) for n, a in zip(numbers, answers, strict=True) if a and ours(n) and "/*" not in a[0]]
    assert len(both) > 1000
    assert [pair for pair in both if pair[0] != pair[1]] == []
