"""A set of elements as boxes: products of positions, which a specification is evaluated at one by one.

    boxes(np.array([[0, 6], [0, 7], [1, 0], [1, 1], [2, 0], [2, 1]]))      {0} x {6, 7} and {1, 2} x {0, 1}

A workgroup that runs over the ends of rows writes no box. The set is split by its first axis; places whose rest is the
same are one box, so boxes are disjoint and together the set.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

Places = npt.NDArray[np.int64]
Box = tuple[Places, ...]
"""Positions along every axis, in order."""


def boxes(elements: Places) -> list[Box]:
    """`elements`: coordinates, a row each, in any order; one that is there twice counts once."""
    if not len(elements) or elements.shape[1] == 0:
        return list(_boxes(elements[:1])) if len(elements) else []
    shape = tuple(elements.max(axis=0) + 1)
    flat = np.unique(np.ravel_multi_index(tuple(elements.T), shape))
    return list(_boxes(np.stack(np.unravel_index(flat, shape), axis=-1).astype(np.int64)))


def _boxes(elements: Places) -> Iterator[Box]:
    """Of rows that are in order and different."""
    if elements.shape[1] == 0:
        yield ()
        return
    starts = np.flatnonzero(np.diff(elements[:, 0], prepend=elements[0, 0] - 1))
    parts: dict[bytes, tuple[list[int], Places]] = {}
    for rows in np.split(elements, starts[1:]):
        rest = np.ascontiguousarray(rows[:, 1:])
        parts.setdefault(rest.tobytes(), ([], rest))[0].append(int(rows[0, 0]))
    for places, rest in parts.values():
        for box in _boxes(rest):
            yield (np.array(places, np.int64), *box)


def elements_of(box: Box) -> Places:
    """The coordinates of a box's elements, a row each, in order."""
    grid = np.meshgrid(*box, indexing="ij") if box else []
    return np.stack([axis.reshape(-1) for axis in grid], axis=-1) if grid else np.zeros((1, 0), np.int64)
