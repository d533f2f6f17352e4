"""Vector memory in the interpreter: global, flat, scratch and buffer loads, stores and atomics.

An instruction becomes a closure that computes 64 addresses, drops inactive (and, for buffers, out-of-range) lanes,
checks the rest against the allocations, and moves data. The address rules are those of `argus.machine.semantics.mem`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from argus.gfx942.inst import M0, Inst, InstOperand
from argus.machine import record
from argus.machine.interp_atomics import apply_atomic
from argus.machine.interp_buffers import buffer_addresses
from argus.machine.interp_operands import UnsupportedForm, register, scalar_source
from argus.machine.interp_services import Counter, MemoryAccess, Services
from argus.machine.memory import gather, scatter
from argus.machine.semantics.lanes import number
from argus.machine.semantics.mem import MEMORY, MemoryOp
from argus.machine.state import LANES, PRIVATE_BASE, SHARED_BASE, Wave

Run = Callable[[Wave], Any]
U32, U64 = np.uint32, np.uint64
Rows = NDArray[np.uint32]
_ALL_LANES = np.arange(LANES)
_H32 = U64(32)
_M64 = (1 << 64) - 1


def imm_offset(inst: Inst) -> int:
    return number(inst.mods, "offset")


def global_address(
    vaddr: InstOperand, saddr: InstOperand | None, offset: int, accum_offset: int
) -> Callable[[Wave], Any]:
    """64-bit lane addresses of a global or flat access."""
    n = register(vaddr, accum_offset)
    if saddr is None or saddr.kind == "off":
        add = U64(offset & _M64)
        return lambda w: (w.v[n].astype(U64) | w.v[n + 1].astype(U64) << _H32) + add
    base = scalar_source(saddr, "u64")
    return lambda w: w.v[n].astype(U64) + U64(base(w) + offset & _M64)


def _scratch_address(vaddr: InstOperand, saddr: InstOperand, offset: int, accum_offset: int) -> Callable[[Wave], Any]:
    base: Callable[[Wave], int] = scalar_source(saddr, "u32") if saddr.kind != "off" else lambda w: 0
    if vaddr.kind == "off":
        return lambda w: np.full(LANES, base(w) + offset & 0xFFFFFFFF, np.int64)
    n = register(vaddr, accum_offset)
    return lambda w: w.v[n].astype(np.int64) + base(w) + offset


class _Plan:
    """One vector memory instruction taken apart: operands in the order of the text."""

    def __init__(self, inst: Inst, services: Services) -> None:
        op = MEMORY[inst.op]
        self.inst, self.op, self.services = inst, op, services
        self.to_lds = op.to_lds or bool(inst.mods.get("lds"))
        self.returns = op.kind == "atomic" and bool(inst.mods.get("sc0"))
        operands = list(inst.operands)
        offset, accum = imm_offset(inst), services.accum_offset
        self.target = -1
        if (op.kind == "load" and not self.to_lds) or self.returns:
            self.target = register(operands.pop(0), accum)
        self.data = -1
        if op.space == "buffer":
            if op.kind != "load" and not self.returns:
                self.data = register(operands.pop(0), accum)
            elif self.returns:
                self.data = self.target
            readings = services.soffset_in_range, services.partial_in_range
            self.addresses = buffer_addresses(inst, operands, op.size, accum, *readings)
        else:
            vaddr = operands.pop(0)
            if op.kind != "load":
                self.data = register(operands.pop(0), accum)
            saddr = operands.pop(0) if operands else None
            if op.space == "scratch":
                self.addresses = _unchecked(_scratch_address(vaddr, saddr or InstOperand("off"), offset, accum))
            else:
                self.addresses = _unchecked(global_address(vaddr, saddr, offset, accum))
        self.counter: Counter = "both" if op.space == "flat" else "vm"
        words = op.dwords * (2 if op.atomic.startswith("cmpswap") else 1)
        self.data_words = words


def _unchecked(address: Callable[[Wave], Any]) -> Callable[[Wave], tuple[Any, Any]]:
    return lambda w: (address(w), None)


def compile_vector_memory(inst: Inst, services: Services) -> Run:
    """The closure that executes a global, flat, scratch or buffer instruction."""
    plan = _Plan(inst, services)
    if plan.op.space == "flat":
        return _flat(plan)
    move = _scratch_mover if plan.op.space == "scratch" else _global_mover
    return _issue(plan, move(plan))


Mover = Callable[[Wave, Any, Any, Any], None]
"""(wave, active lanes, their addresses, bytes of buffer room at each or None)."""


def _issue(plan: _Plan, move: Mover) -> Run:
    """Pick the active lanes; forget the range check where every lane passes it."""

    def run(w: Wave) -> None:
        addresses, room = plan.addresses(w)
        if w.full:
            lanes = _ALL_LANES
        else:
            lanes = np.flatnonzero(w.lanes)
            addresses = addresses[lanes]
            room = None if room is None else room[lanes]
        if room is not None and not np.count_nonzero(room < plan.op.size):
            room = None
        move(w, lanes, addresses, room)

    return run


def _whole_and_partial(plan: _Plan, lanes: Any, addresses: Any, room: Any) -> list[tuple[int, int, Any]]:
    """Pieces of a range-checked access: (first dword, bytes, positions among the lanes that may move it)."""
    size = plan.op.size
    pieces = [(0, size, np.flatnonzero(room >= size))]
    if size > 4:
        crossing = room < size
        pieces += [(d, 4, np.flatnonzero(crossing & (room >= 4 * (d + 1)))) for d in range(plan.op.dwords)]
    return [piece for piece in pieces if len(piece[2])]


def _fetch(plan: _Plan, w: Wave, lanes: Any, addresses: Any, room: Any) -> Rows:
    """The loaded dwords of all lanes; 0 out of range."""
    services, op, arena = plan.services, plan.op, plan.services.arena
    if room is None:
        offsets = services.global_offsets(w, plan.inst, addresses, op.size, lanes)
        if services.watching:
            _observe(plan, w, record.GLOBAL, op.size, lanes, addresses)
        return widen(gather(arena.words, arena.buffer, offsets, op.size), op)
    data = np.zeros((op.dwords, len(lanes)), U32)
    for d, size, some in _whole_and_partial(plan, lanes, addresses, room):
        where = addresses[some] + U64(4 * d)
        offsets = services.global_offsets(w, plan.inst, where, size, lanes[some])
        if services.watching:
            _observe(plan, w, record.GLOBAL, size, lanes[some], where)
        data[d : d + max(1, size // 4), some] = gather(arena.words, arena.buffer, offsets, size)
    return widen(data, op)


def _put(plan: _Plan, w: Wave, lanes: Any, addresses: Any, room: Any) -> None:
    """Store the lanes' dwords; nothing out of range."""
    services, op, arena = plan.services, plan.op, plan.services.arena
    data = stored(w, plan.data, op, lanes)
    pieces = [(0, op.size, slice(None))] if room is None else _whole_and_partial(plan, lanes, addresses, room)
    for d, size, some in pieces:
        where = addresses[some] + U64(4 * d) if d else addresses[some]
        offsets = services.global_offsets(w, plan.inst, where, size, lanes[some])
        piece = data[d : d + max(1, size // 4), some]
        if services.watching:
            _observe(plan, w, record.GLOBAL, size, lanes[some], where, piece)
        scatter(arena.words, arena.buffer, offsets, size, piece)


def _lds_offsets(w: Wave, inst: Inst, lanes: Any) -> Any:
    """Where a direct-to-LDS load puts each lane's dword."""
    return (w.s[M0] & 0xFFFF) + imm_offset(inst) + 4 * lanes


def _to_lds(services: Services, w: Wave, inst: Inst, lanes: Any, offsets: Any, data: Rows) -> None:
    inside = offsets + 4 <= w.group.lds_bytes
    if not inside.all():
        k = int(np.flatnonzero(~inside)[0])
        byte = int(offsets[k])
        message = f"writes LDS bytes {byte} to {byte + 3}; the workgroup has {w.group.lds_bytes}"
        services.finding("ARG-M105", message, w, inst, int(lanes[k]), address=byte, space="lds")
        offsets, data = offsets[inside], data[:, inside]
    if len(offsets):
        scatter(w.group.lds_words, w.group.lds, offsets, 4, data)


def widen(data: Rows, op: MemoryOp) -> Rows:
    """Sign extension of sub-dword loads."""
    if not op.signed:
        return data
    up = np.int32(32 - 8 * op.size)
    return ((data << up.view(U32)).view(np.int32) >> up).view(U32)


def put_loaded(w: Wave, target: int, op: MemoryOp, lanes: Any, data: Rows) -> None:
    """Write loaded dwords to registers; d16 forms clear the other half."""
    if op.half >= 0:
        w.v[target][lanes] = (data[0] & U32(0xFFFF)) << U32(16 * op.half)
    elif len(lanes) == LANES:
        w.registers[target : target + len(data)] = data
    else:
        w.registers[target : target + len(data), lanes] = data


def stored(w: Wave, source: int, op: MemoryOp, lanes: Any) -> Rows:
    """The dwords a store takes from registers."""
    block = w.registers[source : source + op.dwords]
    data: Rows = block.copy() if len(lanes) == LANES else block[:, lanes]
    return data >> U32(16) if op.half == 1 else data


def _observe(plan: _Plan, w: Wave, space: int, size: int, lanes: Any, addresses: Any, data: Rows | None = None) -> None:
    plan.services.observe(MemoryAccess(w, plan.inst, space, plan.op.kind, size, lanes, addresses, data))


def _global_mover(plan: _Plan) -> Mover:
    services, op, inst, arena = plan.services, plan.op, plan.inst, plan.services.arena
    targets, target = range(plan.target, plan.target + op.dwords), plan.target

    def nothing(w: Wave) -> None:
        services.finish(w, inst, plan.counter, (), lambda: None)

    def load(w: Wave, lanes: Any, addresses: Any, room: Any) -> None:
        if not len(lanes):
            return nothing(w)
        data = _fetch(plan, w, lanes, addresses, room)
        return services.finish(w, inst, plan.counter, targets, lambda: put_loaded(w, target, op, lanes, data))

    def load_to_lds(w: Wave, lanes: Any, addresses: Any, room: Any) -> None:
        if not len(lanes):
            return nothing(w)
        data = _fetch(plan, w, lanes, addresses, room)
        lds = _lds_offsets(w, inst, lanes)
        if services.watching:
            services.observe(MemoryAccess(w, inst, record.LDS, "store", 4, lanes, lds, data))
        return services.finish(w, inst, plan.counter, (), lambda: _to_lds(services, w, inst, lanes, lds, data))

    def store(w: Wave, lanes: Any, addresses: Any, room: Any) -> None:
        if len(lanes):
            _put(plan, w, lanes, addresses, room)
        nothing(w)

    def atomic(w: Wave, lanes: Any, addresses: Any, room: Any) -> None:
        if room is not None:
            inside = room >= op.size
            lanes, addresses = lanes[inside], addresses[inside]
        if not len(lanes):
            return nothing(w)
        offsets = services.global_offsets(w, inst, addresses, op.size, lanes)
        if services.watching:
            _observe(plan, w, record.GLOBAL, op.size, lanes, addresses)
        block = w.registers[plan.data : plan.data + plan.data_words, lanes]
        old = apply_atomic(op, w.builder, arena.words, offsets, block)
        if not plan.returns:
            return nothing(w)
        return services.finish(w, inst, plan.counter, targets, lambda: put_loaded(w, target, op, lanes, old))

    if op.kind == "load":
        return load_to_lds if plan.to_lds else load
    return store if op.kind == "store" else atomic


def _scratch_mover(plan: _Plan) -> Mover:
    services, op, inst = plan.services, plan.op, plan.inst
    if plan.to_lds:
        raise UnsupportedForm(f"{inst.op} is not supported")
    targets = range(plan.target, plan.target + op.dwords)

    def move(w: Wave, lanes: Any, addresses: Any, room: Any) -> None:
        if not len(lanes):
            services.finish(w, inst, plan.counter, (), lambda: None)
            return
        size = w.scratch.shape[1]
        bad = np.flatnonzero((addresses < 0) | (addresses + op.size > size))
        if len(bad):
            lane, address = int(lanes[bad[0]]), int(addresses[bad[0]])
            message = f"accesses scratch byte {address} of {size}"
            raise services.fault("ARG-M105", message, w, inst, lane, address=address, space="scratch")
        if services.watching:
            _observe(plan, w, record.SCRATCH, op.size, lanes, addresses)
        flat = w.scratch.reshape(-1)
        offsets = lanes * size + addresses
        if op.kind == "store":
            scatter(flat.view(U32), flat, offsets, op.size, stored(w, plan.data, op, lanes))
            services.finish(w, inst, plan.counter, (), lambda: None)
            return
        data = widen(gather(flat.view(U32), flat, offsets, op.size), op)
        services.finish(w, inst, plan.counter, targets, lambda: put_loaded(w, plan.target, op, lanes, data))

    return move


def _flat(plan: _Plan) -> Run:
    """A flat access goes to the memory its address lies in; lanes may differ."""
    in_global, in_scratch = _global_mover(plan), _scratch_mover(plan)
    op, inst, services = plan.op, plan.inst, plan.services

    def run(w: Wave) -> None:
        addresses, _ = plan.addresses(w)
        lanes = np.flatnonzero(w.lanes)
        addresses = addresses[lanes]
        top = addresses >> _H32
        private = top == U64(PRIVATE_BASE >> 32)
        shared = top == U64(SHARED_BASE >> 32)
        if shared.any():
            lane = int(lanes[np.flatnonzero(shared)[0]])
            raise services.fault("ARG-M109", "flat access to LDS is not supported", w, inst, lane)
        if private.any():
            in_scratch(w, lanes[private], (addresses[private] & U64(0xFFFFFFFF)).astype(np.int64), None)
        rest = ~private
        if rest.any() or not len(lanes):
            in_global(w, lanes[rest], addresses[rest], None)

    if op.kind == "atomic" or plan.to_lds:
        return _issue(plan, in_global)
    return run
