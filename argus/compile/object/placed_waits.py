"""Which waits of the object stand where a wait of the kernel stands, also in a branch that has no access.

    if c + 1 < C:                            s_cmp_ge_i32 s22, s21          c >= C - 1
        X[c + 1].copy(ring[c + 1])           s_mov_b64 s[0:1], -1
        ag.wait(vm=1)                        s_cbranch_scc0 A
    else:                                    s_waitcnt vmcnt(0)             only where c >= C - 1
        ag.wait(vm=0)                        s_mov_b64 s[0:1], 0
    ag.barrier()                         A:  s_andn2_b64 vcc, exec, s[0:1]
                                             s_cbranch_vccnz B              over the copy and vmcnt(1)

Some path of the graph runs from A to B past both waits. No wave takes it: both branches test one condition. So the
graph alone cannot show that every wave waits. The slices can: they follow conditions through compares, selects and
masks. A wait is held as a barrier is:

    where   the wave gets there exactly where the kernel's wait is, at every launch (normal form, cases, Z3), in the
            same loops, and these loops go on as the kernel's do
    order   no path leads between it and an access, product or barrier the other way round than in the kernel, unless
            they are in the two arms of a branch: a wave that gets to the wait has no lane in the other arm
    skips   no wave without an active lane jumps over it (`s_cbranch_execz`)

The line table only proposes which wait to try. What is not shown is not used: that can lose a proof, not make one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from argus.compile.decoded import Decoded
from argus.compile.matching import EVENTS
from argus.compile.object.branches import ControlRegion
from argus.compile.object.findings import Agreement
from argus.compile.object.order import PlacedInstruction, in_order
from argus.compile.object.slices import Slices
from argus.ir import ops
from argus.ir.kernel import Kernel
from argus.machine.symbolic.sums import WordSum


@dataclass(frozen=True, slots=True)
class StatedWait:
    """A wait of the kernel; `before` instructions of the object are made for what the kernel has before it."""

    op: ops.Wait
    before: int
    region: ControlRegion
    arms: tuple[tuple[int, int], ...]


def placed_waits(
    code: Decoded,
    op_of: list[int],
    slices: Slices,
    events: list[PlacedInstruction],
    stated: list[StatedWait],
    uncertain: frozenset[int],
    same: Callable[[WordSum, WordSum], bool],
) -> dict[int, int]:
    """Instruction -> the wait of the kernel in whose place it stands.

    `events` are the instructions of the object in the kernel's order, `uncertain` the ops in loops of which the object
    is not shown to have the same; `same(a, b)`: the words are equal at every launch.
    """
    flow = slices.flow
    if {event.n for event in events} != {n for n in flow.block_of if code.kinds[n] in EVENTS}:
        return {}
    skipped = {b for block in flow.order for edge in flow.out[block] if slices.skips(edge) for b in flow.past(edge)}
    found: dict[int, int] = {}
    for wait in stated:
        if wait.op.id in uncertain:
            continue
        for n, block in flow.block_of.items():
            if op_of[n] != wait.op.id or code.insts[n].op != "s_waitcnt" or block in skipped:
                continue
            if slices.around(block) != wait.region.headers or not same(slices.reached(block), wait.region.active):
                continue
            if in_order(flow, events, wait.before, PlacedInstruction(n, block, wait.op, wait.arms)):
                found[n] = wait.op.id
    return found


def in_uncertain_loops(kernel: Kernel, header_of: Mapping[int, int], found: Agreement) -> frozenset[int]:
    """Ops in loops that the object does not have, or of which something is not shown."""
    open_ = {finding.op.id for finding in found.unknown}
    loops = [op for op in ops.walk(kernel.body) if op.control is ops.Control.LOOP]
    wrong = [op for op in loops if op.id not in header_of or op.id in open_]
    return frozenset(inner.id for op in wrong for block in op.blocks for inner in ops.walk(block))
