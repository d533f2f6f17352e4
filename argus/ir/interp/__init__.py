"""The kernel IR executed on numpy arrays: what a program means, without the checker and without the compiler.

    outcome = run(kernel, {"A": a, "B": b, "C": c}, {"M": 256, "N": 256, "K": 128})
    outcome.arrays["C"]          the result
    outcome.hazards              accesses no barrier orders, registers read before their wait, barriers not met
    outcome.writes["C"]          how often each element was written

Time is adversarial: an `InterpSchedule` says in which order waves run between barriers and whether an access takes
effect when issued or as late as its wave's waits allow, so a missing barrier or wait changes the result. What the
semantics leaves open (`argus.ir.semantics`) is the adversary's choice too: which arm of a branch goes first, what bytes
hold that nobody specifies; a number that the machine's 32 bits do not hold is a hazard. A kernel
whose policies say `waits: explicit` (see `argus.ir.passes.insert_waits`) is taken at its word; otherwise the first use
of a loaded register waits.

With `provenance=True` every register element also knows which tensor element it was loaded from, through LDS and
register moves; `watch={op id: function}` shows an op's operands when it executes, `results` what a load or a computing
op delivers, `stored` every store to a tensor with its addresses. That is how counterexamples of the checker are
replayed.

Not modelled: time, caches, the order of additions inside an MFMA; see `numbers` for rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from argus.ir.interp.memory import COMPUTED, MIXED, TENSOR_SHIFT, UNWRITTEN, ZERO, Bytes, Hazard
from argus.ir.interp.numbers import numpy_dtype
from argus.ir.interp.wave import InterpError, OpEvent, StoreEvent
from argus.ir.interp.workgroup import ADVERSARIES, InterpSchedule, InterpWorkgroup
from argus.ir.kernel import Kernel
from argus.ir.ops import Tensor
from argus.ir.passes.liveness import emitted as emitted_ops
from argus.ir.semantics.fitting_numbers import watched_numbers
from argus.layout import expr as E

__all__ = [
    "ADVERSARIES",
    "COMPUTED",
    "MIXED",
    "TENSOR_SHIFT",
    "UNWRITTEN",
    "ZERO",
    "Hazard",
    "InterpError",
    "InterpOutcome",
    "InterpSchedule",
    "OpEvent",
    "StoreEvent",
    "extents",
    "run",
]


@dataclass(frozen=True, slots=True)
class InterpOutcome:
    """`arrays` after the launch (copies), `hazards` met, `writes` per element of every written tensor;
    copies that lanes of one store agree on count once."""

    arrays: dict[str, NDArray[Any]]
    hazards: tuple[Hazard, ...]
    writes: dict[str, NDArray[np.int32]]


def extents(tensor: Tensor, sizes: Mapping[str, int]) -> tuple[int, ...]:
    """The tensor's shape at these sizes."""
    return tuple(int(E.evaluate(e, sizes)) for e in tensor.shape)


def _buffer_elements(tensor: Tensor, sizes: Mapping[str, int]) -> int:
    shape = extents(tensor, sizes)
    strides = [int(E.evaluate(s, sizes)) for s in tensor.strides]
    if 0 in shape:
        return 0
    return 1 + sum((n - 1) * s for n, s in zip(shape, strides, strict=True))


def run(
    kernel: Kernel,
    arrays: Mapping[str, NDArray[Any]],
    sizes: Mapping[str, int],
    *,
    scalars: Mapping[str, float | int] | None = None,
    blocks: Iterable[tuple[int, int, int]] | None = None,
    schedule: InterpSchedule | None = None,
    watch: Mapping[int, Callable[[OpEvent], None]] | None = None,
    results: Mapping[int, Callable[[OpEvent], None]] | None = None,
    stored: Callable[[StoreEvent], None] | None = None,
    provenance: bool = False,
) -> InterpOutcome:
    """Execute the launch (or only `blocks` of its grid). Arrays missing from `arrays` start as zeros."""
    chosen = schedule or InterpSchedule()
    names = {e.name: int(sizes[e.name]) for e in kernel.shapes if e.name in sizes}
    missing = [e.name for e in kernel.shapes if e.name not in sizes]
    if missing:
        raise InterpError(f"sizes of {', '.join(missing)} are not given")
    for condition in kernel.requires:
        if not E.evaluate(condition, names):
            raise InterpError(f"the sizes break what the kernel requires: {condition}")
    memories: dict[Tensor, Bytes] = {}
    writes: dict[str, NDArray[np.int32]] = {}
    for tensor in kernel.tensors:
        memories[tensor] = _allocate(tensor, arrays, names, provenance and tensor.written)
        if tensor.written:
            writes[tensor.name] = np.zeros(_buffer_elements(tensor, names), dtype=np.int32)
    grid = tuple(int(E.evaluate(g, names)) for g in kernel.grid)
    if blocks is None:
        blocks = ((x, y, z) for z in range(grid[2]) for y in range(grid[1]) for x in range(grid[0]))
    hazards: list[Hazard] = []
    implied = kernel.policies.get("waits") != "explicit"
    emitted, numbers = emitted_ops(kernel), watched_numbers(kernel)
    given = {s.name: (scalars or {}).get(s.name, 1) for s in kernel.scalars}
    for block in blocks:
        InterpWorkgroup(
            kernel,
            block,
            names,
            given,
            memories,
            writes,
            hazards,
            chosen,
            watch or {},
            results or {},
            provenance,
            implied,
            emitted,
            numbers,
            stored,
        ).run()
    final = {t.name: _result(t, memories[t], names) for t in kernel.tensors}
    return InterpOutcome(final, tuple(hazards), writes)


def _allocate(tensor: Tensor, arrays: Mapping[str, NDArray[Any]], sizes: Mapping[str, int], track: bool) -> Bytes:
    count = _buffer_elements(tensor, sizes)
    flat = np.zeros(count, dtype=numpy_dtype(tensor.dtype))
    if tensor.name in arrays:
        given = np.asarray(arrays[tensor.name], dtype=flat.dtype)
        shape = extents(tensor, sizes)
        if given.shape != shape:
            raise InterpError(f"{tensor.name} has shape {given.shape}, the sizes say {shape}")
        _strided(flat, tensor, sizes)[...] = given
    return Bytes(flat.view(np.uint8), track)


def _strided(flat: NDArray[Any], tensor: Tensor, sizes: Mapping[str, int]) -> NDArray[Any]:
    strides = tuple(int(E.evaluate(s, sizes)) * flat.itemsize for s in tensor.strides)
    return np.lib.stride_tricks.as_strided(flat, extents(tensor, sizes), strides)


def _result(tensor: Tensor, memory: Bytes, sizes: Mapping[str, int]) -> NDArray[Any]:
    flat = memory.data.view(numpy_dtype(tensor.dtype))
    return _strided(flat, tensor, sizes).copy() if flat.size else np.zeros(extents(tensor, sizes), dtype=flat.dtype)
