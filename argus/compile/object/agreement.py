"""The object against the kernel IR: every memory, matrix and barrier instruction in its place, under its condition, at
its address.

    found = agree(kernel, object, code, matched)
    found.accesses, found.equal       208 of 208, {"normal form": 64, "all threads": 96, "induction": 42, "cases": 6}
    found.unknown                     what could not be shown, with the reason
    found.different                   what is certainly not the kernel's, with a launch that shows it

The line table of the compiler proposes which instruction is made for which op (`argus.compile.matching`); everything
else is read from the machine code. Shown for each instruction:

    where   lanes that execute it = branches around the op (and its guard, where that is a branch), for every thread
    order   no path leads from an instruction to one that comes before it in the kernel, unless they are in the two arms
            of a branch, which have no order (`argus.ir.semantics`, rule `arms`); which arm comes first is kept
    loops   a loop of the object goes on exactly as long as its loop of the kernel
    between branches and loops around arithmetic alone are those of the kernel (`branches`)
    which   memory instructions touch the bytes of their op (`addresses`), matrix instructions and atomics are those of
            their op

    data    registers that are stored or multiplied are made from the loads and products the kernel names
            (`data_agreement`)

What it does not do: arithmetic on data. That it is right is for the machine to show.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import assert_never

import numpy as np

from argus.compile.decoded import Decoded
from argus.compile.facts import Facts
from argus.compile.matching import EVENTS, Match
from argus.compile.object.addresses import Comparison
from argus.compile.object.branches import BranchComparison, ControlRegion, KernelControl
from argus.compile.object.control_flow import Irregular
from argus.compile.object.data_agreement import Exchanges, compare_data
from argus.compile.object.findings import Agreement, Finding
from argus.compile.object.index_words import IndexWords, NoWord
from argus.compile.object.inputs import (
    BLOCKS,
    block,
    descriptor_of,
    limit_products,
    size,
    start_registers,
    written_at_start,
)
from argus.compile.object.intended import AccessPart, parts, update_name
from argus.compile.object.kernel_exchanges import instruction_word, lanes_word
from argus.compile.object.lane_moves import lane_move
from argus.compile.object.loop_pairs import LoopPairs, once
from argus.compile.object.named_loads import NamedLoads
from argus.compile.object.order import PlacedInstruction, out_of_order
from argus.compile.object.placed_waits import StatedWait, in_uncertain_loops, placed_waits
from argus.compile.object.slices import Slices
from argus.compile.object.solver import AccessSolver
from argus.compile.object.witness import FEWER, LAUNCHES, Both, Turns, search
from argus.compile.tails import Tail, tails
from argus.gfx942.mfma import mfma
from argus.ir import ops
from argus.ir.kernel import LANE, Kernel, wave_variable
from argus.ir.passes.liveness import live, taken
from argus.machine.semantics.mem import MEMORY
from argus.machine.symbolic.sums import WordSum
from argus.machine.symbolic.words import Words


@dataclass(frozen=True, slots=True)
class Scope:
    """What holds around an op."""

    index: IndexWords
    active: WordSum
    loops: frozenset[str]
    arms: tuple[tuple[int, int], ...]
    headers: frozenset[int] = frozenset()
    """Loops of the object around it."""

    @property
    def region(self) -> ControlRegion:
        return ControlRegion(self.active, self.headers)


class Reader:
    """Walks the kernel beside the object."""

    def __init__(self, kernel: Kernel, code_object: bytes, code: Decoded, matched: Match) -> None:
        self.kernel, self.code, self.matched = kernel, code, matched
        self.space = Words(kernel.threads)
        self.facts = Facts(kernel)
        self.tails = tails(kernel)
        self.live = live(kernel.body).ops
        self.ops = {op.id: op for op in ops.walk(kernel.body)}
        limit_products(self.space, kernel)
        self.start = descriptor_of(code_object, kernel.name)
        self.loads = NamedLoads(self.ops, code, matched, self.tails, self.space, self._around)
        registers = start_registers(code_object, kernel, code, self.space)
        self.slices = Slices(code, self.space, registers, self.loads.loaded)
        self.by_op: dict[int, list[int]] = {}
        self.found = Agreement()
        for n, kind in enumerate(code.kinds):
            if kind not in EVENTS:
                continue
            if n in self.slices.flow.block_of:
                self.by_op.setdefault(matched.op_of[n], []).append(n)
            else:
                self.found.different.append(Finding(n, self.ops[matched.op_of[n]], "no path leads to it"))
        self.lane_maps: dict[int, WordSum] = {}
        self.control = KernelControl()
        self.turns: list[Turns] = []
        self.placed: list[PlacedInstruction] = []
        self.waits: list[StatedWait] = []
        variables = {
            LANE.name: self.space.rows(self.space.thread & np.uint64(63)),
            wave_variable(kernel.waves).name: self.space.rows(self.space.thread >> np.uint64(6)),
            **{name.name: block(self.space, kernel, axis) for axis, name in enumerate(BLOCKS)},
            **{symbol.name: size(self.space, symbol) for symbol in kernel.shapes},
        }
        self.index = IndexWords(self.space, variables)
        self.solver = AccessSolver(self.space, self._known)

    def _around(self, n: int) -> frozenset[int]:
        return self.slices.around(self.slices.flow.block_of[n])

    def _known(self) -> list[WordSum]:
        """Conditions that every launch meets: what the kernel requires, and blocks inside the grid."""
        limits = [name.lt(extent) for name, extent in zip(BLOCKS, self.kernel.grid, strict=True)]
        found: list[WordSum] = []
        for condition in (*self.kernel.requires, *limits):
            with suppress(NoWord):
                if self.index.fits(condition):
                    found.append(self.index.word(condition))
        return found

    # -- the walk -----------------------------------------------------------------------------------------------------

    def run(self) -> Agreement:
        self.loops = LoopPairs(self.kernel, self.live, self.slices.flow, self.by_op, self.matched.op_of)
        self.found.different += [Finding(n, op, what) for n, op, what in self.loops.wrong]
        self.slices.most_turns = self.loops.most_turns
        self._walk(self.kernel.body, Scope(self.index, self.space.one, frozenset(), ()))
        wrong, self.found.else_first = out_of_order(self.slices.flow, self.placed)
        for later, earlier in wrong:
            text = f"it comes before what is made for op {earlier.op.id}, which the kernel has first"
            self.found.different.append(Finding(later.n, later.op, text))
        self._branches()
        self._data_registers()
        self._waits()
        self.found.slice_of = frozenset(self.slices.used)
        return self.found

    def _data_registers(self) -> None:
        found = ((n, lane_move(n, self.code.insts[n], self.slices)) for n in sorted(self.slices.flow.block_of))
        exchanges = Exchanges(self.lane_maps, {n: move for n, move in found if move is not None}, self._same)
        start = written_at_start(self.start)
        compared = compare_data(self.kernel, self.code, self.matched, self.slices.flow, start, exchanges)
        self.found.data = compared.registers
        self.found.different += [Finding(one.n, one.op, one.what) for one in compared.unwritten]
        self.found.unknown += [Finding(one.n, one.op, one.what) for one in compared.unknown]

    def _waits(self) -> None:
        uncertain = in_uncertain_loops(self.kernel, self.loops.header_of, self.found)
        with suppress(Irregular):
            self.found.waits = placed_waits(
                self.code, self.matched.op_of, self.slices, self.placed, self.waits, uncertain, self._at_every_launch
            )

    def _at_every_launch(self, a: WordSum, b: WordSum) -> bool:
        """Two words are equal: shown, and no launch speaks against it."""
        if a is b:
            return True
        equal = self.solver.never(self.space.sub(a, b))
        return equal and search(self.kernel, self.space, self.turns, [a, b], _rows(a, b), FEWER) is None

    def _same(self, a: WordSum, b: WordSum) -> bool:
        """Two words are equal at every launch."""
        return not (a.plain and b.plain) and self.solver.never(self.space.sub(a, b))

    def _branches(self) -> None:
        compared = BranchComparison(
            self.code, self.slices, self.matched.op_of, self.control, self.loops.header_of, self.solver.never
        )
        nowhere = self.kernel.body[0]
        self.found.unknown += [Finding(one.n, self.ops.get(one.op, nowhere), one.what) for one in compared.findings()]

    def _walk(self, body: list[ops.Op], scope: Scope) -> None:
        for op in body:
            if op.id not in self.live:
                continue
            if not op.blocks:
                self.control.add(op, scope.region)
            match op:
                case ops.For():
                    self._loop(op, scope)
                case ops.If():
                    self._branch(op, scope)
                case ops.Schedule():
                    self._walk(op.body, scope)
                case ops.Symbol():
                    source = self.loads.sources.get(op.id)
                    if source is not None and self.by_op.get(source.id):
                        named = {
                            **scope.index.variables,
                            op.symbol.name: self.loads.word(source.id, 0, self.by_op[source.id][0]),
                        }
                        scope = replace(scope, index=IndexWords(self.space, named))
                case ops.Load() | ops.Store() | ops.CopyToLds() | ops.Atomic():
                    wanted = parts(op, self.tails.get(op.id, Tail.WHOLE))
                    for n in self.by_op.get(op.id, ()):
                        self._access(op, n, wanted[self.matched.part_of[n]], scope)
                case ops.Mfma():
                    for n in self.by_op.get(op.id, ()):
                        self._note(op, n, scope)
                        if self.code.insts[n].op != mfma(op.inst).name or any(self.code.insts[n].mods.values()):
                            self.found.different.append(Finding(n, op, f"the kernel has {op.inst} here"))
                        self._where(op, n, scope.active, masked=True)
                case ops.Barrier() | ops.SetPrio():
                    for n in self.by_op.get(op.id, ()):
                        self._note(op, n, scope)
                        self._where(op, n, scope.active, masked=False)
                case ops.Wait():
                    self.waits.append(StatedWait(op, len(self.placed), scope.region, scope.arms))
                case ops.Lanes():
                    with suppress(NoWord):
                        self.lane_maps[op.id] = lanes_word(op, scope.index)
                case ops.Instruction():
                    lanes = instruction_word(op, self.space)
                    if lanes is not None:
                        self.lane_maps[op.id] = lanes
                case (
                    ops.Constant()
                    | ops.Index()
                    | ops.Map()
                    | ops.Convert()
                    | ops.Bitcast()
                    | ops.Registers()
                    | ops.Tag()
                    | ops.Check()
                ):
                    pass
                case _:
                    assert_never(op)

    def _note(self, op: ops.Op, n: int, scope: Scope) -> None:
        self.placed.append(PlacedInstruction(n, self.slices.flow.block_of[n], op, scope.arms))
        self.found.placed += 1

    def _branch(self, op: ops.If, scope: Scope) -> None:
        if op.cond.op == "const":
            self._walk(taken(op)[0], scope)
            return
        try:
            condition = scope.index.word(op.cond)
        except NoWord as why:
            self._open(op, [*op.then, *op.orelse], str(why))
            return
        if op.uniform:
            condition = self.space.first_lane(condition)
        self.control.ifs.append(op)
        for arm, (body, holds) in enumerate(((op.then, condition), (op.orelse, self.space.lnot(condition)))):
            active = self.space.mul(scope.active, holds)
            inner = replace(scope, active=active, arms=(*scope.arms, (op.id, arm)))
            self.control.condition(inner.region)
            self._walk(body, inner)

    def _loop(self, op: ops.For, scope: Scope) -> None:
        space, header = self.space, self.loops.header_of.get(op.id)
        try:
            low, high = (space.first_lane(scope.index.word(end)) for end in (op.lo, op.hi))
        except NoWord as why:
            self._open(op, op.body, str(why))
            return
        turn = space.zero if header is None else self.slices.iteration(header)
        inner = {**scope.index.variables, op.var.name: space.add(low, space.scale(turn, op.step))}
        entered = scope.active
        if not self.facts.positive(op.hi - op.lo):
            entered = space.mul(entered, space.slt(low, high))
        self.control.condition(ControlRegion(entered, scope.headers))
        headers = scope.headers if header is None else scope.headers | {header}
        if header is not None:
            self.turns.append(Turns(header, low, high, op.step))
            self._turns(op, header, low, high, turn)
            if op.id in self.loops.by_line:
                self._where(op, self.slices.flow.first[header], entered, masked=True, certain=False)
        if not once(op):
            self.control.loops.append(op)
        self.facts.enter(op.var, op.hi)
        inside = IndexWords(space, inner)
        self._walk(op.body, Scope(inside, entered, scope.loops | {op.var.name}, scope.arms, headers))
        self.facts.leave(op.var)

    def _open(self, around: ops.Op, body: list[ops.Op], why: str) -> None:
        """Nothing is known of a loop or branch, nor of what is in it."""
        inside = [op for op in ops.walk(body) if self.by_op.get(op.id)]
        if not inside:
            self.found.unknown.append(Finding(self.code.entry, around, why))
        for op in inside:
            for n in self.by_op[op.id]:
                self.found.accesses += self.code.insts[n].op in MEMORY
                self.found.unknown.append(Finding(n, op, why))

    def _turns(self, op: ops.For, header: int, low: WordSum, high: WordSum, turn: WordSum) -> None:
        """The loop goes on while the kernel's does."""
        space, flow = self.space, self.slices.flow
        back = [e for e in flow.into[header] if flow.is_back(e)]
        n = flow.last[back[0].source]
        if len(back) != 1 or len(self.slices.exits(header)) != 1:
            self.found.unknown.append(Finding(n, op, "the loop of the object has several ends"))
            return
        have = self.slices.condition(back[0])
        following = space.add(low, space.scale(space.add(turn, space.one), op.step))
        want = space.slt(following, high)
        if have is want:
            return
        # Counting to an end that is hit exactly: before the last iteration both conditions hold.
        if op.step == 1 and have is space.lnot(space.eq(following, high)):
            return
        equal = self.solver.never(space.sub(have, want))
        certain = op.id not in self.loops.by_line
        self._decide(n, op, "whether the loop goes on", [have, want], _rows(have, want), equal, certain)

    # -- one instruction ----------------------------------------------------------------------------------------------

    def _executed(self, n: int, masked: bool) -> WordSum:
        reached = self.slices.reached(self.slices.flow.block_of[n])
        return self.space.mul(reached, self.slices.exec(n)) if masked else reached

    def _where(self, op: ops.Op, n: int, wanted: WordSum, masked: bool, certain: bool = True) -> bool:
        """It is executed where the op is."""
        have = self._executed(n, masked)
        if have is wanted:
            return True
        equal = self.solver.never(self.space.sub(have, wanted))
        return self._decide(n, op, "where it is executed", [have, wanted], _rows(have, wanted), equal, certain)

    def _access(self, op: ops.Op, n: int, part: AccessPart, scope: Scope) -> None:
        self._note(op, n, scope)
        self.found.accesses += 1
        name = self.code.insts[n].op
        try:
            guard = scope.index.word(part.guard)
            where = self.space.mul(scope.active, guard) if part.by_branch else scope.active
            if part.by_branch:
                self.control.add(op, ControlRegion(where, scope.headers))
            if isinstance(op, ops.Atomic) and MEMORY[name].atomic != update_name(op, self.matched.part_of[n]):
                self.found.different.append(Finding(n, op, f"the kernel has another update than {name} here"))
                return
            if not self._where(op, n, where, masked=True):
                return
            uniform = frozenset(v for v, word in scope.index.variables.items() if word.uniform)
            c = Comparison(
                self.slices, scope.index, self.facts, scope.loops, uniform, part, op, n, where,
                self._executed(n, True), self.solver,
            )  # fmt: skip
            self.solver.ways.clear()
            mismatch = c.mismatch()
            if mismatch is not None:
                self._decide(n, op, mismatch.what, c.words, c.both)
            elif not c.asking or self._decide(n, op, "its address", c.words, c.both, equal=True):
                self.found.equal[_way(c)] += 1
        except NoWord as why:
            self.found.unknown.append(Finding(n, op, str(why)))

    def _decide(
        self, n: int, op: ops.Op, what: str, words: list[WordSum], both: Both, equal: bool = False, certain: bool = True
    ) -> bool:
        """Not equal in normal form: different if a launch shows it, even where the solver says `equal`; else unknown,
        or equal. Where only the line table says that n is of op (not `certain`), a launch shows no difference."""
        most = LAUNCHES if not equal and len(self.found.unknown) < 3 else FEWER
        witness = search(self.kernel, self.space, self.turns, words, both, most)
        if witness is not None and certain:
            self.found.different.append(Finding(n, op, what, witness))
        elif witness is not None or not equal:
            self.found.unknown.append(Finding(n, op, what))
        return equal and witness is None


def _rows(have: WordSum, want: WordSum) -> Both:
    """Two words as numbers, a row per thread."""
    return lambda values: (values.rows(have)[:, None].view(np.int64), values.rows(want)[:, None].view(np.int64))


def _way(c: Comparison) -> str:
    """What the proof of equality rests on."""
    if c.asking:
        return "solver" if "solver" in c.solver.ways else "cases"
    words = c.words
    if any(a.op == "iteration" for w in words for a in w.atoms):
        return "induction"
    return "all threads" if c.inst.op.startswith("ds_") and all(w.plain for w in words) else "normal form"


def agree(kernel: Kernel, code_object: bytes, code: Decoded, matched: Match) -> Agreement:
    """Hold the object against the kernel."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, 20_000))
    try:
        return Reader(kernel, code_object, code, matched).run()
    except Irregular as why:
        found = Agreement()
        found.unknown.append(Finding(code.entry, kernel.body[0], str(why)))
        return found
    finally:
        sys.setrecursionlimit(before)
