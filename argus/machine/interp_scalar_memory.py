"""Scalar loads, stores and atomics in the interpreter.

The address is base + offset + scalar, its two low bits cleared. Buffer forms clamp to the resource: dwords out of range
read 0 and are not written.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from argus.gfx942.inst import EXEC, Inst
from argus.machine import record
from argus.machine.interp_atomics import apply_atomic
from argus.machine.interp_operands import UnsupportedForm, scalar_source
from argus.machine.interp_services import MemoryAccess, Services
from argus.machine.memory import OutOfBounds
from argus.machine.semantics.mem import MEMORY
from argus.machine.state import Wave

Run = Callable[[Wave], Any]
_LANE0 = np.zeros(1, np.int64)


def compile_scalar_memory(inst: Inst, services: Services) -> Run:
    """The closure that executes an s_load, s_store or s_atomic instruction."""
    op, arena = MEMORY[inst.op], services.arena
    data, base = inst.operands[0].value, inst.operands[1]
    if base.kind != "s":
        raise UnsupportedForm(f"{inst.op} needs a scalar base")
    immediate = inst.mods.get("offset", 0)
    extra = int(immediate) if isinstance(immediate, int) else 0
    step = scalar_source(inst.operands[2], "u32") if len(inst.operands) > 2 else lambda w: 0
    signed = len(inst.operands) > 2 and inst.operands[2].kind == "imm"
    is_buffer = op.space == "scalar_buffer"

    def place(w: Wave) -> tuple[int, int]:
        """(address, bytes that may be moved)."""
        start = w.pair(base.value)
        offset = step(w) + extra
        if signed and offset >= 1 << 31:
            offset -= 1 << 32
        if is_buffer:
            start &= (1 << 48) - 1
            room = w.s[base.value + 2] - offset
            return start + offset & ~3, max(0, min(op.size, room & ~3))
        return start + offset & ~3, op.size

    def locate(w: Wave, address: int, size: int) -> int:
        try:
            offset = arena.offset(address, size)
        except OutOfBounds as why:
            message = f"scalar access outside every allocation: {why}"
            raise services.fault("ARG-M105", message, w, inst, address=address, space="global") from None
        if services.watching:
            where = np.array([address], np.uint64)
            space = record.SCALAR
            services.observe(MemoryAccess(w, inst, space, op.kind, size, _LANE0, where))
        return offset >> 2

    def load(w: Wave) -> None:
        address, room = place(w)
        values = [0] * op.dwords
        if room:
            first = locate(w, address, room)
            values[: room // 4] = arena.words[first : first + room // 4].tolist()

        def complete() -> None:
            if data < EXEC < data + op.dwords + 1:
                for k, value in enumerate(values):
                    w.set_scalar(data + k, value)
            else:
                w.s[data : data + op.dwords] = values

        services.finish(w, inst, "lgkm", range(data, data + op.dwords), complete, scalar=True)

    def store(w: Wave) -> None:
        address, room = place(w)
        if room:
            first = locate(w, address, room)
            arena.words[first : first + room // 4] = w.s[data : data + room // 4]
        services.finish(w, inst, "lgkm", (), lambda: None, scalar=True)

    def atomic(w: Wave) -> None:
        address, room = place(w)
        old = [0] * op.dwords
        if room >= op.size:
            first = locate(w, address, op.size)
            words = 2 * op.dwords if op.atomic.startswith("cmpswap") else op.dwords
            rows = np.array(w.s[data : data + words], np.uint32)[:, None]
            result = apply_atomic(op, w.builder, arena.words, np.array([first * 4]), rows)
            old = result[:, 0].tolist()
        if not inst.mods.get("glc"):
            services.finish(w, inst, "lgkm", (), lambda: None, scalar=True)
            return

        def complete() -> None:
            w.s[data : data + op.dwords] = old

        services.finish(w, inst, "lgkm", range(data, data + op.dwords), complete, scalar=True)

    return {"load": load, "store": store, "atomic": atomic}[op.kind]
