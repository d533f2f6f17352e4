"""ELF64 files, read with every number checked against the size of the file.

    elf = parse_elf(Path("kernel.hsaco").read_bytes())
    elf.section(".text").address, elf.symbols[3].name, elf.relocations[0].kind

A code object is untrusted input: it may be cut off, may point outside itself, may claim a section of 2^60 bytes. Every
table is therefore bounded by the bytes that are really there before anything is built from it, and whatever is wrong
ends in one `LoadError` whose sentence names the thing and the offset. Only what loaders and linkers need is read:
sections, symbols, relocations with addend. Program headers are not used; the sections of AMD code objects say the same
and exist in unlinked objects too.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

EM_AMDGPU = 224
ET_REL, ET_DYN = 1, 3
SHT_SYMTAB, SHT_STRTAB, SHT_RELA, SHT_HASH, SHT_DYNAMIC, SHT_NOTE, SHT_NOBITS, SHT_REL, SHT_DYNSYM = (
    2, 3, 4, 5, 6, 7, 8, 9, 11,
)  # fmt: skip
SHF_WRITE, SHF_ALLOC, SHF_EXECINSTR = 1, 2, 4
SHN_UNDEF, SHN_AMDGPU_LDS, SHN_ABS = 0, 0xFF00, 0xFFF1
SHN_LORESERVE = 0xFF00

_MACHINES = {3: "x86", 40: "Arm", 62: "x86-64", 183: "AArch64", 190: "CUDA", 243: "RISC-V", 247: "BPF"}
HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
SECTION = struct.Struct("<IIQQQQIIQQ")
SYMBOL = struct.Struct("<IBBHQQ")
_RELA = struct.Struct("<QQq")
MAGIC = b"\x7fELF"
_IDENT = 16
_NAME_LIMIT, _NAME_BUDGET = 1 << 16, 1 << 26


class LoadError(ValueError):
    """The file is not a code object this machine can run; the message says why."""


@dataclass(frozen=True, slots=True)
class Section:
    """A section header; `data` is empty for NOBITS."""

    index: int
    name: str
    type: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    align: int
    data: bytes


@dataclass(frozen=True, slots=True)
class ElfSymbol:
    """A symbol; `section` is a section index or one of the SHN constants."""

    name: str
    value: int
    size: int
    section: int
    type: int
    binding: int
    other: int

    @property
    def is_global(self) -> bool:
        return self.binding != 0

    @property
    def hidden(self) -> bool:
        return self.other & 3 in (1, 2)


@dataclass(frozen=True, slots=True)
class Relocation:
    """A relocation; `target` is the section it changes (None: `offset` is an address), `table` its symbol table."""

    offset: int
    kind: int
    symbol: int
    addend: int
    target: int | None
    table: int


@dataclass(frozen=True, slots=True)
class Elf:
    """A parsed file. `symbols` are those of the fullest table; `tables` gives all by section index."""

    type: int
    flags: int
    ident: bytes
    sections: tuple[Section, ...]
    symbols: tuple[ElfSymbol, ...]
    tables: dict[int, tuple[ElfSymbol, ...]]
    relocations: tuple[Relocation, ...]

    @property
    def os_abi(self) -> int:
        return self.ident[7]

    @property
    def abi_version(self) -> int:
        return self.ident[8]

    def section(self, name: str) -> Section | None:
        """The first section of that name."""
        return next((s for s in self.sections if s.name == name), None)


def parse_elf(data: bytes) -> Elf:
    """Read the headers, sections, symbols and relocations of a 64-bit little-endian AMDGPU ELF file."""
    _check_ident(data)
    if len(data) < HEADER.size:
        raise LoadError(f"the file is truncated: {len(data)} bytes, the ELF header alone needs 64")
    header = HEADER.unpack_from(data)
    ident, kind, machine, _, _, _, table_offset, flags, _, _, _, entry_size, count, name_index = header
    if machine != EM_AMDGPU:
        name = _MACHINES.get(machine, f"machine number {machine}")
        raise LoadError(f"the file is an ELF file for {name}, not for AMD GPUs")
    if kind not in (ET_REL, ET_DYN):
        raise LoadError(f"the ELF file is of type {kind}; a code object is a shared object (3) or relocatable (1)")
    if not count:
        raise LoadError("the ELF file has no sections")
    if entry_size != SECTION.size:
        raise LoadError(f"the section headers are {entry_size} bytes long, expected {SECTION.size}")
    if table_offset + count * entry_size > len(data):
        raise LoadError(
            f"the file is truncated at {len(data)} bytes: section headers reach to {table_offset + count * 64}"
        )
    sections = _sections(data, table_offset, count, name_index)
    tables = {s.index: _symbols(s, sections) for s in sections if s.type in (SHT_SYMTAB, SHT_DYNSYM)}
    fullest = max(tables.values(), key=len, default=())
    relocations = tuple(r for s in sections if s.type in (SHT_RELA, SHT_REL) for r in _relocations(s, sections, kind))
    return Elf(kind, flags, ident, sections, fullest, tables, relocations)


def _check_ident(data: bytes) -> None:
    if data[:24] == b"__CLANG_OFFLOAD_BUNDLE__":
        raise LoadError("the file is a clang offload bundle; extract the gfx942 code object from it first")
    if data[:7] == b"version":
        raise LoadError("the file is a Git LFS pointer, not the code object itself")
    if data[:4] != MAGIC:
        raise LoadError("the file is not an ELF file" if data else "the file is empty")
    if len(data) < _IDENT:
        raise LoadError(f"the file is truncated: {len(data)} bytes, the ELF header alone needs 64")
    if data[4] != 2:
        raise LoadError("the file is a 32-bit ELF file; code objects are 64-bit")
    if data[5] != 1:
        raise LoadError("the file is a big-endian ELF file; code objects are little-endian")


def _sections(data: bytes, table_offset: int, count: int, name_index: int) -> tuple[Section, ...]:
    raw = [SECTION.unpack_from(data, table_offset + index * SECTION.size) for index in range(count)]
    if name_index >= count:
        raise LoadError(f"section {name_index} should hold the section names but there are only {count} sections")
    for index, (_, kind, _, _, offset, size, *_rest) in enumerate(raw):
        if kind not in (0, SHT_NOBITS) and offset + size > len(data):
            raise LoadError(f"the file is truncated at {len(data)} bytes: section {index} reaches to {offset + size}")
    held_bytes = sum(size for _, kind, _, _, _, size, *_rest in raw if kind not in (0, SHT_NOBITS))
    if held_bytes > len(data):
        raise LoadError(f"the sections hold {held_bytes} bytes but the file only {len(data)}: they overlap in the file")
    names = data[raw[name_index][4] :][: raw[name_index][5]]
    sections = []
    for index, (name, kind, flags, address, offset, size, link, info, align, _) in enumerate(raw):
        held = b"" if kind in (0, SHT_NOBITS) else data[offset : offset + size]
        label = string_at(names, name, f"the name of section {index}")
        sections.append(Section(index, label, kind, flags, address, offset, size, link, info, align, held))
    return tuple(sections)


def string_at(table: bytes, start: int, what: str) -> str:
    """The zero-terminated string at `start` of a string table."""
    if start > len(table):
        raise LoadError(f"{what} lies outside its string table")
    end = table.find(b"\0", start, start + _NAME_LIMIT)
    if end < 0:
        raise LoadError(f"{what} has no end")
    return table[start:end].decode("utf-8", "replace")


def _symbols(section: Section, sections: tuple[Section, ...]) -> tuple[ElfSymbol, ...]:
    if section.link >= len(sections):
        raise LoadError(f"symbol table {section.name!r} names string table {section.link}, which does not exist")
    strings = sections[section.link].data
    found = []
    budget = _NAME_BUDGET
    for offset in range(0, len(section.data) - SYMBOL.size + 1, SYMBOL.size):
        name, info, other, where, value, size = SYMBOL.unpack_from(section.data, offset)
        label = string_at(strings, name, f"the name of symbol {offset // SYMBOL.size}")
        budget -= len(label)
        if budget < 0:
            raise LoadError(f"the names of symbol table {section.name!r} take more than {_NAME_BUDGET} characters")
        found.append(ElfSymbol(label, value, size, where, info & 15, info >> 4, other))
    return tuple(found)


def _relocations(section: Section, sections: tuple[Section, ...], kind: int) -> list[Relocation]:
    if section.type == SHT_REL:
        if section.data:
            raise LoadError(f"section {section.name!r} holds relocations without addend; AMD code objects have none")
        return []
    target = section.info if kind == ET_REL else None
    if target is not None and target >= len(sections):
        raise LoadError(f"section {section.name!r} relocates section {target}, which does not exist")
    found = []
    for offset in range(0, len(section.data) - _RELA.size + 1, _RELA.size):
        where, info, addend = _RELA.unpack_from(section.data, offset)
        found.append(Relocation(where, info & 0xFFFFFFFF, info >> 32, addend, target, section.link))
    return found
