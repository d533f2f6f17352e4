"""Branches and loops of the object against those of the kernel, whether or not there is an access in them.

    if N > 3:            s_cbranch_vccnz …         goes on where N > 3: the condition of this `if`
        u = v * 3        v_lshl_add_u32 v1, …      executed where N > 3, as the op that the line table names for it
    for n in range(N):   s_cbranch_scc1 …          back while n + 1 < N (`agreement`)

Accesses, barriers and matrix instructions are held by `agreement`, each by itself. Here everything around arithmetic:

    arithmetic   an instruction that the line table gives to an op is executed in the op's loops, where the op is,
                 unless it computes an address, which is followed through all branches, or LLVM has moved it into the
                 branch in which alone its result is read
    branches     each conditional branch goes one way exactly where a condition of the kernel holds in these loops: an
                 arm of an `if`, the entry of a loop, a guard
    arms         of each `if` of the kernel some instruction of an arm stands where this arm runs, so that the arms were
                 not exchanged and the branch was not left out
    loops        each loop of the object is paired with a loop of the kernel, each loop of the kernel that may run more
                 than once with one of the object
    skips        what a wave without an active lane jumps over (`s_cbranch_execz`) is masked by the lanes that were
                 active at the jump, and the jump ends where the code that was jumped over ends

Words are compared as normal forms, then by cases and Z3. What is not shown is *unknown*: the line table only proposes,
so it cannot show a difference. LLVM moves no arithmetic out of its arm: every arm begins and ends with a fence
(`argus.compile.control`).

What it does not do: instructions without a line (constants, moves where paths meet, indices) are held only by the
branches around them; a value that is chosen without a branch (v_cndmask_b32, s_cselect_b32) is arithmetic on data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from argus.compile.decoded import Decoded
from argus.compile.matching import EVENTS
from argus.compile.object.control_flow import START, Edge
from argus.compile.object.data_flow import DataFlow
from argus.compile.object.results import SCALAR
from argus.compile.object.slices import Slices
from argus.gfx942.hazards import registers
from argus.ir import ops
from argus.machine.semantics.control import BRANCHES
from argus.machine.semantics.mem import MEMORY
from argus.machine.semantics.valu import VALU
from argus.machine.symbolic.sums import WordSum

SAYS_NOTHING = frozenset({"wait", "nop", "branch", "end"})
"""Kinds of instructions that may stand anywhere: waits are held by `arrivals` and `recheck`, branches here."""


@dataclass(frozen=True, slots=True)
class ControlRegion:
    """Where ops run: the lanes, in the loops of the object with these headers."""

    active: WordSum
    headers: frozenset[int]


@dataclass
class KernelControl:
    """The kernel's side: the region of each op, all conditions, branches and loops that have code."""

    of: dict[int, list[ControlRegion]] = field(default_factory=dict)
    """Op -> regions in which its instructions may stand; two for an op whose guard is a branch."""
    conditions: dict[frozenset[int], list[WordSum]] = field(default_factory=dict)
    accesses: set[int] = field(default_factory=set)
    """Ops that access memory."""
    ifs: list[ops.If] = field(default_factory=list)
    loops: list[ops.For] = field(default_factory=list)

    def add(self, op: ops.Op, region: ControlRegion) -> None:
        self.of.setdefault(op.id, []).append(region)
        if op.footprints:
            self.accesses.add(op.id)
        self.condition(region)

    def condition(self, region: ControlRegion) -> None:
        known = self.conditions.setdefault(region.headers, [])
        if region.active not in known:
            known.append(region.active)


@dataclass(frozen=True, slots=True)
class BranchFinding:
    """What is not shown of the control flow, at instruction `n`."""

    n: int
    op: int
    what: str


class BranchComparison:
    """`never(x)`: the word is 0 at every launch; `paired`: loop of the kernel -> header of the object's loop."""

    def __init__(
        self,
        code: Decoded,
        slices: Slices,
        op_of: list[int],
        control: KernelControl,
        paired: Mapping[int, int],
        never: Callable[[WordSum], bool],
    ) -> None:
        self.code, self.slices, self.flow, self.op_of = code, slices, slices.flow, op_of
        self.control, self.paired, self.never = control, paired, never
        self.placed: set[int] = set()
        """Ops of which some instruction stands where the op runs."""

    @cached_property
    def _writes(self) -> DataFlow:
        return DataFlow(self.code, self.flow, set(), {}, {})

    def findings(self) -> Iterator[BranchFinding]:
        yield from self._arithmetic()
        yield from self._branches()
        yield from self._arms()
        yield from self._loops()
        yield from self._skips()

    def _same(self, a: WordSum, b: WordSum) -> bool:
        return a is b or self.never(self.slices.space.sub(a, b))

    # -- instructions of ops ------------------------------------------------------------------------------------------

    def _arithmetic(self) -> Iterator[BranchFinding]:
        said: set[int] = set()
        for n in sorted(self.flow.block_of):
            op, kind = self.op_of[n], self.code.kinds[n]
            if op not in self.control.of:
                continue
            if kind in EVENTS or self._stands(n, self.control.of[op]):
                self.placed.add(op)
            elif not self._exempt(n) and self.flow.block_of[n] not in said:
                said.add(self.flow.block_of[n])
                yield BranchFinding(n, op, "the branches and loops around it")

    def _exempt(self, n: int) -> bool:
        """It need not stand with its op: what it computes for an address is followed from there, what is read only
        where it stands is needed nowhere else."""
        followed = self.op_of[n] in self.control.accesses and n in self.slices.used
        return followed or self.code.kinds[n] in SAYS_NOTHING or self._sunk(n)

    def _sunk(self, n: int) -> bool:
        """It was moved to where alone its result is read: in the same loops, in no more lanes than its op, so that it
        overwrites nothing elsewhere, and each instruction that may read the result comes after it on every path, in no
        more lanes than it."""
        around, here = self.slices.around(self.flow.block_of[n]), self.flow.block_of[n]
        space, use = self.slices.space, registers(self.code.insts[n])
        lanes = space.mul(self.slices.reached(here), self.slices.exec(n))
        words = [region.active for region in self.control.of[self.op_of[n]] if region.headers == around]
        if not any(self.never(space.mul(lanes, space.lnot(word))) for word in words):
            return False
        inactive = space.lnot(self.slices.exec(n))
        written = {*use.writes, *(SCALAR + k for k in use.scalar_writes)}
        for m, block in self.flow.block_of.items():
            for key in written & self._read(m):
                if (n, key) not in self._writes.reaching(key, m):
                    continue
                after = m > n if block == here else self.flow.dominates(here, block)
                if not after or space.mul(self.slices.exec(m), inactive).terms:
                    return False
        return True

    def _read(self, m: int) -> set[int]:
        use = registers(self.code.insts[m])
        return {*use.reads, *(SCALAR + k for k in use.scalar_reads)}

    def _stands(self, n: int, regions: list[ControlRegion]) -> bool:
        """The instruction is executed where its op is."""
        block, space = self.flow.block_of[n], self.slices.space
        around = self.slices.around(block)
        reached = self.slices.reached(block)
        lanes = space.mul(reached, self.slices.exec(n))
        masked = self.code.insts[n].op in VALU
        words = [region.active for region in regions if region.headers == around]
        if any(lanes is word or (not masked and reached is word) for word in words):
            return True
        return self.code.kinds[n] not in SAYS_NOTHING and any(self._same(lanes, word) for word in words)

    # -- branches -----------------------------------------------------------------------------------------------------

    def _branches(self) -> Iterator[BranchFinding]:
        for block in self.flow.order:
            edges = self.flow.out[block]
            if block == START or len(edges) < 2 or edges[0].target == edges[1].target:
                continue
            n = self.flow.last[block]
            if BRANCHES[self.code.insts[n].op] in ("execz", "execnz") or any(map(self.flow.is_back, edges)):
                continue
            if not self._decides(block, edges):
                yield BranchFinding(n, self.op_of[n], "its condition is none that the kernel has here")

    def _decides(self, block: int, edges: Iterable[Edge]) -> bool:
        """The wave goes along one of the edges where a condition of the kernel holds."""
        reached, space = self.slices.reached(block), self.slices.space
        known = self.control.conditions.get(self.slices.around(block), [])
        ways = [space.mul(reached, self.slices.condition(edge)) for edge in edges]
        return any(way is word for way in ways for word in known) or any(
            self._same(way, word) for way in ways for word in known
        )

    def _arms(self) -> Iterator[BranchFinding]:
        for op in self.control.ifs:
            inside = [one.id for one in ops.walk([*op.then, *op.orelse])]
            if self.placed.isdisjoint(inside):
                yield BranchFinding(self._near(op), op.id, "no instruction shows which of its arms is which")

    def _near(self, op: ops.Op) -> int:
        """An instruction for an op that has none: made for it or for what is in it, else the first."""
        inside = {one.id for one in ops.walk([op])}
        return next((n for n in sorted(self.flow.block_of) if self.op_of[n] in inside), self.code.entry)

    # -- loops --------------------------------------------------------------------------------------------------------

    def _loops(self) -> Iterator[BranchFinding]:
        for header in self.flow.bodies.keys() - self.paired.values():
            latch = next(edge.source for edge in self.flow.into[header] if self.flow.is_back(edge))
            n = self.flow.last[latch]
            yield BranchFinding(n, self.op_of[n], "it closes a loop that the kernel does not have")
        for op in self.control.loops:
            if op.id not in self.paired:
                yield BranchFinding(self._near(op), op.id, "the object has no loop for it")

    # -- skips --------------------------------------------------------------------------------------------------------

    def _skips(self) -> Iterator[BranchFinding]:
        for block in self.flow.order:
            for edge in self.flow.out[block]:
                if self.slices.skips(edge) and not self._nothing_lost(edge):
                    n = self.flow.last[block]
                    yield BranchFinding(n, self.op_of[n], "a wave without an active lane jumps over more than its arm")

    def _nothing_lost(self, edge: Edge) -> bool:
        """A wave whose lanes are all inactive at the jump, if there can be one, would do nothing on the way that it
        jumps over."""
        space, active = self.slices.space, self.slices.exec(self.flow.last[edge.source])
        if space.some(active).constant == 1:
            return True
        inactive = space.lnot(active)
        over = self.flow.past(edge)
        ends = any(not self.flow.out[block] for block in over)
        if ends and (self.flow.out[edge.target] or self._does(edge.target)):
            return False
        for block in over:
            for n in range(self.flow.first[block], self.flow.last[block] + 1):
                name = self.code.insts[n].op
                if self.code.kinds[n] == "barrier":
                    return False
                if (name in VALU or name in MEMORY) and space.mul(self.slices.exec(n), inactive).terms:
                    return False
        return True

    def _does(self, block: int) -> bool:
        rows = range(self.flow.first[block], self.flow.last[block] + 1)
        return any(self.code.kinds[n] in EVENTS for n in rows)
