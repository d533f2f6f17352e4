"""llvm-mc and llvm-objdump 22 as an oracle: the text of many instruction words at once.

    disassemble([0x02144114])  ->  [("v_add_f32_e32 v10, v20, v32", 1)]

Each instruction is put at a 16-byte boundary with s_nop behind it, so one that cannot be decoded disturbs no other.
"""

from __future__ import annotations

import re
import struct
import subprocess
import tempfile
from pathlib import Path

NOP = 0xBF800000
STRIDE = 16
CHUNK = 20_000
LINE = re.compile(r"\t(.*?)\s*// ([0-9A-F]{12}): ([0-9A-F ]+)")


def disassemble(numbers: list[int]) -> list[tuple[str, int] | None]:
    """LLVM's text and word count for each 64-bit instruction number; None where it finds no instruction.

    LLVM 22 crashes on some reserved encodings; the run is then resumed behind the one that crashed it.
    """
    found: dict[int, tuple[str, int]] = {}
    start = 0
    while start < len(numbers):
        end = min(start + CHUNK, len(numbers))
        reached = _disassemble_from(numbers[:end], start, found)
        start = end if reached is None else reached + 1
    return [found.get(index) for index in range(len(numbers))]


def _disassemble_from(numbers: list[int], start: int, found: dict[int, tuple[str, int]]) -> int | None:
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        blob = b"".join(struct.pack("<QII", number, NOP, NOP) for number in numbers[start:])
        (base / "x.bin").write_bytes(blob)
        (base / "x.s").write_text(f'.text\n.incbin "{base}/x.bin"\n', encoding="utf-8")
        target = ["-triple=amdgcn-amd-amdhsa", "-mcpu=gfx942", "-filetype=obj"]
        subprocess.run(["llvm-mc-22", *target, f"{base}/x.s", "-o", f"{base}/x.o"], check=True)
        run = subprocess.run(
            ["llvm-objdump-22", "-d", "--mcpu=gfx942", f"{base}/x.o"], capture_output=True, text=True, check=False
        )
    last = -1
    for line in run.stdout.splitlines():
        match = LINE.match(line)
        if not match:
            continue
        address = int(match[2], 16)
        last = max(last, address // STRIDE)
        if address % STRIDE == 0 and not match[1].startswith(".long"):
            found[start + address // STRIDE] = (match[1].strip(), len(match[3].split()))
    return None if run.returncode == 0 else start + last + 1
