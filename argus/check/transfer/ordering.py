"""Transfer of accesses, barriers and waits on what is not yet ordered (`domain.access_order`), and what may meet there.

Only accesses that are surely issued count as younger: a load nobody reads is not in the code, and a guarded access to
LDS is skipped by a wave none of whose lanes pass.

The arms of a branch that splits a wave have no order: accesses of both are compared with each other, also in one wave
(`meeting_arms`). A barrier under a condition that differs between threads cannot be followed, but for
`if wave >= 4: barrier`, which puts whole waves out of step.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, assert_never

import numpy as np
from numpy.typing import NDArray

from argus.check.domain.access_order import LiveAccess, Touch, Waves, overlap
from argus.check.domain.threads import conditions
from argus.check.solve.limits import afford
from argus.ir import ops
from argus.ir.ops import Access, Op, Shared
from argus.ir.semantics import copied_to
from argus.layout import expr as E

if TYPE_CHECKING:
    from argus.check.walk import KernelWalk

Mask = NDArray[np.bool_]
ENTANGLED_GUARD = "the guard of this access to LDS depends on sizes and threads at once"
DIVERGENT_BARRIER = "a barrier under a condition that differs between threads"


@dataclass(frozen=True, slots=True)
class LdsConflict:
    """Two accesses that may meet in a granule of LDS, `first` earlier in program order."""

    first: LiveAccess
    second: LiveAccess
    granule: int


@dataclass(frozen=True, slots=True)
class OrderFinding:
    """What comparing an access with all that may meet it came to: pairs, conflicts, and what was not decided."""

    pairs: int
    conflicts: tuple[LdsConflict, ...]
    undecided: str


def step(walk: KernelWalk, op: Op) -> None:
    """One op's effect on what is not ordered. Blocks inside it are walked by others."""
    _registers(walk, op)
    order = walk.order
    match op:
        case ops.Wait():
            walk.order = order.arrived(op.vm, op.lgkm) if op.registers else order.waited(op.vm, op.lgkm)
        case ops.Barrier():
            why = "" if walk.active.all() and not walk.entangled else DIVERGENT_BARRIER
            _tell_barrier(walk, op, why)
            walk.order = order.barrier(op.bare)
        case ops.Load() | ops.Store() | ops.Atomic() | ops.CopyToLds():
            _access(walk, op)
        case ops.Registers() | ops.Bitcast():
            walk.order = replace(order, pending=order.pending.renamed(op))
        case (
            ops.Constant() | ops.Index() | ops.Symbol() | ops.Map() | ops.Convert() | ops.Lanes() | ops.Mfma() |
            ops.Instruction() | ops.SetPrio() | ops.Tag() | ops.Check() | ops.For() | ops.If() | ops.Schedule()
        ):  # fmt: skip
            pass
        case _:
            assert_never(op)


def _registers(walk: KernelWalk, op: Op) -> None:
    """The registers the op needs have arrived, or it is not in the code. Where they have not, that is said, and the
    walk goes on as if."""
    if not op.operands or not op.needs_contents:
        return
    pending, used = walk.order.pending, op.operands if op.id in walk.emitted else ()
    missing = tuple(value for value in used if value in pending.at)
    walk.tell("registers", lambda rule: rule.registers(op, missing))
    if missing:
        counts = [pending.younger(value) for value in missing]
        vm, lgkm = (min((c[name] for c in counts if name in c), default=None) for name in ("vm", "lgkm"))
        walk.order = replace(walk.order, pending=pending.waited(vm, lgkm))


def _access(walk: KernelWalk, op: ops.Load | ops.Store | ops.Atomic | ops.CopyToLds) -> None:
    counter = op.counter
    assert counter is not None
    surely = op.surely_issued and op.id in walk.emitted
    order = walk.order
    grown = {k: x.followed() if surely and x.counter == counter else x for k, x in order.live.items()}
    order = replace(order, live=grown, pending=order.pending.after(op, surely))
    walk.order = order
    target = lds_target(op)
    if target is None:
        return
    if op.id not in walk.emitted:  # a load nobody uses: it is not in the code and meets nothing
        _tell_order(walk, op, OrderFinding(0, (), ""))
        return
    buffer, touch = target.memory, _touch(walk, op, target)
    assert isinstance(buffer, Shared)
    if touch is None:
        walk.order = order.without(buffer, ENTANGLED_GUARD)
        _tell_order(walk, op, OrderFinding(0, (), ENTANGLED_GUARD))
        return
    facts = tuple(fact for fact in walk.facts if not fact.free() & walk.threads.symbols.keys())
    mine = LiveAccess(touch, counter, 0, False, facts, walk.loops)
    if walk.listeners:
        found = compared(walk, ((other, mine) for other in grown.values()), order.lag, _alone(walk, mine))
        found = replace(found, undecided=order.unknown(buffer) or found.undecided)
        _tell_order(walk, op, found)
    for arm in walk.arms:
        arm.append(mine)
    walk.order = order.and_then(mine)


def lds_target(op: Op) -> Access | None:
    """The access to LDS an op makes, if any."""
    match op:
        case ops.CopyToLds():
            return copied_to(op)
        case ops.Load() | ops.Store() | ops.Atomic():
            return op.access if isinstance(op.access.memory, Shared) else None
        case _:
            return None


def _touch(walk: KernelWalk, op: Op, target: Access) -> Touch | None:
    address = walk.here(target.address)
    guard = None if target.guard is None else walk.here(target.guard)
    key = (op.id, address, guard, walk.active.tobytes(), walk.threads.defined)
    if key not in walk.touches:
        walk.touches[key] = _bytes(walk, op, target, address, guard)
    return walk.touches[key]


def _bytes(walk: KernelWalk, op: Op, target: Access, address: E.Expr, guard: E.Expr | None) -> Touch | None:
    spread, active, buffer, unit = walk.threads.spread(address), walk.active, target.memory, walk.memory.unit
    assert isinstance(buffer, Shared)
    if guard is not None:
        truth, _ = conditions(walk.threads, guard)
        active = active if truth is None else active & truth
    if spread.rest is None:
        return None
    constant = spread.rest.value if spread.rest.op == "const" else 0
    rest = E.const(0) if spread.rest.op == "const" else spread.rest
    first = (spread.offsets + constant + buffer.base) // unit
    count = target.count * buffer.dtype.bytes // unit
    low, high = int(first.min()), int(first.max()) + count
    afford(4 * (high - low))
    waves = np.zeros(high - low, dtype=np.uint32)
    for w in range(walk.threads.waves):
        where = (first[w][active[w]] - low)[:, None] + np.arange(count)
        waves[where.reshape(-1)] |= np.uint32(1 << w)
    writes = any(part.writes and part.space == "lds" for part in op.footprints)
    return Touch(op, buffer, writes, rest, low, waves, waves.tobytes())


# -- what may meet -----------------------------------------------------------------------------------------------------


def compared(
    walk: KernelWalk,
    pairs: Iterable[tuple[LiveAccess, LiveAccess]],
    lag: tuple[int, ...],
    already: Iterable[LdsConflict] = (),
    split: int = 0,
) -> OrderFinding:
    """What comparing these accesses came to. Waves of `split` run both of a pair in no order."""
    total, conflicts, undecided = 0, list(already), ""
    for first, second in pairs:
        x, y = first.touch, second.touch
        if not (x.write or y.write) or (isinstance(x.op, ops.Atomic) and isinstance(y.op, ops.Atomic)):
            continue
        if not overlap(x.buffer, y.buffer):
            continue
        total += 1
        shift = E.as_expr(x.rest - y.rest)
        if shift.op != "const":
            undecided = undecided or f"the addresses {x.rest} and {y.rest} were not compared"
            continue
        granule = _meeting(first, second, shift.value // walk.memory.unit, lag, split)
        if granule is not None and walk.prover.possible((*first.facts, *second.facts)) is not False:
            conflicts.append(LdsConflict(first, second, granule))
    return OrderFinding(total, tuple(conflicts), undecided)


def _meeting(first: LiveAccess, second: LiveAccess, shift: int, lag: tuple[int, ...], split: int) -> int | None:
    """The first granule where both meet, if any."""
    x, y = first.touch, second.touch
    low = max(x.start + shift, y.start)
    high = min(x.start + shift + len(x.waves), y.start + len(y.waves))
    if low >= high:
        return None
    a = x.waves[low - x.start - shift : high - x.start - shift]
    b = y.waves[low - y.start : high - y.start]
    if first.passed:
        meet = _not_yet_ordered(first, a, b, lag)
    else:
        union = a | b
        meet = (a != 0) & (b != 0) & ((union & (union - np.uint32(1))) != 0)
    if first.counter != second.counter and not first.retired:
        meet |= (a & b) != 0
    meet |= (a & b & np.uint32(split)) != 0
    return low + int(np.argmax(meet)) if meet.any() else None


def _not_yet_ordered(first: LiveAccess, a: Waves, b: Waves, now: tuple[int, ...]) -> NDArray[np.bool_]:
    """Where a wave of `first` lags so far behind a wave that comes now that their barriers do not order them."""
    meet = np.zeros(a.shape, dtype=np.bool_)
    for lag in set(first.lags):
        late = _bits(n == lag for n in first.lags)
        ahead = _bits(first.passed + n - lag < 1 for n in now)
        meet |= ((a & late) != 0) & ((b & ahead) != 0)
    return meet


def _bits(chosen: Iterable[bool]) -> np.uint32:
    return np.uint32(sum(1 << w for w, yes in enumerate(chosen) if yes))


def _alone(walk: KernelWalk, mine: LiveAccess) -> list[LdsConflict]:
    """The same store executed by two waves at once."""
    touch = mine.touch
    if not touch.write or isinstance(touch.op, ops.Atomic):
        return []
    several = (touch.waves & (touch.waves - np.uint32(1))) != 0
    if not several.any() or walk.prover.possible(mine.facts) is False:
        return []
    return [LdsConflict(mine, mine, touch.start + int(np.argmax(several)))]


# -- branches ----------------------------------------------------------------------------------------------------------


def puts_out_of_step(walk: KernelWalk, op: ops.If, truth: Mask) -> bool:
    """`if wave >= 4: barrier`: those waves lag by one barrier more. False if the branch is something else."""
    barriers = [inner for inner in op.then if isinstance(inner, ops.Barrier)]
    plain = bool(barriers) and len(barriers) == len(op.then) and not op.orelse and not op.outs
    if not plain or not (truth == truth[:, :1]).all() or not walk.active.all() or walk.entangled:
        return False
    if (truth == truth[:1]).all():
        return False  # all waves or none, as in iteration r of a round
    for barrier in barriers:
        walk.ledger.visit(barrier)
        _tell_barrier(walk, barrier, "")
    walk.order = walk.order.out_of_step((bool(late) for late in truth[:, 0]), len(barriers))
    return True


def meeting_arms(walk: KernelWalk, arms: list[list[LiveAccess]], split: int) -> None:
    """Accesses of two arms that different threads take, in any order."""
    if len(arms) < 2 or not walk.listeners:
        return
    for second in arms[1]:
        found = compared(walk, ((first, second) for first in arms[0]), walk.order.lag, split=split)
        _tell_order(walk, second.touch.op, found)


def _tell_barrier(walk: KernelWalk, op: ops.Barrier, why: str) -> None:
    walk.tell("barrier", lambda rule: rule.barrier(op, why))


def _tell_order(walk: KernelWalk, op: Op, found: OrderFinding) -> None:
    walk.tell("lds_order", lambda rule: rule.lds_order(op, found))
