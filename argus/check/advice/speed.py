"""Rules about speed, stated by the author: `bank_free`, `vector` and `coalesced`.

    ag.check.bank_free(sA)            no access to sA has a bank conflict, by the phases of `argus.gfx942.lds`
    ag.check.vector(sA, width=16)     every access moves at least 16 bytes per lane, at a multiple of 16
    ag.check.coalesced(A)             a wave's access touches no more 64-byte lines than its bytes need

All three look at the addresses of all lanes of each wave. A symbolic part common to all lanes (blocks, iterations) is
divided out when the prover shows that it is a multiple of the period that matters (128 bytes of banks, the vector
width, a 64-byte line); otherwise the verdict is `unknown`. A refutation names the wave and the lanes that collide.
These rules never say anything about results.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from argus.check.domain.tags import Tags
from argus.check.domain.threads import Spread
from argus.check.events import ProgramPoint
from argus.check.explain.findings import at, bounds_of, failures, spans
from argus.check.explain.witness import BLOCK, smallest_execution
from argus.check.obligations import STATED_OF_ACCESSES
from argus.check.report import Counterexample, Party, Verdict
from argus.check.rules.rule import Rule, RuleEvent
from argus.check.walk import KernelWalk
from argus.gfx942 import lds
from argus.ir import ops
from argus.ir.kernel import LANE
from argus.ir.ops import Access, Memory, Op, Shared
from argus.ir.types import Span, Value
from argus.layout import expr as E
from argus.layout.expr import Expr

PERIOD = lds.BANKS * lds.BANK_BYTES
LINE = 64
Addresses = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Slow:
    """What is slow about an access: the threads to blame, or only a reason when it is not decided."""

    op: Op
    place: ProgramPoint
    what: str
    threads: tuple[int, ...] = ()
    access: Access | None = None


class Speed(Rule):
    """Listens to all accesses of the memories the author named."""

    name = "speed"

    def begin(self, flow: KernelWalk) -> None:
        super().begin(flow)
        self.found: dict[str, list[RuleEvent[Slow]]] = {rule: [] for rule in STATED_OF_ACCESSES}
        self.asked: dict[Memory, list[ops.Check]] = {}
        self.wrong: list[Verdict] = []
        for op in ops.walk(flow.kernel.body):
            if isinstance(op, ops.Check) and op.rule in STATED_OF_ACCESSES:
                memories = [t for t in op.targets if not isinstance(t, Value | str)]
                for memory in memories:
                    self.asked.setdefault(memory, []).append(op)
                if not memories:
                    reason = f"{op.rule} speaks about memories: name an LDS buffer or a tensor"
                    self.wrong.append(Verdict(op.rule, "unknown", op.span, op.id, "structural", reason=reason))

    def global_load(self, op: ops.Load | ops.CopyToLds, place: ProgramPoint, access: Access) -> None:
        self._access(op, place, access)

    def global_store(self, op: ops.Store | ops.Atomic, place: ProgramPoint, access: Access, value: Tags) -> None:
        self._access(op, place, access)

    def lds_access(self, op: Op, place: ProgramPoint, access: Access, start: Spread, value: Tags) -> None:
        self._access(op, place, access)

    def _access(self, op: Op, place: ProgramPoint, access: Access) -> None:
        for check in self.asked.get(access.memory, ()):
            spread = self.flow.threads.spread(self.flow.here(access.address))
            decide = {"bank_free": self._banks, "vector": self._vector, "coalesced": self._lines}[check.rule]
            slow = decide(op, place, access, spread, check.args)
            what, doubts = (
                f"{access.memory.name}, stated at line {check.span.line}",
                [] if slow is None else [slow.what],
            )
            self.flow.ledger.settle(op.id, check.rule, what, "enumeration", doubts)
            self.found[check.rule].append(RuleEvent(op, place.facts, () if slow is None else (slow,)))

    def _base(self, place: ProgramPoint, spread: Spread, period: int, extra: int = 0) -> Addresses | None:
        """Addresses modulo what all lanes share, when that is a multiple of the period."""
        if spread.rest is None:
            return None
        if self.flow.prover.holds(place.facts, ((spread.rest + extra) % period).eq(0)) is not True:
            constant = spread.constant()
            return None if constant is None else constant + extra
        return spread.offsets

    def _banks(
        self, op: Op, place: ProgramPoint, access: Access, spread: Spread, args: Mapping[str, object]
    ) -> Slow | None:
        if not isinstance(access.memory, Shared):
            return Slow(op, place, "is not an access to LDS")
        base = self._base(place, spread, PERIOD, access.memory.base)
        if base is None:
            return Slow(op, place, "has an address whose bank is not known")
        kind: lds.Kind = "read" if isinstance(op, ops.Load) else "write"
        total = access.count * access.memory.dtype.bits
        width = min(total, 128)
        for w in range(len(base)):
            mask = sum(1 << lane for lane in range(64) if place.active[w, lane])
            for first in range(0, total // 8, width // 8):
                clocks = lds.conflict_cycles(kind, width, base[w] + first, mask)
                free = lds.conflict_free_cycles(kind, width)
                if clocks > free:
                    lanes = _colliding(kind, width, base[w] + first)
                    ways = f"takes {clocks} clocks instead of {free}"
                    return Slow(op, place, ways, tuple(64 * w + lane for lane in lanes), access)
        return None

    def _vector(
        self, op: Op, place: ProgramPoint, access: Access, spread: Spread, args: Mapping[str, object]
    ) -> Slow | None:
        width = args.get("width", 16)
        if not isinstance(width, int):
            return Slow(op, place, "is compared with a width that is not a number")
        moved = access.count * access.memory.dtype.bytes
        if moved < width:
            return Slow(op, place, f"moves {moved} bytes per lane, not {width}", (0,))
        base = self._base(place, spread, width)
        if base is None:
            return Slow(op, place, f"has an address not known to be a multiple of {width}")
        crooked = np.argwhere((base % width != 0) & place.active)
        if len(crooked):
            w, lane = (int(v) for v in crooked[0])
            return Slow(op, place, f"starts at byte {int(base[w, lane])}, no multiple of {width}", (64 * w + lane,))
        return None

    def _lines(
        self, op: Op, place: ProgramPoint, access: Access, spread: Spread, args: Mapping[str, object]
    ) -> Slow | None:
        size = access.count * access.memory.dtype.bytes
        for w in range(self.flow.threads.waves):
            active = np.flatnonzero(place.active[w])
            groups: dict[Expr, list[int]] = {}
            for lane in active:
                groups.setdefault(spread.at(w, int(lane)), []).append(int(lane))
            for rest in groups:
                if self.flow.prover.holds(place.facts, (rest % LINE).eq(0)) is not True:
                    return Slow(op, place, f"has an address not known to be a multiple of {LINE}")
            lines = sum(_distinct(spread.offsets[w][lanes], size) for lanes in groups.values())
            needed = -(-len(active) * size // LINE)
            if lines > needed:
                return self._counted(op, place, access, w, needed)
        return None

    def _counted(self, op: Op, place: ProgramPoint, access: Access, wave: int, needed: int) -> Slow:
        """Rows that look apart may coincide: count the lines of the smallest execution."""
        found = smallest_execution(self.flow.kernel, self.flow.prover, place)
        if found is None or not access.address.free() <= {
            *self.flow.kernel.shapes,
            *BLOCK,
            LANE,
            *_names(place, access),
        }:
            return Slow(op, place, "touches lines that were not counted")
        env: dict[str, int | Addresses] = {**found[0].env, "lane": np.arange(64), "wave": wave}
        start = np.broadcast_to(np.asarray(E.evaluate(access.address, env)), (64,))[place.active[wave]]
        lines = _distinct(start, access.count * access.memory.dtype.bytes)
        threads = (64 * wave,) if lines > needed else ()
        return Slow(op, place, f"touches {lines} lines of {LINE} bytes where {needed} would do", threads)

    def verdicts(self, flow: KernelWalk) -> list[Verdict]:
        """What was stated and what is slow, by place."""
        result = list(self.wrong)
        for rule, found in self.found.items():
            if any(check.rule == rule for checks in self.asked.values() for check in checks):
                result += [self._verdict(flow, rule, span) for span in spans(found)]
        return result

    def _verdict(self, flow: KernelWalk, rule: str, span: Span) -> Verdict:
        entries = at(self.found[rule], span)
        slow = failures(entries)
        first = entries[0]
        if not slow:
            bounds = bounds_of((*flow.prover.base, *first.facts))
            shown = flow.ledger.at(rule, span)
            return flow.ledger.conclude(shown, rule, span, first.op.id, "enumeration", len(entries), bounds)
        certain = [s for s in slow if s.threads]
        found = smallest_execution(flow.kernel, flow.prover, certain[0].place) if certain else None
        if found is None:
            return Verdict(rule, "unknown", span, first.op.id, "enumeration", reason=f"this access {slow[0].what}")
        execution, one = found[0], certain[0]
        operands = tuple(Party("lane", t, 0, _touched(one, t, execution.env), span=span) for t in one.threads[:2])
        message = f"an access {one.what}"
        example = Counterexample(
            rule, span, one.op.id, message, execution.sizes, execution.block, execution.loops,
            one.threads[0] // 64, operands, _HELP[rule],
        )  # fmt: skip
        return Verdict(rule, "refuted", span, one.op.id, "enumeration", counterexample=example)


_HELP = {
    "bank_free": "spread the lanes of one phase over all banks: XOR the chunk with the row, or pad the rows",
    "vector": "give each lane consecutive elements at an aligned address",
    "coalesced": "let consecutive lanes touch consecutive bytes",
}


def _touched(slow: Slow, thread: int, env: Mapping[str, int]) -> str:
    """What a lane touches of an LDS buffer: bytes, banks and coordinates; else what is slow about it."""
    access = slow.access
    if access is None or not isinstance(access.memory, Shared):
        return slow.what
    values: dict[str, int | Addresses] = {**env, "lane": thread % 64, "wave": thread // 64}
    asked = (access.address, *access.coords)
    if not all(v.name in values for each in asked for v in each.free()):
        return slow.what
    first, *coords = (int(np.asarray(E.evaluate(each, values))) for each in asked)
    banks = [(access.memory.base + first + n) // lds.BANK_BYTES % lds.BANKS for n in (0, access.bytes - 1)]
    place = f"[{', '.join(str(c) for c in coords)}]" if coords else ""
    touched = f"touches bytes {first} to {first + access.bytes - 1} of {access.memory.name}{place}"
    return f"{touched}, banks {banks[0]} to {banks[1]}"


def _distinct(start: Addresses, size: int) -> int:
    """Lines that accesses of `size` bytes at these addresses touch."""
    return len(np.unique((np.asarray(start)[:, None] + np.arange(size)) // LINE))


def _names(place: ProgramPoint, access: Access) -> set[Expr]:
    """Loop variables of the place, and the wave, as the address writes them."""
    return {var for var, _ in place.loops} | {v for v in access.address.free() if v.name == "wave"}


def _colliding(kind: lds.Kind, width: int, addresses: Addresses) -> tuple[int, ...]:
    """Two lanes of one phase that want different dwords of one bank."""
    for group in lds.PHASES[kind, lds.access_bits(width)]:
        seen: dict[int, tuple[int, int]] = {}
        for lane in group:
            for n in range(max(1, width // 32)):
                dword = int(addresses[lane]) // lds.BANK_BYTES + n
                bank = dword % lds.BANKS
                if bank in seen and seen[bank][1] != dword:
                    return seen[bank][0], lane
                seen.setdefault(bank, (lane, dword))
    return (0,)
