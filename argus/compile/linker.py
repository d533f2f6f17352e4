"""A linker for one AMDGPU object: relocatable in, loadable `.hsaco` out.

A code object is a shared library with three loaded segments, laid out here as lld does:

    read-only     ELF header, program headers, .note (metadata), .dynsym, .hash, .dynstr, .rodata (kernel descriptors)
    executable    .text
    read-write    .dynamic

LLVM's kernel objects hold one relocation, the distance from each kernel descriptor to its entry point. Others that are
relative to the place, or that name an absolute symbol, are done too; anything that would need the dynamic loader is
refused (C402), because a kernel has no business with it.

Debug sections are not carried over: line information lives in the sidecar (`argus.compile.lineinfo`), so an object is
the same with and without it.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from argus.compile.objects import read_object
from argus.gfx942 import elf
from argus.gfx942.elf import Elf, ElfSymbol, Section
from argus.ir.compile_error import CompileError

PAGE = 0x1000
ENTRY_ALIGN = 256
PT_LOAD, PT_DYNAMIC, PT_NOTE, PT_PHDR, PT_GNU_STACK = 1, 2, 4, 6, 0x6474E551
PF_X, PF_W, PF_R = 1, 2, 4
DT_HASH, DT_STRTAB, DT_SYMTAB, DT_STRSZ, DT_SYMENT, DT_NULL = 4, 5, 6, 10, 11, 0
R_ABS32_LO, R_ABS32_HI, R_REL32, R_REL64, R_ABS32, R_REL32_LO, R_REL32_HI = 1, 2, 4, 5, 6, 10, 11
PROGRAM_HEADER = struct.Struct("<IIQQQQQQ")
SEGMENTS = 7


@dataclass(slots=True, eq=False)
class PlacedSection:
    """A section of the result: `offset` in the file, `address` when loaded (0 if not loaded)."""

    name: str
    type: int
    flags: int
    data: bytearray
    offset: int
    address: int
    align: int
    link: str = ""
    info: int = 0
    entry: int = 0


def link(data: bytes) -> bytes:
    """The loadable code object made of one relocatable object."""
    source = read_object(data)
    notes, read_only, text = _kept(source)
    exported = [s for s in source.symbols if s.is_global and not s.hidden and s.section != elf.SHN_UNDEF]
    undefined = [s.name for s in source.symbols if s.is_global and s.section == elf.SHN_UNDEF and s.name]
    if undefined:
        raise CompileError("C402", f"the object needs {undefined[0]!r}, which nothing defines")
    image = LinkedImage(elf.HEADER.size + PROGRAM_HEADER.size * SEGMENTS)
    strings = _Strings()
    name_at = [strings.add(s.name) for s in exported]
    places: dict[int, PlacedSection] = {}
    for number in notes:
        places[number] = image.add(source.sections[number], 0)
    dynsym = image.make(".dynsym", elf.SHT_DYNSYM, bytearray(elf.SYMBOL.size * (len(exported) + 1)), 8, 0)
    dynsym.link, dynsym.info, dynsym.entry = ".dynstr", 1, elf.SYMBOL.size
    table = image.make(".hash", elf.SHT_HASH, _hash_table([s.name for s in exported]), 4, 0)
    table.link, table.entry = ".dynsym", 4
    image.make(".dynstr", elf.SHT_STRTAB, strings.data, 1, 0)
    for number in read_only:
        places[number] = image.add(source.sections[number], 0)
    end_of_read_only = image.size
    image.align(ENTRY_ALIGN)
    start_of_text = image.size
    for number in text:
        places[number] = image.add(source.sections[number], PAGE)
    end_of_text = image.size
    dynamic = image.make(".dynamic", elf.SHT_DYNAMIC, bytearray(16 * 6), 16, 2 * PAGE, elf.SHF_WRITE)
    dynamic.link, dynamic.entry = ".dynstr", 16
    dynamic.data[:] = image.dynamic(len(strings.data))
    _relocate(source, places)
    rows = [_symbol_row(s, at, places, image) for s, at in zip(exported, name_at, strict=True)]
    dynsym.data[elf.SYMBOL.size :] = b"".join(rows)
    symtab = image.make(".symtab", elf.SHT_SYMTAB, bytearray(dynsym.data), 8, None)
    symtab.link, symtab.info, symtab.entry = ".strtab", 1, elf.SYMBOL.size
    image.make(".strtab", elf.SHT_STRTAB, strings.data, 1, None)
    note = [places[n] for n in notes]
    segments = [
        (PT_PHDR, PF_R, 64, 64, PROGRAM_HEADER.size * SEGMENTS, 8),
        (PT_LOAD, PF_R, 0, 0, end_of_read_only, PAGE),
        (PT_LOAD, PF_R | PF_X, start_of_text, start_of_text + PAGE, end_of_text - start_of_text, PAGE),
        (PT_LOAD, PF_R | PF_W, dynamic.offset, dynamic.address, len(dynamic.data), PAGE),
        (PT_DYNAMIC, PF_R | PF_W, dynamic.offset, dynamic.address, len(dynamic.data), 8),
        (PT_GNU_STACK, PF_R | PF_W, 0, 0, 0, 0),
        (PT_NOTE, PF_R, note[0].offset, note[0].address, note[-1].offset + len(note[-1].data) - note[0].offset, 4),
    ]
    return image.write(source, segments)


def _kept(source: Elf) -> tuple[list[int], list[int], list[int]]:
    """Numbers of the sections that are loaded: notes, read-only data, code."""
    notes: list[int] = []
    read_only: list[int] = []
    text: list[int] = []
    for number, section in enumerate(source.sections):
        if not section.flags & elf.SHF_ALLOC or not section.size:
            continue
        if section.flags & elf.SHF_WRITE:
            raise CompileError("C402", f"the object has writable data ({section.name}); a kernel has none")
        if section.type == elf.SHT_NOTE:
            notes.append(number)
        elif section.flags & elf.SHF_EXECINSTR:
            text.append(number)
        else:
            read_only.append(number)
    if not notes or not text:
        raise CompileError("C401", "the object holds no kernel: metadata or code is missing")
    return notes, read_only, text


class LinkedImage:
    """The file being laid out, section after section."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.placed: list[PlacedSection] = []

    def align(self, to: int) -> None:
        self.size = -(-self.size // to) * to

    def make(
        self, name: str, type: int, data: bytearray, align: int, bias: int | None, flags: int = 0
    ) -> PlacedSection:
        """Append a section; `bias` is its address minus its offset, None for one that is not loaded."""
        self.align(align)
        loaded = elf.SHF_ALLOC if bias is not None else 0
        address = self.size + bias if bias is not None else 0
        placed = PlacedSection(name, type, flags | loaded, data, self.size, address, align)
        self.placed.append(placed)
        self.size += len(data)
        return placed

    def add(self, section: Section, bias: int) -> PlacedSection:
        align = max(section.align, ENTRY_ALIGN) if section.flags & elf.SHF_EXECINSTR else max(section.align, 1)
        extra = section.flags & elf.SHF_EXECINSTR
        return self.make(section.name, section.type, bytearray(section.data), align, bias, extra)

    def address(self, name: str) -> int:
        return next(p.address for p in self.placed if p.name == name)

    def dynamic(self, strings: int) -> bytes:
        rows = (
            (DT_SYMTAB, self.address(".dynsym")),
            (DT_SYMENT, elf.SYMBOL.size),
            (DT_STRTAB, self.address(".dynstr")),
            (DT_STRSZ, strings),
            (DT_HASH, self.address(".hash")),
            (DT_NULL, 0),
        )
        return b"".join(struct.pack("<QQ", *row) for row in rows)

    def write(self, source: Elf, segments: list[tuple[int, int, int, int, int, int]]) -> bytes:
        names = _Strings()
        name_at = [names.add(p.name) for p in self.placed]
        own = names.add(".shstrtab")
        self.make(".shstrtab", elf.SHT_STRTAB, names.data, 1, None)
        name_at.append(own)
        self.align(8)
        table_at = self.size
        number = {p.name: n for n, p in enumerate(self.placed, 1)}
        result = bytearray(table_at + elf.SECTION.size * (len(self.placed) + 1))
        elf.HEADER.pack_into(
            result, 0, source.ident, elf.ET_DYN, elf.EM_AMDGPU, 1, 0, elf.HEADER.size, table_at, source.flags,
            elf.HEADER.size, PROGRAM_HEADER.size, len(segments), elf.SECTION.size,
            len(self.placed) + 1, len(self.placed),
        )  # fmt: skip
        for n, (kind, flags, offset, address, size, align) in enumerate(segments):
            row = (kind, flags, offset, address, address, size, size, align)
            PROGRAM_HEADER.pack_into(result, elf.HEADER.size + PROGRAM_HEADER.size * n, *row)
        for n, (p, at) in enumerate(zip(self.placed, name_at, strict=True), 1):
            result[p.offset : p.offset + len(p.data)] = p.data
            link_to = number[p.link] if p.link else 0
            elf.SECTION.pack_into(
                result, table_at + elf.SECTION.size * n, at, p.type, p.flags, p.address, p.offset, len(p.data),
                link_to, p.info, p.align, p.entry,
            )  # fmt: skip
        return bytes(result)


def _symbol_row(s: ElfSymbol, name: int, places: dict[int, PlacedSection], image: LinkedImage) -> bytes:
    section, value = s.section, s.value
    if s.section < elf.SHN_LORESERVE:
        if s.section not in places:
            raise CompileError("C402", f"the symbol {s.name!r} lies in a section that is not loaded")
        place = places[s.section]
        section, value = image.placed.index(place) + 1, place.address + s.value
    return elf.SYMBOL.pack(name, s.binding << 4 | s.type, s.other, section, value, s.size)


def _relocate(source: Elf, places: dict[int, PlacedSection]) -> None:
    for r in source.relocations:
        if r.target is None or r.target not in places:
            continue
        place, symbol = places[r.target], source.tables[r.table][r.symbol]
        absolute = symbol.section >= elf.SHN_LORESERVE
        if not absolute and symbol.section not in places:
            raise CompileError("C402", f"a relocation refers to {symbol.name or 'a section'!r}, which is not loaded")
        target = symbol.value + r.addend + (0 if absolute else places[symbol.section].address)
        distance = target - (place.address + r.offset)
        if r.kind == R_REL64:
            struct.pack_into("<q", place.data, r.offset, distance)
        elif r.kind in (R_REL32, R_REL32_LO):
            struct.pack_into("<I", place.data, r.offset, distance & 0xFFFF_FFFF)
        elif r.kind == R_REL32_HI:
            struct.pack_into("<I", place.data, r.offset, distance >> 32 & 0xFFFF_FFFF)
        elif r.kind in (R_ABS32, R_ABS32_LO) and absolute:
            struct.pack_into("<I", place.data, r.offset, target & 0xFFFF_FFFF)
        elif r.kind == R_ABS32_HI and absolute:
            struct.pack_into("<I", place.data, r.offset, target >> 32 & 0xFFFF_FFFF)
        else:
            raise CompileError("C402", f"relocation type {r.kind} against {symbol.name!r} needs a dynamic loader")


class _Strings:
    def __init__(self) -> None:
        self.data = bytearray(b"\0")

    def add(self, text: str) -> int:
        at = len(self.data)
        self.data += text.encode() + b"\0"
        return at


def _hash_table(names: list[str]) -> bytearray:
    """The System V hash table: buckets, then chains, numbered as the symbols are (from 1)."""
    count = len(names) + 1
    buckets, chains = [0] * count, [0] * count
    for number, name in enumerate(names, 1):
        bucket = _hash(name) % count
        chains[number] = buckets[bucket]
        buckets[bucket] = number
    return bytearray(struct.pack(f"<{2 + 2 * count}I", count, count, *buckets, *chains))


def _hash(name: str) -> int:
    value = 0
    for byte in name.encode():
        value = (value << 4) + byte
        top = value & 0xF000_0000
        value = (value ^ top >> 24) & ~top & 0xFFFF_FFFF
    return value
