"""Which data reaches which store: sources of every register, by the definitions that reach it on some path.

    buffer_load_dwordx4 v[4:7], …      for op 3
    v_add_f32 v8, v5, v5
    buffer_store_dword v8, …           its data is made from dword 1 of op 3

Definitions are followed backwards over the control-flow graph, through arithmetic, moves and exchanges between lanes,
to the loads and matrix instructions that `matching` has given an op. Sets of sources are those of `data_sources`.
`UNWRITTEN` is a source of its own: on some path nothing has written the register.
"""

from __future__ import annotations

from argus.compile.decoded import Decoded
from argus.compile.object.control_flow import START, Edge, FlowGraph
from argus.compile.object.data_sources import Sources
from argus.compile.object.results import SCALAR
from argus.gfx942.hazards import registers, vector_keys
from argus.gfx942.inst import EXEC, Inst, InstOperand
from argus.gfx942.instructions import destinations
from argus.machine.semantics.valu import VALU

Definition = tuple[int, int]
"""(instruction, register) of a write; instruction -1 for what a wave starts with."""
AT_START = -1
TURNS = frozenset({"s_andn2_saveexec_b64", "s_andn1_saveexec_b64"})


def keys(operand: InstOperand) -> list[int]:
    """Registers of an operand, scalar ones behind SCALAR."""
    if operand.kind == "s":
        return [SCALAR + operand.value + k for k in range(operand.count)]
    return list(vector_keys(operand))


class DataFlow:
    """Reaching definitions and, over them, sources."""

    def __init__(self, code: Decoded, flow: FlowGraph, start: set[int], made: dict[Definition, Sources]) -> None:
        self.insts, self.flow, self.start, self.made = code.insts, flow, start, made
        self._writers: dict[int, dict[int, list[int]]] = {}
        for n, block in flow.block_of.items():
            use = registers(self.insts[n])
            mine = self._writers.setdefault(block, {})
            for key in (*use.writes, *(SCALAR + k for k in use.scalar_writes)):
                mine.setdefault(key, []).append(n)
        self._entries: dict[tuple[int, int], frozenset[Definition]] = {}
        self._sources: dict[Definition, Sources] = {}
        self._unwritten: dict[Definition, bool] = {}

    # -- reaching definitions -----------------------------------------------------------------------------------------

    def reaching(self, key: int, n: int) -> frozenset[Definition]:
        """Writes of a register that may be the last before instruction n."""
        block = self.flow.block_of[n]
        writer = next((w for w in reversed(self._writers[block].get(key, ())) if w < n), None)
        return self._at_entry(key, block) if writer is None else frozenset({(writer, key)})

    def _at_entry(self, key: int, block: int) -> frozenset[Definition]:
        known = self._entries.get((key, block))
        if known is not None:
            return known
        found: set[Definition] = set()
        work = [(block, False)]
        seen = set(work)
        while work:
            here, entered = work.pop()
            for edge in self.flow.into[here]:
                before, skips = edge.source, self._skips(edge)
                if entered and skips:
                    continue
                writers = () if before == START else self._writers.get(before, {}).get(key, ())
                state = before, skips and self._opposite(before)
                if before == START:
                    found.add((AT_START, key))
                elif writers:
                    found.add((writers[-1], key))
                elif state not in seen:
                    seen.add(state)
                    work.append(state)
        if len(found) > 1:
            found.discard((AT_START, key))
        self._entries[key, block] = frozenset(found)
        return self._entries[key, block]

    def _skips(self, edge: Edge) -> bool:
        """The edge is taken where no lane is active."""
        return edge.taken and self.insts[self.flow.last[edge.source]].op == "s_cbranch_execz"

    def _opposite(self, block: int) -> bool:
        """The block turns to the lanes that the arm before it left out: of two arms one is entered."""
        inside = self.insts[self.flow.first[block] : self.flow.last[block]]
        return any(i.op in TURNS or (i.op == "s_xor_b64" and i.operands[0].value == EXEC) for i in inside)

    # -- sources ------------------------------------------------------------------------------------------------------

    def sources(self, key: int, n: int) -> tuple[Sources, bool]:
        """What a register before instruction n is made from, and whether something in it was never written."""
        wanted = self.reaching(key, n)
        self._solve(wanted)
        found = 0
        for one in wanted:
            found |= self._sources[one]
        return found, any(self._unwritten[one] for one in wanted)

    def _solve(self, wanted: frozenset[Definition]) -> None:
        """Sources of these definitions and of all behind them: the least solution."""
        behind: dict[Definition, list[Definition]] = {}
        work = [one for one in wanted if one not in self._sources]
        while work:
            one = work.pop()
            if one in behind or one in self._sources:
                continue
            behind[one] = [] if one in self.made else list(self._behind(one))
            work += behind[one]
        for one in behind:
            self._sources[one] = self.made.get(one, 0)
            self._unwritten[one] = one[0] == AT_START and one[1] not in self.start
        order = sorted(behind)
        changed = True
        while changed:
            changed = False
            for one in order:
                total, open_ = self._sources[one], self._unwritten[one]
                for other in behind[one]:
                    total |= self._sources[other]
                    open_ |= self._unwritten[other]
                if (total, open_) != (self._sources[one], self._unwritten[one]):
                    self._sources[one], self._unwritten[one] = total, open_
                    changed = True

    def _behind(self, one: Definition) -> set[Definition]:
        n, key = one
        if n == AT_START:
            return set()
        return {before for used in self.used(n, key) for before in self.reaching(used, n)}

    def used(self, n: int, key: int) -> set[int]:
        """Registers that what instruction n leaves in a register is made from."""
        inst = self.insts[n]
        paired = _pairwise(inst, key)
        if paired is not None:
            return paired
        use = registers(inst)
        return {*use.reads, *(SCALAR + k for k in use.scalar_reads if k not in (EXEC, EXEC + 1))}


def _pairwise(inst: Inst, key: int) -> set[int] | None:
    """For instructions whose result registers are made each from its own part of the operands."""
    if inst.op == "v_swap_b32":
        first, second = (keys(o)[0] for o in inst.operands)
        return {second if key == first else first}
    shape = VALU[inst.op].shape if inst.op in VALU else "plain"
    if shape not in ("pk32", "pkmov") and inst.op not in ("v_mov_b64", "s_mov_b64"):
        return None
    count = destinations(inst)
    high = keys(inst.operands[0]).index(key)
    found: set[int] = set()
    for number, operand in enumerate(inst.operands[count:]):
        where = keys(operand)
        if not where:
            continue
        if shape == "pkmov":
            if number == high:
                found.add(where[_bit(inst, "op_sel", number, 0) % len(where)])
        elif shape == "pk32":
            half = _bit(inst, "op_sel_hi", number, 1) if high else _bit(inst, "op_sel", number, 0)
            found.add(where[half % len(where)])
        else:
            found.add(where[high % len(where)])
    return found


def _bit(inst: Inst, name: str, number: int, otherwise: int) -> int:
    row = inst.mods.get(name)
    return int(row[number]) if isinstance(row, tuple) and number < len(row) else otherwise
