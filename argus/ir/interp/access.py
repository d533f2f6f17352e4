"""Memory accesses of one wave: addresses, guards, buffer ranges, tokens, and what happens when they retire.

A global access outside its tensor's bytes reads zeros and writes nothing, element by element, whatever the coordinates
say (`argus.ir.semantics`, rule elements). An LDS access outside its own buffer is reported and then done as addressed.
What is not surely issued is not, where it can be left out: a load nobody uses, a guarded access of LDS that no lane of
the wave takes part in. So a counted wait retires as little as it may.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, assert_never

import numpy as np
from numpy.typing import NDArray

from argus.ir import ops
from argus.ir.interp.memory import TENSOR_SHIFT, UNWRITTEN, ZERO, Bytes, Counter, Hazard, Token
from argus.ir.interp.numbers import elementwise, numpy_dtype
from argus.ir.ops import Access, Op, Shared, Tensor
from argus.ir.semantics import COPY_BYTES

if TYPE_CHECKING:
    from argus.ir.interp.wave import InterpWave, Mask

Elements = NDArray[np.int64]
POISON = 0xA5


def _then(first: Callable[[], None], second: Callable[[], None]) -> Callable[[], None]:
    def both() -> None:
        first()
        second()

    return both


class Accesses:
    """Performs the memory ops of one wave."""

    def __init__(self, wave: InterpWave) -> None:
        self.wave = wave
        self.group = wave.group

    def perform(self, op: ops.Accessing, active: Mask) -> None:
        match op:
            case ops.Load():
                self.load(op, active)
            case ops.Store():
                self.store(op, op.access, self.wave.read(op.value, op), active, None)
            case ops.Atomic():
                self.store(op, op.access, self.wave.read(op.value, op), active, op.fn)
            case ops.CopyToLds():
                self.copy(op, active)
            case _:
                assert_never(op)

    def reach(self, access: Access, op: Op, active: Mask) -> tuple[Elements, NDArray[np.bool_]]:
        """Byte offset of every element `[64, count]` in its memory (LDS: of the workgroup), and whether it is done."""
        size = access.memory.dtype.bytes
        start = self.wave.lanes(access.address)[:, None] + np.arange(access.count)[None, :] * size
        done = np.broadcast_to(active[:, None], start.shape)
        if access.guard is not None:
            done = done & (self.wave.lanes(access.guard) != 0)[:, None]
        if isinstance(access.memory, Tensor):
            limit = self.group.tensor_bytes(access.memory)
            return start, done & (start >= 0) & (start + size <= limit)
        outside = done & ((start < 0) | (start + size > access.memory.bytes))
        if outside.any():
            self.out_of_buffer(op, access.memory, int(start[outside][0]))
        start = start + access.memory.base
        return start, done & (start >= 0) & (start + size <= len(self.group.lds.data))

    def out_of_buffer(self, op: Op, memory: Shared, byte: int) -> None:
        who = (op.id, self.wave.number)
        self.group.hazards.append(Hazard("range", memory.name, byte, who, who, f"byte {byte} of {memory.bytes}"))

    def issue(self, op: Op, counter: Counter, effect: Any, skipped: bool = False) -> tuple[Token, int]:
        token = Token(counter, self.wave.number, op, self.wave.barriers, arms=self.wave.arms)
        self.group.tokens.append(token)
        if skipped:
            token.retired = self.wave.barriers
        else:
            self.wave.queues.of(counter).append(token)
        if skipped or self.group.schedule.visibility == "early":
            effect()
        else:
            token.effect = effect
        return token, len(self.group.tokens) - 1

    def skipped(self, op: Op, done: NDArray[np.bool_]) -> bool:
        """The instruction may be missing, or jumped over, for this wave."""
        return op.id not in self.group.emitted or (not op.surely_issued and not done.any())

    def memory(self, access: Access) -> Bytes:
        return self.group.lds if isinstance(access.memory, Shared) else self.group.globals[access.memory]

    def touch(
        self, token: Token, number: int, access: Access, where: Elements, write: bool, alone: bool = True
    ) -> None:
        shadow = self.group.shadow(access.memory)
        if shadow is not None and where.size:
            shadow.access(token, number, where.reshape(-1), write, alone)

    def load(self, op: ops.Load, active: Mask) -> None:
        from argus.ir.interp.wave import Register

        access, size = op.access, op.access.memory.dtype.bytes
        start, done = self.reach(access, op, active)
        raw = np.zeros((64, access.count * size), dtype=np.uint8)
        data = raw.view(numpy_dtype(access.memory.dtype))
        codes = np.full(start.shape, ZERO, dtype=np.int64)
        register = Register(data, codes)
        memory, bytes_of = self.memory(access), raw.reshape(64, access.count, size)
        where = start[done][:, None] + np.arange(size)
        emitted = op.id in self.group.emitted  # else nobody uses it: it is not in the code and meets nothing

        def effect() -> None:
            raw[:] = 0
            codes[:] = ZERO
            bytes_of[done] = memory.data[where]
            if self.group.provenance:
                codes[done] = self.origin(access, memory, start[done], where)
                if emitted and isinstance(access.memory, Shared) and (codes[done] == UNWRITTEN).any():
                    byte = int(start[done][codes[done] == UNWRITTEN][0])
                    who = (op.id, self.wave.number)
                    self.group.hazards.append(Hazard("unwritten", access.memory.name, byte, who, who, "never written"))

        observer = self.group.results.get(op.id)
        if observer is not None:
            event = self.wave.event(op, (register,), active)
            effect = _then(effect, lambda: observer(event))
        counter: Counter = "lgkm" if isinstance(access.memory, Shared) else "vm"
        skipped = self.skipped(op, done)
        token, number = self.issue(op, counter, effect, skipped)
        register.token = token
        if self.group.schedule.visibility == "late" and not skipped:
            raw[:] = POISON
            codes[:] = UNWRITTEN
        if emitted:
            self.touch(token, number, access, where, write=False)
        self.wave.file[op.result] = register

    def origin(self, access: Access, memory: Bytes, start: Elements, where: Elements) -> Elements:
        if isinstance(access.memory, Shared):
            return memory.provenance(where)
        number = self.group.kernel.tensors.index(access.memory)
        fresh = (number << TENSOR_SHIFT) + start // access.memory.dtype.bytes
        if not access.memory.written:
            return fresh
        written = memory.provenance(where)
        return np.where(written == UNWRITTEN, fresh, written)

    def store(self, op: Op, access: Access, value: Any, active: Mask, fn: str | None) -> None:
        from argus.ir.interp.wave import StoreEvent

        size = access.memory.dtype.bytes
        start, done = self.reach(access, op, active)
        memory = self.memory(access)
        raw = np.ascontiguousarray(value.data).view(np.uint8).reshape(64, access.count, size).copy()
        codes = value.code[done]
        threads = np.broadcast_to(self.threads()[:, None], done.shape)[done]
        where = start[done][:, None] + np.arange(size)

        def effect() -> None:
            if fn is None:
                memory.put(where, raw[done], codes, op.id, threads)
            else:
                self.accumulate(memory, fn, access, start[done], value.data[done])

        counter: Counter = "lgkm" if isinstance(access.memory, Shared) else "vm"
        token, number = self.issue(op, counter, effect, self.skipped(op, done))
        self.touch(token, number, access, where, write=True, alone=fn is None)
        clash = fn is not None or self.overlap(op, access, start, done, raw)
        if isinstance(access.memory, Tensor):
            places = start[done] // size
            np.add.at(self.group.writes[access.memory.name], places if clash else np.unique(places), 1)
            if self.group.stored is not None:
                wave, memory_of = self.wave, access.memory
                event = StoreEvent(
                    op, memory_of, self.group.block, wave.number, dict(wave.loops), start, done, value.data
                )
                self.group.stored(event)

    def threads(self) -> Elements:
        return self.wave.number * 64 + np.arange(64, dtype=np.int64)

    def overlap(self, op: Op, access: Access, start: Elements, done: NDArray[np.bool_], raw: NDArray[np.uint8]) -> bool:
        """Two lanes of one store on one address with different data: the hardware does not say who wins."""
        addresses, data = start[done], raw[done]
        order = np.argsort(addresses, kind="stable")
        addresses, data = addresses[order], data[order]
        clash = (addresses[1:] == addresses[:-1]) & (data[1:] != data[:-1]).any(axis=1)
        if clash.any():
            who = (op.id, self.wave.number)
            byte = int(addresses[1:][clash][0])
            self.group.hazards.append(Hazard("overlap", access.memory.name, byte, who, who, "lanes disagree"))
        return bool(clash.any())

    def accumulate(self, memory: Bytes, fn: str, access: Access, start: Elements, data: NDArray[Any]) -> None:
        typed = memory.data.view(numpy_dtype(access.memory.dtype))
        places = start // access.memory.dtype.bytes
        if len(np.unique(places)) == len(places):
            typed[places] = elementwise(fn, (typed[places], np.asarray(data)), access.memory.dtype)
            return
        for place, value in zip(places, data, strict=True):
            old = typed[place : place + 1]
            typed[place : place + 1] = elementwise(fn, (old, np.asarray([value])), access.memory.dtype)

    def copy(self, op: ops.CopyToLds, active: Mask) -> None:
        """Every active lane writes COPY_BYTES of LDS: its elements (zeros outside of the tensor), then garbage."""
        access, size = op.access, op.access.memory.dtype.bytes
        start, done = self.reach(access, op, active)
        lanes = np.arange(64, dtype=np.int64)[:, None]
        base = self.wave.uniform(op.lds_base) + op.into.base
        target = base + COPY_BYTES * lanes + np.arange(access.count)[None, :] * size
        inside = np.broadcast_to(active[:, None], target.shape) & (target >= 0)
        inside = inside & (target + size <= len(self.group.lds.data))
        memory, lds = self.memory(access), self.group.lds
        width = np.arange(size)
        threads = np.broadcast_to(self.threads()[:, None], target.shape)
        rest = base + COPY_BYTES * lanes + np.arange(access.count * size, COPY_BYTES)[None, :]
        rest = rest[active & (rest >= 0).all(axis=1) & (rest < len(self.group.lds.data)).all(axis=1)]
        every = base + COPY_BYTES * lanes[active] - op.into.base
        outside = (every < 0) | (every + COPY_BYTES > op.into.bytes)
        if outside.any():
            self.out_of_buffer(op, op.into, int(every[outside][0]))

        def effect() -> None:
            raw = np.zeros((*start.shape, size), dtype=np.uint8)
            codes = np.full(start.shape, ZERO, dtype=np.int64)
            raw[done] = memory.data[start[done][:, None] + width]
            if self.group.provenance:
                codes[done] = self.origin(access, memory, start[done], start[done][:, None] + width)
            lds.put(target[inside][:, None] + width, raw[inside], codes[inside], op.id, threads[inside])
            if rest.size:
                garbage = np.full(rest.shape, POISON, dtype=np.uint8)
                lds.put(rest, garbage, np.full(len(rest), UNWRITTEN), op.id, np.full(len(rest), -1))

        token, number = self.issue(op, "vm", effect)
        shadow = self.group.shadow(op.into)
        if shadow is not None:
            written = (target[inside][:, None] + width).reshape(-1)
            shadow.access(token, number, np.concatenate([written, rest.reshape(-1)]), True)
