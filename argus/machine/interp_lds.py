"""LDS instructions in the interpreter: ds_read, ds_write, ds atomics, swizzles and permutes.

Addresses are byte offsets into the workgroup's LDS: register plus offset modulo 2^32, so that a negative register is
right (LLVM folds such offsets from gfx7 on). Outside its allocation reads give 0 and writes do nothing, as on hardware,
and a finding says so. With the wait check on, the whole operation (not only its result) happens when its completion is
certain, in issue order, so that a missing wait or barrier shows as wrong data.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from argus.gfx942.inst import Inst
from argus.machine import record
from argus.machine.interp_atomics import apply_atomic
from argus.machine.interp_lanes import lds_lane_row
from argus.machine.interp_memory import imm_offset, put_loaded, stored, widen
from argus.machine.interp_operands import UnsupportedForm, register
from argus.machine.interp_services import MemoryAccess, Services
from argus.machine.memory import gather, scatter
from argus.machine.semantics.atomics import TWO_OPERANDS
from argus.machine.semantics.lanes import LANE_OPS, number
from argus.machine.semantics.mem import MEMORY, MemoryOp
from argus.machine.state import LANES, Wave

Run = Callable[[Wave], Any]
Rows = NDArray[np.uint32]
U32 = np.uint32
_ALL_LANES = np.arange(LANES)


def compile_lds(inst: Inst, services: Services) -> Run:
    """The closure that executes an LDS instruction."""
    if inst.mods.get("gds"):
        raise UnsupportedForm("global data share is not supported")
    if inst.op in LANE_OPS:
        return _lane_op(inst, services)
    op = MEMORY[inst.op]
    if op.kind == "load":
        return _load(inst, op, services)
    if op.kind == "store":
        return _store(inst, op, services)
    return _atomic(inst, op, services)


def _lane_op(inst: Inst, services: Services) -> Run:
    row_of, target = lds_lane_row(inst, services.accum_offset), register(inst.operands[0], services.accum_offset)

    def run(w: Wave) -> None:
        row, lanes = row_of(w), w.lanes
        services.finish(w, inst, "lgkm", (target,), lambda: np.copyto(w.v[target], row, where=lanes))

    return run


def _element_offsets(inst: Inst, op: MemoryOp) -> list[int]:
    if op.elements == 1:
        return [imm_offset(inst)]
    return [number(inst.mods, name) * op.stride for name in ("offset0", "offset1")]


def _issue(
    w: Wave, inst: Inst, op: MemoryOp, services: Services, address: int, offset: int, source: int = -1
) -> tuple[Any, Any, Any]:
    """(lanes, byte offsets, which of them are inside) of one element; `source` is the register a store takes."""
    lanes = _ALL_LANES if w.full else np.flatnonzero(w.lanes)
    where = (w.v[address][lanes] + np.uint32(offset)).astype(np.int64)
    if services.watching and len(lanes):
        data = stored(w, source, op, lanes) if source >= 0 else None
        services.observe(MemoryAccess(w, inst, record.LDS, op.kind, op.size, lanes, where, data))
    inside = where + op.size <= w.group.lds_bytes
    if np.count_nonzero(inside) == len(lanes):
        return lanes, where, None
    k = int(np.flatnonzero(~inside)[0])
    byte = int(where[k])
    message = f"accesses LDS bytes {byte} to {byte + op.size - 1}; the workgroup has {w.group.lds_bytes}"
    services.finding("ARG-M105", message, w, inst, int(lanes[k]), address=byte, space="lds")
    return lanes, where, inside


def _read(w: Wave, op: MemoryOp, where: Any, inside: Any) -> Rows:
    group = w.group
    if inside is None:
        return gather(group.lds_words, group.lds, where, op.size) if len(where) else np.zeros((op.dwords, 0), U32)
    data = np.zeros((op.dwords, len(where)), U32)
    if inside.any():
        data[:, inside] = gather(group.lds_words, group.lds, where[inside], op.size)
    return data


def _load(inst: Inst, op: MemoryOp, services: Services) -> Run:
    target, address = (register(o, services.accum_offset) for o in inst.operands[:2])
    offsets = _element_offsets(inst, op)
    targets = range(target, target + op.dwords * op.elements)

    def run(w: Wave) -> None:
        parts = [_issue(w, inst, op, services, address, offset) for offset in offsets]

        def complete() -> None:
            rows = [widen(_read(w, op, where, inside), op) for _, where, inside in parts]
            for e, (lanes, _, _) in enumerate(parts):
                put_loaded(w, target + e * op.dwords, op, lanes, rows[e])

        services.finish(w, inst, "lgkm", targets, complete)

    return run


def _store(inst: Inst, op: MemoryOp, services: Services) -> Run:
    address, *sources = (register(o, services.accum_offset) for o in inst.operands)
    offsets = _element_offsets(inst, op)

    def run(w: Wave) -> None:
        parts = [
            _issue(w, inst, op, services, address, offset, source)
            for offset, source in zip(offsets, sources, strict=True)
        ]
        data = [stored(w, source, op, parts[0][0]) for source in sources]

        def complete() -> None:
            for (_, where, inside), rows in zip(parts, data, strict=True):
                if inside is not None:
                    where, rows = where[inside], rows[:, inside]
                if len(where):
                    scatter(w.group.lds_words, w.group.lds, where, op.size, rows)

        services.finish(w, inst, "lgkm", (), complete)

    return run


def _atomic(inst: Inst, op: MemoryOp, services: Services) -> Run:
    registers = [register(o, services.accum_offset) for o in inst.operands]
    target = registers.pop(0) if op.returns else -1
    address, *sources = registers
    if op.atomic.startswith("cmpst") or op.atomic.startswith("mskor"):
        sources.reverse()
    if len(sources) != (2 if op.atomic in TWO_OPERANDS else 1):
        raise UnsupportedForm(f"{inst.op} with {len(sources)} data operands")
    offset = imm_offset(inst)
    targets = range(target, target + op.dwords) if op.returns else range(0)

    def run(w: Wave) -> None:
        lanes, where, inside = _issue(w, inst, op, services, address, offset)
        data = np.concatenate([w.registers[s : s + op.dwords, lanes] for s in sources])
        which = slice(None) if inside is None else inside

        def complete() -> None:
            old = np.zeros((op.dwords, len(lanes)), U32)
            if len(where[which]):
                old[:, which] = apply_atomic(op, w.builder, w.group.lds_words, where[which], data[:, which])
            if op.returns:
                put_loaded(w, target, op, lanes, old)

        services.finish(w, inst, "lgkm", targets, complete)

    return run
