"""A launch at which object and kernel differ: sizes, workgroup, iteration and thread, the smallest that a search finds.

    K=64 M=128 N=128, block (0, 0, 0), thread 1: the object reads byte 16 of `A`, the kernel byte 0

The formulas of both sides are evaluated as numbers, for every thread, over a few hundred small launches that the kernel
accepts: that shares nothing with the normal form. Only what the hardware would do counts: two offsets that are both out
of range are the same. A formula over a register that is not followed has no value, and gives no witness.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice, product

import numpy as np

from argus.ir.kernel import Kernel
from argus.ir.semantics import multiples
from argus.layout import expr as E
from argus.machine.symbolic.evaluation import Evaluation, Unassigned
from argus.machine.symbolic.sums import Atom, Rows, WordSum
from argus.machine.symbolic.words import Words

NOTHING = -1
"""Where no byte is touched."""
LAUNCHES = 240
FEWER = 12
"""Launches tried for one question; and where a few questions of the kernel have found nothing."""
Both = Callable[[Evaluation], tuple[np.ndarray, np.ndarray]]
"""What object and kernel do, one row of numbers per thread."""


@dataclass(frozen=True, slots=True)
class Turns:
    """A loop of the object: from `low` to below `high` by `step`."""

    header: int
    low: WordSum
    high: WordSum
    step: int


@dataclass(frozen=True, slots=True)
class Witness:
    sizes: Mapping[str, int]
    block: tuple[int, int, int]
    iterations: tuple[int, ...]
    thread: int
    have: int
    want: int

    def __str__(self) -> str:
        shown = " ".join(f"{name}={value}" for name, value in self.sizes.items())
        turns = f", iteration {' '.join(map(str, self.iterations))}" if self.iterations else ""
        return f"{shown + ', ' if shown else ''}block {self.block}{turns}, thread {self.thread}"


def sizes_of(kernel: Kernel) -> Iterator[dict[str, int]]:
    """Sizes that the kernel takes, small ones first."""
    units = multiples(kernel.requires)
    choices = []
    for symbol in kernel.shapes:
        unit = units.get(symbol, 1)
        least = -(-max(symbol.lo or 1, 1) // unit) * unit
        found = [least, least + unit, least + 3 * unit]
        if symbol.name in kernel.example:
            found.append(kernel.example[symbol.name])
        most = symbol.hi
        choices.append([n for n in dict.fromkeys(found) if most is None or n <= most])
    names = [symbol.name for symbol in kernel.shapes]
    equal = [(c.args[0].name, c.args[1]) for c in kernel.requires if c.op == "eq" and c.args[0].op == "var"]
    for row in islice(sorted(product(*choices), key=sum), 4 * LAUNCHES):
        sizes = dict(zip(names, row, strict=True))
        for name, value in equal:
            sizes[name] = int(E.evaluate(value, sizes))
        if all(E.evaluate(c, sizes) for c in kernel.requires):
            yield sizes


def launches(kernel: Kernel, space: Words, turns: list[Turns], symbols: frozenset[Atom]) -> Iterator[
    tuple[dict[str, int], tuple[int, int, int], tuple[int, ...], dict[Atom, int | Rows]]
]:  # fmt: skip
    """Launches with the values of all symbols: (sizes, block, iterations, values)."""
    for sizes in sizes_of(kernel):
        grid = [int(E.evaluate(extent, sizes)) for extent in kernel.grid]
        if min(grid) < 1:
            continue
        places = [sorted({0, min(1, n - 1), n - 1}) for n in grid]
        for block in product(*places):
            values: dict[Atom, int | Rows] = {}
            for number, atom in enumerate(sorted(symbols, key=lambda a: a.number)):
                match atom.op:
                    case "size":
                        values[atom] = sizes[str(atom.args[0])]
                    case "block":
                        values[atom] = block["xyz".index(str(atom.args[0])[-1])]
                    case "pointer" | "arguments":
                        values[atom] = number + 1 << 36
                    case "argument":
                        values[atom] = 0
                    case "loaded":
                        values[atom] = min(atom.lo + number % 3, atom.hi)
            yield from _with_turns(space, turns, sizes, block, values, symbols)


def _with_turns(
    space: Words, turns: list[Turns], sizes: dict[str, int], block: tuple[int, ...], values: dict[Atom, int | Rows],
    symbols: frozenset[Atom],
) -> Iterator[tuple[dict[str, int], tuple[int, int, int], tuple[int, ...], dict[Atom, int | Rows]]]:  # fmt: skip
    x, y, z = block
    atoms = {a.args[0]: a for a in symbols if a.op == "iteration"}
    used = [t for t in turns if t.header in atoms]
    if not used:
        yield sizes, (x, y, z), (), values
        return
    ranges: list[list[int]] = []
    for turn in used:
        try:
            ends = [int(Evaluation(space, values).rows(word)[0]) for word in (turn.low, turn.high)]
        except Unassigned:
            return
        low, high = (n - (1 << 32) if n >> 31 else n for n in ends)
        count = -(-(high - low) // turn.step)
        if count < 1:
            return
        ranges.append(sorted({0, min(1, count - 1), count - 1}))
    for picked in product(*ranges):
        chosen = {atoms[t.header]: n for t, n in zip(used, picked, strict=True)}
        yield sizes, (x, y, z), picked, {**values, **chosen}


def symbols_of(words: list[WordSum]) -> frozenset[Atom]:
    """Atoms without word arguments below these words."""
    found: set[Atom] = set()
    seen: set[WordSum] = set()
    work = list(words)
    while work:
        word = work.pop()
        if word in seen:
            continue
        seen.add(word)
        for atom in word.atoms:
            inner = [arg for arg in atom.args if isinstance(arg, WordSum)]
            if inner:
                work += inner
            else:
                found.add(atom)
    return frozenset(found)


def search(
    kernel: Kernel, space: Words, turns: list[Turns], words: list[WordSum], both: Both, most: int = LAUNCHES
) -> Witness | None:
    """The first of `most` launches at which the two differ."""
    symbols = symbols_of([*words, *(w for t in turns for w in (t.low, t.high))])
    for sizes, block, picked, values in islice(launches(kernel, space, turns, symbols), most):
        try:
            have, want = both(Evaluation(space, values))
        except Unassigned:
            return None
        wrong = np.flatnonzero((have != want).any(axis=1))
        if len(wrong):
            thread = int(wrong[0])
            return Witness(sizes, block, picked, thread, int(have[thread, 0]), int(want[thread, 0]))
    return None
