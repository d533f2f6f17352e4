"""Damaged and foreign files end in a `LoadError` with a sentence; nothing else ever happens.

The objects are put together here byte by byte, so every number in them is known. 2,000 corrupted files are tried in the
test; `python tests/machine/test_loader_damage.py 100000` tries as many as one likes.
"""

from __future__ import annotations

import random
import struct
import sys
import time
import tracemalloc
from dataclasses import dataclass, field
from pathlib import Path

import msgpack
import pytest

from argus.machine.loader import LoadError, load_object

ALLOC, EXEC, WRITE = 2, 4, 1


@dataclass
class Part:
    """One section of a hand-made file."""

    name: str
    type: int
    flags: int
    address: int
    data: bytes
    link: int = 0
    info: int = 0
    align: int = 4
    size: int | None = None


@dataclass
class File:
    """A hand-made ELF file; sections are numbered from 1, the names come last."""

    parts: list[Part]
    type: int = 3
    machine: int = 224
    flags: int = 0x54C
    ident: bytes = field(default=b"\x7fELF\x02\x01\x01\x40\x03" + bytes(7))

    def build(self) -> bytes:
        names = b"\0"
        body = b""
        headers = [bytes(64)]
        for part in [*self.parts, Part(".shstrtab", 3, 0, 0, b"")]:
            start = len(names)
            names += part.name.encode() + b"\0"
            data = names if part.name == ".shstrtab" else part.data
            size = len(data) if part.size is None else part.size
            fields = (start, part.type, part.flags, part.address, 64 + len(body), size, part.link, part.info)
            headers.append(struct.pack("<IIQQQQIIQQ", *fields, part.align, 0))
            body += data + bytes(-len(data) % 8)
        header = struct.pack(
            "<HHIQQQIHHHHHH",
            self.type,
            self.machine,
            1,
            0,
            0,
            64 + len(body),
            self.flags,
            64,
            0,
            0,
            64,
            len(headers),
            len(headers) - 1,
        )
        return self.ident + header + body + b"".join(headers)


CODE = struct.pack("<IIII", 0xBF800000, 0xBF800000, 0xBF810000, 0xBF800000)
STRINGS = b"\0k\0k.kd\0"
TEXT, RODATA, SYMBOLS, NAMES, NOTE, RELOCATIONS = range(1, 7)


def descriptor(entry: int = -0x1000) -> bytes:
    return struct.pack("<IIIIq20xIIIHH4x", 1024, 0, 16, 0, entry, 7, 0x00AF0001, 0x84, 8, 0)


def note(value: object) -> bytes:
    packed = value if isinstance(value, bytes) else msgpack.packb(value)
    return struct.pack("<III", 7, len(packed), 32) + b"AMDGPU\0\0" + packed + bytes(-len(packed) % 4)


def symbol(name: int, info: int, section: int, value: int, size: int) -> bytes:
    return struct.pack("<IBBHQQ", name, info, 0, section, value, size)


METADATA = {
    "amdhsa.kernels": [{".symbol": "k.kd", ".args": [{".offset": 0, ".size": 8, ".value_kind": "global_buffer"}]}]
}


def good(kind: int = 3) -> File:
    base = 0x1000 if kind == 3 else 0
    table = bytes(24) + symbol(1, 0x12, TEXT, base, 12) + symbol(3, 0x11, RODATA, 2 * base, 64)
    parts = [
        Part(".text", 1, ALLOC | EXEC, base, CODE, align=256),
        Part(".rodata", 1, ALLOC, 2 * base, descriptor(-0x1000 if kind == 3 else 0), align=64),
        Part(".symtab", 2, 0, 0, table, link=NAMES, info=1),
        Part(".strtab", 3, 0, 0, STRINGS),
        Part(".note", 7, ALLOC if kind == 3 else 0, 0x100 if kind == 3 else 0, note(METADATA)),
    ]
    relocation = struct.pack("<QQq", 16, 1 << 32 | 5, 16)
    parts.append(Part(".rela.rodata", 4, 0, 0, relocation if kind == 1 else b"", link=SYMBOLS, info=RODATA))
    if kind == 1:
        kinds = [(0, 3), (8, 5), (16, 7), (20, 10), (24, 11), (28, 8)]
        pointers = b"".join(struct.pack("<QQq", offset, 2 << 32 | code, 0) for offset, code in kinds)
        parts.append(Part(".data", 1, ALLOC | WRITE, 0, bytes(32), align=8))
        parts.append(Part(".rela.data", 4, 0, 0, pointers, link=SYMBOLS, info=len(parts)))
    return File(parts, type=kind)


@pytest.mark.parametrize("kind", [1, 3])
def test_the_undamaged_file_loads(kind: int) -> None:
    loaded = load_object(good(kind).build())
    kernel = loaded.kernels["k"]
    assert (kernel.entry, kernel.end, kernel.args[0].size, kernel.kernarg_size) == (0, 12, 8, 16)
    assert loaded.text == CODE


def changed(**fields: object) -> bytes:
    made = good()
    for name, value in fields.items():
        setattr(made, name, value)
    return made.build()


def with_part(index: int, kind: int = 3, **fields: object) -> bytes:
    made = good(kind)
    for name, value in fields.items():
        setattr(made.parts[index - 1], name, value)
    return made.build()


def relocated(kind: int, offset: int = 16, symbol_index: int = 1) -> bytes:
    return with_part(RELOCATIONS, 1, data=struct.pack("<QQq", offset, symbol_index << 32 | kind, 0))


WHOLE = good().build()
CASES: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "the file is empty"),
    "not elf": (b"hello, this is text", "not an ELF file"),
    "lfs pointer": (b"version https://git-lfs.github.com/spec/v1\n", "Git LFS pointer"),
    "bundle": (b"__CLANG_OFFLOAD_BUNDLE__" + bytes(64), "offload bundle"),
    "short ident": (WHOLE[:10], "truncated"),
    "short header": (WHOLE[:40], "truncated: 40 bytes"),
    "cut off": (WHOLE[:-100], f"truncated at {len(WHOLE) - 100} bytes"),
    "32 bit": (WHOLE[:4] + b"\x01" + WHOLE[5:], "32-bit"),
    "big endian": (WHOLE[:5] + b"\x02" + WHOLE[6:], "big-endian"),
    "x86": (changed(machine=62), "for x86-64, not for AMD GPUs"),
    "core file": (changed(type=4), "of type 4"),
    "gfx90a": (changed(flags=0x3F), "for gfx90a; this machine is a gfx942"),
    "unknown gpu": (changed(flags=0xEE), "target number 0xee"),
    "other os": (WHOLE[:7] + b"\x00" + WHOLE[8:], "OS ABI 0"),
    "no code": (with_part(TEXT, flags=ALLOC), "no code section"),
    "section beyond the file": (with_part(TEXT, size=1 << 40), "section 1 reaches to"),
    "huge zero section": (with_part(RODATA, type=8, size=1 << 50), "sections span"),
    "overlap": (with_part(RODATA, address=0x1008), "'.text' and '.rodata' overlap"),
    "no kernel": (with_part(NAMES, data=b"\0k\0k.xx\0"), "no descriptor for it"),
    "no kernel, no metadata": (File([p for p in good().parts if p.name == ".text"]).build(), "holds no kernel"),
    "name without end": (with_part(NAMES, data=STRINGS[:-1]), "has no end"),
    "name outside": (with_part(SYMBOLS, data=symbol(999, 0, 0, 0, 0)), "outside its string table"),
    "string table missing": (with_part(SYMBOLS, link=77), "string table 77, which does not exist"),
    "descriptor outside": (with_part(RODATA, data=descriptor()[:32]), "descriptor of kernel 'k' lies outside"),
    "entry outside": (with_part(RODATA, data=descriptor(0x5000)), "starts at 0x6000, outside the code"),
    "entry odd": (with_part(RODATA, data=descriptor(-0x1000 + 2)), "not a multiple of 4"),
    "wave32": (with_part(RODATA, data=descriptor()[:56] + b"\x08\x04" + bytes(6)), "waves of 32 lanes"),
    "metadata garbage": (with_part(NOTE, data=note(b"\xc1\xff")), "not valid MessagePack"),
    "metadata nested": (with_part(NOTE, data=note(b"\x91" * 3000)), "not valid MessagePack"),
    "metadata bomb": (with_part(NOTE, data=note(b"\xdd\xff\xff\xff\xff")), "not valid MessagePack"),
    "metadata list": (with_part(NOTE, data=note([1])), "not a map"),
    "metadata kernels": (with_part(NOTE, data=note({"amdhsa.kernels": 3})), "not a list"),
    "metadata arg": (
        with_part(NOTE, data=note({"amdhsa.kernels": [{".symbol": "k.kd", ".args": [{".size": -1}]}]})),
        ".size in the",
    ),
    "metadata other kernel": (with_part(NOTE, data=note({"amdhsa.kernels": [{".symbol": "q.kd"}]})), "kernel 'q'"),
    "note beyond section": (with_part(NOTE, data=struct.pack("<III", 7, 1 << 30, 32)), "reaches beyond the section"),
    "relocation type": (relocated(99), "unknown relocation type 99"),
    "relocation absolute": (relocated(1), "absolute 32-bit addresses"),
    "relocation outside": (relocated(5, offset=62), "outside its section"),
    "relocation symbol": (relocated(5, symbol_index=40), "uses symbol 40 but there are only 3"),
    "relocation undefined": (relocated(5, symbol_index=0), "which it does not define"),
    "alignment": (with_part(RODATA, 1, align=3), "alignment of 3 bytes"),
}


@pytest.mark.parametrize("name", CASES)
def test_the_sentence_names_the_damage(name: str) -> None:
    data, sentence = CASES[name]
    with pytest.raises(LoadError) as caught:
        load_object(data)
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


def test_missing_file_and_folder_are_load_errors(tmp_path: Path) -> None:
    with pytest.raises(LoadError, match="cannot read"):
        load_object(tmp_path / "nothing.hsaco")
    with pytest.raises(LoadError, match="cannot read"):
        load_object(tmp_path)


def test_object_without_metadata_or_kernarg_size_still_loads() -> None:
    made = good()
    made.parts[NOTE - 1].data = b""
    made.parts[RODATA - 1].data = descriptor()[:8] + bytes(4) + descriptor()[12:]
    kernel = load_object(made.build()).kernels["k"]
    assert (kernel.args, kernel.kernarg_size, kernel.max_flat_workgroup_size) == ((), 0, 1024)


def corrupt(rng: random.Random, data: bytes) -> bytes:
    """One of the ways files go wrong: cut, bit flips, large numbers in headers, shuffled or repeated blocks."""
    found = bytearray(data)
    match rng.randrange(5):
        case 0:
            return bytes(found[: rng.randrange(len(found))])
        case 1:
            for _ in range(rng.randrange(1, 9)):
                found[rng.randrange(len(found))] ^= 1 << rng.randrange(8)
        case 2:
            where = rng.randrange(len(found) - 8)
            value = rng.choice([0, 1, 2**31, 2**32 - 1, 2**63, 2**64 - 1, len(data), len(data) - 1])
            struct.pack_into("<Q", found, where & -4, value)
        case 3:
            headers = len(found) - 64 * rng.randrange(1, 8)
            struct.pack_into("<Q", found, headers + 8 * rng.randrange(7), rng.getrandbits(rng.choice([8, 16, 32, 64])))
        case _:
            start, size = rng.randrange(len(found)), rng.randrange(1, 200)
            found[start:start] = found[rng.randrange(len(found)) :][:size]
    return bytes(found)


def fuzz(count: int, seed: int) -> tuple[int, int]:
    """(loaded, refused) of `count` corrupted files; anything but a LoadError escapes."""
    rng = random.Random(seed)
    bases = [good(3).build(), good(1).build()]
    loaded = 0
    for index in range(count):
        data = corrupt(rng, bases[index % 2])
        try:
            load_object(data)
        except LoadError:
            continue
        loaded += 1
    return loaded, count - loaded


def test_corrupted_files_are_loaded_or_refused_within_bounds() -> None:
    tracemalloc.start()
    started = time.process_time()
    loaded, refused = fuzz(2000, seed=5)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert loaded + refused == 2000
    assert refused > 500
    assert peak < 600 << 20
    assert time.process_time() - started < 30


if __name__ == "__main__":
    total = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    accepted, rejected = fuzz(total, seed=6)
    print(f"{total} corrupted files: {accepted} loaded, {rejected} refused, nothing else")
