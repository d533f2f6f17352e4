"""Which data reaches which store: sources of every byte of a register, by the writes that reach it on some path.

    buffer_load_dwordx4 v[4:7], …      for op 3, which loads 4 f32
    v_add_f32 v8, v5, v5
    buffer_store_dword v8, …           its data is made from element 1 of op 3

Writes are followed backwards over the control-flow graph, through arithmetic and moves (`byte_moves`), to the loads and
matrix instructions that `matching` has given an op, and to exchanges between lanes, which `exchange_pairs` gives one.
Sets of sources are those of `data_sources`. A register that no path writes is told apart; where some path does, the
paths that do not are taken for such that cannot happen. So are paths that skip both arms of a branch of lanes.
"""

from __future__ import annotations

from argus.compile.decoded import Decoded
from argus.compile.object.byte_moves import Byte, made_from
from argus.compile.object.control_flow import START, Edge, FlowGraph
from argus.compile.object.data_sources import Sources, union
from argus.compile.object.lane_moves import LaneMove
from argus.compile.object.results import SCALAR
from argus.gfx942.hazards import registers
from argus.gfx942.inst import EXEC, InstOperand
from argus.machine.semantics.modifiers import constant_bits

Write = tuple[int, int]
"""(instruction, register); instruction -1 for what a wave starts with."""
WrittenByte = tuple[int, int, int]
"""(instruction, register, byte)."""
AT_START = -1
TURNS = frozenset({"s_andn2_saveexec_b64", "s_andn1_saveexec_b64"})
CONSTANTS = frozenset({"s_mov_b32", "v_mov_b32", "s_movk_i32"})


class DataFlow:
    """Writes that reach a place and, over them, sources. `made`: what loads, matrix instructions and exchanges bring;
    `moves`: the exchanges; `start`: registers that hold something when a wave starts."""

    def __init__(
        self,
        code: Decoded,
        flow: FlowGraph,
        start: set[int],
        made: dict[WrittenByte, Sources],
        moves: dict[int, LaneMove],
    ) -> None:
        self.insts, self.flow, self.start, self.made, self.moves = code.insts, flow, start, made, moves
        self._writers: dict[int, dict[int, list[int]]] = {}
        for n, block in flow.block_of.items():
            use = registers(self.insts[n])
            mine = self._writers.setdefault(block, {})
            for key in (*use.writes, *(SCALAR + k for k in use.scalar_writes)):
                mine.setdefault(key, []).append(n)
        self._entries: dict[tuple[int, int], frozenset[Write]] = {}
        self._sources: dict[WrittenByte, Sources] = {}
        self._unwritten: set[WrittenByte] = set()

    # -- writes that reach a place ------------------------------------------------------------------------------------

    def reaching(self, key: int, n: int) -> frozenset[Write]:
        """Writes of a register that may be the last before instruction n."""
        block = self.flow.block_of[n]
        writer = next((w for w in reversed(self._writers[block].get(key, ())) if w < n), None)
        return self._at_entry(key, block) if writer is None else frozenset({(writer, key)})

    def _at_entry(self, key: int, block: int) -> frozenset[Write]:
        known = self._entries.get((key, block))
        if known is not None:
            return known
        found: set[Write] = set()
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

    def sources(self, key: int, byte: int, n: int) -> tuple[Sources, bool]:
        """What a byte before instruction n is made from, and whether some of it was never written."""
        wanted = [(*write, byte) for write in self.reaching(key, n)]
        self._solve(wanted)
        found = 0
        for one in wanted:
            found |= self._sources[one]
        return found, any(one in self._unwritten for one in wanted)

    def by_write(self, key: int, of: range, n: int) -> list[Sources]:
        """For each write that may be the last before instruction n, what these bytes of it are made from."""
        found: list[Sources] = []
        for write in self.reaching(key, n):
            bytewise = [(*write, byte) for byte in of]
            self._solve(bytewise)
            found.append(union(self._sources[one] for one in bytewise))
        return found

    def _solve(self, wanted: list[WrittenByte]) -> None:
        """Sources of these bytes and of all behind them: the least solution."""
        behind: dict[WrittenByte, set[WrittenByte]] = {}
        moved: dict[WrittenByte, set[WrittenByte]] = {}
        work = [one for one in wanted if one not in self._sources]
        while work:
            one = work.pop()
            if one in behind or one in self._sources:
                continue
            behind[one] = set() if one in self.made and one[0] not in self.moves else self._behind(one)
            moved[one] = self._moved(one)
            work += behind[one] | moved[one]
        for one in behind:
            self._sources[one] = self.made.get(one, 0)
            if one[0] == AT_START and one[1] not in self.start:
                self._unwritten.add(one)
        order = sorted(behind)
        changed = True
        while changed:
            changed = False
            for one in order:
                total = before = self._sources[one]
                for other in behind[one]:
                    total |= self._sources[other]
                if total != before:
                    self._sources[one] = total
                    changed = True
                if one not in self._unwritten and not self._unwritten.isdisjoint(behind[one] | moved[one]):
                    self._unwritten.add(one)
                    changed = True

    def _behind(self, one: WrittenByte) -> set[WrittenByte]:
        n, key, byte = one
        if n == AT_START:
            return set()
        move = self.moves.get(n)
        if move is not None:
            return self._written(move.beside(key, byte), n)
        return self._written(made_from(self.insts[n], key, byte, lambda operand: self._constant(operand, n)), n)

    def _moved(self, one: WrittenByte) -> set[WrittenByte]:
        """What an exchange brings from other lanes: no sources, but it must have been written."""
        move = self.moves.get(one[0])
        return set() if move is None else self._written(move.moved(one[2]), one[0])

    def _written(self, used: set[Byte], n: int) -> set[WrittenByte]:
        return {(*write, at) for register, at in used for write in self.reaching(register, n)}

    def _constant(self, operand: InstOperand, n: int) -> int | None:
        """The bits of an operand that is a constant, or a register that holds one."""
        if operand.kind in ("imm", "lit", "fimm"):
            return constant_bits("u32", operand)
        if operand.kind not in ("s", "v"):
            return None
        writes = self.reaching(operand.value + (SCALAR if operand.kind == "s" else 0), n)
        writer = next(iter(writes))[0] if len(writes) == 1 else AT_START
        if writer == AT_START or self.insts[writer].op not in CONSTANTS or self.insts[writer].enc in ("sdwa", "dpp"):
            return None
        source = self.insts[writer].operands[1]
        return constant_bits("u32", source) if source.kind in ("imm", "lit", "fimm") else None
