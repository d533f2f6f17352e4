"""Every clock of every wave's place on the timed compute unit, by cause, instruction and source line.

    stack = stall_stack(ops, timing)
    stack.total                     -> 203672     waves x clocks of the compute unit
    stack.causes["vmcnt_hbm"]       -> 60944      wave-clocks; the causes sum to `total`
    stack.by_op[41]                 -> {"issue_control": 128, "vmcnt_hbm": 50884}

A wave's life is its turns (4 clk per instruction) and its stalls; before its start, while its last stores are on their
way, and after its end its place is idle. So

    waves x clocks  ==  turns + stalls + idle

holds exactly, and each of these has one cause of `CAUSES`. A turn belongs to the unit that executes the instruction.
A wait for a counter is split by what served the data (`argus.clock.wait_sources`); without a `TracedUnit` the level is
not known and the wait is booked under the counter alone.

Shares of wave-clocks are not shares of time saved: two waves may wait for different things at once. What a cause costs
is `argus.clock.launch_whatif`'s question.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from argus.clock.program import Op, Reason, Unit
from argus.clock.timing import Timing
from argus.clock.wait_sources import CONFLICT, LDS, SCALAR, STORE
from argus.gfx942.mfma import ISSUE_CLOCKS


@dataclass(frozen=True, slots=True)
class Cause:
    """One cause: the group it is shown in, its title, and the stall reason of rocprofv3's PC sampling (or "issued")."""

    group: str
    title: str
    pc_sampling: str


CAUSES: Mapping[str, Cause] = {
    "issue_matrix": Cause("matrix", "issue: matrix", "issued"),
    "matrix_busy": Cause("matrix", "matrix core busy", "ARBITER_WIN_EX_STALL"),
    "matrix_result": Cause("matrix", "matrix result not ready", "ALU_DEPENDENCY"),
    "issue_valu": Cause("valu", "issue: VALU", "issued"),
    "valu_busy": Cause("valu", "VALU busy", "ARBITER_NOT_WIN"),
    "issue_lds": Cause("lds", "issue: LDS", "issued"),
    "lds_queue": Cause("lds", "LDS queue full", "ARBITER_WIN_EX_STALL"),
    "lds_bank_conflict": Cause("lds", "bank conflicts", "WAITCNT"),
    "lgkmcnt_lds": Cause("lds", "lgkmcnt: LDS", "WAITCNT"),
    "issue_memory": Cause("memory", "issue: memory", "issued"),
    "memory_queue": Cause("memory", "vector memory queue full", "ARBITER_WIN_EX_STALL"),
    "counter_full": Cause("memory", "wait counter full", "OTHER_WAIT"),
    "vmcnt_l1": Cause("memory", "vmcnt: L1 hit", "WAITCNT"),
    "vmcnt_l2": Cause("memory", "vmcnt: L2", "WAITCNT"),
    "vmcnt_mall": Cause("memory", "vmcnt: Infinity Cache", "WAITCNT"),
    "vmcnt_hbm": Cause("memory", "vmcnt: HBM", "WAITCNT"),
    "vmcnt_store": Cause("memory", "vmcnt: stores, atomics", "WAITCNT"),
    "vmcnt": Cause("memory", "vmcnt", "WAITCNT"),
    "lgkmcnt_scalar": Cause("memory", "lgkmcnt: scalar memory", "WAITCNT"),
    "expcnt": Cause("memory", "expcnt", "WAITCNT"),
    "issue_barrier": Cause("barrier", "issue: s_barrier", "issued"),
    "barrier_skew": Cause("barrier", "barrier skew", "BARRIER_WAIT"),
    "issue_control": Cause("issue", "issue: scalar, branch, wait", "issued"),
    "arbitration": Cause("issue", "another wave issued", "ARBITER_NOT_WIN"),
    "nop": Cause("issue", "s_nop, s_sleep", "INTERNAL_INSTRUCTION"),
    "branch_taken": Cause("issue", "branch taken", "NO_INSTRUCTION_AVAILABLE"),
    "wave_start": Cause("waves", "wave not started", "-"),
    "store_drain": Cause("waves", "last stores on their way", "-"),
    "wave_ended": Cause("waves", "wave ended before the others", "-"),
}
"""`expcnt` is counted and always 0: no compute instruction of gfx942 that the clock times increments it."""

_TURNS: Mapping[Unit, str] = {
    Unit.MATRIX: "issue_matrix",
    Unit.VALU: "issue_valu",
    Unit.LDS: "issue_lds",
    Unit.VMEM: "issue_memory",
    Unit.SMEM: "issue_memory",
    Unit.BARRIER: "issue_barrier",
    Unit.SALU: "issue_control",
    Unit.BRANCH: "issue_control",
    Unit.WAIT: "issue_control",
    Unit.NOP: "issue_control",
    Unit.PRIORITY: "issue_control",
    Unit.SLEEP: "issue_control",
    Unit.END: "issue_control",
}
_STALLS: Mapping[Reason, str] = {
    Reason.MATRIX: "matrix_busy",
    Reason.MATRIX_RESULT: "matrix_result",
    Reason.VALU: "valu_busy",
    Reason.SALU: "arbitration",
    Reason.LDS: "lds_queue",
    Reason.VMEM: "memory_queue",
    Reason.ISSUE: "arbitration",
    Reason.WAIT_VMEM: "vmcnt",
    Reason.WAIT_LDS: "lgkmcnt_lds",
    Reason.WAIT_SMEM: "lgkmcnt_scalar",
    Reason.BARRIER: "barrier_skew",
    Reason.NOP: "nop",
    Reason.BRANCH: "branch_taken",
    Reason.COUNTER: "counter_full",
}
_SERVED: Mapping[Reason, frozenset[str]] = {
    Reason.WAIT_VMEM: frozenset({"l1", "l2", "mall", "hbm", STORE}),
    Reason.WAIT_LDS: frozenset({LDS, CONFLICT}),
    Reason.WAIT_SMEM: frozenset({SCALAR}),
    Reason.LDS: frozenset({LDS, CONFLICT}),
}


@dataclass(frozen=True, slots=True)
class WaitFor:
    """Wave-clocks that operation `at` waited for the data of operation `source` (-1: not known)."""

    at: int
    source: int
    cause: str
    served_by: str
    wave_clocks: float


@dataclass(frozen=True, slots=True)
class StallStack:
    """Wave-clocks of one compute unit: whole, by cause, by operation and cause, and waits by what they were for."""

    total: int
    causes: Mapping[str, float]
    by_op: Mapping[int, Mapping[str, float]]
    waits: tuple[WaitFor, ...]

    def groups(self) -> dict[str, float]:
        """Wave-clocks by group, largest first."""
        found: dict[str, float] = defaultdict(float)
        for name, clocks in self.causes.items():
            found[CAUSES[name].group] += clocks
        return dict(sorted(found.items(), key=lambda item: -item[1]))

    def by_place(self, places: Mapping[int, str], ops: Sequence[Op]) -> dict[str, dict[str, float]]:
        """Wave-clocks by source line and cause, the largest line first; code of no line is under ""."""
        found: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
        for op in ops:
            for cause, clocks in self.by_op.get(op.index, {}).items():
                found[places.get(op.pc, "")][cause] += clocks
        return {place: dict(parts) for place, parts in sorted(found.items(), key=lambda item: -sum(item[1].values()))}


def stall_stack(ops: Sequence[Op], timing: Timing) -> StallStack:
    """The account of a timed compute unit; `ops` are those it was timed with, `timing.rows` in the same order."""
    by_op: dict[int, dict[str, float]] = {}
    waits: list[WaitFor] = []
    served = _shares(timing)
    for op, row in zip(ops, timing.rows, strict=True):
        parts: dict[str, float] = defaultdict(float)
        if row.executed:
            parts[_TURNS[op.unit]] += ISSUE_CLOCKS * row.executed
        for reason, clocks in row.stalls.items():
            sources = served.get((op.index, reason), {})
            if not sources:
                parts[_STALLS[reason]] += clocks
            for (source, by), share in sources.items():
                cause = _cause(reason, by)
                parts[cause] += clocks * share
                waits.append(WaitFor(op.index, source, cause, by, clocks * share))
        if parts:
            by_op[op.index] = dict(parts)
    causes: dict[str, float] = dict.fromkeys(CAUSES, 0.0)
    for found in by_op.values():
        for cause, part in found.items():
            causes[cause] += part
    causes.update(timing.idle)
    waits.sort(key=lambda wait: -wait.wave_clocks)
    return StallStack(timing.waves * timing.cycles, causes, by_op, tuple(waits))


def _shares(timing: Timing) -> dict[tuple[int, Reason], dict[tuple[int, str], float]]:
    """For each operation and reason, how its wait is divided among what it was for.

    The traced waits are those of the timed iterations; the shares hold for the iterations left out, too.
    """
    found: dict[tuple[int, Reason], dict[tuple[int, str], float]] = defaultdict(dict)
    for wait, clocks in timing.waits.items():
        stalls = timing.rows[wait.at].stalls
        reasons = [reason for reason, kinds in _SERVED.items() if wait.served_by in kinds and stalls.get(reason)]
        if reasons:
            found[wait.at, reasons[0]][wait.source, wait.served_by] = float(clocks)
    return {key: _normalized(parts) for key, parts in found.items()}


def _normalized(parts: Mapping[tuple[int, str], float]) -> dict[tuple[int, str], float]:
    total = sum(parts.values())
    return {key: clocks / total for key, clocks in parts.items()}


def _cause(reason: Reason, served_by: str) -> str:
    if served_by == CONFLICT:
        return "lds_bank_conflict"
    if reason is Reason.WAIT_VMEM:
        return f"vmcnt_{served_by}"
    return _STALLS[reason]
