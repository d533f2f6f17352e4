"""Long loops, shortened: a record in which most iterations of a steady loop are left out, and by how many.

    folded = fold(record)
    folded.record.instructions       -> 7_000      of 24_000: 18 of 64 iterations of every wave are left
    folded.left_out[0]               -> 46         iterations that workgroup 0 lost
    folded.marks[0, 0]               -> (97, 192, ...)   where the iterations of wave 0 that are left begin

A loop of a tile program executes the same instructions again and again. The compute unit is timed on the iterations
that are left; `argus.clock.steady` continues their account by the mean of the later ones, and says how much these
differ among each other. Waves are left with the same number of iterations out, and only if each iteration has as many
barriers in every wave of the workgroup, so that they still meet.

Nothing is left out when the loop is short, when its iterations differ (up to `PERIODS` alternating forms are one
iteration), or when it comes back to lines of memory that it read long before, which the remaining iterations would
not show.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from argus.clock.caches import LINE
from argus.machine.record import GLOBAL, ExecutionRecord, WaveRecord

KEPT = 18
LEAST_LEFT_OUT = 6
PERIODS = 4
STREAM_TOLERANCE = 0.1

Key = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Loop:
    """`count` equal iterations of `length` instructions from position `first` on, each with `barriers` barriers."""

    first: int
    length: int
    count: int
    barriers: int

    def left_out(self, count: int) -> slice:
        """Positions of the iterations that go when `count` of them do."""
        start = self.first + KEPT * self.length
        return slice(start, start + count * self.length)

    @property
    def marks(self) -> tuple[int, ...]:
        return tuple(self.first + self.length * number for number in range(KEPT + 1))


@dataclass(frozen=True, slots=True)
class Folded:
    """A shortened record; `full` holds the instructions each wave really executed."""

    record: ExecutionRecord
    full: Mapping[Key, int]
    left_out: Mapping[int, int]
    marks: Mapping[Key, tuple[int, ...]]

    def stretch(self, workgroup: int) -> float:
        """How much longer the workgroup's first wave really is."""
        return self.full[workgroup, 0] / max(1, len(self.record.waves[workgroup, 0].pc))


def whole(record: ExecutionRecord) -> Folded:
    """The record as it is."""
    return Folded(record, {key: len(wave.pc) for key, wave in record.waves.items()}, {}, {})


def fold(record: ExecutionRecord, together: Iterable[int] = (), counted: Container[int] = ()) -> Folded:
    """Shortens every workgroup; those that run `together` on one compute unit by the same number of iterations.

    counted   pcs of instructions whose every execution counts: loops with them stay whole
    """
    groups: dict[int, dict[Key, WaveRecord]] = defaultdict(dict)
    for key, wave in record.waves.items():
        groups[key[0]][key] = wave
    known: dict[bytes, Loop | None] = {}
    loops = {number: _common(waves, known, counted) for number, waves in groups.items()}
    counts = {number: min(loop.count for loop in found.values()) - KEPT for number, found in loops.items() if found}
    unit = [number for number in together if number in groups]
    shared = min((counts.get(number, 0) for number in unit), default=0)
    counts.update(dict.fromkeys(unit, shared))
    left_out = {number: count for number, count in counts.items() if count >= LEAST_LEFT_OUT}
    waves = dict(record.waves)
    marks = {}
    for number, count in left_out.items():
        for key, loop in loops[number].items():
            waves[key] = _cut(waves[key], loop.left_out(count))
            marks[key] = loop.marks
    full = {key: len(wave.pc) for key, wave in record.waves.items()}
    return Folded(replace(record, waves=waves), full, left_out, marks)


def merged(parts: Iterable[Folded]) -> Folded:
    """Several shortened records of one launch as one."""
    found = list(parts)
    waves: dict[Key, WaveRecord] = {}
    full: dict[Key, int] = {}
    left_out: dict[int, int] = {}
    marks: dict[Key, tuple[int, ...]] = {}
    for part in found:
        waves.update(part.record.waves)
        full.update(part.full)
        left_out.update(part.left_out)
        marks.update(part.marks)
    return Folded(replace(found[0].record, waves=dict(sorted(waves.items()))), full, left_out, marks)


def _common(
    waves: Mapping[Key, WaveRecord], known: dict[bytes, Loop | None], counted: Container[int]
) -> dict[Key, Loop]:
    """The loop of every wave of a workgroup, or nothing when one has none or they would not meet at barriers."""
    found = {}
    for key, wave in waves.items():
        code = wave.pc.tobytes()
        if code not in known:
            known[code] = _longest_loop(wave, counted)
        loop = known[code]
        if loop is None:
            return {}
        found[key] = loop
    key, loop = next(iter(found.items()))
    same = len({loop.barriers for loop in found.values()}) == 1
    return found if same and _streams(waves[key], loop) else {}


def _longest_loop(wave: WaveRecord, counted: Container[int]) -> Loop | None:
    """The loop whose iterations beyond those kept are most instructions."""
    pc = wave.pc
    heads, visits = np.unique(pc[1:][np.diff(pc) < 0], return_counts=True)
    best: tuple[int, Loop] | None = None
    for head in heads[visits >= KEPT + LEAST_LEFT_OUT - 1].tolist():
        starts = np.flatnonzero(pc == head)
        bodies = [pc[a:b].tobytes() for a, b in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True)]
        for period in range(1, PERIODS + 1):
            begin, run = _longest_run([a == b for a, b in zip(bodies, bodies[period:], strict=False)])
            count = (run + period) // period
            first, length = int(starts[begin]), int(starts[begin + period] - starts[begin]) if run else 0
            gain = (count - KEPT) * length
            better = run and count >= KEPT + LEAST_LEFT_OUT and (best is None or gain > best[0])
            if better and not any(place in counted for place in pc[first : first + length].tolist()):
                inside = (wave.barriers >= first) & (wave.barriers < first + length)
                best = gain, Loop(first, length, count, int(inside.sum()))
    return best[1] if best else None


def _longest_run(flags: list[bool]) -> tuple[int, int]:
    """Start and length of the longest run of true."""
    best, begin, length = (0, 0), 0, 0
    for at, flag in enumerate(flags):
        length = length + 1 if flag else 0
        begin = at + 1 if not flag else begin
        if length > best[1]:
            best = begin, length
    return best


def _streams(wave: WaveRecord, loop: Loop) -> bool:
    """Whether the loop's reach in memory grows evenly, as far as the first lane of each access shows."""
    rows = (wave.space == GLOBAL) & (wave.addr_index >= loop.first)
    rows &= wave.addr_index < loop.first + loop.count * loop.length
    iteration = (wave.addr_index[rows] - loop.first) // loop.length
    lines = wave.addr[rows, 0] // np.uint64(LINE)
    half, kept, all_of = (_distinct(lines[iteration < end]) for end in (KEPT // 2, KEPT, loop.count))
    expected = kept + (kept - half) * (loop.count - KEPT) / (KEPT - KEPT // 2)
    return abs(all_of - expected) <= STREAM_TOLERANCE * expected + 1


def _distinct(values: npt.NDArray[np.uint64]) -> int:
    return len(np.unique(values))


def _cut(wave: WaveRecord, gone: slice) -> WaveRecord:
    """The wave without the positions `gone`."""
    missing = gone.stop - gone.start

    def kept(index: npt.NDArray[np.int32]) -> npt.NDArray[np.bool_]:
        outside: npt.NDArray[np.bool_] = (index < gone.start) | (index >= gone.stop)
        return outside

    def moved(index: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
        return np.where(index >= gone.stop, index - missing, index).astype(np.int32)

    rows, barriers = kept(wave.addr_index), kept(wave.barriers)
    return WaveRecord(
        pc=np.concatenate([wave.pc[: gone.start], wave.pc[gone.stop :]]),
        exec=np.concatenate([wave.exec[: gone.start], wave.exec[gone.stop :]]),
        addr=wave.addr[rows],
        addr_index=moved(wave.addr_index[rows]),
        bytes=wave.bytes[rows],
        space=wave.space[rows],
        barriers=moved(wave.barriers[barriers]),
    )
