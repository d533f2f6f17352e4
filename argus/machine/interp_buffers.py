"""Buffer resources: four scalar registers to 64 addresses and a range check.

    word 0, 1   base address (48 bits), stride in bits 29..16 of word 1, swizzle enable in bit 31
    word 2      num_records: bytes for raw buffers, records when an index is used with a stride
    word 3      format; bit 23 adds the lane number to the index (not supported)

A lane's *room* is how many bytes of the buffer remain at its offset; a dword is in range when its end is within the
room. The offset is (register + immediate) mod 2**32 plus soffset. That soffset counts is what AMD's own emulator models
after measurements (ROCm/rocm-systems pull request 10928); the LLVM manual says it does not, and
`soffset_in_range=False` chooses that reading. By the same source a dword must end in the buffer; AMD's manual speaks of
where it starts, and `partial_in_range=True` chooses that.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from argus.gfx942.inst import Inst, InstOperand
from argus.machine.interp_operands import UnsupportedForm, register, scalar_source
from argus.machine.state import LANES, Wave

U32, U64 = np.uint32, np.uint64
_M64 = (1 << 64) - 1


def buffer_addresses(
    inst: Inst, operands: list[InstOperand], size: int, accum_offset: int, soffset_in_range: bool, partial: bool
) -> Callable[[Wave], tuple[Any, Any]]:
    """(addresses, room in bytes at each) from vaddr, the resource and soffset."""
    vaddr, resource, soffset = operands[:3]
    offen, idxen = bool(inst.mods.get("offen")), bool(inst.mods.get("idxen"))
    if resource.kind != "s" or resource.count != 4:
        raise UnsupportedForm(f"{inst.op} needs a resource of four scalar registers")
    immediate = inst.mods.get("offset", 0)
    fixed = int(immediate) if isinstance(immediate, int) else 0
    r, step, unit = resource.value, scalar_source(soffset, "u32"), min(size, 4)
    first = register(vaddr, accum_offset) if offen or idxen else -1
    offset_register = first + 1 if idxen else first

    def addresses(w: Wave) -> tuple[Any, Any]:
        low, high, records, word3 = w.s[r : r + 4]
        stride, moved = high >> 16 & 0x3FFF, step(w)
        base = (low | (high & 0xFFFF) << 32) + moved
        offset = (w.v[offset_register] + U32(fixed)).astype(np.int64) if offen else np.full(LANES, fixed, np.int64)
        limit = records - moved if soffset_in_range else records
        if not idxen:
            room = limit - offset
            return offset.view(U64) + U64(base & _M64), -(-room // unit) * unit if partial else room
        if high >> 31 or word3 >> 23 & 1:
            raise UnsupportedForm("a swizzled buffer resource, or one that adds the lane number, is not supported")
        index = w.v[first].astype(np.int64)
        inside = (index < records) if stride else (offset + size <= limit)
        room = np.where(inside, size, 0)
        return (offset + index * stride).view(U64) + U64(base & _M64), room

    return addresses
