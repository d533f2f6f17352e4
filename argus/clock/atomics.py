"""Atomics on one address are done one after the other, however many compute units send them.

    busiest_address(record, insts, grid)    -> accesses (one per lane) to the address that gets most, for the whole grid

What it costs was measured: a histogram of 2**26 keys with one global atomic per key, an eighth of them to one bin,
takes 86.4 ms, 10.3 ns for each access to that bin, over all XCDs (`atomic_ns`). Lanes of one wave count one by one
there: an eighth of every wave meets in that bin.

From a sample of workgroups: accesses to an address that several sampled workgroups touch are taken to come from the
same share of the whole grid; an address of one workgroup alone stays its own. What it cannot do: say how fast atomics
to many addresses are; they cost what stores cost.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable

import numpy as np

from argus.gfx942.inst import Inst
from argus.gfx942.instructions import spec
from argus.machine.record import GLOBAL, NO_ADDRESS, ExecutionRecord


def busiest_address(record: ExecutionRecord, insts: Iterable[Inst], grid: int) -> float:
    """Atomic accesses to the busiest address of global memory."""
    atomics = np.array(sorted(inst.pc for inst in insts if spec(inst.op).memory.kind == "atomic"), dtype=np.int64)
    if not len(atomics):
        return 0.0
    accesses: Counter[int] = Counter()
    owners: dict[int, set[int]] = defaultdict(set)
    for (workgroup, _), taken in record.waves.items():
        rows = (taken.space == GLOBAL) & np.isin(taken.pc[taken.addr_index], atomics)
        found, times = np.unique(taken.addr[rows], return_counts=True)
        for address, count in zip(found.tolist(), times.tolist(), strict=True):
            if address != NO_ADDRESS:
                accesses[address] += count
                owners[address].add(workgroup)
    sampled = len({workgroup for workgroup, _ in record.waves})
    return max(
        (n * (grid / sampled if len(owners[address]) > 1 else 1) for address, n in accesses.items()), default=0.0
    )
