"""The metadata note of a code object: argument names, offsets and kinds, in MessagePack.

    read_metadata(elf)["amdhsa.kernels"][0][".args"][0]
        {".name": "x", ".offset": 0, ".size": 8, ".value_kind": "global_buffer", ...}

The hardware never reads it; a launcher needs it to know where arguments go. It may be missing or empty in hand-written
objects, which is no error: the kernel then has no named arguments. Damaged MessagePack is an error. `kernel_args`
turns one kernel's entry into typed records, hidden arguments (`hidden_block_count_x`, ...) included.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgpack

from argus.gfx942.elf import SHT_NOTE, Elf, LoadError

NT_AMDGPU_METADATA = 32
_OWNER = b"AMDGPU"


@dataclass(frozen=True, slots=True)
class KernelArg:
    """One kernel argument in the kernarg segment."""

    name: str
    offset: int
    size: int
    value_kind: str
    address_space: str = ""
    type_name: str = ""

    @property
    def hidden(self) -> bool:
        """Whether the launcher, not the caller, supplies it."""
        return self.value_kind.startswith("hidden_")


def read_metadata(elf: Elf) -> dict[str, Any]:
    """The decoded metadata map; empty when the file has none."""
    for section in elf.sections:
        if section.type == SHT_NOTE:
            for owner, kind, body in _notes(section.data, section.name):
                if owner == _OWNER and kind == NT_AMDGPU_METADATA:
                    return _unpack(body)
    return {}


def _notes(data: bytes, where: str) -> list[tuple[bytes, int, bytes]]:
    found = []
    position = 0
    while position + 12 <= len(data):
        name_size, body_size, kind = (
            int.from_bytes(data[position + k : position + k + 4], "little") for k in (0, 4, 8)
        )
        name_start = position + 12
        body_start = name_start + (name_size + 3 & ~3)
        if body_start + body_size > len(data):
            raise LoadError(f"a note in section {where!r} reaches beyond the section: {body_start + body_size} bytes")
        name = data[name_start : name_start + name_size].rstrip(b"\0")
        found.append((name, kind, data[body_start : body_start + body_size]))
        position = body_start + (body_size + 3 & ~3)
    return found


def _unpack(body: bytes) -> dict[str, Any]:
    try:
        value = msgpack.unpackb(body, strict_map_key=False, unicode_errors="replace")
    except (ValueError, TypeError, RecursionError, msgpack.UnpackException) as why:
        raise LoadError(f"the metadata note is not valid MessagePack: {why or type(why).__name__}") from None
    if not isinstance(value, dict):
        raise LoadError("the metadata note is not a map")
    return {str(key): entry for key, entry in value.items()}


def kernel_entries(metadata: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """The metadata of every kernel, by kernel name."""
    entries = metadata.get("amdhsa.kernels", [])
    if not isinstance(entries, list):
        raise LoadError("amdhsa.kernels in the metadata is not a list")
    found: dict[str, Mapping[str, Any]] = {}
    for entry in entries:
        if not isinstance(entry, dict):
            raise LoadError("an entry of amdhsa.kernels in the metadata is not a map")
        symbol = entry.get(".symbol") or entry.get(".name") or ""
        found[str(symbol).removesuffix(".kd")] = entry
    return found


def number(entry: Mapping[str, Any], key: str, default: int = 0) -> int:
    """A non-negative number of a metadata map."""
    value = entry.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1 << 32:
        raise LoadError(f"{key} in the metadata is {value!r}, expected a number below 2^32")
    return value


KERNARG_LIMIT = 1 << 16
"""Bytes of kernel arguments a launch can have."""


def kernel_args(entry: Mapping[str, Any]) -> tuple[KernelArg, ...]:
    """The arguments of one kernel in the order of the metadata."""
    raw = entry.get(".args", [])
    if not isinstance(raw, list):
        raise LoadError(".args in the metadata is not a list")
    args = []
    for index, arg in enumerate(raw):
        if not isinstance(arg, dict):
            raise LoadError(f"argument {index} in the metadata is not a map")
        offset, size = number(arg, ".offset"), number(arg, ".size")
        if not size or offset + size > KERNARG_LIMIT:
            raise LoadError(f"argument {index} in the metadata has {size} bytes at offset {offset} of {KERNARG_LIMIT}")
        args.append(
            KernelArg(
                name=str(arg.get(".name", "")),
                offset=offset,
                size=size,
                value_kind=str(arg.get(".value_kind", "by_value")),
                address_space=str(arg.get(".address_space", "")),
                type_name=str(arg.get(".type_name", arg.get(".value_type", ""))),
            )
        )
    return tuple(args)
