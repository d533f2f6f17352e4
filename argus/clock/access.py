"""From byte addresses to the cost of a wave's memory access: LDS bank clocks, lines of global memory.

Accesses of one instruction are handled together (addresses [n, 64], lanes that take part [n, 64]), because a
loop executes the same instruction thousands of times:

    lds_access(parameters, "read", 128, addresses, present)   -> [LdsAccess(port=23.0, bank=8, conflicts=0, ...), ...]
    vmem_access(parameters, 16, addresses, present)           -> [VmemAccess(clocks=16, lines=(0, ... 7), ...), ...]

The L1 path moves 64 bytes per clock, looks up one 128-byte line per clock and takes at least 16 clocks per access, 12
of a load straight into LDS, 8 of a load of 4 bytes per lane whose lanes lie side by side.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from argus.clock.caches import LINE, SCALAR_LINE
from argus.clock.parameters import Parameters
from argus.clock.program import LdsAccess, ScalarAccess, VmemAccess
from argus.gfx942.lds import Kind, access_bits, conflict_cycles_many, conflict_free_cycles

Addresses = npt.NDArray[np.int64]
Lanes = npt.NDArray[np.bool_]

_MEASURED_WIDTH = {32: 32, 64: 64, 96: 128, 128: 128}
DWORD = 4
_LANE_BITS = np.uint64(1) << np.arange(64, dtype=np.uint64)


def lds_access(
    parameters: Parameters, kind: Kind, bits: int, addresses: Addresses, present: Lanes, parts: int = 1
) -> list[LdsAccess]:
    """One LdsAccess per row; with `parts` = 2 (read2, write2 forms) one per pair of rows: first part, second part."""
    served = access_bits(bits)
    masks = np.where(present, _LANE_BITS, np.uint64(0)).sum(axis=1, dtype=np.uint64)
    bank = conflict_cycles_many(kind, bits, addresses, masks).reshape(-1, parts).sum(axis=1)
    active = present.sum(axis=1).reshape(-1, parts).sum(axis=1)
    free = parts * conflict_free_cycles(kind, bits)
    width = _MEASURED_WIDTH[served]
    once = parameters[f"lds_{kind}_port_b{width}"] * served / width
    latency = parameters[f"lds_{kind}_latency_b{width}"] + (parts - 1) * once
    return [
        LdsAccess(parts * once, int(clocks), int(clocks) - free, latency, int(lanes) * bits // 8)
        for clocks, lanes in zip(bank, active, strict=True)
    ]


def permute_access(parameters: Parameters) -> LdsAccess:
    """ds_bpermute, ds_permute, ds_swizzle: lanes exchanged through the LDS crossbar, no bank is read."""
    return LdsAccess(parameters["lds_read_port_b32"], 2, 0, parameters["lds_permute_latency"], 0)


def scalar_access(size: int, addresses: npt.NDArray[np.int64]) -> list[ScalarAccess]:
    """Scalar loads of `size` bytes."""
    return [
        ScalarAccess(tuple(range(first // SCALAR_LINE, (first + size - 1) // SCALAR_LINE + 1)))
        for first in addresses.tolist()
    ]


def vmem_access(
    parameters: Parameters,
    size: int,
    addresses: Addresses,
    present: Lanes,
    store: bool = False,
    atomic: bool = False,
    to_lds: bool = False,
) -> list[VmemAccess]:
    """One VmemAccess per row of `size` bytes per lane."""
    name = "vmem_lds_clocks" if to_lds else "vmem_least_clocks"
    least, narrow = int(parameters[name]), int(parameters["vmem_dword_clocks"])
    per_line, path = (int(parameters[each]) for each in ("vmem_line_clocks", "vmem_path"))
    may_be_narrow = size <= DWORD and not (store or atomic or to_lds)
    first = addresses // LINE
    last = (addresses + size - 1) // LINE
    out = []
    for row, on in enumerate(present):
        lines = sorted({*first[row, on].tolist(), *last[row, on].tolist()})
        total = int(on.sum()) * size
        coalesced = may_be_narrow and len(lines) <= -(-total // LINE) + 1
        clocks = max(narrow if coalesced else least, -(-total // path), per_line * len(lines))
        out.append(VmemAccess(clocks, tuple(lines), total, store, atomic, to_lds))
    return out
