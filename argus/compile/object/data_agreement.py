"""Does a store store what the kernel's store stores? Its data registers are made from the same loads and products.

    found = compare_data(kernel, code, matched, flow, start, exchanges)
    found.registers      530 data registers of stores, atomics, matrix instructions and exchanges were compared
    found.unknown        those made from other sources than the kernel's value, with the first source that differs
    found.unwritten      those that no instruction writes

Both sides are sets of sources (`data_sources` of the kernel, `data_flow` of the object), element by element. An element
is right if it is made from all its sources, and from no others than those of the elements that share registers with it
on the way: bytes are told apart where they are moved, but arithmetic mixes them.

What it shows: no register was taken for another one, on any path (behind a branch every arm is looked at by itself,
`arm_sources`), and none is moved between lanes in another way (`exchange_pairs`). What it does not show: the arithmetic
on the way, so another opcode or constant, exchanged operands, or a mask among sources that stay the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import assert_never

from argus.compile.decoded import Decoded
from argus.compile.matching import Match
from argus.compile.memory import by_sign
from argus.compile.object.arm_sources import Alternatives, ArmSources
from argus.compile.object.byte_moves import ALL, keys
from argus.compile.object.control_flow import FlowGraph
from argus.compile.object.data_flow import DataFlow, WrittenByte
from argus.compile.object.data_sources import DWORD, DataSources, SourceNames, Sources, element_bytes, union
from argus.compile.object.exchange_pairs import ExchangePairs, moved_registers
from argus.compile.object.kernel_exchanges import KernelExchange
from argus.compile.object.lane_moves import LaneMove
from argus.compile.object.results import SCALAR
from argus.compile.tails import Tail, pieces, tails
from argus.gfx942.disasm import text as instruction_text
from argus.gfx942.hazards import registers
from argus.gfx942.inst import Inst, InstOperand
from argus.ir import ops
from argus.ir.kernel import Kernel
from argus.ir.types import Value
from argus.machine.semantics.mem import MEMORY
from argus.machine.symbolic.sums import WordSum


@dataclass(frozen=True, slots=True)
class DataFinding:
    """Instruction `n`, made for `op`, and what is to be said of its data."""

    n: int
    op: ops.Op
    what: str


@dataclass
class DataAgreement:
    registers: int = 0
    unknown: list[DataFinding] = field(default_factory=list)
    unwritten: list[DataFinding] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class DataUse:
    """Bytes `first` to `first + width` of register `key` hold as many of a value, from one of the bytes `starts` on."""

    key: int
    first: int
    width: int
    value: Value
    starts: tuple[int, ...]

    def sources(self, of: DataSources) -> Sources:
        return union(of.of_bytes(self.value, start, self.width) for start in self.starts)

    def on_paths(self, of: ArmSources) -> Alternatives:
        return frozenset().union(*(of.of_bytes(self.value, start, self.width) for start in self.starts))


@dataclass(frozen=True, slots=True)
class DataMoves:
    """Sources that an instruction brings into registers, and data that it takes from them."""

    brings: dict[WrittenByte, Sources]
    uses: list[DataUse]


@dataclass(frozen=True, slots=True)
class Exchanges:
    """Maps of the kernel's exchanges by op, the object's exchanges by instruction, and when two maps are equal."""

    maps: dict[int, WordSum]
    moves: dict[int, LaneMove]
    same: Callable[[WordSum, WordSum], bool]


def compare_data(
    kernel: Kernel, code: Decoded, matched: Match, flow: FlowGraph, start: set[int], exchanges: Exchanges
) -> DataAgreement:
    """Hold the data of every store, atomic, matrix instruction and exchange against the kernel. `start`: registers that
    are written when a wave starts."""
    return _Comparison(kernel, code, matched, flow, start, exchanges).run()


class _Comparison:
    def __init__(
        self, kernel: Kernel, code: Decoded, matched: Match, flow: FlowGraph, start: set[int], exchanges: Exchanges
    ) -> None:
        self.code, self.matched, self.flow = code, matched, flow
        self.ops = {op.id: op for op in ops.walk(kernel.body)}
        self.tails = tails(kernel)
        self.names = SourceNames()
        self.least = DataSources(kernel, self.names)
        self.most = DataSources(kernel, self.names, by_register=True)
        self.arms = ArmSources(kernel, self.least)
        paired = ((n, self.ops[matched.op_of[n]]) for n in sorted(matched.part_of) if n in flow.block_of)
        self.moves = [(n, op, self._moved(n, op)) for n, op in paired]
        made = {at: sources for _, _, moved in self.moves for at, sources in moved.brings.items()}
        for n, move in exchanges.moves.items():
            made |= self._exchanged(n, move)
        self.object = DataFlow(code, flow, start, made, exchanges.moves)
        moved = moved_registers(self.least.exchanges.values(), exchanges.maps)
        self.pairs = ExchangePairs(
            exchanges.moves, moved, self.least, self.most, self.object, self._prefers, exchanges.same
        )

    def run(self) -> DataAgreement:
        found = DataAgreement(registers=len(self.pairs.pair_of))
        for n in self.pairs.wrong():
            op = self.ops[self.pairs.pair_of[n].exchange.op]
            found.unknown.append(DataFinding(n, op, "it moves other data between lanes"))
        for n, op, moved in self.moves:
            found.registers += len({use.key for use in moved.uses})
            first = next((said for said in (self._said(n, use) for use in moved.uses) if said is not None), None)
            if first is not None:
                (found.unwritten if first[1] else found.unknown).append(DataFinding(n, op, first[0]))
        return found

    def _said(self, n: int, use: DataUse) -> tuple[str, bool] | None:
        """What differs, and whether it is that nothing wrote the register."""
        have = 0
        for byte in range(use.first, use.first + use.width):
            more, unwritten = self.object.sources(use.key, byte, n)
            if unwritten:
                return "it uses a register that nothing has written", True
            have |= more
        have = self.pairs.translated(have)
        foreign, missing = have & ~use.sources(self.most), use.sources(self.least) & ~have
        if foreign:
            return f"its data is also made from {self._named(foreign)}", False
        missing = missing or self._missing_on_a_path(n, use)
        return (f"its data is not made from {self._named(missing)}", False) if missing else None

    def _missing_on_a_path(self, n: int, use: DataUse) -> Sources:
        """What a write that reaches the use lacks of every set that some arm of the kernel has."""
        if not self.arms.asked:
            return 0
        asked = use.on_paths(self.arms)
        for have in self.object.by_write(use.key, range(use.first, use.first + use.width), n):
            lacks = [one & ~self.pairs.translated(have) for one in asked]
            if lacks and all(lacks):
                return min(lacks, key=int.bit_count)
        return 0

    def _named(self, sources: Sources) -> str:
        op, element = self.names.listed(sources)[0]
        if op < 0:
            return f"what `{instruction_text(self.code.insts[-1 - op])}` moves between lanes, as no line does"
        return f"element {element} of {self.ops[op].declared.word} at {self.ops[op].span}"

    def _exchanged(self, n: int, move: LaneMove) -> dict[WrittenByte, Sources]:
        """What an exchange brings, as long as it has no pair."""
        use = registers(self.code.insts[n])
        every = union(self.names.moved(n, byte) for byte in ALL)
        return {
            (n, key, byte): self.names.moved(n, byte) if move.bytewise else every
            for key in (*use.writes, *(SCALAR + k for k in use.scalar_writes))
            for byte in ALL
        }

    def _prefers(self, n: int, exchange: KernelExchange) -> bool:
        """By the line table: made for the exchange or, joined with arithmetic, for what uses its result."""
        op = self.ops.get(self.matched.op_of[n])
        return op is not None and (op.id == exchange.op or exchange.result in op.operands)

    def _moved(self, n: int, op: ops.Op) -> DataMoves:
        """What an instruction brings into registers and takes from them for its op."""
        inst, part = self.code.insts[n], self.matched.part_of[n]
        match op:
            case ops.Mfma():
                rows = zip(inst.operands[1:4], (op.a, op.b, op.c), strict=True)
                uses = [use for operand, value in rows for use in _spread([operand], value, 0, DWORD * operand.count)]
                written = enumerate(keys(inst.operands[0]))
                own = self.least.own
                brings = {(n, key, b): own(op.id, op.result, DWORD * dword + b) for dword, key in written for b in ALL}
                return DataMoves(brings, uses)
            case ops.Load():
                return DataMoves(self._loaded(n, op), [])
            case ops.Store():
                start, width, last = self._stored(op, part)
                first, size = (2 if MEMORY[inst.op].half == 1 else 0), MEMORY[inst.op].size
                if last:
                    starts = tuple(range(start, start + width, DWORD if size == 2 else 1))
                    registers = [key for operand in _data(inst) for key in keys(operand)]
                    return DataMoves({}, [DataUse(key, first, min(size, DWORD), op.value, starts) for key in registers])
                return DataMoves({}, _spread(_data(inst), op.value, start, width, first))
            case ops.Atomic():
                width = DWORD if op.value.dtype.bits == 16 else op.value.dtype.bytes
                number = part // (2 if by_sign(op) else 1)
                return DataMoves({}, _spread(_data(inst), op.value, number * width, width))
            case (
                ops.Constant()
                | ops.Index()
                | ops.Symbol()
                | ops.Map()
                | ops.Convert()
                | ops.Bitcast()
                | ops.Registers()
                | ops.Lanes()
                | ops.Instruction()
                | ops.CopyToLds()
                | ops.Barrier()
                | ops.Wait()
                | ops.SetPrio()
                | ops.Tag()
                | ops.Check()
                | ops.For()
                | ops.If()
                | ops.Schedule()
            ):
                return DataMoves({}, [])
            case _:
                assert_never(op)

    def _loaded(self, n: int, op: ops.Load) -> dict[WrittenByte, Sources]:
        """What a load brings, byte by byte."""
        inst = self.code.insts[n]
        at, width = pieces(op.access, self.tails.get(op.id, Tail.WHOLE))[self.matched.part_of[n]]
        row = MEMORY[inst.op]
        found: dict[WrittenByte, Sources] = {}
        for dword, key in enumerate(keys(inst.operands[0])):
            for byte in ALL:
                place = DWORD * dword + byte - (2 if row.half == 1 else 0)
                beyond = self.least.own(op.id, op.result, at + width - 1) if row.signed and place >= width else 0
                found[n, key, byte] = self.least.own(op.id, op.result, at + place) if 0 <= place < width else beyond
        return found

    def _stored(self, op: ops.Store, part: int) -> tuple[int, int, bool]:
        """(first byte, bytes, whether these are last elements chosen among all of them) of a store's instruction."""
        tail = self.tails.get(op.id, Tail.WHOLE)
        rows: list[tuple[int, int, bool]] = []
        for start, width in pieces(op.access, tail):
            rows.append((start, width, False))
            if tail is Tail.ROUNDED and width >= DWORD:
                rows += [(start, width, True)] * (2 if op.access.memory.dtype.bytes == 1 else 1)
        return rows[part]


def _spread(operands: list[InstOperand], value: Value, start: int, width: int, first: int = 0) -> list[DataUse]:
    """Register after register, the elements of a value, from byte `first` of the first one on."""
    registers = [key for operand in operands for key in keys(operand)]
    each = min(DWORD, element_bytes(value))
    return [
        DataUse(registers[(first + at) // DWORD], (first + at) % DWORD, each, value, (start + at,))
        for at in range(0, width, each)
        if (first + at) // DWORD < len(registers)
    ]


def _data(inst: Inst) -> list[InstOperand]:
    """The data operands of a store or an atomic that returns nothing."""
    if inst.op.startswith("ds_"):
        return list(inst.operands[1:])
    return list(inst.operands[:1] if inst.op.startswith("buffer_") else inst.operands[1:2])
