"""What the object has waited for on every path to an access, since the access before it.

    buffer_load … lds
    loop:  s_waitcnt vmcnt(0)          no access in the loop
           s_cbranch_scc1 loop
    s_barrier                          before it, on every path: vmcnt(0)

A forward analysis over the control-flow graph. The state at a place is the weakest wait of all paths to it since their
last access, matrix instruction or barrier (*event*), and whose events these were. No event stands between such a wait
and the instruction, so what the wait says of outstanding accesses still holds there. An op of several instructions
begins where a path comes from another op; all its beginnings count.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from argus.compile.decoded import Decoded
from argus.compile.matching import EVENTS
from argus.compile.object.control_flow import START, Irregular, control_flow
from argus.gfx942.waits import LGKM_MAX, VM_MAX, Waits

NOBODY = -1
"""The op before the first one."""


@dataclass(frozen=True, slots=True)
class SinceEvent:
    """Counters that were waited for since the last events, and the ops of these."""

    vm: int
    lgkm: int
    last: frozenset[int]

    def joined(self, other: SinceEvent | None) -> SinceEvent:
        """What holds on either path."""
        if other is None:
            return self
        return SinceEvent(max(self.vm, other.vm), max(self.lgkm, other.lgkm), self.last | other.last)


def path_waits(code: Decoded, made_by: list[int], wait_at: Callable[[int], Waits]) -> dict[int, Waits]:
    """Op -> what is waited for before it on every path. `wait_at(n)` is what the wait at n surely waits for."""
    try:
        flow = control_flow(code)
    except Irregular:
        return {}
    start = SinceEvent(VM_MAX, LGKM_MAX, frozenset({NOBODY}))
    leaving: dict[int, SinceEvent] = {}
    before: dict[int, SinceEvent] = {}
    changed = True
    while changed:
        changed, before = False, {}
        for block in (b for b in flow.order if b != START):
            state: SinceEvent | None = start if any(e.source == START for e in flow.into[block]) else None
            for edge in flow.into[block]:
                if edge.source in leaving:
                    state = leaving[edge.source].joined(state)
            if state is None:
                state = start
            for n in range(flow.first[block], flow.last[block] + 1):
                if code.insts[n].op == "s_waitcnt":
                    found = wait_at(n)
                    state = SinceEvent(min(state.vm, found.vm), min(state.lgkm, found.lgkm), state.last)
                elif code.kinds[n] in EVENTS:
                    op = made_by[n]
                    if state.last != {op}:
                        before[op] = state.joined(before.get(op))
                    state = SinceEvent(VM_MAX, LGKM_MAX, frozenset({op}))
            changed |= leaving.get(block) != state
            leaving[block] = state
    return {
        op: Waits(vm=state.vm, lgkm=state.lgkm)
        for op, state in before.items()
        if state.vm < VM_MAX or state.lgkm < LGKM_MAX
    }
