"""Code objects (.hsaco, .co, unlinked .o) into memory images and kernel records.

    obj = load_object("vadd.hsaco")
    obj.isa                       # Isa(name="gfx942", xnack="any", sramecc="any")
    k = obj.kernels["vadd"]       # KernelInfo: descriptor fields, arguments, where its code lies
    obj.text[k.entry : k.end]     # its machine code; k.entry is an offset into obj.text

The image is laid out at address 0: `text` starts at `text_address`, every allocated section is a `Segment`, and
`pointers` lists the places that hold absolute 64-bit addresses, to which a launcher that maps the image at base B adds
B. Unlinked objects get their sections placed one after another (code first) and their relocations applied here;
undefined symbols, unknown relocation types, overlapping or absurdly large sections are refused with a sentence.

What it does not do: several objects are not linked together, LDS symbols that need a linker's allocation are refused,
offload bundles must be unpacked before.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from argus.gfx942.elf import Elf, ElfSymbol, LoadError, parse_elf
from argus.machine.descriptor import DESCRIPTOR_SIZE, PRELOAD_PROLOGUE, Descriptor, parse_descriptor
from argus.machine.image import MemoryImage, Segment, place_image
from argus.machine.metadata import KERNARG_LIMIT, KernelArg, kernel_args, kernel_entries, number, read_metadata

__all__ = ["CodeObject", "Isa", "KernelArg", "KernelInfo", "LoadError", "Segment", "load_object"]

FILE_LIMIT = 1 << 30
_OS_ABI_HSA = 64
_MACHS = {
    0x2C: "gfx900",
    0x2F: "gfx906",
    0x30: "gfx908",
    0x33: "gfx1010",
    0x36: "gfx1030",
    0x3F: "gfx90a",
    0x40: "gfx940",
    0x41: "gfx1100",
    0x46: "gfx1101",
    0x48: "gfx1200",
    0x49: "gfx1250",
    0x4B: "gfx941",
    0x4C: "gfx942",
    0x4E: "gfx1201",
    0x4F: "gfx950",
    0x5F: "gfx9-4-generic",
}
_GFX942 = 0x4C
_FEATURE = ("unsupported", "any", "off", "on")


@dataclass(frozen=True, slots=True)
class Isa:
    """The target the object was compiled for; features are `unsupported`, `any`, `off` or `on`."""

    name: str
    xnack: str
    sramecc: str


@dataclass(frozen=True, slots=True)
class KernelInfo:
    """One kernel: where its code lies in `CodeObject.text` and how the hardware starts it."""

    name: str
    entry: int
    end: int
    descriptor: Descriptor
    args: tuple[KernelArg, ...]
    kernarg_size: int
    group_segment_fixed_size: int
    private_segment_fixed_size: int
    max_flat_workgroup_size: int
    wavefront_size: int
    required_workgroup_size: tuple[int, int, int] | None
    metadata: Mapping[str, Any]

    @property
    def start(self) -> int:
        """Where execution starts on firmware that preloads kernel arguments: behind the prologue, if there is one."""
        return self.entry + (PRELOAD_PROLOGUE if self.descriptor.kernarg_preload_length else 0)


@dataclass(frozen=True, slots=True)
class CodeObject:
    """A loaded code object."""

    isa: Isa
    kernels: dict[str, KernelInfo]
    text: bytes
    text_address: int
    segments: tuple[Segment, ...]
    pointers: tuple[int, ...]
    metadata: Mapping[str, Any]
    abi_version: int
    symbols: Mapping[str, int]


def load_object(source: str | Path | bytes) -> CodeObject:
    """Load a code object from a path or from its bytes; raises `LoadError` with a clear sentence."""
    data = source if isinstance(source, bytes) else _read(Path(source))
    elf = parse_elf(data)
    isa = _isa(elf)
    image = place_image(elf)
    metadata = read_metadata(elf)
    kernels = _kernels(elf, image, kernel_entries(metadata))
    symbols = {s.name: a for s in elf.symbols if s.name and (a := image.address_of(s)) is not None}
    return CodeObject(
        isa=isa,
        kernels=kernels,
        text=image.text,
        text_address=image.text_address,
        segments=image.segments,
        pointers=image.pointers,
        metadata=metadata,
        abi_version=elf.abi_version,
        symbols=symbols,
    )


def _read(path: Path) -> bytes:
    try:
        size = path.stat().st_size
        if size > FILE_LIMIT:
            raise LoadError(f"{path} has {size} bytes; code objects up to {FILE_LIMIT} bytes are loaded")
        return path.read_bytes()
    except OSError as why:
        raise LoadError(f"cannot read {path}: {why.strerror or why}") from None


def _isa(elf: Elf) -> Isa:
    mach = elf.flags & 0xFF
    if mach != _GFX942:
        name = _MACHS.get(mach, f"the AMD target number {mach:#x}")
        raise LoadError(f"the code object is for {name}; this machine is a gfx942")
    if elf.os_abi != _OS_ABI_HSA:
        raise LoadError(f"the code object is for OS ABI {elf.os_abi}; only amdhsa (64) is supported")
    return Isa("gfx942", _FEATURE[elf.flags >> 8 & 3], _FEATURE[elf.flags >> 10 & 3])


def _kernels(elf: Elf, image: MemoryImage, entries: Mapping[str, Mapping[str, Any]]) -> dict[str, KernelInfo]:
    by_name = {symbol.name: symbol for table in elf.tables.values() for symbol in table if symbol.name}
    starts = sorted({a for s in by_name.values() if s.type == 2 and (a := image.address_of(s)) is not None})
    kernels = {}
    for name, symbol in by_name.items():
        if name.endswith(".kd") and symbol.section:
            kernel = name.removesuffix(".kd")
            kernels[kernel] = _kernel(kernel, symbol, by_name.get(kernel), image, entries.get(kernel, {}), starts)
    missing = sorted(set(entries) - set(kernels))
    if missing:
        raise LoadError(f"the metadata names kernel {missing[0]!r} but the object has no descriptor for it")
    if not kernels:
        raise LoadError("the code object holds no kernel (no symbol ends in .kd)")
    return kernels


def _kernel(
    name: str,
    symbol: ElfSymbol,
    code: ElfSymbol | None,
    image: MemoryImage,
    entry: Mapping[str, Any],
    starts: list[int],
) -> KernelInfo:
    address = image.address_of(symbol)
    raw = image.read(address, DESCRIPTOR_SIZE) if address is not None else None
    if address is None or raw is None:
        raise LoadError(f"the descriptor of kernel {name!r} lies outside the object's sections")
    descriptor = parse_descriptor(raw)
    first = address + descriptor.entry_offset - image.text_address
    if not 0 <= first < len(image.text):
        raise LoadError(f"kernel {name!r} starts at {first:#x}, outside the code ({len(image.text):#x} bytes)")
    if first % 4:
        raise LoadError(f"kernel {name!r} starts at {first:#x}, which is not a multiple of 4")
    if descriptor.wavefront_size32:
        raise LoadError(f"kernel {name!r} wants waves of 32 lanes; gfx942 has only waves of 64")
    size = code.size if code is not None else 0
    following = bisect_right(starts, first + image.text_address)
    limit = starts[following] - image.text_address if following < len(starts) else len(image.text)
    end = first + size if size else limit
    if end > len(image.text):
        raise LoadError(f"kernel {name!r} ends at {end:#x}, outside the code ({len(image.text):#x} bytes)")
    kernarg_size = descriptor.kernarg_size or number(entry, ".kernarg_segment_size")
    if kernarg_size > KERNARG_LIMIT:
        raise LoadError(f"kernel {name!r} asks for {kernarg_size} bytes of arguments; a launch has {KERNARG_LIMIT}")
    return KernelInfo(
        name=name,
        entry=first,
        end=end,
        descriptor=descriptor,
        args=kernel_args(entry),
        kernarg_size=kernarg_size,
        group_segment_fixed_size=descriptor.group_segment_fixed_size,
        private_segment_fixed_size=descriptor.private_segment_fixed_size,
        max_flat_workgroup_size=number(entry, ".max_flat_workgroup_size", 1024),
        wavefront_size=number(entry, ".wavefront_size", 64),
        required_workgroup_size=_required_size(entry),
        metadata=entry,
    )


def _required_size(entry: Mapping[str, Any]) -> tuple[int, int, int] | None:
    raw = entry.get(".reqd_workgroup_size")
    if not isinstance(raw, list) or len(raw) != 3 or not all(isinstance(n, int) for n in raw):
        return None
    return int(raw[0]), int(raw[1]), int(raw[2])
