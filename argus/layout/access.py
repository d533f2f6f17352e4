"""What a wave's access costs: bank conflicts, widest legal vector, cache lines touched.  All exact, by enumeration.

    addresses = byte address of each of the 64 lanes
    bank_conflict(addresses, 16, phases)     the worst phase: ways, bank, and the lanes that meet there
    widest(addresses[lane, e], 2)            16 when every lane's elements lie in aligned runs of 16 bytes
    lines(addresses, 16, 128)                distinct 128-byte lines the wave touches

LDS serves a wave access in *phases*, groups of lanes; within a phase each of the 32 four-byte banks delivers one word,
and lanes that want the same word share it.  `phases` comes from the chip description (`argus.gfx942.lds.PHASES`),
which this room does not import.

A wave-uniform base that is a multiple of 4 bytes turns the banks but does not change the answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from argus.layout import gf2
from argus.layout.error import LayoutError
from argus.layout.evaluate import evaluate
from argus.layout.node import Expr

BANKS = 32
BANK_BYTES = 4
WIDTHS = (16, 12, 8, 4, 2, 1)

Phases = Sequence[Sequence[int]]


@dataclass(frozen=True)
class BankConflict:
    """The busiest bank of the worst phase; `ways` is 1 when the access is free of conflicts."""

    ways: int
    phase: int
    bank: int
    lanes: tuple[int, ...]

    def __str__(self) -> str:
        if self.ways == 1:
            return "free of bank conflicts"
        return f"{self.ways}-way bank conflict: lanes {', '.join(map(str, self.lanes))} meet in bank {self.bank}"


def bank_conflict(addresses: ArrayLike, width: int, phases: Phases) -> BankConflict:
    """Worst conflict of one access of `width` bytes per lane."""
    first = np.asarray(addresses, dtype=np.int64) // BANK_BYTES
    last = (np.asarray(addresses, dtype=np.int64) + width - 1) // BANK_BYTES
    worst = BankConflict(1, 0, 0, ())
    for number, lanes in enumerate(phases):
        wanted: dict[int, dict[int, int]] = {}
        for lane in lanes:
            for word in range(int(first[lane]), int(last[lane]) + 1):
                wanted.setdefault(word % BANKS, {}).setdefault(word, lane)
        for bank in sorted(wanted):
            if len(wanted[bank]) > worst.ways:
                worst = BankConflict(len(wanted[bank]), number, bank, tuple(sorted(wanted[bank].values())))
    return worst


def bank_ways_linear(columns: Sequence[int], width: int, phase: Sequence[int]) -> int:
    """The same count from GF(2) columns of lane bits -> byte address, for a phase that is a subspace of lane numbers.

    `phase` is a basis of the lanes served together (1, 2, 20 for ds_read_b128).  Width must be a power of two of at
    least 4 and every address a multiple of it.  2**(rank of distinct accesses - rank of distinct bank groups) ways.
    """
    shift = width.bit_length() - 1
    groups = BANKS * BANK_BYTES // width
    images = [gf2.apply(columns, lane) >> shift for lane in phase]
    return int(1 << (gf2.rank(images) - gf2.rank([image & (groups - 1) for image in images])))


def widest(addresses: ArrayLike, element: int, alignment: int = 16) -> int:
    """Most bytes one instruction can move: every lane's elements form aligned, contiguous runs of that many bytes.

    `addresses[..., e]` are byte addresses of a thread's elements in register order; `alignment` is what the base is
    known to be a multiple of.
    """
    table = np.asarray(addresses, dtype=np.int64)
    table = table.reshape(-1, table.shape[-1])
    for width in WIDTHS:
        count = width // element
        if width % element or table.shape[1] % max(count, 1) or count < 1:
            continue
        needed = 4 if width == 12 else width
        runs = table.reshape(table.shape[0], -1, count)
        contiguous = (runs == runs[..., :1] + np.arange(count) * element).all()
        if contiguous and not (runs[..., 0] % needed).any() and alignment % needed == 0:
            return width
    return element


def lines(addresses: ArrayLike, width: int, line: int = 128) -> int:
    """Distinct cache lines that a wave touches."""
    start = np.asarray(addresses, dtype=np.int64).reshape(-1)
    touched: set[int] = set()
    for low, high in zip(start // line, (start + width - 1) // line, strict=True):
        touched.update(range(int(low), int(high) + 1))
    return len(touched)


def coalescing(addresses: ArrayLike, width: int, line: int = 128) -> float:
    """Useful part of the lines touched: 1.0 when every byte of every line is used."""
    start = np.unique(np.asarray(addresses, dtype=np.int64).reshape(-1))
    used = width + sum(int(min(width, b - a)) for a, b in pairwise(start))
    return used / (lines(addresses, width, line) * line)


def wave_accesses(
    address: Expr, inputs: Mapping[str, int], thread: str, element: str | None = None, count: int = 1
) -> tuple[NDArray[np.int64], list[dict[str, int]]]:
    """Every access of every wave: addresses [access, 64] of the first element, and the inputs at which it happens.

    `inputs` are the extents of the variables of `address`; `thread` counts threads (64 to a wave) and each access moves
    `count` consecutive values of `element`.
    """
    for name in (thread, *([element] if element else [])):
        if name not in inputs:
            raise LayoutError(f"there is no input `{name}`; the inputs are {', '.join(inputs)}", name)
    if inputs[thread] % 64:
        raise LayoutError(f"`{thread}` has extent {inputs[thread]}, not a multiple of 64 lanes", thread)
    if element and inputs[element] % count:
        raise LayoutError(f"`{element}` has extent {inputs[element]}, not a multiple of {count} per access", element)
    others = [name for name in inputs if name != thread]
    extents = [inputs[name] // count if name == element else inputs[name] for name in others]
    axes = np.indices((*extents, inputs[thread]), dtype=np.int64, sparse=True)
    env = dict(zip((*others, thread), axes, strict=True))
    if element:
        env[element] = env[element] * count
    table = np.broadcast_to(np.asarray(evaluate(address, env)), (*extents, inputs[thread])).reshape(-1, 64)
    where = []
    for index in np.ndindex(*extents, inputs[thread] // 64):
        point = {name: int(i) * (count if name == element else 1) for name, i in zip(others, index[:-1], strict=True)}
        where.append({**point, "wave": int(index[-1])})
    return table, where


def worst_bank_conflict(accesses: NDArray[np.int64], width: int, phases: Phases) -> tuple[int, BankConflict]:
    """Index of the worst of many wave accesses, and its conflict.  Accesses alike up to 128 bytes are counted once."""
    period = BANKS * BANK_BYTES
    relative = accesses - accesses.min(axis=1, keepdims=True) // period * period
    patterns, first = np.unique(relative, axis=0, return_index=True)
    worst, at = BankConflict(1, 0, 0, ()), 0
    for pattern, index in zip(patterns, first, strict=True):
        found = bank_conflict(pattern, width, phases)
        if found.ways > worst.ways:
            worst, at = found, int(index)
    return at, worst
