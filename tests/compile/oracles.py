"""External tools that judge the compiler where they are installed; tests skip the comparison where they are not."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from argus.machine.corpus import find_objdump


def tool(*names: str) -> str:
    """The first of the named tools that exists; skips the test if none does."""
    for name in names:
        found = shutil.which(name)
        if found:
            return found
    pytest.skip(f"{names[0]} is not installed")


def disassemble(path: Path) -> list[tuple[int, str]]:
    """(address, text) of every instruction, by llvm-objdump."""
    objdump = find_objdump()
    if objdump is None:
        pytest.skip("no llvm-objdump that knows gfx942 is installed")
    text = subprocess.run(
        [objdump, "-d", "--mcpu=gfx942", str(path)], capture_output=True, text=True, check=True, timeout=60
    ).stdout
    rows = re.findall(r"^\t(.*?)\s*// ([0-9A-F]+):", text, re.MULTILINE)
    return [(int(address, 16), instruction) for instruction, address in rows]
