"""Reading objects, LLVM's relocatable ones and our linked ones: sections, symbols, relocations.

Only what AMDGPU objects contain: 64-bit little-endian ELF, machine 224. Every offset is checked before use, so a
damaged file ends in C401 and not in an exception of another kind.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

from argus.ir.compile_error import CompileError

EM_AMDGPU, ET_REL, ET_DYN = 224, 1, 3
SHT_PROGBITS, SHT_SYMTAB, SHT_STRTAB, SHT_RELA, SHT_HASH, SHT_DYNAMIC, SHT_NOTE, SHT_NOBITS, SHT_DYNSYM = (
    1, 2, 3, 4, 5, 6, 7, 8, 11,
)  # fmt: skip
SHF_WRITE, SHF_ALLOC, SHF_EXECINSTR = 1, 2, 4
SHN_UNDEF, SHN_ABS, SHN_LORESERVE = 0, 0xFFF1, 0xFF00

HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
SECTION = struct.Struct("<IIQQQQIIQQ")
SYMBOL = struct.Struct("<IBBHQQ")
RELA = struct.Struct("<QQq")


@dataclass(slots=True, eq=False)
class ObjectSection:
    name: str
    type: int
    flags: int
    data: bytearray
    link: int
    info: int
    align: int
    address: int = 0


@dataclass(frozen=True, slots=True)
class ObjectSymbol:
    name: str
    info: int
    other: int
    section: int
    value: int
    size: int

    @property
    def is_global(self) -> bool:
        return self.info >> 4 != 0

    @property
    def hidden(self) -> bool:
        return self.other & 3 in (1, 2)


@dataclass(frozen=True, slots=True)
class ObjectRelocation:
    """At `offset` of section `section`: of `type`, against symbol number `symbol`."""

    section: int
    offset: int
    type: int
    symbol: int
    addend: int


@dataclass(slots=True)
class ElfObject:
    flags: int
    ident: bytes
    sections: list[ObjectSection] = field(default_factory=list)
    symbols: list[ObjectSymbol] = field(default_factory=list)
    relocations: list[ObjectRelocation] = field(default_factory=list)

    def section(self, name: str) -> ObjectSection | None:
        return next((s for s in self.sections if s.name == name), None)


def read(data: bytes, kind: int = ET_REL) -> ElfObject:
    """The object in `data`, relocatable or (ET_DYN) linked; CompileError C401 if it is not one."""
    try:
        return _read(data, kind)
    except (struct.error, IndexError, ValueError, UnicodeDecodeError) as error:
        raise CompileError("C401", f"not a readable AMDGPU object: {error}") from None


def _read(data: bytes, wanted: int) -> ElfObject:
    ident, kind, machine, _, _, _, sections_at, flags, _, _, _, entry_size, count, names_in = HEADER.unpack_from(data)
    if ident[:6] != b"\x7fELF\x02\x01" or machine != EM_AMDGPU or kind != wanted or entry_size != SECTION.size:
        raise ValueError("wrong ELF class, type or machine")
    raw = [SECTION.unpack_from(data, sections_at + SECTION.size * n) for n in range(count)]
    bodies = [_body(data, row) for row in raw]
    result = ElfObject(flags, ident)
    for row, body in zip(raw, bodies, strict=True):
        name, type_, flags_, address, _, _, link, info, align, _ = row
        named = _string(bodies[names_in], name)
        result.sections.append(ObjectSection(named, type_, flags_, body, link, info, max(align, 1), address))
    table = next((s for s in result.sections if s.type == SHT_SYMTAB), None)
    if table is None:
        raise ValueError("no symbol table")
    strings = result.sections[table.link].data
    for name, info, other, section, value, size in SYMBOL.iter_unpack(bytes(table.data)):
        result.symbols.append(ObjectSymbol(_string(strings, name), info, other, section, value, size))
    for table in result.sections:
        if table.type == SHT_RELA:
            for offset, info, addend in RELA.iter_unpack(bytes(table.data)):
                result.relocations.append(ObjectRelocation(table.info, offset, info & 0xFFFF_FFFF, info >> 32, addend))
    if any(r.section >= count or r.symbol >= len(result.symbols) for r in result.relocations):
        raise ValueError("a relocation points outside the object")
    return result


def _body(data: bytes, row: tuple[int, ...]) -> bytearray:
    kind, offset, size = row[1], row[4], row[5]
    if kind == SHT_NOBITS:
        return bytearray(size)
    if offset + size > len(data):
        raise ValueError("a section lies outside the file")
    return bytearray(data[offset : offset + size])


def _string(strings: bytes | bytearray, offset: int) -> str:
    return bytes(strings[offset : strings.index(0, offset)]).decode()
