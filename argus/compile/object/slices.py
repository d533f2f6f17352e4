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
from collections.abc import Callable

import numpy as np

from argus.compile.decoded import Decoded
from argus.compile.object.control_flow import START, Edge, FlowGraph, Irregular, control_flow
from argus.gfx942.hazards import ACC, registers
from argus.gfx942.inst import EXEC, VCC, Inst, InstOperand
from argus.machine.semantics.control import BRANCHES
from argus.machine.semantics.modifiers import WIDE, constant_bits
from argus.machine.semantics.salu import SALU
from argus.machine.semantics.table import IMPLICIT, MachineOp
from argus.machine.semantics.valu import VALU
from argus.machine.symbolic.sums import Sum
from argus.machine.symbolic.symbolic_backend import NotFollowed, SymbolicBuilder
from argus.machine.symbolic.words import Words

SCALAR = 1 << 16
"""Key of s0; vector registers have the keys of `argus.gfx942.hazards`."""
MASK = 1 << 17
"""Key of the lane mask in s[0:1]."""
SCC_REGISTER = 253
SCC = SCALAR + SCC_REGISTER
NO_REGISTER = (EXEC, EXEC + 1)
Loaded = Callable[[int, int], Sum | None]
"""(instruction, dword of its result) -> the word it loads, where it has a name."""


class MaskBuilder(SymbolicBuilder):
    """64-bit scalar arithmetic on lane masks: a word of 64 bits is one truth value per lane."""

    def const64(self, value: int) -> Sum:
        lanes = np.uint64(value & (1 << 64) - 1) >> (self.space.thread & np.uint64(63)) & np.uint64(1)
        return self.space.rows(lanes)

    def and_(self, a: Sum, b: Sum) -> Sum:
        return self.mask_and(a, b)

    def or_(self, a: Sum, b: Sum) -> Sum:
        return self.mask_or(a, b)

    def xor(self, a: Sum, b: Sum) -> Sum:
        return self.mask_xor(a, b)

    def not64(self, a: Sum) -> Sum:
        return self.mask_not(a)

    def ne(self, a: Sum, b: Sum) -> Sum:
        if b.terms:
            raise NotFollowed("a mask against a number")
        return self.space.some(a)


class Slices:
    def __init__(self, code: Decoded, space: Words, start: dict[int, Sum], loaded: Loaded) -> None:
        self.code, self.space, self.loaded = code, space, loaded
        self.flow: FlowGraph = control_flow(code)
        self.start = start
        self.builder, self.masks = SymbolicBuilder(space), MaskBuilder(space)
        self.used: set[int] = set()
        """Instructions that some slice went through."""
        self.inductive: set[int] = set()
        """Loops whose registers were followed by induction."""
        self.most_turns: dict[int, int] = {}
        """Loops -> a bound of their iterations."""
        self._memo: list[dict[tuple[int, int], Sum]] = [{}]
        self._results: list[dict[int, dict[int, Sum]]] = [{}]
        self._reached: dict[int, Sum] = {}
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

    def word(self, key: int, n: int) -> Sum:
        """The register `key` (a MASK key: the pair as a lane mask) before instruction n."""
        block = self.flow.block_of[n]
        writers = self._writers[block].get(key, ())
        at = next((w for w in reversed(writers) if w < n), None)
        return self._entry(key, block) if at is None else self._result(at, key)

    def exec(self, n: int) -> Sum:
        return self.word(MASK + EXEC, n)

    def _at_end(self, key: int, block: int) -> Sum:
        if block == START:
            return self._initial(key)
        writers = self._writers[block].get(key, ())
        return self._result(writers[-1], key) if writers else self._entry(key, block)

    def _initial(self, key: int) -> Sum:
        if key in self.start:
            return self.start[key]
        return self._symbol("start", key)

    def _symbol(self, what: str, key: int, *where: int, varies: frozenset[int] = frozenset()) -> Sum:
        bit, uniform = key >= MASK or key == SCC, SCALAR <= key < MASK
        return self.space.word(
            self.space.atom(what, key, *where, bit=bit, uniform=uniform and (key == SCC or not bit), varies=varies)
        )

    def _lookup(self, where: tuple[int, int]) -> Sum | None:
        for layer in reversed(self._memo):
            if where in layer:
                return layer[where]
        return None

    def _entry(self, key: int, block: int) -> Sum:
        known = self._lookup((key, block))
        if known is None:
            known = self._looped(key, block) if block in self.flow.bodies else self._joined(
                key, block, self.flow.into[block]
            )
            self._memo[-1][key, block] = known
        return known

    def _joined(self, key: int, block: int, edges: list[Edge]) -> Sum:
        """The value where paths meet."""
        values = [(edge, self._at_end(key, edge.source)) for edge in edges]
        first = values[0][1]
        if all(value is first for _, value in values):
            return first
        if any(edge.source == START for edge in edges):
            return self._symbol("phi", key, block)
        kept = []
        skipped = []
        for edge, value in values:
            (skipped if self._skips(edge) else kept).append((edge, value))
        total = self.space.zero
        for edge, value in kept:
            if len(kept) == 1:
                total = value
            else:
                total = self.space.add(total, self.space.mul(self._edge(edge), value))
        if key >= SCALAR and key < MASK and skipped:
            return self._symbol("phi", key, block, varies=self._around(block))
        for edge, value in skipped:
            inactive = self.space.lnot(self.exec(self.flow.last[edge.source]))
            if self.space.mul(inactive, self.space.sub(total, value)).terms:
                return self._symbol("phi", key, block, varies=self._around(block))
        return total

    def _around(self, block: int) -> frozenset[int]:
        return frozenset(self.flow.loops_of(block))

    def _looped(self, key: int, block: int) -> Sum:
        """The value at the head of a loop: by induction, or a symbol."""
        edges = self.flow.into[block]
        outside = [e for e in edges if not self.flow.is_back(e)]
        inside = [e for e in edges if self.flow.is_back(e)]
        first = self._joined(key, block, outside)
        around = self._around(block)
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

    def _looped_pair(self, high: int, block: int, latch: int) -> Sum | None:
        """The upper half of a 64-bit sum that a loop advances, by induction over both halves."""
        low = self._partner(high, block)
        if low is None:
            return None
        space = self.space
        around = self._around(block)
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

    def iteration(self, header: int) -> Sum:
        """The number of the iteration of a loop, from 0."""
        most = self.most_turns.get(header, 1 << 31) - 1
        return self.space.word(
            self.space.atom("iteration", header, hi=most, uniform=True, varies=self._around(header))
        )

    # -- paths --------------------------------------------------------------------------------------------------------

    def _skips(self, edge: Edge) -> bool:
        """The edge is taken only by waves without an active lane."""
        if edge.source == START:
            return False
        op = self.code.insts[self.flow.last[edge.source]].op
        return (op == "s_cbranch_execz" and edge.taken) or (op == "s_cbranch_execnz" and not edge.taken)

    def condition(self, edge: Edge) -> Sum:
        """1 where a wave at the end of the source goes along the edge."""
        if len(self.flow.out[edge.source]) == 1 or edge.source == START:
            return self.space.one
        n = self.flow.last[edge.source]
        kind = BRANCHES[self.code.insts[n].op]
        if kind in ("execz", "execnz"):
            return self.space.zero if self._skips(edge) else self.space.one
        self.used.add(n)
        if kind in ("vccz", "vccnz"):
            jumps = self.space.some(self.word(MASK + VCC, n))
        else:
            jumps = self.word(SCC, n)
        if kind in ("vccz", "scc0"):
            jumps = self.space.lnot(jumps)
        return jumps if edge.taken else self.space.lnot(jumps)

    def _edge(self, edge: Edge) -> Sum:
        """1 where a wave gets along the edge; out of a loop: where it got into it."""
        left = [h for h in self.flow.loops_of(edge.source) if edge.target not in self.flow.bodies[h]]
        if left:
            if len(self.exits(left[0])) > 1:
                raise Irregular("a loop is left from two places")
            return self.reached(left[0])
        return self.space.mul(self.reached(edge.source), self.condition(edge))

    def reached(self, block: int) -> Sum:
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
                    if not self._skips(edge):
                        known = self.space.add(known, self._edge(edge))
            self._reached[block] = known
        return known

    def exits(self, header: int) -> list[Edge]:
        """Edges out of a loop."""
        body = self.flow.bodies[header]
        return [e for b in body for e in self.flow.out[b] if e.target not in body]

    # -- instructions -------------------------------------------------------------------------------------------------

    def _result(self, n: int, key: int) -> Sum:
        """What instruction n leaves in a register."""
        wanted = key
        for layer in reversed(self._results):
            known = layer.get(n)
            if known is not None and wanted in known:
                return known[wanted]
        self.used.add(n)
        inst = self.code.insts[n]
        try:
            made = self._computed(n, inst, key)
        except NotFollowed:
            made = None
        if made is None:
            made = self._symbol("result", key, inst.pc, varies=self._around(self.flow.block_of[n]))
            if inst.op in VALU or key < SCALAR:
                made = self._merged(n, key, made)
        self._results[-1].setdefault(n, {})[wanted] = made
        return made

    def _merged(self, n: int, key: int, new: Sum) -> Sum:
        """A vector result is written in the active lanes only."""
        active = self.exec(n)
        if active.constant == 1 or key >= SCALAR:
            return new
        return self.space.select(active, new, self.word(key, n))

    def _computed(self, n: int, inst: Inst, key: int) -> Sum | None:
        if inst.op in SALU:
            return self._scalar(n, inst, SALU[inst.op], key)
        if inst.op in VALU and VALU[inst.op].shape == "plain" and inst.enc not in ("sdwa", "dpp"):
            return self._vector(n, inst, VALU[inst.op], key)
        if inst.op == "v_readfirstlane_b32":
            return self.space.first_lane(self._source(inst.operands[1], "u32", n))
        if inst.op == "v_readlane_b32":
            value = self._source(inst.operands[1], "u32", n)
            return value if value.uniform else None
        if inst.op.startswith("s_load_dword"):
            return self._kernarg(n, inst, key)
        target = inst.operands[0] if inst.operands else None
        if target is not None and target.kind in ("v", "a") and key < SCALAR:
            name = self.loaded(n, key - self._key(target))
            return None if name is None else self._merged(n, key, name)
        return None

    def _key(self, operand: InstOperand) -> int:
        if operand.kind == "s":
            return SCALAR + operand.value
        return operand.value + (0 if operand.kind == "v" else ACC)

    def _kernarg(self, n: int, inst: Inst, key: int) -> Sum | None:
        """A scalar load of kernel arguments."""
        base = self.space.pair(
            self._source(inst.operands[1], "u32", n),
            self.word(SCALAR + inst.operands[1].value + 1, n),
        )
        whole = self.start.get(KERNARG)
        offset = self._source(inst.operands[2], "u32", n).constant if len(inst.operands) > 2 else 0
        if whole is None or base is not whole or offset is None:
            return None
        dword = offset + 4 * (key - self._key(inst.operands[0]))
        return self.start.get(KERNARG + 1 + dword)

    def _source(self, operand: InstOperand, word: str, n: int) -> Sum:
        if operand.kind in ("v", "a", "s"):
            key = self._key(operand)
            if word in WIDE:
                return self.space.pair(self.word(key, n), self.word(key + 1, n))
            if word in ("u32", "f32"):
                return self.word(key, n)
            if word == "u16":
                return self.space.field(self.word(key, n), 0, 16)
            raise NotFollowed(word)
        if operand.kind in ("imm", "fimm", "lit"):
            return self.space.const(constant_bits(word, operand), 64 if word in WIDE else 32)
        if operand.kind == "special" and operand.value == SCC_REGISTER:
            return self.word(SCC, n)
        raise NotFollowed(operand.kind)

    def _mask(self, operand: InstOperand, n: int) -> Sum:
        if operand.kind == "s":
            return self.word(MASK + operand.value, n)
        return self.masks.const64(constant_bits("u64", operand))

    def _vector(self, n: int, inst: Inst, op: MachineOp, key: int) -> Sum | None:
        if inst.mods.get("clamp") or inst.mods.get("op_sel") or any(o.neg or o.abs or o.sext for o in inst.operands):
            return None
        if key >= SCALAR and "mask" not in op.results:
            return None
        operands = iter(inst.operands)
        targets = [next(operands) for word in op.results if word not in IMPLICIT]
        args: list[Sum] = []
        for word in op.args:
            if word == "mask":
                args.append(self._mask(next(operands), n))
            elif word == "vcc":
                args.append(self.word(MASK + VCC, n))
            elif word == "old":
                args.append(self.word(self._key(targets[0]), n))
            elif word == "lane":
                args.append(self.space.rows(self.space.thread & np.uint64(63)))
            elif word == "old64" or word in IMPLICIT:
                return None
            else:
                args.append(self._source(next(operands), word, n))
        made = op.fn(self.builder, *args)
        values = made if isinstance(made, tuple) else (made,)
        explicit = iter(targets)
        for word, value in zip(op.results, values, strict=True):
            target = None if word in IMPLICIT else next(explicit)
            if word == "mask":
                assert target is not None
                if key == MASK + target.value:
                    return self.space.mul(value, self.exec(n))
            elif word == "exec":
                if key == MASK + EXEC:
                    return self.space.mul(value, self.exec(n))
            elif target is not None:
                found = self._part(word, value, key - self._key(target))
                if found is not None and key < SCALAR:
                    return self._merged(n, key, found)
        return None

    def _part(self, word: str, value: Sum, at: int) -> Sum | None:
        """Register `at` of a result."""
        if word in ("u32", "f32", "u16") and at == 0:
            return value
        if word in ("u64", "f64") and at in (0, 1):
            return self.space.high(value) if at else self.space.trunc(value)
        return None

    def _scalar(self, n: int, inst: Inst, op: MachineOp, key: int) -> Sum | None:
        as_mask = key >= MASK or (key == SCC and self._on_masks(n, inst, op))
        if as_mask and not any(w in ("u64", "exec") for w in op.results):
            return None
        builder = self.masks if as_mask else self.builder
        operands = iter(inst.operands)
        results = {word: next(operands) for word in op.results if word not in IMPLICIT}
        target = next(iter(results.values()), None)
        args: list[Sum] = []
        for word in op.args:
            if word == "scc":
                args.append(self.word(SCC, n))
            elif word == "exec":
                if not as_mask:
                    return None
                args.append(self.exec(n))
            elif word in ("old", "old64"):
                if target is None or as_mask or word == "old64":
                    return None
                args.append(self._source(target, "u32", n))
            elif word in ("k16", "k16u"):
                value = next(operands).value & 0xFFFF
                args.append(self.space.const(value - (value >> 15 << 16) if word == "k16" else value))
            elif as_mask and word in WIDE:
                args.append(self._mask(next(operands), n))
            else:
                args.append(self._source(next(operands), word, n))
        made = op.fn(builder, *args)
        values = made if isinstance(made, tuple) else (made,)
        for word, value in zip(op.results, values, strict=True):
            if word == "scc":
                if key == SCC:
                    return value
            elif word == "exec":
                if key == MASK + EXEC:
                    return value
            elif as_mask:
                if key == MASK + results[word].value:
                    return value
            else:
                found = self._part(word, value, key - self._key(results[word]))
                if found is not None:
                    return found
        return None

    def _on_masks(self, n: int, inst: Inst, op: MachineOp) -> bool:
        """Whether a 64-bit scalar operation works on lane masks: exec takes part, or what a comparison has written."""
        if "exec" in op.args:
            return True
        if "u64" not in op.args:
            return False
        return any(o.kind == "s" and self._is_mask(o.value, n) for o in inst.operands)

    def _is_mask(self, number: int, n: int) -> bool:
        if number == EXEC:
            return True
        block = self.flow.block_of[n]
        writer = next((w for w in reversed(self._writers[block].get(SCALAR + number, ())) if w < n), None)
        if writer is None:
            return number == VCC
        inst = self.code.insts[writer]
        if inst.op in VALU:
            return True
        if inst.op in SALU and "u64" in SALU[inst.op].results:
            return self._on_masks(writer, inst, SALU[inst.op]) or all(
                o.kind == "imm" for o in inst.operands[1:]
            )
        return False


KERNARG = 1 << 20
"""Key of the kernel argument segment: its address, then (KERNARG + 1 + byte) its dwords."""
