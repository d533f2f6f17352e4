"""Lost data in LDS: stored and never read, while other data of the same stores is read too often (ARG-M114).

Data goes through LDS to be read. When an address is off, some of what was stored is missed, and something else is read
in its place:

    ds_write_b64 v1, v[2:3]           every lane stores 8 bytes, 512 in all
    ds_read_b64 v[4:5], v6 offset:16  meant offset:0: 16 of the 512 bytes are never read, others by two lanes
                                      -> ARG-M114 at the ds_write, the reader named as the other side

Nothing else shows it: the shifted read stays inside initialised LDS, and no two waves race. Looked at together is what
the waves of a workgroup store when they execute an instruction for the k-th time. It is reported if

* some of it is read and some is not, being overwritten by other values or left when the workgroup ends, and
* of what is read, not all is read by the same number of lanes, or a lane reads something by two instructions or by
  both halves of one, or one of its readers reads other data so, and
* its readers are regular: with all lanes active their addresses follow from those of lanes 0, 1, 2, 4, ... by adding
  or by exclusive or, as those of tiles do and those of a look-up in a table do not.

Stores nobody reads are not reported (pipelined loops prefetch more than they use), nor are tiles read evenly in part
(prefix sums leave the last row), nor look-ups. What right kernels may do and is reported all the same: stencils that
store a halo and leave its corners. That is why the level is "warning".
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from argus.gfx942.disasm import text
from argus.gfx942.inst import Inst
from argus.machine import record
from argus.machine.errors import LaunchPoint
from argus.machine.interp_services import MemoryAccess, Services
from argus.machine.semantics.lanes import number
from argus.machine.semantics.mem import MEMORY
from argus.machine.state import LANES, Wave, Workgroup

NOBODY = -1
MOST_LANES = 1024
_LANE = np.arange(LANES)


def regular(addresses: NDArray[np.int64]) -> bool:
    """Whether 64 addresses follow from those of lanes 0 and 1, 2, 4, ... by sums or by exclusive ors."""
    summed = np.full(LANES, addresses[0])
    crossed = summed.copy()
    for bit in range(6):
        has = (_LANE >> bit & 1).astype(bool)
        summed[has] += addresses[1 << bit] - addresses[0]
        crossed[has] ^= addresses[1 << bit] ^ addresses[0]
    return bool((summed == addresses).all() or (crossed == addresses).all())


@dataclass(slots=True)
class _Stores:
    """What the waves of a workgroup stored by one instruction at its k-th execution; counts are of granules.

    fewest and most lanes that read one of the granules read, whether a lane read one by two instructions or by both
    halves of one; wave and byte are those of the first loss."""

    inst: Inst
    wave: Wave
    stored: int = 0
    read: int = 0
    lost: int = 0
    fewest: int = 0
    most: int = 0
    twice: bool = False
    byte: int = 0
    readers: dict[int, int] = field(default_factory=dict)

    @property
    def uneven(self) -> bool:
        return self.twice or self.fewest != self.most


class _Use:
    """Per granule of a workgroup's LDS: the store whose data it holds, and how many lanes have read that, the last of
    them by which instruction."""

    def __init__(self, granules: int) -> None:
        self.store = np.full(granules, NOBODY, np.int64)
        self.writer = np.zeros(granules, np.int16)
        self.lanes = np.zeros(granules, np.int64)
        self.reader = np.zeros(granules, np.int32)
        self.reader_pc = np.zeros(granules, np.int32)
        self.value = np.zeros(granules, np.uint32)
        self.stores: list[_Stores] = []
        self.number: dict[tuple[int, int], int] = {}
        self.executed: defaultdict[tuple[int, int], int] = defaultdict(int)


class LdsUseCheck:
    """Observes LDS accesses."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._groups: dict[int, _Use] = {}
        self._granule = 4
        self._insts: dict[int, Inst] = {}
        self._irregular: set[int] = set()
        self._half: tuple[Wave, Inst, Any] | None = None

    def bind(self, insts: list[Inst]) -> None:
        sizes = [MEMORY[i.op].size for i in insts if i.op in MEMORY and MEMORY[i.op].space == "lds"]
        self._granule = 4 if all(size >= 4 for size in sizes) else 1

    def workgroup_started(self, group: Workgroup) -> None:
        self._groups[group.number] = _Use(len(group.lds) // self._granule)

    def workgroup_ended(self, group: Workgroup) -> None:
        use = self._groups.pop(group.number, None)
        if use is None:
            return
        held = np.flatnonzero(use.store != NOBODY)
        self._settle(group, use, held, held[use.lanes[held] == 0])
        uneven = {pc for stores in use.stores if stores.uneven for pc in stores.readers}
        for stores in use.stores:
            if stores.lost and stores.read and (stores.uneven or uneven & stores.readers.keys()):
                self._report(stores, uneven)

    def access(self, access: MemoryAccess) -> None:
        if access.space != record.LDS:
            return
        use = self._groups[access.wave.group.number]
        index, inside = self._granules(access, len(use.store))
        if access.kind != "store":
            self._load(use, access, index, inside)
        elif len(index):
            self._store(use, access, index, inside)

    def _granules(self, access: MemoryAccess, granules: int) -> tuple[Any, Any]:
        """((lanes, granules per lane) touched, which lanes); lanes outside LDS are left to the bounds check."""
        g = self._granule
        first = access.addresses.astype(np.int64) // g
        span = -(-access.size // g) + (1 if g == 4 and (access.addresses & 3).any() else 0)
        index = first[:, None] + np.arange(span)
        inside = (index < granules).all(axis=1)
        return index[inside], inside

    def _load(self, use: _Use, access: MemoryAccess, index: Any, inside: Any) -> None:
        inst = access.inst
        if inst.pc not in self._insts:
            self._insts[inst.pc] = inst
        if access.kind == "atomic" or not self._is_regular(access):
            self._irregular.add(inst.pc)
        flat, me = index.reshape(-1), np.repeat(access.wave.index * LANES + access.lanes[inside], index.shape[1])
        again = (use.lanes[flat] > 0) & (use.reader[flat] == me) & (use.reader_pc[flat] != inst.pc)
        again |= self._in_other_half(access, flat * MOST_LANES + me)
        for store in np.unique(use.store[flat[again]]).tolist():
            if store != NOBODY:
                use.stores[store].twice = True
        use.reader[flat] = me
        use.reader_pc[flat] = inst.pc
        touched, lanes = np.unique(flat, return_counts=True)
        use.lanes[touched] += lanes
        for store in np.unique(use.store[touched]).tolist():
            if store != NOBODY:
                use.stores[store].readers[inst.pc] = access.wave.index

    def _in_other_half(self, access: MemoryAccess, reads: Any) -> Any:
        """Which of these reads, granules by lanes, are reads of the first half of the same ds_read2 too.

        The halves of an instruction are two accesses, one right after the other."""
        before, self._half = self._half, None
        if MEMORY[access.inst.op].elements == 1:
            return np.zeros(len(reads), np.bool_)
        if before is not None and before[0] is access.wave and before[1] is access.inst:
            return np.isin(reads, before[2])
        self._half = access.wave, access.inst, reads
        return np.zeros(len(reads), np.bool_)

    def _is_regular(self, access: MemoryAccess) -> bool:
        if access.inst.pc in self._irregular or len(access.lanes) < LANES:
            return True
        op, mods = MEMORY[access.inst.op], access.inst.mods
        names = ("offset",) if op.elements == 1 else ("offset0", "offset1")
        places = access.addresses.astype(np.int64)
        return any(regular(places - number(mods, name) * max(1, op.stride)) for name in names)

    def _store(self, use: _Use, access: MemoryAccess, index: Any, inside: Any) -> None:
        flat = index.reshape(-1)
        values = np.zeros(len(flat), np.uint32)
        if access.data is not None and index.shape[1] * self._granule == max(access.size, self._granule):
            data = np.ascontiguousarray(access.data[:, inside].T)
            if self._granule == 1:
                data = data.view(np.uint8)[:, : index.shape[1]].astype(np.uint32)
            values = data.reshape(-1)
        old, first = np.unique(flat, return_index=True)
        gone = old[(use.lanes[old] == 0) & (use.value[old] != values[first])]
        self._settle(access.wave.group, use, old, gone)
        store = self._number(use, access)
        use.stores[store].stored += len(old)
        use.value[flat] = values
        use.store[flat] = store
        use.writer[flat] = access.wave.index
        use.lanes[flat] = 0

    def _number(self, use: _Use, access: MemoryAccess) -> int:
        """The index in `use.stores` of this execution."""
        w, inst = access.wave, access.inst
        time = use.executed[w.index, inst.pc]
        use.executed[w.index, inst.pc] = time + 1
        store = use.number.get((inst.pc, time))
        if store is None:
            store = use.number[inst.pc, time] = len(use.stores)
            use.stores.append(_Stores(inst, w))
        return store

    def _settle(self, group: Workgroup, use: _Use, index: Any, gone: Any) -> None:
        """The data of these granules ends; `gone` are those that are lost with it."""
        owner, lanes = use.store[index], use.lanes[index]
        for store in np.unique(owner[lanes > 0]).tolist():
            if store != NOBODY:
                stores, counts = use.stores[store], lanes[(owner == store) & (lanes > 0)]
                low, high = int(counts.min()), int(counts.max())
                stores.fewest = min(stores.fewest, low) if stores.read else low
                stores.most = max(stores.most, high)
                stores.read += len(counts)
        for store in np.unique(use.store[gone]).tolist():
            if store != NOBODY:
                stores, lost = use.stores[store], gone[use.store[gone] == store]
                if not stores.lost:
                    stores.byte = int(lost[0]) * self._granule
                    stores.wave = group.waves[int(use.writer[lost[0]])]
                stores.lost += len(lost)

    def _report(self, stores: _Stores, uneven: set[int]) -> None:
        if stores.readers.keys() & self._irregular:
            return
        g, w = self._granule, stores.wave
        reader = next((pc for pc in stores.readers if pc in uneven), next(iter(stores.readers)))
        message = (
            f"of {stores.stored * g} bytes stored to LDS {stores.lost * g} are never read, from byte {stores.byte} on, "
            "while others are read repeatedly"
        )
        other = LaunchPoint(w.group.id, stores.readers[reader], None, reader, text(self._insts[reader]))
        self._services.finding(
            "ARG-M114", message, w, stores.inst, other=other, address=stores.byte, space="lds", level="warning"
        )
