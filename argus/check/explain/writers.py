"""Who wrote an element of an output: block, wave, lane, register element and store, from the execution itself.

    writers(kernel, arrays, sizes, scalars, tensor, at)     [Writer(op 41, block (0, 1, 0), wave 2, lane 9, element 3)]

Where nobody wrote it, `nearest` names who wrote the element closest before it in memory: the store that stopped short.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from argus.ir import interp
from argus.ir.kernel import Kernel
from argus.ir.ops import Op, Tensor
from argus.layout import expr as E

LANES = 64


@dataclass(frozen=True, slots=True)
class Writer:
    """One register element that a store wrote somewhere, and the place (an element of the tensor's memory)."""

    op: Op
    block: tuple[int, int, int]
    wave: int
    lane: int
    element: int
    loops: Mapping[str, int]
    value: float
    place: int

    @property
    def thread(self) -> int:
        return self.wave * LANES + self.lane


def place_of(tensor: Tensor, sizes: Mapping[str, int], at: tuple[int, ...]) -> int:
    """The number of an element in its tensor's memory."""
    return sum(n * int(E.evaluate(s, sizes)) for n, s in zip(at, tensor.strides, strict=True))


def coordinates_of(tensor: Tensor, sizes: Mapping[str, int], place: int) -> tuple[int, ...]:
    """The element that lies at a place of a tensor whose elements do not overlap."""
    strides = [int(E.evaluate(s, sizes)) for s in tensor.strides]
    found = [0] * len(strides)
    for axis in sorted(range(len(strides)), key=lambda a: -strides[a]):
        found[axis], place = divmod(place, strides[axis]) if strides[axis] else (0, place)
    return tuple(found)


def writers(
    kernel: Kernel,
    arrays: Mapping[str, NDArray[Any]],
    sizes: Mapping[str, int],
    scalars: Mapping[str, float | int],
    tensor: Tensor,
    at: tuple[int, ...],
) -> tuple[list[Writer], Writer | None]:
    """Who wrote the element, in the order of the execution, and who wrote the closest one before it."""
    wanted, size = place_of(tensor, sizes, at), tensor.dtype.bytes
    found: list[Writer] = []
    closest: list[Writer] = []

    def look(event: interp.StoreEvent) -> None:
        if event.tensor is not tensor:
            return
        places = np.where(event.done, event.start // size, -1)
        own = [_writer(event, int(lane), int(element), wanted) for lane, element in np.argwhere(places == wanted)]
        agree = len({repr(one.value) for one in own}) == 1 and not any(f.reads for f in event.op.footprints)
        found.extend(own[:1] if agree else own)
        before = np.where(places < wanted, places, -1)
        best = int(before.max())
        if best >= 0 and (not closest or best > closest[0].place):
            lane, element = np.argwhere(before == best)[0]
            closest[:] = [_writer(event, int(lane), int(element), best)]

    interp.run(kernel, arrays, sizes, scalars=scalars, stored=look)
    return found, closest[0] if closest else None


def _writer(event: interp.StoreEvent, lane: int, element: int, place: int) -> Writer:
    value = float(np.asarray(event.data[lane, element]).astype(np.float64))
    return Writer(event.op, event.block, event.wave, lane, element, event.loops, value, place)
