"""Offset fields and mnemonics judged by LLVM's assembler; buffer resources by their bit fields.

The assembler rejects offsets that do not fit, except for buffer instructions, where it silently drops the high bits.
"""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest

from argus.gfx942 import memory

SAMPLE: dict[memory.Space, str] = {
    "buffer": "buffer_load_dword v0, off, s[0:3], 0 offset:{}",
    "global": "global_load_dword v0, v[2:3], off offset:{}",
    "scratch": "scratch_load_dword v0, v1, off offset:{}",
    "flat": "flat_load_dword v0, v[2:3] offset:{}",
    "ds": "ds_read_b32 v0, v1 offset:{}",
    "ds2": "ds_read2_b32 v[0:1], v2 offset0:{}",
    "smem": "s_load_dword s0, s[2:3], {}",
}
FORMS = {
    "BUFFER_LOAD": "{} {}, off, s[0:3], 0",
    "BUFFER_STORE": "{} {}, off, s[0:3], 0",
    "GLOBAL_LOAD": "{} {}, v[2:3], off",
    "GLOBAL_STORE": "{0} v[2:3], {1}, off",
    "DS_READ": "{} {}, v0",
    "DS_WRITE": "{0} v0, {1}",
    "BUFFER_LOAD_LDS": "{} off, s[0:3], 0 lds",
    "GLOBAL_LOAD_LDS": "{} v[2:3], off",
}


def _encoding(text: str) -> str | None:
    command = ["llvm-mc-22", "-triple=amdgcn-amd-amdhsa", "-mcpu=gfx942", "-show-encoding"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    return re.sub(r".*;", "", done.stdout) if done.returncode == 0 else None


def _assembles(text: str) -> bool:
    return _encoding(text) is not None


needs_assembler = pytest.mark.skipif(shutil.which("llvm-mc-22") is None, reason="llvm-mc-22 is not installed")


@needs_assembler
@pytest.mark.parametrize("space", sorted(SAMPLE))
def test_offset_limits_are_the_assembler_limits(space: memory.Space) -> None:
    reach = memory.offset_range(space)
    for offset in (reach.start, reach.stop - 1):
        assert memory.offset_fits(space, offset)
        assert _assembles(SAMPLE[space].format(offset)), offset
    for offset in (reach.start - 1, reach.stop):
        assert not memory.offset_fits(space, offset)
        code = _encoding(SAMPLE[space].format(offset))
        wrapped = space == "buffer" and code == _encoding(SAMPLE[space].format(offset - len(reach)))
        assert code is None or wrapped, offset


@needs_assembler
@pytest.mark.parametrize("table", sorted(FORMS))
def test_every_mnemonic_assembles(table: str) -> None:
    lines = []
    for size, mnemonic in getattr(memory, table).items():
        dwords = max(size // 4, 1)
        lines.append(FORMS[table].format(mnemonic, "v8" if dwords == 1 else f"v[8:{7 + dwords}]"))
    assert _assembles("\n".join(lines)), lines


@needs_assembler
def test_wide_direct_to_lds_does_not_exist() -> None:
    assert max(memory.BUFFER_LOAD_LDS) == 4
    assert not _assembles("buffer_load_dwordx4 off, s[0:3], 0 lds")


def test_buffer_resource_fields() -> None:
    words = memory.buffer_resource(base=0x7F12_3456_7800, num_records=12345, stride=4)
    assert words[0] | (words[1] & 0xFFFF) << 32 == 0x7F12_3456_7800
    assert words[1] >> 16 & 0x3FFF == 4
    assert words[2] == 12345
    assert (words[3] >> 12 & 7, words[3] >> 15 & 15) == (7, 4)
    assert words[3] == 0x27000


@pytest.mark.parametrize(
    ("arguments", "message"),
    [((1 << 48, 1, 0), "48 bits"), ((0, 1 << 32, 0), "at most"), ((0, 1, 1 << 14), "stride is below")],
)
def test_impossible_resources(arguments: tuple[int, int, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        memory.buffer_resource(*arguments)
