"""Atomics on one line are served by one L2 channel, one after the other, however many compute units send them.

    busiest_line(record, insts, grid)    -> wave accesses to the line that gets most of them, for the whole grid

From a sample of workgroups: accesses to a line that several sampled workgroups touch are taken to come from the same
share of the whole grid; a line of one workgroup alone stays its own.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable

import numpy as np

from argus.clock.caches import LINE
from argus.gfx942.inst import Inst
from argus.gfx942.instructions import spec
from argus.machine.record import GLOBAL, NO_ADDRESS, ExecutionRecord


def busiest_line(record: ExecutionRecord, insts: Iterable[Inst], grid: int) -> float:
    """Atomic wave accesses to the busiest line of global memory."""
    atomics = np.array(sorted(inst.pc for inst in insts if spec(inst.op).memory.kind == "atomic"), dtype=np.int64)
    if not len(atomics):
        return 0.0
    accesses: Counter[int] = Counter()
    owners: dict[int, set[int]] = defaultdict(set)
    for (workgroup, _), taken in record.waves.items():
        rows = (taken.space == GLOBAL) & np.isin(taken.pc[taken.addr_index], atomics)
        for row in taken.addr[rows]:
            for line in np.unique(row[row != NO_ADDRESS] // np.uint64(LINE)).tolist():
                accesses[line] += 1
                owners[line].add(workgroup)
    sampled = len({workgroup for workgroup, _ in record.waves})
    return max((n * (grid / sampled if len(owners[line]) > 1 else 1) for line, n in accesses.items()), default=0.0)
