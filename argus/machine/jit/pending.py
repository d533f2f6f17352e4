"""What the open region has read and written so far, and which scalar operands of an instruction are lane masks."""

from __future__ import annotations

from dataclasses import dataclass, field

from argus.gfx942.inst import EXEC, VCC, Inst
from argus.machine.jit.effects import Effects, scalars_of
from argus.machine.semantics import MachineOp

IMPLICIT_RESULTS = ("scc", "exec")
IMPLICIT_WORDS = ("old", "old64", "vcc", "scc", "exec", "lane")


def mask_pairs(inst: Inst, op: MachineOp) -> set[int]:
    """Scalar pairs the instruction reads as lane masks."""
    pairs = {VCC} if "vcc" in op.args else set()
    explicit = [word for word in op.args if word not in IMPLICIT_WORDS]
    start = sum(word not in IMPLICIT_RESULTS for word in op.results)
    for word, operand in zip(explicit, inst.operands[start:], strict=False):
        if word == "mask" and operand.kind == "s":
            pairs.add(operand.value)
    return pairs


def plain_scalars(inst: Inst, op: MachineOp) -> set[int]:
    """Scalar registers the instruction reads as numbers, the same for every lane."""
    explicit = [word for word in op.args if word not in IMPLICIT_WORDS]
    start = sum(word not in IMPLICIT_RESULTS for word in op.results)
    found: set[int] = set()
    for word, operand in zip(explicit, inst.operands[start:], strict=False):
        if word != "mask":
            found |= scalars_of(operand)
    return found


@dataclass(slots=True)
class PendingRegisters:
    """Registers of the open region.

    mask_bases    first registers of the pairs written as masks;
    mask_writes   every register of those pairs;
    mask_reads    registers read as masks: they are read when the loop runs, not when the instruction joins.
    """

    vector_reads: set[int] = field(default_factory=set)
    vector_writes: set[int] = field(default_factory=set)
    mask_bases: set[int] = field(default_factory=set)
    mask_writes: set[int] = field(default_factory=set)
    mask_reads: set[int] = field(default_factory=set)

    def add(self, effect: Effects, inst: Inst, op: MachineOp) -> None:
        self.vector_reads |= effect.vector_reads
        self.vector_writes |= effect.vector_writes
        self.mask_writes |= effect.scalar_writes
        bases = {pair for pair in effect.scalar_writes if pair + 1 in effect.scalar_writes and pair % 2 == 0}
        self.mask_bases |= bases
        for pair in mask_pairs(inst, op):
            self.mask_reads |= {pair, pair + 1}
        self.mask_reads |= {EXEC, EXEC + 1}

    def conflicts(self, effect: Effects) -> bool:
        """Whether an instruction must stay behind the region."""
        return bool(
            effect.vector_reads & self.vector_writes
            or effect.vector_writes & (self.vector_reads | self.vector_writes)
            or effect.scalar_reads & self.mask_writes
            or effect.scalar_writes & (self.mask_writes | self.mask_reads)
        )
