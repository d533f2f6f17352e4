"""Exchanges between lanes as the kernel means them: which value is moved, and which lane each lane reads.

    %5 = lanes %4 from lane ^ 1        %4 is moved; thread t reads lane (t & 63) ^ 1
    v_mov_b32_dpp(x, old, row_shr=1)   x is moved by the declared table of the instruction; some lanes keep old

A map of lanes is a word, one number per thread: the lane that is read, NOTHING where 0 comes in, KEPT where the lane
keeps what it had. Maps that data decide (`ds_bpermute_b32` named directly, `ds_permute_b32`) have no word: what goes
through them is not shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from argus.compile.object.index_words import IndexWords
from argus.gfx942.calling import entry
from argus.ir import ops
from argus.ir.kernel import LANE
from argus.ir.types import Value
from argus.layout import expr as E
from argus.machine.symbolic.sums import Space, WordSum

WAVE = 64
NOTHING, KEPT = 64, 65
KEEPS = -2
"""KEPT, as `argus.gfx942.calls_lanes` declares it."""
WRITES_ONE = "v_writelane_b32"
"""One lane takes a scalar: on the machine no vector register is read, so it is not followed as an exchange."""
ADDRESSED = frozenset({"ds_bpermute_b32", "ds_permute_b32"})
"""The first argument is an address."""


@dataclass(frozen=True, slots=True)
class KernelExchange:
    """Op `op` moves the registers of `moved` to those of `result`; lanes that read nothing may keep those of `old`."""

    op: int
    result: Value
    moved: Value
    old: Value | None = None


def of_lanes(op: ops.Lanes) -> KernelExchange | None:
    """None: every lane reads itself."""
    if all(v.name == LANE.name for v in op.source.free()):
        lanes = np.arange(WAVE)
        if np.array_equal(np.broadcast_to(np.asarray(E.evaluate(op.source, {LANE.name: lanes})), (WAVE,)), lanes):
            return None
    return KernelExchange(op.id, op.result, op.value)


def of_instruction(op: ops.Instruction) -> KernelExchange | None:
    """None: the instruction moves nothing between lanes."""
    row = entry(op.inst)
    if row is None or not row.crosses_lanes or op.inst == WRITES_ONE:
        return None
    if op.inst in ADDRESSED:
        return KernelExchange(op.id, op.outs[0], op.args[1])
    return KernelExchange(op.id, op.outs[0], op.args[0], op.args[1] if KEEPS in _declared(op) else None)


def lanes_word(op: ops.Lanes, index: IndexWords) -> WordSum:
    return index.space.field(index.word(op.source), 0, 6)


def instruction_word(op: ops.Instruction, space: Space) -> WordSum | None:
    table = () if op.inst == WRITES_ONE else _declared(op)
    rows = [lane if lane >= 0 else KEPT if lane == KEEPS else NOTHING for lane in table]
    return table_word(space, rows) if rows else None


def _declared(op: ops.Instruction) -> tuple[int, ...]:
    """The lanes that the instruction is declared to read; none if data decide."""
    row = entry(op.inst)
    if row is None or row.sources is None:
        return ()
    return row.sources(**{option.name: int(op.attrs[option.name]) for option in row.options})


def table_word(space: Space, table: Sequence[int]) -> WordSum:
    """The map of a table of 64 lanes, the same in every wave."""
    return space.rows(np.array(table, np.uint64)[space.thread & np.uint64(WAVE - 1)])
