"""Placing the sections of a code object in one address space and relocating them.

    image = place_image(elf)
    image.text, image.text_address        # all code as one run of bytes
    image.read(address, 64)               # bytes anywhere in the image

A linked object already says where its sections lie; an unlinked one gets them placed in file order, code first, each
at its alignment, starting at 4 KiB so that no valid address is null. Relocation arithmetic is that of the AMDGPU ABI:
S symbol, A addend, P place, G slot of the global offset table.

    REL32_LO  (S + A - P) & 0xffffffff        GOTPCREL32_LO  (G + A - P) & 0xffffffff
    REL32_HI  (S + A - P) >> 32               ABS64          S + A, and P becomes a pointer to rebase
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from itertools import pairwise

from argus.gfx942.elf import (
    ET_REL,
    SHF_ALLOC,
    SHF_EXECINSTR,
    SHF_WRITE,
    SHN_ABS,
    SHN_AMDGPU_LDS,
    SHN_UNDEF,
    SHT_NOBITS,
    Elf,
    ElfSymbol,
    LoadError,
    Relocation,
    Section,
)

MEMORY_LIMIT = 1 << 26
"""Largest image accepted, zero-filled sections and gaps included."""

_FIRST_ADDRESS = 0x1000
_LARGEST_ALIGN = 1 << 16
_CODE_PAGE = 256
_LARGEST_GAP = 1 << 20
_ADDRESS = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class Segment:
    """A piece of the image: `size` bytes at `address`, of which `data` are given and the rest is zero."""

    name: str
    address: int
    data: bytes
    size: int
    writable: bool
    executable: bool


@dataclass(slots=True)
class MemoryImage:
    """Everything that is in memory when a kernel runs, at base address 0."""

    text: bytes
    text_address: int
    segments: tuple[Segment, ...]
    pointers: tuple[int, ...]
    section_address: dict[int, int] = field(default_factory=dict)
    shifts: dict[int, int] = field(default_factory=dict)

    def address_of(self, symbol: ElfSymbol) -> int | None:
        """The address of a defined symbol; None for one without a place in the image."""
        if symbol.section == SHN_ABS:
            return symbol.value
        if symbol.section not in self.section_address:
            return None
        return symbol.value + self.shifts.get(symbol.section, 0)

    def read(self, address: int, size: int) -> bytes | None:
        """`size` bytes at `address`; None when they are not all inside one segment."""
        for segment in self.segments:
            if segment.address <= address and address + size <= segment.address + segment.size:
                start = address - segment.address
                return segment.data[start : start + size].ljust(size, b"\0")
        return None


def place_image(elf: Elf) -> MemoryImage:
    """Lay out and relocate the allocated sections of a file."""
    kept = [s for s in elf.sections if s.flags & SHF_ALLOC and s.size]
    code = [s for s in kept if s.flags & SHF_EXECINSTR]
    if not code:
        raise LoadError("the code object has no code section")
    if any(s.type == SHT_NOBITS for s in code):
        raise LoadError("a code section of the object holds no bytes")
    addresses = _place(kept) if elf.type == ET_REL else {s.index: s.address for s in kept}
    _check_layout(kept, addresses)
    contents = {s.index: bytearray(s.data) for s in kept}
    shifts = addresses if elf.type == ET_REL else {}
    image = MemoryImage(b"", 0, (), (), addresses, shifts)
    end = max(addresses[s.index] + s.size for s in kept)
    got = _Got(end + 15 & ~15)
    pointers = _relocate(elf, image, contents, got)
    segments = [
        Segment(
            s.name,
            addresses[s.index],
            bytes(contents[s.index]),
            s.size,
            bool(s.flags & SHF_WRITE),
            bool(s.flags & SHF_EXECINSTR),
        )
        for s in kept
    ]
    if got.values:
        table = b"".join((value & _ADDRESS).to_bytes(8, "little") for value in got.values)
        segments.append(Segment(".got", got.address, table, len(table), writable=False, executable=False))
        pointers += [got.address + 8 * index for index in range(len(got.values))]
    image.segments = tuple(segments)
    image.pointers = tuple(sorted(set(pointers)))
    image.text_address = min(s.address for s in segments if s.executable)
    last = max(s.address + s.size for s in segments if s.executable)
    if last - image.text_address > sum(s.size for s in segments if s.executable) + _LARGEST_GAP:
        raise LoadError("the code sections of the object lie too far apart")
    text = bytearray(last - image.text_address)
    for segment in segments:
        if segment.executable:
            start = segment.address - image.text_address
            text[start : start + segment.size] = segment.data
    image.text = bytes(text)
    return image


def _place(sections: list[Section]) -> dict[int, int]:
    """Addresses for the sections of an unlinked object: code first, then the rest."""
    addresses: dict[int, int] = {}
    position = _FIRST_ADDRESS
    for section in sorted(sections, key=lambda s: not s.flags & SHF_EXECINSTR):
        align = max(section.align, _CODE_PAGE if section.flags & SHF_EXECINSTR else 8)
        if section.align.bit_count() > 1 or align > _LARGEST_ALIGN:
            raise LoadError(f"section {section.name!r} asks for an alignment of {section.align} bytes")
        position = position + align - 1 & -align
        addresses[section.index] = position
        position += section.size
    return addresses


def _check_layout(sections: list[Section], addresses: dict[int, int]) -> None:
    """Refuse images that are too large or overlap themselves."""
    ordered = sorted(sections, key=lambda s: addresses[s.index])
    low, high = addresses[ordered[0].index], max(addresses[s.index] + s.size for s in ordered)
    if high - low > MEMORY_LIMIT or high >= 1 << 47:
        raise LoadError(f"the object's sections span {high - low} bytes; up to {MEMORY_LIMIT} are loaded")
    for before, after in pairwise(ordered):
        if addresses[before.index] + before.size > addresses[after.index]:
            raise LoadError(f"sections {before.name!r} and {after.name!r} overlap in memory")


@dataclass(slots=True)
class _Got:
    """The global offset table, filled as relocations ask for slots."""

    address: int
    values: list[int] = field(default_factory=list)
    places: dict[int, int] = field(default_factory=dict)

    def slot(self, symbol: int, value: int) -> int:
        """The address of the slot that holds the address of a symbol."""
        if symbol not in self.places:
            self.places[symbol] = self.address + 8 * len(self.values)
            self.values.append(value)
        return self.places[symbol]


def _relocate(elf: Elf, image: MemoryImage, contents: dict[int, bytearray], got: _Got) -> list[int]:
    """Apply all relocations; returns the addresses that now hold absolute pointers."""
    pointers: list[int] = []
    bases = sorted((address, index) for index, address in image.section_address.items())
    starts = [address for address, _ in bases]
    for relocation in elf.relocations:
        if relocation.target is None:
            found = bisect_right(starts, relocation.offset) - 1
            if found < 0:
                raise LoadError(f"a relocation changes address {relocation.offset:#x}, outside the object")
            section = bases[found][1]
            offset = relocation.offset - bases[found][0]
        else:
            section, offset = relocation.target, relocation.offset
            if section not in contents:
                continue
        _apply(elf, relocation, image, contents[section], image.section_address[section], offset, got, pointers)
    return pointers


_R_RELATIVE64 = 13
_R_NAMES = {
    1: "ABS32_LO",
    2: "ABS32_HI",
    3: "ABS64",
    4: "REL32",
    5: "REL64",
    6: "ABS32",
    7: "GOTPCREL",
    8: "GOTPCREL32_LO",
    9: "GOTPCREL32_HI",
    10: "REL32_LO",
    11: "REL32_HI",
    13: "RELATIVE64",
    14: "REL16",
}


def _apply(
    elf: Elf,
    relocation: Relocation,
    image: MemoryImage,
    content: bytearray,
    base: int,
    offset: int,
    got: _Got,
    pointers: list[int],
) -> None:
    name = _R_NAMES.get(relocation.kind)
    if name is None:
        raise LoadError(f"unknown relocation type {relocation.kind} at offset {offset:#x}")
    width = 8 if name in ("ABS64", "REL64", "RELATIVE64") else 2 if name == "REL16" else 4
    if offset + width > len(content):
        raise LoadError(f"a relocation at offset {offset:#x} lies outside its section ({len(content):#x} bytes)")
    place = base + offset
    target = 0 if relocation.kind == _R_RELATIVE64 else _symbol_address(elf, relocation, image)
    value = target + relocation.addend
    match name:
        case "ABS64" | "RELATIVE64":
            pointers.append(place)
        case "ABS32" | "ABS32_LO" | "ABS32_HI":
            raise LoadError(f"the object needs absolute 32-bit addresses ({name}); compile it position independent")
        case "REL32" | "REL32_LO" | "REL64":
            value -= place
        case "REL32_HI":
            value = value - place >> 32
        case "REL16":
            value = (value - place) // 4 - 1
        case _:
            value = got.slot(relocation.symbol, target) + relocation.addend - place
            value = value >> 32 if name == "GOTPCREL32_HI" else value
    content[offset : offset + width] = (value & (1 << 8 * width) - 1).to_bytes(width, "little")


def _symbol_address(elf: Elf, relocation: Relocation, image: MemoryImage) -> int:
    table = elf.tables.get(relocation.table, ())
    if relocation.symbol >= len(table):
        raise LoadError(f"a relocation uses symbol {relocation.symbol} but there are only {len(table)}")
    symbol = table[relocation.symbol]
    address = image.address_of(symbol)
    if address is not None:
        return address
    if symbol.section == SHN_AMDGPU_LDS:
        raise LoadError(f"LDS symbol {symbol.name!r} has no address yet; link the object first")
    if symbol.section == SHN_UNDEF:
        raise LoadError(f"the object uses symbol {symbol.name!r}, which it does not define")
    raise LoadError(f"symbol {symbol.name!r} lies in a section that is not loaded")
