"""From byte addresses to the cost of a wave's memory access: LDS bank clocks, lines of global memory.

Accesses of one instruction are handled together (addresses [n, 64], exec masks [n]), because a loop executes the same
instruction thousands of times:

    lds_access(parameters, "read", 128, addresses, masks)   -> [LdsAccess(port=16, bank=8, conflicts=0, ...), ...]
    vmem_access(parameters, 16, addresses, masks)           -> [VmemAccess(clocks=16, lines=(0, ... 7), ...), ...]

The L1 path moves 64 bytes per clock, looks up one 128-byte line per clock and takes at least four clocks per access.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from argus.clock.caches import LINE
from argus.clock.parameters import Parameters
from argus.clock.program import LdsAccess, VmemAccess
from argus.gfx942.lds import PORT_CLOCKS, Kind, access_bits, conflict_cycles_many, conflict_free_cycles

Addresses = npt.NDArray[np.int64]
Masks = npt.NDArray[np.uint64]

_MEASURED_WIDTH = {32: 32, 64: 64, 96: 128, 128: 128}


def lanes_of(masks: Masks) -> npt.NDArray[np.bool_]:
    """Exec masks as booleans [n, 64]."""
    bits: npt.NDArray[np.bool_] = (masks[:, None] >> np.arange(64, dtype=np.uint64)) & np.uint64(1) == 1
    return bits


def lds_access(
    parameters: Parameters, kind: Kind, bits: int, addresses: Addresses, masks: Masks, parts: int = 1
) -> list[LdsAccess]:
    """One LdsAccess per row; with `parts` = 2 (read2, write2 forms) one per pair of rows: first part, second part."""
    served = access_bits(bits)
    bank = conflict_cycles_many(kind, bits, addresses, masks).reshape(-1, parts).sum(axis=1)
    active = lanes_of(masks).sum(axis=1).reshape(-1, parts).sum(axis=1)
    free = parts * conflict_free_cycles(kind, bits)
    port = parts * PORT_CLOCKS[kind, served]
    width = _MEASURED_WIDTH[served]
    latency = parameters[f"lds_{kind}_latency_b{width}"] + (parts - 1) * PORT_CLOCKS[kind, served]
    pace = parts * parameters[f"lds_{kind}_pace_b{width}"]
    return [
        LdsAccess(port, int(clocks), int(clocks) - free, latency, pace, int(lanes) * bits // 8)
        for clocks, lanes in zip(bank, active, strict=True)
    ]


def permute_access(parameters: Parameters, count: int) -> list[LdsAccess]:
    """ds_bpermute, ds_permute, ds_swizzle: lanes exchanged through the LDS crossbar, no bank is read."""
    port = PORT_CLOCKS["read", 32]
    pace = parameters["lds_read_pace_b32"]
    return [LdsAccess(port, 2, 0, parameters["lds_permute_latency"], pace, 0)] * count


def vmem_access(
    parameters: Parameters,
    size: int,
    addresses: Addresses,
    masks: Masks,
    store: bool = False,
    atomic: bool = False,
    to_lds: bool = False,
) -> list[VmemAccess]:
    """One VmemAccess per row of `size` bytes per lane."""
    active = lanes_of(masks)
    least, per_line, path = (int(parameters[name]) for name in ("vmem_least_clocks", "vmem_line_clocks", "vmem_path"))
    first = addresses // LINE
    last = (addresses + size - 1) // LINE
    out = []
    for row in range(len(addresses)):
        on = active[row]
        lines = np.union1d(first[row, on], last[row, on])
        total = int(on.sum()) * size
        clocks = max(least, -(-total // path), per_line * len(lines))
        out.append(VmemAccess(clocks, tuple(lines.tolist()), total, store, atomic, to_lds))
    return out
