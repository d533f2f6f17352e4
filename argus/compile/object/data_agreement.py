"""Does a store store what the kernel's store stores? Its data registers are made from the same loads and products.

    found = compare_data(kernel, code, matched, flow, start)
    found.registers      530 data registers of stores, atomics and matrix instructions were compared
    found.unknown        those made from other sources than the kernel's value, with the first source that differs
    found.unwritten      those that no instruction writes

Both sides are sets of sources (`data_sources` of the kernel, `data_flow` of the object). A register is right if it is
made from all sources of its elements, and from no others than those of the elements in the same registers: 16-bit
elements are packed and unpacked, and halves are not told apart.

What it shows: no register was taken for another one, on any path. What it does not show: the arithmetic on the way, so
another opcode or constant, exchanged operands, or a mask among sources that stay the same.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import assert_never

from argus.compile.decoded import Decoded
from argus.compile.matching import Match
from argus.compile.memory import by_sign
from argus.compile.object.control_flow import FlowGraph
from argus.compile.object.data_flow import DataFlow, Definition, keys
from argus.compile.object.data_sources import DWORD, DataSources, SourceNames, Sources
from argus.compile.tails import Tail, pieces, tails
from argus.gfx942.inst import Inst, InstOperand
from argus.ir import ops
from argus.ir.kernel import Kernel
from argus.ir.types import Value


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
    """Register `key` of an instruction holds bytes `start` to `start + width` of a value."""

    key: int
    value: Value
    start: int
    width: int


def compare_data(kernel: Kernel, code: Decoded, matched: Match, flow: FlowGraph, start: set[int]) -> DataAgreement:
    """Hold the data of every store, atomic and matrix instruction against the kernel. `start`: registers that are
    written when a wave starts."""
    return _Comparison(kernel, code, matched, flow, start).run()


class _Comparison:
    def __init__(self, kernel: Kernel, code: Decoded, matched: Match, flow: FlowGraph, start: set[int]) -> None:
        self.code, self.matched, self.flow = code, matched, flow
        self.ops = {op.id: op for op in ops.walk(kernel.body)}
        self.tails = tails(kernel)
        self.names = SourceNames()
        self.least = DataSources(kernel, self.names)
        self.most = DataSources(kernel, self.names, by_register=True)
        made: dict[Definition, Sources] = {}
        for n, op in self._paired():
            made |= self._made(n, op)
        self.object = DataFlow(code, flow, start, made)

    def _paired(self) -> list[tuple[int, ops.Op]]:
        """Instructions that can be reached and are made for an op."""
        return [(n, self.ops[self.matched.op_of[n]]) for n in sorted(self.matched.part_of) if n in self.flow.block_of]

    def _made(self, n: int, op: ops.Op) -> dict[Definition, Sources]:
        """What an instruction brings from memory or the matrix unit, by register."""
        if not isinstance(op, ops.Load | ops.Mfma):
            return {}
        at = 0
        if isinstance(op, ops.Load):
            at = pieces(op.access, self.tails.get(op.id, Tail.WHOLE))[self.matched.part_of[n]][0]
        written = keys(self.code.insts[n].operands[0])
        return {(n, key): self.least.own(op, at + DWORD * dword) for dword, key in enumerate(written)}

    def run(self) -> DataAgreement:
        found = DataAgreement()
        for n, op in self._paired():
            said = {self._said(n, use) for use in self._uses(n, op)}
            found.registers += len(list(self._uses(n, op)))
            for what, unwritten in sorted(one for one in said if one is not None):
                (found.unwritten if unwritten else found.unknown).append(DataFinding(n, op, what))
        return found

    def _said(self, n: int, use: DataUse) -> tuple[str, bool] | None:
        """What differs, and whether it is that nothing wrote the register."""
        have, unwritten = self.object.sources(use.key, n)
        if unwritten:
            return "it uses a register that nothing has written", True
        foreign = have & ~self.most.of_bytes(use.value, use.start, use.width)
        missing = self.least.of_bytes(use.value, use.start, use.width) & ~have
        if foreign:
            return f"its data is also made from {self._named(foreign)}", False
        return (f"its data is not made from {self._named(missing)}", False) if missing else None

    def _named(self, sources: Sources) -> str:
        op, dword = self.names.listed(sources)[0]
        return f"register {dword} of {self.ops[op].declared.word} at {self.ops[op].span}"

    def _uses(self, n: int, op: ops.Op) -> list[DataUse]:
        inst = self.code.insts[n]
        match op:
            case ops.Mfma():
                rows = zip(inst.operands[1:4], (op.a, op.b, op.c), strict=True)
                return [use for operand, value in rows for use in _spread([operand], value, 0, DWORD * operand.count)]
            case ops.Store():
                start, width, last = self._stored(op, self.matched.part_of[n])
                if last:
                    return [DataUse(key, op.value, start, width) for o in _data(inst) for key in keys(o)]
                return _spread(_data(inst), op.value, start, width)
            case ops.Atomic():
                width = DWORD if op.value.dtype.bits == 16 else op.value.dtype.bytes
                number = self.matched.part_of[n] // (2 if by_sign(op) else 1)
                return _spread(_data(inst), op.value, number * width, width)
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
                | ops.Load()
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
                return []
            case _:
                assert_never(op)

    def _stored(self, op: ops.Store, part: int) -> tuple[int, int, bool]:
        """(first byte, bytes, whether these are last elements chosen among all of them) of a store's instruction."""
        tail = self.tails.get(op.id, Tail.WHOLE)
        rows: list[tuple[int, int, bool]] = []
        for start, width in pieces(op.access, tail):
            rows.append((start, width, False))
            if tail is Tail.ROUNDED and width >= DWORD:
                rows += [(start, width, True)] * (2 if op.access.memory.dtype.bytes == 1 else 1)
        return rows[part]


def _spread(operands: list[InstOperand], value: Value, start: int, width: int) -> list[DataUse]:
    """Register after register, the bytes of a value."""
    registers = [key for operand in operands for key in keys(operand)]
    return [
        DataUse(key, value, start + at, min(DWORD, width - at))
        for key, at in zip(registers, range(0, width, DWORD), strict=False)
    ]


def _data(inst: Inst) -> list[InstOperand]:
    """The data operands of a store or an atomic that returns nothing."""
    if inst.op.startswith("ds_"):
        return list(inst.operands[1:])
    return list(inst.operands[:1] if inst.op.startswith("buffer_") else inst.operands[1:2])
