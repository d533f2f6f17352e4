"""Memory of one workgroup with delayed visibility: tokens, byte-wise shadow state, hazards, provenance.

An access is *issued* by its wave, and *retires* when the wave waits for it. In between it is outstanding: a token in
one of the wave's two queues (`lgkm` for LDS, `vm` for global memory and direct-to-LDS copies), which retire in order.
When the effect happens is the schedule's choice: at issue (`early`) or as late as it may (`late`, at retirement).

Order between waves comes from barriers alone, and a barrier orders only what has retired:

    access e of wave X  happens before  access f of wave Y   iff   e retired before a barrier that Y passed before f

With n barriers passed at e's retirement and m at f's issue this is `n < m`. Accesses of one wave are ordered as issued,
unless they stand in different arms of one branch that splits the wave. Every byte remembers the token of its last
write and of the last read of each wave, so two accesses to one byte, one of them a write, that are not so ordered are
found as a `race` whatever interleaving is executed.

Provenance: each byte also remembers which tensor element was put there, and by whom (op, thread).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from argus.ir.ops import Op

Counter = Literal["vm", "lgkm"]
NEVER = 1 << 30
PAGE_BITS = 16
SPARSE = 1 << 30
"""A memory of more bytes is followed by the pages that are touched."""

COMPUTED = -1
ZERO = -2
UNWRITTEN = -3
MIXED = -4
"""Provenance codes below 0; from 0 on a code is tensor number * 2**40 + element index."""
TENSOR_SHIFT = 40


@dataclass(frozen=True, slots=True)
class Hazard:
    """Something the order of waves or the time of a wait decides, or that has no meaning. `kind`: race, overlap,
    unwaited, barrier, range, wraps, stated, unwritten (only with provenance)."""

    kind: str
    memory: str
    byte: int
    first: tuple[int, int]
    second: tuple[int, int]
    """(op id, wave) of the two accesses; the same twice where one is to blame alone."""
    sentence: str = ""


@dataclass(slots=True, eq=False)
class Token:
    """One outstanding access. `issued` and `retired` count the barriers the wave had passed by then; `arms` are the
    branches that split the wave around it: (a number of this execution of the branch, which arm)."""

    counter: Counter
    wave: int
    op: Op
    issued: int
    effect: Callable[[], None] | None = None
    retired: int = NEVER
    arrived: bool = False
    """Its registers are filled."""
    arms: tuple[tuple[int, bool], ...] = ()

    def take_effect(self) -> None:
        """What it does happens now, once."""
        if self.effect is not None:
            self.effect()
        self.effect, self.arrived = None, True

    def beside(self, other: Token) -> bool:
        """The two stand in different arms of one execution of a branch."""
        mine = dict(self.arms)
        return any(mine.get(branch, arm) != arm for branch, arm in other.arms)


@dataclass(slots=True)
class WaitCounters:
    """The two wait counters of one wave."""

    vm: list[Token] = field(default_factory=list)
    lgkm: list[Token] = field(default_factory=list)

    def of(self, counter: Counter) -> list[Token]:
        return self.vm if counter == "vm" else self.lgkm

    def retire(self, counter: Counter, leave: int, barriers: int) -> None:
        """Retire, oldest first, until at most `leave` are outstanding."""
        queue = self.of(counter)
        while len(queue) > leave:
            token = queue.pop(0)
            token.take_effect()
            token.retired = barriers

    def arrive(self, counter: Counter, leave: int) -> None:
        """Fill the registers of all but the youngest `leave`. Nothing retires: the code may wait for them later."""
        queue = self.of(counter)
        end = max(0, len(queue) - leave)
        first = end
        while first > 0 and not queue[first - 1].arrived:  # those before have arrived: they do so in order
            first -= 1
        for token in queue[first:end]:
            token.take_effect()

    def arrive_through(self, token: Token) -> None:
        queue = self.of(token.counter)
        self.arrive(token.counter, len(queue) - queue.index(token) - 1)


class SparseZeros:
    """Whole numbers by place, zero at first; only pages that were written to exist. For memories of many GiB."""

    def __init__(self) -> None:
        self.pages: dict[int, NDArray[np.int32]] = {}

    def _parts(self, where: NDArray[np.int64]) -> Iterator[tuple[int, NDArray[np.bool_], NDArray[np.int64]]]:
        for page in np.unique(where >> PAGE_BITS).tolist():
            mine = where >> PAGE_BITS == page
            yield page, mine, where[mine] & ((1 << PAGE_BITS) - 1)

    def __getitem__(self, where: NDArray[np.int64]) -> NDArray[np.int32]:
        found = np.zeros(where.shape, np.int32)
        for page, mine, inside in self._parts(where):
            if page in self.pages:
                found[mine] = self.pages[page][inside]
        return found

    def __setitem__(self, where: NDArray[np.int64], value: int) -> None:
        for page, _, inside in self._parts(where):
            self.pages.setdefault(page, np.zeros(1 << PAGE_BITS, np.int32))[inside] = value


def _zeros(size: int) -> NDArray[np.int32] | SparseZeros:
    return np.zeros(size, np.int32) if size <= SPARSE else SparseZeros()


class Shadow:
    """Who touched each byte of one memory last, as the number of the token and one; finds accesses that no barrier
    orders."""

    def __init__(self, name: str, size: int, waves: int, tokens: list[Token], hazards: list[Hazard]) -> None:
        self.name = name
        self.tokens = tokens
        self.hazards = hazards
        self.write = _zeros(size)
        self.reads = [_zeros(size) for _ in range(waves)]

    def access(self, token: Token, number: int, where: NDArray[np.int64], is_write: bool, alone: bool = True) -> None:
        """`where` are the bytes touched; `alone` says the access does not commute with itself (it is no atomic)."""
        others = [self.write] if alone or not is_write else []
        if is_write:
            others += self.reads
        for shadow in others:
            for seen in np.unique(shadow[where]):
                if seen > 0:
                    self._compare(self.tokens[seen - 1], token, where, shadow, int(seen))
        (self.write if is_write else self.reads[token.wave])[where] = number + 1

    def _compare(self, before: Token, now: Token, where: NDArray[np.int64], shadow: Any, seen: int) -> None:
        if before.wave == now.wave:
            unordered = (before.counter != now.counter and before.retired == NEVER) or before.beside(now)
        else:
            unordered = before.retired >= now.issued
        if unordered:
            byte = int(where[shadow[where] == seen][0])
            self.hazards.append(Hazard("race", self.name, byte, (before.op.id, before.wave), (now.op.id, now.wave)))


class Bytes:
    """A byte-addressed memory with provenance: `code` of the tensor element each byte belongs to, which byte of it,
    and the (op, thread) that put it there."""

    def __init__(self, data: NDArray[np.uint8], track: bool) -> None:
        self.data = data
        self.track = track
        size = len(data) if track else 0
        self.code = np.full(size, UNWRITTEN, dtype=np.int64)
        self.part = np.zeros(size, dtype=np.int8)
        self.writer_op = np.full(size, -1, dtype=np.int32)
        self.writer_thread = np.full(size, -1, dtype=np.int32)

    def put(
        self, where: NDArray[np.int64], raw: NDArray[np.uint8], codes: NDArray[np.int64], op: int, threads: Any
    ) -> None:
        """`where`, `raw`: [n, bytes] of n elements; `codes`, `threads`: [n]."""
        self.data[where] = raw
        if self.track:
            self.code[where] = codes[:, None]
            self.part[where] = np.arange(where.shape[1])[None, :]
            self.writer_op[where] = op
            self.writer_thread[where] = np.asarray(threads)[:, None]

    def provenance(self, where: NDArray[np.int64]) -> NDArray[np.int64]:
        """One code per element: MIXED unless its bytes are the bytes of one element in order."""
        codes = self.code[where]
        uniform = (codes == codes[:, :1]).all(axis=1)
        ordered = (self.part[where] == np.arange(where.shape[1])).all(axis=1)
        return np.where(uniform & (ordered | (codes[:, 0] < 0)), codes[:, 0], MIXED)
