"""Rule `race_free`: no two waves touch the same byte of LDS, one of them writing, without a barrier that orders them.

Proved: for every pair of accesses e, f to LDS by different waves, of which one writes, on every path and in any two
iterations, either they touch no common byte, or every path from e to f passes a barrier at which e has retired.
Retired means: the wave waited for it. A plain barrier waits for the wave's own LDS accesses first; a bare barrier
waits for nothing, so an access still in flight there is not ordered by it. Direct-to-LDS copies retire by `vm` waits
only. Also: no two lanes of one store write one byte, unless with the same data; a direct copy and an ordinary access of
one wave to a common byte are separated by a wait; and two arms of a branch that splits a wave touch no common byte, of
which one writes, since nothing orders them.

Waves that run out of step (`ag.opposite()`) are followed: what a wave that is one barrier behind touches is compared
with what the others touch one barrier later. Any other barrier under a condition on wave or lane is refused here.

Accesses are compared by the walk as it meets them (`transfer.ordering`), with all that are live there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from argus.check.domain.access_order import OUT_OF_STEP
from argus.check.domain.record_numbers import distinct
from argus.check.domain.records import Record, Tables
from argus.check.domain.tags import Case, Tags
from argus.check.domain.threads import Spread
from argus.check.events import ProgramPoint
from argus.check.obligations import WHOLE_KERNEL
from argus.check.rules.rule import Rule
from argus.check.terms.atoms import UNKNOWN
from argus.check.transfer.ordering import LdsConflict, OrderFinding, lds_target
from argus.check.walk import KernelWalk
from argus.ir import ops
from argus.ir.ops import Access, Op, Shared

AT_THE_END = f"{OUT_OF_STEP} at the end of the kernel"


@dataclass(frozen=True, slots=True)
class Clash:
    """Two threads of one wave whose store writes different data to one granule."""

    op: Op
    place: ProgramPoint
    buffer: Shared
    first: int
    second: int
    granule: int


class RaceFree(Rule):
    """Hears what the walk found where accesses may meet."""

    name = "race_free"

    def begin(self, flow: KernelWalk) -> None:
        super().begin(flow)
        self.clashes: list[Clash] = []
        self.conflicts: dict[tuple[int, int], LdsConflict] = {}
        self.undecided: list[tuple[Op | None, str]] = []
        self.touched: dict[Shared, Op] = {}
        self.pairs = 0

    def lds_order(self, op: Op, found: OrderFinding) -> None:
        target = lds_target(op)
        assert target is not None
        assert isinstance(target.memory, Shared)
        self.touched.setdefault(target.memory, op)
        self.pairs += found.pairs
        for conflict in found.conflicts:
            self.conflicts.setdefault((conflict.first.touch.op.id, conflict.second.touch.op.id), conflict)
        if found.undecided:
            self.undecided.append((op, found.undecided))
        meets = [f"it may meet the access of line {c.first.touch.op.span.line}" for c in found.conflicts]
        self.settle(op, "ordered", "enumeration", [*meets, *([found.undecided] if found.undecided else [])])

    def barrier(self, op: ops.Barrier, why: str) -> None:
        self.settle(op, "met by all waves", "structural", [why] if why else [])
        if why:
            self.undecided.append((None, why))

    def lds_access(self, op: Op, place: ProgramPoint, access: Access, start: Spread, value: Tags) -> None:
        """Two lanes of one wave that store different tags to one granule."""
        constant = start.constant()
        buffer = access.memory
        if not isinstance(op, ops.Store | ops.CopyToLds) or not isinstance(buffer, Shared):
            return
        if constant is None:
            self._symbolic_lanes(op, place, access, start, buffer)
            return
        where = self.flow.memory.granules(constant + buffer.base, access.count, buffer.dtype.bytes)[..., 0]
        for case in value.cases:
            clash = _clash(where, case, place, self.flow.tables)
            if clash is not None:
                self.clashes.append(Clash(op, place, buffer, *clash))
                self.settle(op, "lanes", "enumeration", ["two lanes may write different data to one address"])
                return
        self.settle(op, "lanes", "enumeration")

    def _symbolic_lanes(self, op: Op, place: ProgramPoint, access: Access, start: Spread, buffer: Shared) -> None:
        """Where the address keeps a part that all lanes share, lanes are apart if their own parts are."""
        disjoint = False
        if start.rest is not None:
            size = access.count * buffer.dtype.bytes
            lanes = [np.sort(start.offsets[w][place.active[w]]) for w in range(len(start.offsets))]
            disjoint = all(bool((np.diff(own) >= size).all()) for own in lanes)
        why = "whether two lanes of this store write to one address is not known"
        self.settle(op, "lanes", "enumeration", [] if disjoint else [why])
        if not disjoint:
            self.undecided.append((op, why))

    def finish(self) -> None:
        if not self.flow.kernel.shared:
            return
        late = any(self.flow.order.lag)
        doubts = [AT_THE_END] if late else []
        self.flow.ledger.settle(WHOLE_KERNEL, self.name, "waves end in step", "structural", doubts)
        if late:
            self.undecided.append((None, AT_THE_END))


def _clash(where: np.ndarray, case: Case, place: ProgramPoint, tables: Tables) -> tuple[int, int, int] | None:
    vague = [n for n in distinct(case.record) if not _tells_data(tables[n])]
    for w in range(len(where)):
        if not place.active[w].any():
            continue
        count = where.shape[-1]
        lanes = np.repeat(np.arange(64), count)[np.repeat(place.active[w], count)]
        flat, record = where[w][place.active[w]].reshape(-1), case.record[w][place.active[w]].reshape(-1)
        offset = case.offset[w][place.active[w]].reshape(len(flat), -1)
        order = np.argsort(flat, kind="stable")
        same = flat[order][1:] == flat[order][:-1]
        differ = (record[order][1:] != record[order][:-1]) | (offset[order][1:] != offset[order][:-1]).any(axis=1)
        differ |= np.isin(record[order][1:], vague)
        hit = np.flatnonzero(same & differ)
        if len(hit):
            n = int(hit[0])
            return 64 * w + int(lanes[order][n]), 64 * w + int(lanes[order][n + 1]), int(flat[order][n])
    return None


def _tells_data(record: Record) -> bool:
    """Equal records at equal places are equal data."""
    return record.kind in ("element", "zero") or (record.kind != "lost" and record.term != UNKNOWN)
