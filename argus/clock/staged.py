"""A launch set up once and executed in parts, with its tensors in device memory only.

    staged = Staged(kernel, grid, block, (Operand((16384, 16384), bf16), ..., np.int32(16384)))
    staged.run([0, 8, 16], "jit").record

Timing needs addresses and branches, not results, so nothing is copied back, and a large tensor need not exist on the
host: an `Operand` is written into device memory directly, a block of seeded values again and again, zeros after its
first 128 MiB; one that is only written to stays untouched memory, which costs nothing. An `OperandView` is an argument
that points into another operand. Arrays among the arguments are copied in and not changed. Views of one operand, and
arrays that overlap, are one piece of memory: their bytes are counted once (`tensor_bytes`).

Several runs share the memory, as the workgroups of one launch do. What it cannot do: notice an access outside one
tensor that hits another one, which `argus run` does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.lib.array_utils import byte_bounds

from argus.machine import Options
from argus.machine.launch import Executor, LaunchResult, LoadedKernel, PreparedLaunch, interpret
from argus.machine.launch_arguments import Named, sharing

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


@dataclass(frozen=True, slots=True)
class OperandView:
    """An argument that is a part of an operand: it starts `start` bytes behind the operand's first."""

    of: Operand
    start: int


@dataclass(slots=True)
class _Piece:
    """Memory of one operand, or of arrays that overlap; `users`: number of an argument -> its first byte in it."""

    nbytes: int
    write: Callable[[npt.NDArray[np.uint8]], None]
    users: dict[int, int]


def _pieces(args: Sequence[Any]) -> list[_Piece]:
    """The memory behind the tensor arguments, in the order of their first use."""
    found: dict[int, _Piece] = {}
    for number, value in enumerate(args):
        if isinstance(value, Operand | OperandView):
            operand, start = (value, 0) if isinstance(value, Operand) else (value.of, value.start)
            piece = found.setdefault(id(operand), _Piece(operand.nbytes, operand.write, {}))
            piece.users[number] = start
    arrays = [(str(n), a) for n, a in enumerate(args) if isinstance(a, np.ndarray) and a.ndim > 0]
    return sorted([*found.values(), *map(_of_arrays, sharing(arrays))], key=lambda piece: min(piece.users))


def _of_arrays(group: Sequence[Named]) -> _Piece:
    first = min(byte_bounds(array)[0] for _, array in group)
    starts = {int(number): byte_bounds(array)[0] - first for number, array in group}

    def write(place: npt.NDArray[np.uint8]) -> None:
        for number, array in group:
            part = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
            place[starts[int(number)] : starts[int(number)] + len(part)] = part

    return _Piece(max(starts[int(n)] + a.nbytes for n, a in group), write, starts)


def tensor_bytes(args: Sequence[Any]) -> int:
    """Bytes of the tensors among the arguments; what several of them share is counted once."""
    return sum(piece.nbytes for piece in _pieces(args))


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
        pieces = _pieces(args)
        tensors = sorted(number for piece in pieces for number in piece.users)
        given = [np.zeros(1, np.uint8) if number in tensors else value for number, value in enumerate(args)]
        self._prepared = kernel.prepare(grid, block, given, lds, offsets, Options(record=True))
        self._place(pieces, tensors)

    def _place(self, pieces: Sequence[_Piece], tensors: Sequence[int]) -> None:
        """Puts the tensors behind everything else, in one allocation, and their addresses into the arguments."""
        prepared = self._prepared
        arena, dispatch = prepared.arena, prepared.dispatch
        behind = next(n for n, found in enumerate(arena.allocations) if found.start == dispatch.kernarg_address)
        stands = dict(zip(tensors, arena.allocations[behind - len(tensors) : behind], strict=True))
        starts, end = [], 0
        for piece in pieces:
            starts.append(end)
            end += -(-(piece.nbytes + APART) // APART) * APART
        region = arena.allocate(end, "tensors") if pieces else None
        moved: dict[int, int] = {}
        for piece, start in zip(pieces, starts, strict=True):
            if region is not None:
                moved |= {stands[n].start: region.start + start + inside for n, inside in piece.users.items()}
                offset = region.start + start - arena.base
                piece.write(arena.buffer[offset : offset + piece.nbytes])
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
