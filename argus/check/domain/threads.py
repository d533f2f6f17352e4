"""The finite part of an index expression: its value for every (wave, lane), apart from what is the same for all.

    thread = wave*64 + lane
    spread(block_y*128 + thread//8)   ->   offsets[wave, lane] = thread//8,   rest = block_y*128
    spread((block_x + lane) % N)      ->   one rest per thread, because lane and N are entangled

`rests` is a single expression when the thread part separates, else an array of expressions; both are exact.
Symbols that stand for loaded data differ from thread to thread and are replaced by what each thread loaded.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from argus.check.domain.records import without_constant
from argus.layout import expr as E
from argus.layout.expr import Expr

PerThread = NDArray[Any]


@dataclass(frozen=True, slots=True, eq=False)
class Spread:
    """value[w, l] = offsets[w, l] + rest (or rests[w, l] where the thread part does not separate)."""

    offsets: NDArray[np.int64]
    rest: Expr | None
    rests: PerThread | None = None

    def at(self, wave: int, lane: int) -> Expr:
        """The symbolic part in one thread."""
        if self.rest is not None:
            return self.rest
        assert self.rests is not None
        rest = self.rests[wave, lane]
        assert isinstance(rest, Expr)
        return rest

    def constant(self) -> NDArray[np.int64] | None:
        """The value itself, when nothing symbolic remains."""
        if self.rest is not None and self.rest.op == "const":
            return self.offsets + self.rest.value
        if self.rests is not None and all(r.op == "const" for r in self.rests.flat):
            values = np.array([r.value for r in self.rests.flat], dtype=np.int64)
            return self.offsets + values.reshape(self.offsets.shape)
        return None


class Threads:
    """All threads of one workgroup."""

    def __init__(self, waves: int) -> None:
        self.waves = waves
        self.shape = (waves, 64)
        self._env = {
            "lane": np.broadcast_to(np.arange(64, dtype=np.int64), self.shape),
            "wave": np.broadcast_to(np.arange(waves, dtype=np.int64)[:, None], self.shape),
        }
        self._memo: dict[Expr, Spread] = {}
        self.symbols: dict[Expr, PerThread] = {}
        self.defined = 0
        """How often a symbol was given a meaning."""

    def define(self, symbol: Expr, per_thread: PerThread) -> None:
        """`symbol` stands for data; give what it is in each thread."""
        self.symbols[symbol] = per_thread
        self.defined += 1
        self._memo = {e: s for e, s in self._memo.items() if symbol not in e.free()}

    def spread(self, e: Expr) -> Spread:
        found = self._memo.get(e)
        if found is None:
            found = self._memo[e] = self._compute(e)
        return found

    def _compute(self, e: Expr) -> Spread:
        own = [v for v in e.free() if v.name in self._env]
        varying = [v for v in e.free() if v in self.symbols]
        if not varying:
            if e.boolean:
                separate = None if own and len(own) < len(e.free()) else (e, E.const(0))
                if not own:
                    return Spread(np.zeros(self.shape, dtype=np.int64), e)
            else:
                separate = E.split(e, own)
            if separate is not None:
                part, rest = separate
                values = np.broadcast_to(np.asarray(E.evaluate(part, self._env), dtype=np.int64), self.shape)
                return Spread(values, rest)
        return self._enumerate(e, own, varying)

    def _enumerate(self, e: Expr, own: list[Expr], varying: list[Expr]) -> Spread:
        offsets = np.zeros(self.shape, dtype=np.int64)
        rests = np.empty(self.shape, dtype=object)
        known: dict[tuple[int | Expr, ...], tuple[int, Expr]] = {}
        for w in range(self.waves):
            for lane in range(64):
                mapping: dict[Expr, Expr | int] = {v: int(self._env[v.name][w, lane]) for v in own}
                mapping |= {v: self.symbols[v][w, lane] for v in varying}
                key = tuple(mapping.values())
                if key not in known:
                    known[key] = _without_constant(e.subst(mapping))
                offsets[w, lane], rests[w, lane] = known[key]
        first = rests[0, 0]
        if all(r is first for r in rests.flat):
            return Spread(offsets, first)
        return Spread(offsets, None, rests)


def _without_constant(e: Expr) -> tuple[int, Expr]:
    return (0, e) if e.boolean else without_constant(e)


@dataclass(frozen=True, slots=True, eq=False)
class JointCondition:
    """Conditions that hold together, each in every thread."""

    parts: tuple[Spread, ...]

    def at(self, wave: int, lane: int) -> Expr:
        """What they say in one thread."""
        return E.land(*(_truth(part, wave, lane) for part in self.parts))


def joint(threads: Threads, e: Expr) -> JointCondition:
    """A condition by its parts, which many accesses share."""
    return JointCondition(tuple(threads.spread(part) for part in (e.args if e.op == "land" else (e,))))


def _truth(spread: Spread, wave: int, lane: int) -> Expr:
    rest = spread.at(wave, lane)
    return rest if rest.boolean else E.as_expr(bool(spread.offsets[wave, lane] + rest.value))


def conditions(threads: Threads, e: Expr) -> tuple[NDArray[np.bool_] | None, Expr | None]:
    """(truth per thread, None), or (None, the condition) when all threads share it, else (None, None)."""
    if e.op == "land":
        found = [conditions(threads, part) for part in e.args]
        truths = [truth for truth, _ in found if truth is not None]
        if all(truth.all() for truth in truths) and len(truths) < len(found):
            shared = [part for truth, part in found if truth is None and part is not None]
            return None, E.land(*shared) if len(shared) + len(truths) == len(found) else None
    spread = threads.spread(e)
    if spread.rests is not None:
        if all(r.op == "const" for r in spread.rests.flat):
            return np.array([bool(r.value) for r in spread.rests.flat]).reshape(threads.shape), None
        return None, None
    if spread.rest is not None and spread.rest.op == "const":
        return (spread.offsets + spread.rest.value) != 0, None
    return None, spread.rest
