"""Matrix instructions: stage what is not staged yet, then multiply.

    v_mfma_f32_16x16x16_bf16 a[0:3], v[2:3], v[4:5], a[0:3]
        call @stage_bf16_2(slot 0, v2)         skipped if slot 0 still holds v[2:3]
        call @stage_bf16_2(slot 1, v4)
        call @matmul_f32_16x16x16x1(a0, slot 0, slot 1, a0)

A slot stays valid until a register it was made from is written or the block ends; slots are reused in turn, but not the
one that holds the other operand of the same instruction. Sources that are used in place (f32) are copied when the
result overlaps them, as the result is written while they are read.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from argus.gfx942.inst import Inst, InstOperand
from argus.gfx942.mfma import MFMA, MfmaShape
from argus.machine.jit.effects import row_of
from argus.machine.jit.errors import JitUnsupported
from argus.machine.jit.frame import LANES, ROW, STAGING, STAGING_BYTES
from argus.machine.jit.matrix import matmul_name, stage_name, staged_rows
from argus.machine.semantics.matrix import a_block_source, b_lane_source

if TYPE_CHECKING:
    from argus.machine.jit.translator import Translator

SLOT_UNIT = 1024
SLOTS = STAGING_BYTES // SLOT_UNIT - 8
RESULT = STAGING + SLOTS * SLOT_UNIT
"""The last eight slots hold a whole result (32 rows) when it cannot be written in place."""

Key = tuple[str, int, int, tuple[int, ...]]


class Staging:
    """Which staged operands are valid at this point of the block."""

    def __init__(self) -> None:
        self._slots: dict[Key, int] = {}
        self._next = 0

    def clear(self) -> None:
        self._slots.clear()
        self._next = 0

    def invalidate(self, rows: Iterable[int]) -> None:
        written = set(rows)
        if not written:
            return
        for key in [k for k in self._slots if any(k[1] <= row < k[1] + k[2] for row in written)]:
            del self._slots[key]

    def find(self, key: Key) -> int | None:
        return self._slots.get(key)

    def reserve(self, key: Key, slots: int, beside: Key | None = None) -> int:
        """Room for an operand: consecutive slots, the oldest first, but none of those that `beside` has."""
        held = None if beside is None else self._slots.get(beside)
        if self._next + slots > SLOTS:
            self._next = 0
        if held is not None and beside is not None and _meets(held, beside, self._next, slots):
            self._next = held + _slots_of(beside[0], beside[2])
            if self._next + slots > SLOTS:
                self._next = 0
        place = self._next
        self._next += slots
        for other in [k for k, at in self._slots.items() if _meets(at, k, place, slots)]:
            del self._slots[other]
        self._slots[key] = place
        return place


def _slots_of(element: str, registers: int) -> int:
    return max(1, staged_rows(element, registers) * ROW * (2 if element == "f64" else 1) // SLOT_UNIT)


def _meets(at: int, key: Key, place: int, slots: int) -> bool:
    return at < place + slots and place < at + _slots_of(key[0], key[2])


def lower_matrix(t: Translator, inst: Inst) -> None:
    m = MFMA[inst.op]
    d, a, b, c = inst.operands
    cbsz, abid, blgp = (
        int(value) if isinstance(value := inst.mods.get(k, 0), int) else 0 for k in ("cbsz", "abid", "blgp")
    )
    if m.blgp == "negate" and blgp:
        raise JitUnsupported(inst, "negated f64 operands")
    a_lanes = _a_lanes(m, cbsz, abid)
    b_lanes = b_lane_source(blgp) if m.blgp == "permute" and blgp else ()
    d_rows = _rows(d, t.spec.accum_offset)
    a_key: Key = (m.a, row_of(a, t.spec.accum_offset), m.a_registers, a_lanes)
    a_pointer = _operand(t, a_key, a, d_rows)
    b_key: Key = (m.b, row_of(b, t.spec.accum_offset), m.b_registers, b_lanes)
    b_pointer = _operand(t, b_key, b, d_rows, beside=a_key)
    c_pointer = _accumulator(t, inst, m, c)
    out = t.row_pointer(d)
    c_rows = _rows(c, t.spec.accum_offset)
    detour = bool(c_rows & d_rows) and c_rows != d_rows
    target = t.f.at("%context", RESULT) if detour else out
    arguments = [("ptr", p) for p in (target, a_pointer, b_pointer, c_pointer)]
    t.f.call("void", matmul_name(m), *arguments)
    if detour:
        for n in range(m.c_registers):
            t.f.call("void", "copy_row", ("ptr", t.f.at(out, n * ROW)), ("ptr", t.f.at(target, n * ROW)))


def _rows(operand: InstOperand, accum_offset: int) -> set[int]:
    if operand.kind not in ("v", "a"):
        return set()
    first = row_of(operand, accum_offset)
    return set(range(first, first + operand.count))


def _a_lanes(m: MfmaShape, cbsz: int, abid: int) -> tuple[int, ...]:
    """Source lanes of A under a block broadcast; empty for none."""
    if not m.cbsz or not cbsz:
        return ()
    source = a_block_source(m.blocks, cbsz, abid)
    return tuple(source[lane // m.m] * m.m + lane % m.m for lane in range(LANES))


def _operand(t: Translator, key: Key, operand: InstOperand, d_rows: set[int], beside: Key | None = None) -> str:
    """A pointer to the operand as the multiplication reads it; `beside` is the other one, which is staged already."""
    element, _, registers, lanes = key
    stage = stage_name(element, registers)
    in_place = stage is None and not lanes and not _rows(operand, t.spec.accum_offset) & d_rows
    if in_place:
        return t.row_pointer(operand)
    place = t.staging.find(key)
    if place is not None:
        return t.f.at("%context", STAGING + place * SLOT_UNIT)
    place = t.staging.reserve(key, _slots_of(element, registers), beside)
    slot = t.f.at("%context", STAGING + place * SLOT_UNIT)
    if stage is None:
        for n in range(registers):
            source = t.f.at(t.row_pointer(operand), n * ROW)
            t.f.call("void", "copy_row", ("ptr", t.f.at(slot, n * ROW)), ("ptr", source))
    else:
        t.f.call("void", stage, ("ptr", slot), ("ptr", t.row_pointer(operand)))
    if lanes:
        table = t.lane_table(lanes)
        for n in range(staged_rows(element, registers)):
            row = t.f.at(slot, n * ROW)
            t.f.call("i64", "lanes_table", ("ptr", row), ("ptr", row), ("ptr", table), ("i64", "-1"))
    return slot


def _accumulator(t: Translator, inst: Inst, m: MfmaShape, c: InstOperand) -> str:
    if c.kind in ("v", "a"):
        return t.row_pointer(c)
    if c.kind not in ("imm", "fimm"):
        raise JitUnsupported(inst, f"accumulator {c.kind}")
    return t.constant_rows(c, m)
