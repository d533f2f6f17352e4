"""Lane-crossing instructions in the interpreter: readlane, writelane, swaps, swizzles and permutes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from argus.gfx942.inst import Inst
from argus.machine.interp_operands import UnsupportedForm, register, row_writer, scalar_source, vector_source
from argus.machine.semantics.lanes import swizzle_sources
from argus.machine.state import Wave

Run = Callable[[Wave], Any]
U32 = np.uint32


def first_lane(w: Wave) -> int:
    """The lowest active lane; 0 when none is."""
    return (w.exec & -w.exec).bit_length() - 1 if w.exec else 0


def compile_lane_move(inst: Inst, accum_offset: int) -> Run:
    """v_readfirstlane, v_readlane, v_writelane, v_swap."""
    if inst.op == "v_writelane_b32":
        n = register(inst.operands[0], accum_offset)
        value, lane = (scalar_source(o, "u32") for o in inst.operands[1:3])

        def write_lane(w: Wave) -> None:
            w.v[n][lane(w) & 63] = value(w)

        return write_lane
    if inst.op == "v_swap_b32":
        n, m = (register(o, accum_offset) for o in inst.operands)
        put_n, put_m = row_writer(n), row_writer(m)

        def swap(w: Wave) -> None:
            a, b = w.v[n].copy(), w.v[m].copy()
            put_n(w, b)
            put_m(w, a)

        return swap
    target, source = inst.operands[0].value, inst.operands[1]
    read = vector_source(source, "u32", accum_offset, {}, 0, "")
    if inst.op == "v_readfirstlane_b32":
        if source.kind not in ("v", "a"):
            return lambda w: w.set_scalar(target, int(read(w)))
        return lambda w: w.set_scalar(target, int(read(w)[first_lane(w)]))
    if source.kind not in ("v", "a"):
        raise UnsupportedForm("v_readlane_b32 reads a vector register")
    lane = scalar_source(inst.operands[2], "u32")
    return lambda w: w.set_scalar(target, int(read(w)[lane(w) & 63]))


def lds_lane_row(inst: Inst, accum_offset: int) -> Callable[[Wave], Any]:
    """The row that ds_swizzle, ds_permute or ds_bpermute delivers."""
    offset = inst.mods.get("offset", 0)
    shift = int(offset) if isinstance(offset, int) else 0
    if inst.op == "ds_swizzle_b32":
        n = register(inst.operands[1], accum_offset)
        index = np.array(swizzle_sources(shift))
        return lambda w: np.where(w.lanes[index], w.v[n][index], U32(0))
    address, data = (register(o, accum_offset) for o in inst.operands[1:3])
    add = U32(shift)

    def lane_numbers(w: Wave) -> Any:
        return ((w.v[address] + add) >> U32(2)) & U32(63)

    if inst.op == "ds_bpermute_b32":

        def pull(w: Wave) -> Any:
            index = lane_numbers(w)
            row = w.v[data][index]
            return row if w.full else np.where(w.lanes[index], row, U32(0))

        return pull

    def push(w: Wave) -> Any:
        row = np.zeros(64, U32)
        row[lane_numbers(w)[w.lanes]] = w.v[data][w.lanes]
        return row

    return push
