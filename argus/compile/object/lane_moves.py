"""Exchanges between lanes as the object has them, by the machine's own tables.

    v_add_f32_dpp v1, v2, v3 quad_perm:[1,0,3,2]     v2 is read from the neighbor, v3 is not
    ds_swizzle_b32 v1, v1 offset:swizzle(SWAP,16)    v1 is read from lane ^ 16
    ds_bpermute_b32 v0, v0, v2 offset:252            v2 is read from lane (v0 + 252) / 4 mod 64: v0 is sliced

The map is a word as in `kernel_exchanges`. It is None where it is not decided: an address that is not followed, or
lanes that may be inactive (they would give 0).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from argus.compile.object.byte_moves import ALL, Byte, keys, mixed
from argus.compile.object.kernel_exchanges import KEPT, NOTHING, table_word
from argus.compile.object.slices import Slices
from argus.gfx942.inst import Inst, InstOperand
from argus.gfx942.instructions import destinations
from argus.machine.semantics.lanes import dpp_enabled, dpp_sources, number, swizzle_sources
from argus.machine.symbolic.sums import WordSum
from argus.machine.symbolic.symbolic_backend import NotFollowed

LDS_MOVES = frozenset({"ds_swizzle_b32", "ds_bpermute_b32", "ds_permute_b32"})
READ_LANES = frozenset({"v_readlane_b32", "v_readfirstlane_b32"})


@dataclass(frozen=True, slots=True)
class LaneMove:
    """Operand `data` of an instruction is read from the lanes that `lanes` says."""

    inst: Inst
    data: int
    lanes: WordSum | None
    keeps: bool

    @property
    def operand(self) -> InstOperand:
        return self.inst.operands[self.data]

    @property
    def bytewise(self) -> bool:
        """Nothing is computed from what is moved."""
        return self.inst.enc != "dpp" or self.inst.op == "v_mov_b32"

    def moved(self, byte: int) -> set[Byte]:
        """Bytes of other lanes that byte `byte` of the result is made from."""
        return {(k, b) for k in keys(self.operand) for b in ((byte,) if self.bytewise else ALL)}

    def beside(self, key: int, byte: int) -> set[Byte]:
        """Bytes of the own lane that byte `byte` of register `key` is made from."""
        kept = {(key, byte)} if self.keeps else set()
        if self.bytewise:
            return kept
        operands = list(self.inst.operands)
        operands[self.data] = InstOperand("imm")
        return kept | mixed(replace(self.inst, operands=tuple(operands), mods={**self.inst.mods, "bound_ctrl": True}))


def lane_move(n: int, inst: Inst, slices: Slices) -> LaneMove | None:
    """None: the instruction reads its own lane."""
    if inst.enc == "dpp":
        table = _dpp_table(inst)
        return LaneMove(inst, destinations(inst), _whole(n, slices, table), KEPT in table)
    if inst.op in READ_LANES:
        return LaneMove(inst, 1, _read_lane(n, inst, slices), False)
    if inst.op in LDS_MOVES:
        return LaneMove(inst, len(inst.operands) - 1, _through_lds(n, inst, slices), False)
    return None


def _dpp_table(inst: Inst) -> list[int]:
    beyond = NOTHING if inst.mods.get("bound_ctrl") else KEPT
    rows = zip(dpp_sources(inst.mods), dpp_enabled(inst.mods), strict=True)
    return [KEPT if not enabled else lane if lane >= 0 else beyond for lane, enabled in rows]


def _whole(n: int, slices: Slices, table: Sequence[int]) -> WordSum | None:
    """The map of a table, where no lane of a wave is left out."""
    return table_word(slices.space, table) if slices.exec(n).uniform else None


def _read_lane(n: int, inst: Inst, slices: Slices) -> WordSum | None:
    if inst.op == "v_readfirstlane_b32":
        return slices.space.zero if slices.exec(n).uniform else None
    try:
        return slices.space.field(slices.source(inst.operands[2], "u32", n), 0, 6)
    except NotFollowed:
        return None


def _through_lds(n: int, inst: Inst, slices: Slices) -> WordSum | None:
    offset = number(inst.mods, "offset")
    if not slices.exec(n).uniform or inst.op == "ds_permute_b32":
        return None
    try:
        if inst.op == "ds_swizzle_b32":
            return table_word(slices.space, swizzle_sources(offset))
        address = slices.source(inst.operands[1], "u32", n)
    except (NotFollowed, ValueError):
        return None
    return slices.space.field(slices.space.add(address, slices.space.const(offset)), 2, 6)
