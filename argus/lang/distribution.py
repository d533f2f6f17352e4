"""Who holds what: the coordinates of every register element of a tile, as expressions over lane and wave.

    Owner(p=4, t=256, e=8, row="p*32 + t//8", k="t%8*8 + e")       written by the author
    Distribution: digits (p, 4), (e, 8)   axes row, k               element 9 (p=1, e=1): row = 32 + t//8, k = t%8*8 + 1

A thread holds `count` elements, ordered with the last digit fastest. `tile[1]` fixes the first digit, `tile.regs(4, 2)`
takes a run of the last one, a reduction removes axes: each is a new list of elements over the same coordinates, so no
operation ever has to guess where an element came from. Coordinates are worked out one element at a time when asked for.

What it cannot do: coordinates depend on lane, wave and register only; anything else (block, loop) is an offset that
is given where memory is touched.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from argus.gfx942.fragments import Fragment
from argus.ir.kernel import LANE, WAVE, wave_variable
from argus.layout.expr import Expr, const
from argus.layout.owner import Owner

Digits = tuple[tuple[str, int], ...]
Coords = tuple[Expr, ...]


class DistributionForm:
    """Coordinates of the elements 0..count-1 of one thread, computed on demand and remembered."""

    def __init__(self, at: Callable[[int], Coords]) -> None:
        self._at = at
        self._known: dict[int, Coords] = {}

    def at(self, element: int) -> Coords:
        found = self._known.get(element)
        if found is None:
            found = self._known[element] = self._at(element)
        return found


@dataclass(frozen=True, eq=False)
class Distribution:
    """`digits` count the elements a thread holds; `axes` name their coordinates; `inst` is the matrix instruction whose
    operand ("operand") or accumulator ("acc") they form, if any."""

    digits: Digits
    axes: tuple[str, ...]
    form: DistributionForm
    elements: tuple[int, ...]
    inst: str = ""
    role: str = ""

    @property
    def count(self) -> int:
        return len(self.elements)

    def coords(self, i: int) -> dict[str, Expr]:
        """Axis -> coordinate of element i."""
        return dict(zip(self.axes, self.form.at(self.elements[i]), strict=True))

    def same_as(self, other: Distribution) -> bool:
        """Same digits and the same coordinates element by element."""
        if self is other:
            return True
        if self.axes != other.axes or [n for _, n in self.digits] != [n for _, n in other.digits]:
            return False
        if self.form is other.form:
            return self.elements == other.elements
        return all(self.form.at(a) == other.form.at(b) for a, b in zip(self.elements, other.elements, strict=True))

    def fix(self, index: tuple[int, ...]) -> tuple[Distribution, int]:
        """The part with the first digits fixed, and the element it starts at."""
        rest = self.digits[len(index) :]
        size = 1
        for _, extent in rest:
            size *= extent
        start = 0
        for i, (_, extent) in zip(index, self.digits, strict=False):
            start = start * extent + i
        start *= size
        return self.part(rest, tuple(range(start, start + size))), start

    def part(self, digits: Digits, picked: tuple[int, ...]) -> Distribution:
        """Some of the elements, in the given order and under new digits."""
        chosen = tuple(self.elements[i] for i in picked)
        return Distribution(digits, self.axes, self.form, chosen, self.inst, self.role)

    def shifted(self, offsets: Mapping[str, Expr]) -> Distribution:
        """The same elements with their coordinates moved by `offsets`."""
        if not offsets:
            return self
        zero = const(0)
        moves = tuple(offsets.get(a, zero) for a in self.axes)
        base = self.form
        moved = DistributionForm(lambda i: tuple(c + m for c, m in zip(base.at(i), moves, strict=True)))
        return Distribution(self.digits, self.axes, moved, self.elements, self.inst, self.role)

    def without(self, gone: list[str]) -> Distribution:
        """The same elements without some of their coordinates."""
        kept = [i for i, a in enumerate(self.axes) if a not in gone]
        base = self.form
        form = DistributionForm(lambda e: tuple(base.at(e)[i] for i in kept))
        axes = tuple(self.axes[i] for i in kept)
        return Distribution(self.digits, axes, form, self.elements, self.inst, self.role)

    def moved(self, lane: Expr, source: Expr) -> Distribution:
        """The coordinates seen by a lane that holds what `source` held."""
        base = self.form
        form = DistributionForm(lambda e: tuple(c.subst({lane: source}) for c in base.at(e)))
        return Distribution(self.digits, self.axes, form, self.elements, self.inst, self.role)


SCALAR = Distribution((), (), DistributionForm(lambda _: ()), (0,))


def from_owner(owner: Owner | Fragment, waves: int, tiles: Mapping[str, int]) -> Distribution:
    """The distribution of an owner, repeated `tiles[axis]` times along axes (tile digits come first)."""
    thread = {"lane": LANE, "wave": wave_variable(waves), "t": wave_variable(waves) * WAVE + LANE}
    inputs = dict(owner.inputs)
    own = tuple((name, n) for name, n in inputs.items() if name not in thread)
    digits: Digits = (*((axis, n) for axis, n in tiles.items()), *own)
    extents = (owner.owner if isinstance(owner, Fragment) else owner).shape()
    axes = tuple(owner.outputs)
    formulas = tuple(owner.outputs.values())
    variables = {v.name: v for f in formulas for v in f.free()}

    def at(element: int) -> Coords:
        values: list[int] = []
        for _, extent in reversed(digits):
            values.append(element % extent)
            element //= extent
        values.reverse()
        tile = dict(zip(tiles, values, strict=False))
        env: dict[Expr, Expr] = {variables[n]: e for n, e in thread.items() if n in variables}
        for (name, _), value in zip(own, values[len(tiles) :], strict=True):
            if name in variables:
                env[variables[name]] = const(value)
        return tuple(f.subst(env) + extents[a] * tile.get(a, 0) for a, f in zip(axes, formulas, strict=True))

    count = 1
    for _, n in digits:
        count *= n
    inst, role = (owner.inst, owner.role) if isinstance(owner, Fragment) else ("", "")
    return Distribution(digits, axes, DistributionForm(at), tuple(range(count)), inst, role)
