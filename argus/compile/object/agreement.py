"""The object against the kernel IR: every memory, matrix and barrier instruction in its place, under its condition, at its
address. What is shown, what is not, and what is different.
"""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import dataclass, field
from typing import assert_never

import numpy as np

from argus.compile.decoded import Decoded
from argus.compile.facts import Facts
from argus.compile.matching import EVENTS, Match
from argus.compile.object.addresses import Comparison, Mismatch
from argus.compile.object.control_flow import Irregular
from argus.compile.object.index_words import IndexWords, NoWord
from argus.compile.object.inputs import BLOCKS, block, limit_products, size, start_registers
from argus.compile.object.intended import Part, parts
from argus.compile.object.slices import Slices
from argus.compile.tails import Tail, tails
from argus.ir import ops
from argus.ir.kernel import LANE, Kernel, wave_variable
from argus.ir.passes.liveness import live, taken
from argus.layout.expr import Expr
from argus.machine.semantics.mem import MEMORY
from argus.machine.symbolic.sums import Sum
from argus.machine.symbolic.words import Words


@dataclass(frozen=True, slots=True)
class Finding:
    """What could not be shown of instruction n, made for `op`."""

    n: int
    op: ops.Op
    mismatch: Mismatch
    active: Sum | None = None


@dataclass
class Agreement:
    """`equal`: how often each way of showing it was enough; `open` what was not shown."""

    accesses: int = 0
    equal: Counter[str] = field(default_factory=Counter)
    open: list[Finding] = field(default_factory=list)
    sliced: int = 0


class Reader:
    """Walks the kernel beside the object."""

    def __init__(self, kernel: Kernel, code_object: bytes, code: Decoded, matched: Match) -> None:
        self.kernel, self.code, self.matched = kernel, code, matched
        self.space = Words(kernel.threads)
        self.tails = tails(kernel)
        self.live = live(kernel.body).ops
        self.by_op: dict[int, list[int]] = {}
        for n, kind in enumerate(code.kinds):
            if kind in EVENTS:
                self.by_op.setdefault(matched.op_of[n], []).append(n)
        self.slices = Slices(
            code, self.space, start_registers(code_object, kernel, code, self.space), self._loaded
        )
        limit_products(self.space, kernel)
        self.result = Agreement()
        self.headers: dict[int, int | None] = {}
        made = {result: op for op in ops.walk(kernel.body) for result in op.results}
        self.sources: dict[int, ops.Load] = {}
        self.named: dict[tuple[int, int], tuple[int, int]] = {}
        for op in ops.walk(kernel.body):
            source = made.get(op.value) if isinstance(op, ops.Symbol) else None
            if not isinstance(op, ops.Symbol) or not isinstance(source, ops.Load) or op.value.dtype.name != "i32":
                continue
            self.sources[op.id] = source
            low, high = op.symbol.bounds()
            if low is not None and high is not None and 0 <= low <= high < 1 << 31:
                self.named[source.id, 0] = low, high

    def _loaded(self, n: int, dword: int) -> Sum | None:
        """The name of a dword that a matched load brings."""
        op_id = self.matched.op_of[n]
        if self.code.kinds[n] not in ("load", "ds_read") or n not in self.matched.part_of:
            return None
        op = self.ops.get(op_id)
        if not isinstance(op, ops.Load):
            return None
        start, width = self._cut(op)[self.matched.part_of[n]]
        if width < 4 or MEMORY[self.code.insts[n].op].size != width:
            return None
        return self.data(op_id, start // 4 + dword, self.slices._around(self.slices.flow.block_of[n]))

    def data(self, op_id: int, dword: int, varies: frozenset[int]) -> Sum:
        """A loaded dword; where it is named as an index, within the bounds that the author states."""
        low, high = self.named.get((op_id, dword), (0, None))
        return self.space.word(
            self.space.atom("loaded", op_id, dword, lo=low, hi=high, uniform=False, varies=varies)
        )

    def _cut(self, op: ops.Load) -> list[tuple[int, int]]:
        from argus.compile.tails import pieces

        return pieces(op.access, self.tails.get(op.id, Tail.WHOLE))

    @property
    def ops(self) -> dict[int, ops.Op]:
        if not hasattr(self, "_ops"):
            self._ops = {op.id: op for op in ops.walk(self.kernel.body)}
        return self._ops

    def run(self) -> Agreement:
        space = self.space
        lane = space.rows(space.thread & np.uint64(63))
        variables = {LANE.name: lane, wave_variable(self.kernel.waves).name: space.rows(space.thread >> np.uint64(6))}
        for axis, name in enumerate(BLOCKS):
            variables[name.name] = block(space, self.kernel, axis)
        for symbol in self.kernel.shapes:
            variables[symbol.name] = size(space, symbol)
        self._map_loops(self.kernel.body, ())
        self._block(self.kernel.body, variables, space.one, Facts(self.kernel), frozenset())
        self.result.sliced = len(self.slices.used)
        return self.result

    # -- loops --------------------------------------------------------------------------------------------------------

    def _map_loops(self, body: list[ops.Op], around: tuple[ops.For, ...]) -> None:
        """Which loop of the object carries out which loop of the kernel: by the instructions inside."""
        for op in body:
            if op.id not in self.live:
                continue
            inner = (*around, op) if isinstance(op, ops.For) else around
            for block_ in taken(op) if isinstance(op, ops.If) else op.blocks:
                self._map_loops(block_, inner)
            for n in self.by_op.get(op.id, ()):
                chain = self.slices.flow.loops_of(self.slices.flow.block_of[n])
                several = [loop for loop in around if not _once(loop)] if len(chain) < len(around) else list(around)
                if len(several) != len(chain):
                    self._report(n, op, Mismatch(f"it stands in {len(chain)} loops, the op in {len(around)}"))
                    continue
                for loop in around:
                    self.headers.setdefault(loop.id, None)
                for loop, header in zip(several, chain, strict=True):
                    known = self.headers.get(loop.id)
                    if known is not None and known != header:
                        self._report(n, op, Mismatch("it stands in another loop than its neighbors"))
                    self.headers[loop.id] = header
                    most = (loop.hi - loop.lo + (loop.step - 1)).hi
                    if most is not None:
                        self.slices.most_turns[header] = max(1, most // loop.step)

    # -- walk ---------------------------------------------------------------------------------------------------------

    def _block(
        self, body: list[ops.Op], variables: dict[str, Sum], active: Sum, facts: Facts, loops: frozenset[str]
    ) -> None:
        index = IndexWords(self.space, variables)
        for op in body:
            if op.id not in self.live:
                continue
            match op:
                case ops.For():
                    self._loop(op, variables, index, active, facts, loops)
                case ops.Symbol():
                    source = self.sources.get(op.id)
                    if source is not None:
                        places = self.by_op.get(source.id, ())
                        around = self.slices._around(self.slices.flow.block_of[places[0]]) if places else frozenset()
                        variables[op.symbol.name] = self.data(source.id, 0, around)
                        index = IndexWords(self.space, variables)
                case ops.If():
                    if op.cond.op == "const":
                        self._block(taken(op)[0], variables, active, facts, loops)
                        continue
                    condition = index.word(op.cond)
                    if op.uniform:
                        condition = self.space.first_lane(condition)
                    self._block(op.then, variables, self.space.mul(active, condition), facts, loops)
                    other = self.space.mul(active, self.space.lnot(condition))
                    self._block(op.orelse, variables, other, facts, loops)
                case ops.Schedule():
                    self._block(op.body, variables, active, facts, loops)
                case ops.Load() | ops.Store() | ops.CopyToLds() | ops.Atomic():
                    wanted = parts(op, self.tails.get(op.id, Tail.WHOLE))
                    for n in self.by_op.get(op.id, ()):
                        self._access(op, n, wanted[self.matched.part_of[n]], index, active, facts, loops)
                case ops.Mfma() | ops.Barrier() | ops.SetPrio():
                    for n in self.by_op.get(op.id, ()):
                        self._placed(op, n, active, isinstance(op, ops.Mfma))
                case _:
                    pass

    def _loop(
        self, op: ops.For, variables: dict[str, Sum], index: IndexWords, active: Sum, facts: Facts,
        loops: frozenset[str],
    ) -> None:  # fmt: skip
        header = self.headers.get(op.id)
        inner = dict(variables)
        space = self.space
        low, high = space.first_lane(index.word(op.lo)), space.first_lane(index.word(op.hi))
        turn = space.const(0) if header is None else self.slices.iteration(header)
        inner[op.var.name] = space.add(low, space.scale(turn, op.step))
        runs = facts.positive(op.hi - op.lo)
        entered = active if runs else space.mul(active, space.slt(low, high))
        facts.enter(op.var, op.hi)
        self._block(op.body, inner, entered, facts, loops | {op.var.name})
        facts.leave(op.var)

    def _placed(self, op: ops.Op, n: int, wanted: Sum, masked: bool) -> bool:
        """It is executed where the op is."""
        have = self.slices.reached(self.slices.flow.block_of[n])
        if masked:
            have = self.space.mul(have, self.slices.exec(n))
        excess = self.space.sub(have, wanted)
        if excess.terms:
            self._report(n, op, Mismatch("where it is executed", excess))
        return not excess.terms

    def _access(
        self, op: ops.Op, n: int, part: Part, index: IndexWords, active: Sum, facts: Facts, loops: frozenset[str]
    ) -> None:
        self.result.accesses += 1
        try:
            guard = index.word(part.guard)
            where = self.space.mul(active, guard) if part.by_branch else active
            if not self._placed(op, n, where, True):
                return
            uniform = frozenset(name for name, w in index.variables.items() if w.uniform)
            c = Comparison(self.slices, index, facts, loops, uniform, part, op, n, where)
            name = self.code.insts[n].op
            if name.startswith("ds_"):
                found = c.lds()
            elif name.startswith("buffer_"):
                found = c.buffer()
                if found is None and isinstance(op, ops.CopyToLds):
                    found = c.direct()
            else:
                found = c.pointed()
        except NoWord as why:
            found = Mismatch(str(why))
        if found is None:
            self.result.equal["normal form"] += 1
        else:
            self._report(n, op, found)

    def _report(self, n: int, op: ops.Op, mismatch: Mismatch) -> None:
        self.result.open.append(Finding(n, op, mismatch))


def _once(loop: ops.For) -> bool:
    """The loop runs exactly once."""
    trips = loop.hi - loop.lo
    return trips.op == "const" and 0 < trips.value <= loop.step


def agree(kernel: Kernel, code_object: bytes, code: Decoded, matched: Match) -> Agreement:
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, 20000))
    try:
        return Reader(kernel, code_object, code, matched).run()
    finally:
        sys.setrecursionlimit(before)
