"""One workgroup executed with all that it computes kept, so that the execution can be read backwards.

    run = Recording(kernel, arrays, sizes, scalars, block=(0, 1, 0))
    run.held(op, at)             what register element `at` of the op's result held
    run.written(load, at)        who put into LDS what a load read: the store, and the register element it stored

Kept are the results of loads and of computing ops for each wave and iteration, and the writes to LDS in the order of
the execution. What is read back from LDS is the last write before the load: without races that is what it saw.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from argus.ir import interp, ops
from argus.ir.kernel import BLOCK_X, BLOCK_Y, BLOCK_Z, LANE, Kernel
from argus.ir.ops import Access, Control, Op, Shared
from argus.ir.ops.places import COPY_STRIDE
from argus.layout import expr as E
from argus.layout.expr import Expr

LANES = 64
Loops = tuple[tuple[str, int], ...]


class Untraceable(Exception):
    """The execution cannot be read backwards from here: too long, or through something that is not followed."""


class RegisterPlace(NamedTuple):
    """A register element of one lane of a wave, in one iteration of the loops around."""

    wave: int
    lane: int
    element: int
    loops: Loops


class SharedWrite(NamedTuple):
    """An op that wrote to LDS, once: which wave, in which iteration, and which of its lanes took part."""

    op: Op
    wave: int
    loops: Loops
    active: NDArray[np.bool_]


class Recording:
    """The execution of one workgroup."""

    def __init__(
        self,
        kernel: Kernel,
        arrays: Mapping[str, NDArray[Any]],
        sizes: Mapping[str, int],
        scalars: Mapping[str, float | int],
        block: tuple[int, int, int],
    ) -> None:
        self.kernel, self.arrays, self.sizes, self.scalars = kernel, arrays, sizes, scalars
        self.block = block
        names = (BLOCK_X.name, BLOCK_Y.name, BLOCK_Z.name)
        self.env = {**sizes, **dict(zip(names, block, strict=True))}
        self.loops_of: dict[int, tuple[str, ...]] = {}
        """Variables of the loops around each op, outer ones first."""
        self.around: dict[int, tuple[Op, ...]] = {}
        """Loops and branches around each op, outer ones first."""
        self.symbols = {v.name: op for op in ops.walk(kernel.body) for v in op.binds if op.operands and not op.blocks}
        """Ops that name loaded data, by the name."""
        self._results: dict[tuple[int, int, Loops], tuple[Any, ...]] = {}
        self._writes: list[SharedWrite] = []
        self._written_before: dict[tuple[int, int, Loops], int] = {}
        self._places: dict[int, NDArray[np.int64]] = {}
        self._numbers: dict[tuple[Expr, int, Loops], NDArray[np.int64]] = {}
        self._nested(kernel.body, (), ())
        made = {op.id: self._keep for op in ops.walk(kernel.body) if op.results and not op.blocks}
        shared = {op.id: self._note for op in ops.walk(kernel.body) if _touches_lds(op)}
        try:
            interp.run(kernel, arrays, sizes, scalars=scalars, blocks=[block], results=made, watch=shared)
        except interp.InterpError as error:
            raise Untraceable(str(error)) from None

    def _nested(self, block: list[Op], loops: tuple[str, ...], around: tuple[Op, ...]) -> None:
        for op in block:
            self.loops_of[op.id], self.around[op.id] = loops, around
            inside = (*loops, op.binds[0].name) if op.control is Control.LOOP else loops
            outer = around if op.control is Control.REGION else (*around, op)
            for inner in op.blocks:
                self._nested(inner, inside, outer)

    def _keep(self, event: interp.OpEvent) -> None:
        self._results[(event.op.id, event.wave, tuple(event.loops.items()))] = event.operands

    def _note(self, event: interp.OpEvent) -> None:
        loops = tuple(event.loops.items())
        if any(f.writes for f in event.op.footprints if isinstance(f.memory, Shared)):
            self._writes.append(SharedWrite(event.op, event.wave, loops, event.active))
        else:
            self._written_before[(event.op.id, event.wave, loops)] = len(self._writes)

    def at_op(self, op: Op, at: RegisterPlace) -> RegisterPlace:
        """The place in the loops around the op that made a value, which may be fewer than around who uses it."""
        names = self.loops_of[op.id]
        return at if len(names) == len(at.loops) else at._replace(loops=at.loops[: len(names)])

    def held(self, op: Op, at: RegisterPlace) -> float:
        """What the element of the op's first result held."""
        found = self._results.get((op.id, at.wave, at.loops))
        if found is None:
            raise Untraceable("it was not executed")
        return float(np.asarray(found[0].data[at.lane, at.element]).astype(np.float64))

    def numbers(self, e: Expr, wave: int, loops: Loops) -> NDArray[np.int64]:
        """An index expression in every lane of a wave."""
        key = (e, wave, loops)
        if key not in self._numbers:
            self._numbers[key] = self._evaluated(e, wave, loops)
        return self._numbers[key]

    def _evaluated(self, e: Expr, wave: int, loops: Loops) -> NDArray[np.int64]:
        env: dict[str, Any] = {**self.env, **dict(loops), "wave": wave, LANE.name: np.arange(LANES)}
        for variable in e.free():
            op = self.symbols.get(variable.name)
            if op is not None:
                env[variable.name] = self._loaded(op, wave, loops)
        return np.broadcast_to(np.asarray(E.evaluate(e, env), dtype=np.int64), (LANES,))

    def _loaded(self, symbol: Op, wave: int, loops: Loops) -> NDArray[np.int64]:
        """The data that a symbol stands for, where an op of the same iteration made it."""
        (value,) = symbol.operands
        maker = next((op for op in ops.walk(self.kernel.body) if value in op.results), None)
        names = () if maker is None else self.loops_of[maker.id]
        found = None if maker is None else self._results.get((maker.id, wave, loops[: len(names)]))
        if found is None:
            raise Untraceable("an index is data whose origin is not followed")
        return np.asarray(found[0].data[:, 0], dtype=np.int64)

    def number(self, e: Expr, at: RegisterPlace) -> int:
        return int(self.numbers(e, at.wave, at.loops)[at.lane])

    def written(self, load: Op, access: Access, at: RegisterPlace) -> tuple[SharedWrite, RegisterPlace] | None:
        """The last write before the load to the byte it starts at; None if nobody wrote it."""
        assert isinstance(access.memory, Shared)
        size = access.memory.dtype.bytes
        byte = self.number(access.address, at) + at.element * size + access.memory.base
        for n in range(self._written_before.get((load.id, at.wave, at.loops), 0) - 1, -1, -1):
            write = self._writes[n]
            places = self._places.get(n)
            if places is None:
                places = self._places[n] = self._written_places(write)
            found = np.argwhere(places == byte)
            if len(found):
                lane, element = (int(v) for v in found[-1])
                return write, RegisterPlace(write.wave, lane, element, write.loops)
        return None

    def _written_places(self, write: SharedWrite) -> NDArray[np.int64]:
        """The byte in LDS of each register element `[64, count]` that is written; -1 where it is not."""
        (part,) = [f for f in write.op.footprints if f.writes and isinstance(f.memory, Shared)]
        assert isinstance(part.memory, Shared)
        start = self.numbers(part.address, write.wave, write.loops) + part.memory.base
        done = write.active
        if part.lane_stride is not None:
            start = start + part.lane_stride * np.arange(LANES)
        if part.guard is not None:
            done = done & (self.numbers(part.guard, write.wave, write.loops) != 0)
        size = part.memory.dtype.bytes
        count = max(1, (COPY_STRIDE if part.lane_stride is not None else part.bytes) // size)
        return np.where(done[:, None], start[:, None] + size * np.arange(count), -1)


def _touches_lds(op: Op) -> bool:
    return any(isinstance(f.memory, Shared) for f in op.footprints)
