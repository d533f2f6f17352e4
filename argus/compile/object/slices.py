"""What a register holds at a point of the object, as a formula over the kernel's inputs: slices, taken on demand.

    slices.word(VECTOR + 8, n)     v8 before instruction n: 16*lane + 1024*wave
    slices.exec(n)                 the lanes that are active there, 0 or 1 per thread
    slices.reached(block)          1 where the wave gets there

A register's last writer is looked up in its block, else in the blocks before. An instruction is computed by its entry
in the machine's semantic table, over formulas. Where paths meet, the value is a choice by the branches' conditions. At
the head of a loop it is `first + iteration * step` where one round adds a step that does not change in the loop: shown
by computing the round from a symbol. Everything else (loaded data, floats, lane exchange) is a symbol named after its
instruction.

Skipping over a region because no lane is active (`s_cbranch_execz`) changes nothing for vector registers and masks:
the region's writes are masked. That is checked for each of them, then the skip is ignored.
"""

from __future__ import annotations

from collections import defaultdict

from argus.compile.decoded import Decoded
from argus.compile.object.control_flow import START, Edge, FlowGraph, Irregular, control_flow
from argus.compile.object.results import MASK, SCALAR, SCC, SCC_REGISTER, Loaded, Results
from argus.gfx942.hazards import registers
from argus.gfx942.inst import VCC
from argus.machine.semantics.control import BRANCHES
from argus.machine.semantics.valu import VALU
from argus.machine.symbolic.sums import WordSum
from argus.machine.symbolic.symbolic_backend import NotFollowed
from argus.machine.symbolic.words import Words

MOST_STEPS = 20_000
"""Instructions computed for one kernel, again and again in loops counted; library kernels need below 2,000."""


class Slices(Results):
    """Registers of one kernel, by demand and remembered."""

    def __init__(self, code: Decoded, space: Words, start: dict[int, WordSum], loaded: Loaded) -> None:
        super().__init__(code.insts, space, start, loaded)
        self.code = code
        self.flow: FlowGraph = control_flow(code)
        self.used: set[int] = set()
        """Instructions that some slice went through."""
        self.steps = 0
        self.inductive: set[int] = set()
        """Loops whose registers were followed by induction."""
        self.most_turns: dict[int, int] = {}
        """Loops -> a bound of their iterations."""
        self._memo: list[dict[tuple[int, int], WordSum]] = [{}]
        self._results: list[dict[int, dict[int, WordSum]]] = [{}]
        self._reached: dict[int, WordSum] = {}
        self._writers: dict[int, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
        for n, inst in enumerate(code.insts):
            block = self.flow.block_of.get(n)
            if block is None:
                continue
            sets = registers(inst)
            for key in sets.writes:
                self._writers[block][key].append(n)
            for number in sets.scalar_writes:
                self._writers[block][SCALAR + number].append(n)
                if number != SCC_REGISTER:
                    self._writers[block][MASK + (number & ~1)].append(n)

    # -- reading ------------------------------------------------------------------------------------------------------

    def writer(self, key: int, n: int) -> int | None:
        writers = self._writers[self.flow.block_of[n]].get(key, ())
        return next((w for w in reversed(writers) if w < n), None)

    def word(self, key: int, n: int) -> WordSum:
        at = self.writer(key, n)
        return self._entry(key, self.flow.block_of[n]) if at is None else self.result(at, key)

    def _at_end(self, key: int, block: int) -> WordSum:
        if block == START:
            return self._initial(key)
        writers = self._writers[block].get(key, ())
        return self.result(writers[-1], key) if writers else self._entry(key, block)

    def _initial(self, key: int) -> WordSum:
        if key in self.start:
            return self.start[key]
        return self._symbol("start", key)

    def _symbol(self, what: str, key: int, *where: int, varies: frozenset[int] = frozenset()) -> WordSum:
        bit, uniform = key >= MASK or key == SCC, SCALAR <= key < MASK
        return self.space.word(
            self.space.atom(what, key, *where, bit=bit, uniform=uniform and (key == SCC or not bit), varies=varies)
        )

    def _lookup(self, where: tuple[int, int]) -> WordSum | None:
        for layer in reversed(self._memo):
            if where in layer:
                return layer[where]
        return None

    def _entry(self, key: int, block: int) -> WordSum:
        known = self._lookup((key, block))
        if known is None:
            known = (
                self._looped(key, block)
                if block in self.flow.bodies
                else self._joined(key, block, self.flow.into[block])
            )
            self._memo[-1][key, block] = known
        return known

    def _joined(self, key: int, block: int, edges: list[Edge]) -> WordSum:
        """The value where paths meet."""
        values = [(edge, self._at_end(key, edge.source)) for edge in edges]
        first = values[0][1]
        if all(value is first for _, value in values):
            return first
        if any(edge.source == START for edge in edges):
            return self._symbol("phi", key, block)
        kept: list[tuple[Edge, WordSum]] = []
        skipped: list[tuple[Edge, WordSum]] = []
        for edge, value in values:
            (skipped if self.skips(edge) else kept).append((edge, value))
        total = self.space.zero
        for edge, value in kept:
            if len(kept) == 1:
                total = value
            else:
                total = self.space.add(total, self.space.mul(self._edge(edge), value))
        if key >= SCALAR and key < MASK and skipped:
            return self._symbol("phi", key, block, varies=self.around(block))
        for edge, value in skipped:
            inactive = self.space.lnot(self.exec(self.flow.last[edge.source]))
            if self.space.mul(inactive, self.space.sub(total, value)).terms:
                return self._symbol("phi", key, block, varies=self.around(block))
        return total

    def around(self, block: int) -> frozenset[int]:
        return frozenset(self.flow.loops_of(block))

    def _looped(self, key: int, block: int) -> WordSum:
        """The value at the head of a loop: by induction, or a symbol."""
        edges = self.flow.into[block]
        outside = [e for e in edges if not self.flow.is_back(e)]
        inside = [e for e in edges if self.flow.is_back(e)]
        first = self._joined(key, block, outside)
        around = self.around(block)
        if not any(key in self._writers[b] for b in self.flow.bodies[block]):
            return first
        symbol = self._symbol("phi", key, block, varies=around)
        self._memo.append({(key, block): symbol})
        self._results.append({})
        back = self._at_end(key, inside[0].source) if len(inside) == 1 else None
        self._memo.pop()
        self._results.pop()
        if back is None:
            return symbol
        step = self.space.sub(back, symbol)
        if not step.terms:
            return first
        if key >= MASK or key == SCC:
            return symbol
        if block in step.varies:
            return self._looped_pair(key, block, inside[0].source) or symbol
        self.inductive.add(block)
        return self.space.add(first, self.space.mul(step, self.iteration(block)))

    def _looped_pair(self, high: int, block: int, latch: int) -> WordSum | None:
        """The upper half of a 64-bit sum that a loop advances, by induction over both halves."""
        low = self._partner(high, block)
        if low is None:
            return None
        space = self.space
        around = self.around(block)
        symbol = space.word(space.atom("phi_pair", low, high, block, width=64, uniform=True, varies=around))
        outside = [e for e in self.flow.into[block] if not self.flow.is_back(e)]
        first = space.pair(self._joined(low, block, outside), self._joined(high, block, outside))
        self._memo.append({(low, block): space.trunc(symbol), (high, block): space.high(symbol)})
        self._results.append({})
        back = space.pair(self._at_end(low, latch), self._at_end(high, latch))
        self._memo.pop()
        self._results.pop()
        step = space.sub(back, symbol)
        if block in step.varies:
            return None
        self.inductive.add(block)
        turn = space.zext(self.iteration(block))
        return space.high(space.add(first, space.mul(step, turn)))

    def _partner(self, high: int, block: int) -> int | None:
        """The register of the lower half: the addition whose carry the upper half takes."""
        for b in sorted(self.flow.bodies[block], reverse=True):
            for n in reversed(self._writers[b].get(high, ())):
                if self.code.insts[n].op not in ("s_addc_u32", "s_subb_u32"):
                    return None
                carry = next((w for w in reversed(self._writers[b].get(SCC, ())) if w < n), None)
                if carry is None or self.code.insts[carry].op not in ("s_add_u32", "s_sub_u32"):
                    return None
                return SCALAR + self.code.insts[carry].operands[0].value
        return None

    def iteration(self, header: int) -> WordSum:
        """The number of the iteration of a loop, from 0."""
        most = self.most_turns.get(header, 1 << 31) - 1
        return self.space.word(self.space.atom("iteration", header, hi=most, uniform=True, varies=self.around(header)))

    # -- paths --------------------------------------------------------------------------------------------------------

    def skips(self, edge: Edge) -> bool:
        """The edge is taken only by waves without an active lane."""
        if edge.source == START:
            return False
        op = self.code.insts[self.flow.last[edge.source]].op
        return (op == "s_cbranch_execz" and edge.taken) or (op == "s_cbranch_execnz" and not edge.taken)

    def condition(self, edge: Edge) -> WordSum:
        """1 where a wave at the end of the source goes along the edge."""
        if len(self.flow.out[edge.source]) == 1 or edge.source == START:
            return self.space.one
        n = self.flow.last[edge.source]
        kind = BRANCHES[self.code.insts[n].op]
        if kind in ("execz", "execnz"):
            return self.space.zero if self.skips(edge) else self.space.one
        self.used.add(n)
        if kind in ("vccz", "vccnz"):
            jumps = self.space.some(self.word(MASK + VCC, n))
        else:
            jumps = self.word(SCC, n)
        if kind in ("vccz", "scc0"):
            jumps = self.space.lnot(jumps)
        return jumps if edge.taken else self.space.lnot(jumps)

    def _edge(self, edge: Edge) -> WordSum:
        """1 where a wave gets along the edge; out of a loop: where it got into it."""
        left = [h for h in self.flow.loops_of(edge.source) if edge.target not in self.flow.bodies[h]]
        if left:
            if len(self.exits(left[0])) > 1:
                raise Irregular("a loop is left from two places")
            return self.reached(left[0])
        return self.space.mul(self.reached(edge.source), self.condition(edge))

    def reached(self, block: int) -> WordSum:
        """1 where a wave gets to the block, in the iteration at hand of the loops around it."""
        if block == START:
            return self.space.one
        known = self._reached.get(block)
        if known is None:
            known = self.space.zero
            edges = [e for e in self.flow.into[block] if not self.flow.is_back(e)]
            if any(e.source == START for e in edges):
                known = self.space.one
            else:
                for edge in edges:
                    if not self.skips(edge):
                        known = self.space.add(known, self._edge(edge))
            self._reached[block] = known
        return known

    def exits(self, header: int) -> list[Edge]:
        """Edges out of a loop."""
        body = self.flow.bodies[header]
        return [e for b in body for e in self.flow.out[b] if e.target not in body]

    def result(self, n: int, key: int) -> WordSum:
        """What instruction n leaves in a register."""
        wanted = key
        for layer in reversed(self._results):
            known = layer.get(n)
            if known is not None and wanted in known:
                return known[wanted]
        self.used.add(n)
        self.steps += 1
        if self.steps > MOST_STEPS:
            raise Irregular(f"addresses and conditions depend on more than {MOST_STEPS} instructions")
        inst = self.code.insts[n]
        try:
            made = self.computed(n, inst, key)
        except NotFollowed:
            made = None
        if made is None:
            made = self._symbol("result", key, inst.pc, varies=self.around(self.flow.block_of[n]))
            if inst.op != "v_writelane_b32" and (inst.op in VALU or key < SCALAR):
                made = self.merged(n, key, made)
        self._results[-1].setdefault(n, {})[wanted] = made
        return made
