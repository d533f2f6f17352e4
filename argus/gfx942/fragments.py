"""Matrix instructions as kernel authors name them: who holds which element of an operand or an accumulator.

    from argus.gfx942 import mfma_32x32x8_bf16 as MMA
    MMA.operand()                    row = lane%32, k = lane//32*4 + e                    one instruction's A or B
    MMA.operand(wide=8)              row = lane%32, k = lane//32*8 + h*4 + e              a 16-byte read: two (h)
    MMA.acc(row="n", col="m")        n = r//4*8 + lane//32*4 + r%4, m = lane%32           the 16 accumulators of a lane

Owners come from the lane maps in `argus.gfx942.mfma`, evaluated with index expressions, so there is one source for
compiler, checker, machine and author. `wide` reads let lanes hold more consecutive k than one instruction takes; which
k meet in an instruction is then permuted, which is right exactly when both operands are read alike
(the checker proves it).

Blocked instructions (several independent products at once) have no `operand`/`acc` here: their block index has no axis
in a two-axis fragment.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from argus.gfx942.mfma import ALIASES, MFMA, MfmaShape
from argus.layout.expr import Expr, var
from argus.layout.owner import Owner

LANES = 64


@dataclass(frozen=True, slots=True)
class Fragment:
    """An owner that forms the operand or the accumulator of a matrix instruction."""

    owner: Owner
    inst: str
    role: str

    @property
    def inputs(self) -> Mapping[str, int]:
        return self.owner.inputs

    @property
    def outputs(self) -> Mapping[str, Expr]:
        return self.owner.outputs

    def per(self, *axes: str) -> Owner:
        """The same lanes with only these coordinates: one value per row, column, ... of the fragment."""
        unknown = [a for a in axes if a not in self.outputs]
        if unknown:
            raise ValueError(f"the fragment has axes {', '.join(self.outputs)}, not {unknown[0]}")
        kept = {a: self.outputs[a] for a in axes}
        used = {v.name for e in kept.values() for v in e.free()}
        inputs = {n: extent for n, extent in self.inputs.items() if n == "lane" or n in used}
        return Owner(**inputs, **kept)


@dataclass(frozen=True, slots=True)
class Matrix:
    """A matrix instruction under its author's name."""

    name: str
    row: MfmaShape

    def operand(self, wide: int = 0, row: str = "row", k: str = "k") -> Fragment:
        """Who holds A[row, k] (or B[k, row], which is held alike) when each lane has `wide` consecutive k."""
        inst = self.row
        own = inst.a_elements
        wide = wide or own
        if inst.blocks > 1:
            raise ValueError(
                f"{self.name} computes {inst.blocks} blocks at once; its operands are not a plain row-by-k tile"
            )
        if wide % own or wide < own:
            raise ValueError(
                f"{self.name} takes {own} elements of an operand per lane, so `wide` is a multiple of {own}, not {wide}"
            )
        lane, e = var("lane", 0, LANES - 1), var("e", 0, own - 1)
        if wide == own:
            i, kk, _ = inst.a_index(lane, e)
            return Fragment(Owner(lane=LANES, e=own, **{row: i, k: kk}), self.name, "operand")
        h = var("h", 0, wide // own - 1)
        i, _, _ = inst.a_index(lane, e)
        kk = lane // inst.m * wide + h * own + e
        return Fragment(Owner(lane=LANES, h=wide // own, e=own, **{row: i, k: kk}), self.name, "operand")

    def acc(self, row: str = "row", col: str = "col") -> Fragment:
        """Who holds D[row, col], the accumulators."""
        inst = self.row
        if inst.blocks > 1:
            raise ValueError(
                f"{self.name} computes {inst.blocks} blocks at once; its result is not a plain row-by-column tile"
            )
        if row == col:
            raise ValueError(f"row and column of the result cannot both be called {row}")
        lane, r = var("lane", 0, LANES - 1), var("r", 0, inst.d_elements - 1)
        i, j, _ = inst.d_index(lane, r)
        return Fragment(Owner(lane=LANES, r=inst.d_elements, **{row: i, col: j}), self.name, "acc")


def matrix(name: str) -> Matrix | None:
    """The instruction of an author's name (`mfma_32x32x8_bf16`) or mnemonic; None if there is none."""
    mnemonic = ALIASES.get(name, name)
    found = MFMA.get(mnemonic)
    if found is None:
        return None
    short = next(alias for alias, full in ALIASES.items() if full == mnemonic)
    return Matrix(short, found)
