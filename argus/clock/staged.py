"""A launch set up once and executed in parts, with its tensors in device memory only.

    staged = Staged(kernel, grid, block, (Operand((16384, 16384), bf16), ..., np.int32(16384)))
    staged.run([0, 8, 16], "jit").record

Timing needs addresses and branches, not results, so nothing is copied back, and a large tensor need not exist on the
host: an `Operand` is written into device memory directly, a block of seeded values again and again, zeros after its
first 128 MiB; one that is only written to stays untouched memory, which costs nothing. Arrays among the arguments are
copied in and not changed.

Several runs share the memory, as the workgroups of one launch do. What it cannot do: notice an access outside one
tensor that hits another one, which `argus run` does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from argus.machine import Options
from argus.machine.launch import Executor, LaunchResult, LoadedKernel, PreparedLaunch, interpret

APART = 1 << 12
BLOCK = 1 << 20
"""Values of an operand that are drawn; then they repeat."""
FILLED = 1 << 27
"""Bytes of an operand that get values; the rest stays zero, and costs no memory before it is touched."""


@dataclass(frozen=True, slots=True)
class Operand:
    """A tensor argument by shape and element type: normal values or small integers, or not written before (`blank`)."""

    shape: tuple[int, ...]
    dtype: npt.DTypeLike
    seed: int = 0
    blank: bool = False

    @property
    def nbytes(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64)) * np.dtype(self.dtype).itemsize

    def write(self, place: npt.NDArray[np.uint8]) -> None:
        if self.blank:
            return
        dice = np.random.default_rng(self.seed)
        count = min(BLOCK, -(-self.nbytes // np.dtype(self.dtype).itemsize))
        whole_numbers = np.issubdtype(self.dtype, np.integer)
        values = dice.integers(0, 100, count) if whole_numbers else dice.standard_normal(count, np.float32)
        block = values.astype(self.dtype).view(np.uint8)
        for start in range(0, min(FILLED, len(place)), len(block)):
            part = place[start : start + len(block)]
            part[:] = block[: len(part)]


class Staged:
    """A launch whose workgroups can be executed part by part."""

    def __init__(
        self,
        kernel: LoadedKernel,
        grid: int | Sequence[int],
        block: int | Sequence[int],
        args: Sequence[Any],
        lds: int = 0,
        offsets: Sequence[int] | None = None,
    ) -> None:
        tensors = {_identity(value): value for value in args if _is_tensor(value)}
        marks = {key: np.zeros(1, np.uint8) for key in tensors}
        given = [marks[_identity(value)] if _is_tensor(value) else value for value in args]
        self._prepared = kernel.prepare(grid, block, given, lds, offsets, Options(record=True))
        self._place(tensors, list(marks))

    def _place(self, tensors: dict[int, Any], order: list[int]) -> None:
        """Puts the tensors behind everything else, in one allocation, and their addresses into the arguments."""
        prepared = self._prepared
        arena, dispatch = prepared.arena, prepared.dispatch
        behind = next(n for n, found in enumerate(arena.allocations) if found.start == dispatch.kernarg_address)
        stands = arena.allocations[behind - len(order) : behind]
        starts, end = [], 0
        for key in order:
            starts.append(end)
            end += -(-(tensors[key].nbytes + APART) // APART) * APART
        region = arena.allocate(end, "tensors") if order else None
        moved: dict[int, int] = {}
        for key, start, stand in zip(order, starts, stands, strict=True):
            if region is not None:
                moved[stand.start] = region.start + start
                offset = region.start + start - arena.base
                _write(tensors[key], arena.buffer[offset : offset + tensors[key].nbytes])
        kernarg = _readdressed(dispatch.kernarg, moved)
        at = dispatch.kernarg_address - arena.base
        arena.buffer[at : at + len(kernarg)] = np.frombuffer(kernarg, np.uint8)
        self._prepared = replace(prepared, dispatch=replace(dispatch, kernarg=kernarg))

    def run(self, workgroups: Sequence[int] | None, executor: Executor, **limits: Any) -> LaunchResult:
        """Executes and records these workgroups (None: all)."""
        options = Options(record=True, workgroups=workgroups, **limits)
        prepared: PreparedLaunch = replace(self._prepared, options=options)
        if executor == "checking":
            return interpret(prepared)
        from argus.machine.jit.executor import execute

        return execute(prepared)


def _readdressed(kernarg: bytes, moved: dict[int, int]) -> bytes:
    """The arguments with their pointers, which lie at multiples of 8, sent to other places."""
    end = len(kernarg) // 8 * 8
    words = [int.from_bytes(kernarg[at : at + 8], "little") for at in range(0, end, 8)]
    return b"".join(moved.get(word, word).to_bytes(8, "little") for word in words) + kernarg[end:]


def _is_tensor(value: Any) -> bool:
    return isinstance(value, Operand) or (isinstance(value, np.ndarray) and value.ndim > 0)


def _identity(value: Any) -> int:
    return id(value) if isinstance(value, Operand) else int(value.__array_interface__["data"][0])


def _write(tensor: Any, place: npt.NDArray[np.uint8]) -> None:
    if isinstance(tensor, Operand):
        tensor.write(place)
    else:
        place[:] = np.ascontiguousarray(tensor).reshape(-1).view(np.uint8)
