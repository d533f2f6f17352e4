"""The values of one execution, by number. Registers and memory carry numbers of values, one per byte.

    id 0          a literal: the bits are meant as they stand (indices, addresses, constants)
    id of a cause a value that is not followed; one id for each instruction at which a value was lost
    any other     residues (`numbers`), and what the value was in the real run when it was made

An f32 is four bytes with one id, a pair of halves two ids on two bytes each, so data moves by moving ids, in pieces of
any size. Values are never changed; the table grows with every arithmetic instruction.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from argus.machine.algebra.fields import LEVELS
from argus.machine.algebra.numbers import AlgebraNumbers

Ids = NDArray[np.uint32]
LITERAL = 0


class ValueTable:
    """See the module."""

    def __init__(self, capacity: int = 1 << 14) -> None:
        self._residue = np.zeros((LEVELS, capacity), np.uint32)
        self._present = np.zeros(capacity, np.uint8)
        self._taint = np.zeros(capacity, np.uint8)
        self.real = np.zeros(capacity)
        self._count = 1
        self._causes: dict[object, int] = {}
        self._cause_of: dict[int, object] = {}

    def __len__(self) -> int:
        return self._count

    def _room(self, count: int) -> int:
        first, wanted = self._count, self._count + count
        if wanted > len(self.real):
            size = max(wanted, 2 * len(self.real))
            self._residue = np.concatenate(
                [self._residue, np.zeros((LEVELS, size - len(self.real)), np.uint32)], axis=1
            )
            self._present, self._taint = np.resize(self._present, size), np.resize(self._taint, size)
            self.real = np.resize(self.real, size)
        self._count = wanted
        return first

    def enter(self, given: AlgebraNumbers) -> Ids:
        """New ids of a row of numbers."""
        count = len(given.real)
        first = self._room(count)
        end = first + count
        self._residue[:, first:end] = given.residue
        self._present[first:end] = given.present
        self._taint[first:end] = given.taint
        self.real[first:end] = given.real
        return np.arange(first, end, dtype=np.uint32)

    def numbers(self, ids: Ids) -> AlgebraNumbers:
        """What is known of values; literals and lost ones have no field."""
        return AlgebraNumbers(
            self._residue[:, ids].astype(np.uint64), self._present[ids], self._taint[ids], self.real[ids]
        )

    def lost(self, cause: object) -> int:
        """The id of values that are not followed from this cause on, which is printed when it is asked for."""
        if cause not in self._causes:
            at = self._room(1)
            self._present[at] = self._taint[at] = 0
            self.real[at] = np.nan
            self._causes[cause] = at
            self._cause_of[at] = cause
        return self._causes[cause]

    def is_lost(self, ids: Ids) -> NDArray[np.bool_]:
        found: NDArray[np.bool_] = (self._present[ids] == 0) & (ids != LITERAL)
        return found

    def cause(self, value: int) -> str:
        """Why a value is not followed; nothing if it is."""
        return str(self._cause_of.get(value, ""))
