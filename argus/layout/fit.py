"""From a table of values back to digits: which mixed-radix strided map, if any, is this?

A function f on a box of axes is *strided* when

    f(x) = f(0) + sum over axes a, digits i of  stride[a,i] * (x_a // weight[a,i] % extent[a,i])

    values   0 1 2 3 | 16 17 18 19 | 32 33 34 35          one axis of extent 12
    digits   (3, stride 16), (4, stride 1)                slowest first

`fit` finds the digits or says which axes do not allow them.  It is exact, not a heuristic: neighbouring digits with
stride[i] == extent[i+1] * stride[i+1] are the same as one longer digit, so every strided map has a form in which the
fastest digit of an axis is exactly as long as the first straight run of values.  That fixes the digit, and the argument
repeats on every extent-th value.  If the run does not divide what is left, no digits exist.

Values may be vectors (last array axis): a stride then has one component per channel, and all channels share the digits.

What it cannot do: exclusive-or maps are not strided; `linear_forms` handles those that are linear over bits.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from argus.layout import gf2

Table = NDArray[np.int64]

MAX_FACTORISATIONS = 32
LINEAR_WORK = 1 << 22


@dataclass(frozen=True)
class Strided:
    """Value at the origin and, per axis, digits (extent, stride per channel), slowest first."""

    origin: tuple[int, ...]
    digits: tuple[tuple[tuple[int, tuple[int, ...]], ...], ...]


@dataclass(frozen=True)
class Misfit:
    """Why a table is not strided: the axes involved (positions) and a point where it shows."""

    axes: tuple[int, ...]
    point: tuple[int, ...]


def fit(values: Table) -> Strided | Misfit:
    """Digits of the table `values[x1, ..., xn, channel]`."""
    shape = values.shape[:-1]
    origin = values[(0,) * len(shape)]
    lines = [_line(values, axis) - origin for axis in range(len(shape))]
    total = np.broadcast_to(origin, values.shape).astype(np.int64)
    for axis, line in enumerate(lines):
        total = total + line.reshape([-1 if i == axis else 1 for i in range(len(shape))] + [values.shape[-1]])
    wrong = (total != values).any(axis=-1)
    if wrong.any():
        point = tuple(int(i) for i in np.argwhere(wrong)[0])
        return Misfit(_entangled(values, lines, point), point)
    digits = []
    for axis, line in enumerate(lines):
        found = _axis_digits(line)
        if isinstance(found, int):
            return Misfit((axis,), tuple(found if i == axis else 0 for i in range(len(shape))))
        digits.append(found)
    return Strided(tuple(int(v) for v in origin), tuple(digits))


def _line(values: Table, axis: int) -> Table:
    index = tuple(slice(None) if i == axis else 0 for i in range(values.ndim - 1))
    return values[index]


def _entangled(values: Table, lines: Sequence[Table], point: tuple[int, ...]) -> tuple[int, ...]:
    """Two axes whose joint effect is not the sum of their single effects."""
    origin = values[(0,) * len(point)]
    moved = [axis for axis, x in enumerate(point) if x]
    for i, a in enumerate(moved):
        for b in moved[i + 1 :]:
            corner = tuple(x if axis in (a, b) else 0 for axis, x in enumerate(point))
            if (values[corner] != origin + lines[a][point[a]] + lines[b][point[b]]).any():
                return a, b
    return tuple(moved[:2])


def _axis_digits(line: Table) -> tuple[tuple[int, tuple[int, ...]], ...] | int:
    """Digits of one axis, slowest first; or the coordinate where the straight run ends without dividing the rest."""
    digits: list[tuple[int, tuple[int, ...]]] = []
    weight = 1
    while len(line) > 1:
        stride = line[1]
        straight = (line == np.arange(len(line))[:, None] * stride).all(axis=1)
        run = len(line) if straight.all() else int(np.argmin(straight))
        if len(line) % run:
            return run * weight
        blocks = line.reshape(len(line) // run, run, -1)
        if not (blocks - blocks[:, :1] == (np.arange(run)[:, None] * stride)[None]).all():
            return run * weight
        digits.append((run, tuple(int(s) for s in stride)))
        line = line[::run]
        weight *= run
    return tuple(reversed(digits))


def linear_columns(values: Table) -> list[list[int]] | None:
    """Per axis, the images of its bits when the table is linear over bits; else None."""
    if int(values.flat[0]) != 0 or int(values.min()) < 0:
        return None
    columns: list[list[int]] = []
    predicted = np.zeros(values.shape, dtype=np.int64)
    for axis, extent in enumerate(values.shape):
        images = []
        for bit in range((extent - 1).bit_length()):
            image = int(values[tuple(1 << bit if i == axis else 0 for i in range(values.ndim))])
            predicted = predicted ^ (_bit_of(values.shape, axis, bit) * image)
            images.append(image)
        columns.append(images)
    return columns if bool((predicted == values).all()) else None


def linear_forms(values: Table) -> Iterator[tuple[Table, tuple[int, ...]]]:
    """For a table linear over bits: pairs (table, columns of X) with values == X(table) everywhere.

    The bits are those of mixed-radix digits; factorisations of the extents are tried, the coarsest first.  Columns must
    be zero or independent.  Each gets a place for its input bit and X moves that place to the column: first a place at
    a bit of the column itself (which keeps X close to the identity), then places next to each other (which digits that
    are not powers of two need).
    """
    budget = max(1, LINEAR_WORK // values.size)
    radices = itertools.product(*(_factorisations(n) for n in values.shape))
    for radix in itertools.islice(radices, budget):
        digits = values.reshape([extent for axis in radix for extent in axis])
        columns = linear_columns(digits)
        if columns is None:
            continue
        images = [image for axis in columns for image in axis]
        nonzero = [image for image in images if image]
        if gf2.rank(nonzero) < len(nonzero):
            continue
        pivots = _pivots(nonzero)
        size = max((image.bit_length() for image in nonzero), default=0)
        for places in (pivots, {image: place for place, image in enumerate(nonzero)}):
            table = np.zeros(digits.shape, dtype=np.int64)
            for axis, axis_images in enumerate(columns):
                for bit, image in enumerate(axis_images):
                    if image:
                        table = table + (_bit_of(digits.shape, axis, bit) << places[image])
            yield table.reshape(values.shape), _matrix(places, pivots, size)


def _matrix(places: Mapping[int, int], pivots: Mapping[int, int], size: int) -> tuple[int, ...]:
    """Columns of X: each place goes to its column, the other places to the bits that are nobody's pivot."""
    free = iter(bit for bit in range(size) if bit not in pivots.values())
    taken = {place: image for image, place in places.items()}
    return tuple(taken[bit] if bit in taken else 1 << next(free) for bit in range(size))


@lru_cache(maxsize=256)
def _factorisations(n: int) -> tuple[tuple[int, ...], ...]:
    """Ordered factorisations of n into factors above 1 (at most MAX_FACTORISATIONS), fewest factors first."""
    found: list[tuple[int, ...]] = [(n,)]
    for known in found:
        if len(found) >= MAX_FACTORISATIONS:
            break
        last = known[-1]
        splits = [(*known[:-1], f, last // f) for f in range(2, int(last**0.5) + 1) if last % f == 0]
        splits += [(*known[:-1], last // f, f) for f in range(2, int(last**0.5) + 1) if last % f == 0]
        found.extend(split for split in splits if split not in found)
    return tuple(found[:MAX_FACTORISATIONS])


def _bit_of(shape: tuple[int, ...], axis: int, bit: int) -> Table:
    line = (np.arange(shape[axis], dtype=np.int64) >> bit) & 1
    return line.reshape([-1 if i == axis else 1 for i in range(len(shape))])


def _pivots(columns: Sequence[int]) -> dict[int, int]:
    """A bit for each independent column such that the columns, seen on these bits only, stay independent."""
    reduced: dict[int, int] = {}
    chosen: dict[int, int] = {}
    for column in sorted(columns):
        vector = column
        while vector.bit_length() - 1 in reduced:
            vector ^= reduced[vector.bit_length() - 1]
        lead = vector.bit_length() - 1
        reduced[lead] = vector
        chosen[column] = lead
    return chosen
