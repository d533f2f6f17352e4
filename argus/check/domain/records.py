"""What the checker says about one register element: records, interned so that arrays of small integers can hold them.

A *record* is the symbolic part of a tag; the finite part (which wave, lane, element) is an array of offsets beside it:

    element 3 of lane 9 holds A[block_y*128 + 1, kt*64 + 11]
        record   Record("element", "A", rests=(M: block_y*128, K: kt*64))      one for all 256 threads
        offsets  (M: 1, K: 11)                                                  one row per element

so coordinates are never multiplied into linear addresses and symbolic sizes cancel by themselves.

Kinds of records

    element     the value of a tensor element; outside the tensor it means zero (guarded loads pad with zeros)
    value       computed; still belongs to the coordinates shown
    plain       computed or constant, belongs to no coordinate
    zero        the number zero: pairs with anything
    unwritten   LDS that nobody wrote
    incoming    what a loop-carried slot or LDS held at the head of the loop (while an invariant is being guessed)
    lost        no longer known; `why` and `op` say where knowledge ended
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from argus.check.domain.record_numbers import distinct
from argus.check.spec.computed_indices import Hints
from argus.check.terms.atoms import UNKNOWN, Reduction
from argus.check.terms.atoms import ZERO as NOTHING
from argus.check.terms.normal_form import Terms
from argus.ir.kernel import Kernel
from argus.ir.ops import Tag, Tensor, walk
from argus.layout.expr import Expr, linear

ABSENT, CONFLICT, REDUCED = -1, -2, -3
Kind = Literal["element", "value", "plain", "zero", "unwritten", "incoming", "lost"]
_FIXED: tuple[Kind, ...] = ("zero", "plain", "unwritten")


@dataclass(frozen=True, slots=True)
class Record:
    """Symbolic part of a tag. `rests[a]` numbers the symbolic part of the coordinate on axis a in `Tables.rests`;
    ABSENT where there is no such coordinate, CONFLICT where different ones were combined, REDUCED where they were
    combined by a sum, maximum or minimum. `statistics` are the axes of such reductions anywhere behind the value.
    `part` is (index, of) for a piece of an element. `term` is what it is worth (`terms`). A plain record can be an
    "index" or a "condition": `expr` of an index expression whose finite part is the first column of the offsets."""

    kind: Kind
    label: str = ""
    rests: tuple[int, ...] = ()
    part: tuple[int, int] = (0, 1)
    statistics: frozenset[int] = frozenset()
    why: str = ""
    op: int = -1
    term: int = UNKNOWN
    expr: Expr | None = None


class Tables:
    """Interned records and rests, and the axes of the kernel, by number."""

    ZERO, PLAIN, UNWRITTEN = 0, 1, 2

    def __init__(self, kernel: Kernel) -> None:
        self.axes: dict[str, int] = {}
        self.tensor_axes: dict[Tensor, tuple[int, ...]] = {}
        for tensor in kernel.tensors:
            numbers = []
            for position, name in enumerate(tensor.axes):
                repeated = tensor.axes[:position].count(name)
                numbers.append(self.axes.setdefault(name + "'" * repeated, len(self.axes)))
            self.tensor_axes[tensor] = tuple(numbers)
        self.tags: dict[Tensor, list[tuple[int, Tag]]] = {}
        for op in walk(kernel.body):
            if isinstance(op, Tag) and isinstance(op.target, Tensor):
                for n, _ in enumerate(op.exprs):
                    axis = self.axes.setdefault(op.name if len(op.exprs) == 1 else f"{op.name}.{n}", len(self.axes))
                    self.tags.setdefault(op.target, []).append((axis, replace(op, exprs=(op.exprs[n],))))
        self.axis_names = list(self.axes)
        self.width = max(1, len(self.axes))
        self.tied: frozenset[int] = frozenset()
        """Axes the specification ties to the output's indices: nothing may be reduced over them."""
        self.hints = Hints()
        """What the specification says about computed indices."""
        self.records: list[Record] = []
        self.rests: list[Expr] = []
        self._numbers: dict[Record, int] = {}
        self._substituted: dict[tuple[object, ...], tuple[int, tuple[int, ...]]] = {}
        self._rest_numbers: dict[Expr, int] = {}
        self._matrix = np.zeros((0, self.width), dtype=np.int32)
        self._term_numbers = np.zeros(0, dtype=np.int64)
        self.terms = Terms()
        self.terms.types = {t.name: t.dtype.name for t in kernel.tensors if t.dtype.kind in ("int", "uint")}
        self.terms.types |= {s.name: s.dtype.name for s in kernel.scalars if s.dtype.kind in ("int", "uint")}
        self.contents: dict[tuple[object, ...], int] = {}
        """Contents of matrix operands, numbered (`matrix_product`)."""
        self.moved: dict[tuple[int, int, int], int | None] = {}
        """Records as seen from another place: by number, axis and distance (`shifted_places`)."""
        self.parted: Callable[[Reduction, int], tuple[int, int | None] | None] | None = None
        """While an invariant is guessed: a term as what arrived in a loop's slot, which is a reduction already, and the
        rest (`guess.marks`). In a proof nothing arrives."""
        self.pairings: dict[tuple[object, ...], object] = {}
        """What pairs of matrix operands say about their product, by their contents (`matrix_product`)."""
        for kind in _FIXED:
            self.intern(Record(kind, rests=self.nowhere, term=NOTHING if kind == "zero" else UNKNOWN))

    @property
    def nowhere(self) -> tuple[int, ...]:
        return (ABSENT,) * self.width

    def intern(self, record: Record) -> int:
        number = self._numbers.get(record)
        if number is None:
            number = self._numbers[record] = len(self.records)
            self.records.append(record)
        return number

    def rest(self, e: Expr) -> int:
        """The number of a symbolic part; it must have no constant term."""
        number = self._rest_numbers.get(e)
        if number is None:
            number = self._rest_numbers[e] = len(self.rests)
            self.rests.append(e)
        return number

    def __getitem__(self, number: int) -> Record:
        return self.records[number]

    def lost(self, why: str, op: int) -> int:
        return self.intern(Record("lost", rests=self.nowhere, why=why, op=op))

    def plain(self, term: int) -> int:
        """A number that belongs to no coordinate."""
        return self.intern(Record("plain", rests=self.nowhere, term=term))

    def rests_of(self, record: NDArray[np.int32]) -> NDArray[np.int32]:
        """Numbers of the rests on every axis, for an array of record numbers."""
        return self._all_rests()[record]

    def rests_along(self, record: NDArray[np.int32], axis: int) -> NDArray[np.int32]:
        """Numbers of the rests on one axis."""
        return self._all_rests()[:, axis][record]

    def _all_rests(self) -> NDArray[np.int32]:
        if len(self._matrix) < len(self.records):
            fresh = [r.rests for r in self.records[len(self._matrix) :]]
            self._matrix = np.concatenate([self._matrix, np.array(fresh, dtype=np.int32)])
        return self._matrix

    def terms_of(self, record: NDArray[np.int32]) -> NDArray[np.int64]:
        """What the elements are worth; UNKNOWN for pieces of elements."""
        if len(self._term_numbers) < len(self.records):
            fresh = [r.term if r.part == (0, 1) else UNKNOWN for r in self.records[len(self._term_numbers) :]]
            self._term_numbers = np.concatenate([self._term_numbers, np.array(fresh, dtype=np.int64)])
        return self._term_numbers[record]

    def kinds(self, record: NDArray[np.int32]) -> set[Kind]:
        return {self.records[n].kind for n in distinct(record)}

    def substituted(self, number: int, mapping: Mapping[Expr, Expr | int]) -> tuple[int, tuple[int, ...]]:
        """The record with variables replaced, and what its offsets grow by (constants leave the rests)."""
        key = (number, *mapping.items())
        if key not in self._substituted:
            self._substituted[key] = self._substitute(number, mapping)
        return self._substituted[key]

    def _substitute(self, number: int, mapping: Mapping[Expr, Expr | int]) -> tuple[int, tuple[int, ...]]:
        record = self.records[number]
        shift = [0] * self.width
        if record.kind == "plain":
            return self._plain_substituted(number, record, mapping), tuple(shift)
        if record.kind not in ("element", "value"):
            return number, tuple(shift)
        rests = list(record.rests)
        for axis, rest in enumerate(record.rests):
            if rest >= 0:
                shift[axis], symbolic = without_constant(self.rests[rest].subst(mapping))
                rests[axis] = self.rest(symbolic)
        term = self.terms.substituted(record.term, mapping)
        return self.intern(replace(record, rests=tuple(rests), term=term)), tuple(shift)

    def _plain_substituted(self, number: int, record: Record, mapping: Mapping[Expr, Expr | int]) -> int:
        term = self.terms.substituted(record.term, mapping)
        expr = None if record.expr is None else record.expr.subst(mapping)
        if term == record.term and expr is record.expr:
            return number
        return self.intern(replace(record, term=term, expr=expr))

    def coordinate(self, number: int, axis: int, offset: int) -> Expr | None:
        """The whole coordinate on an axis, or None."""
        rest = self.records[number].rests[axis]
        return self.rests[rest] + offset if rest >= 0 else None


def without_constant(e: Expr) -> tuple[int, Expr]:
    """(c, e - c) with c the constant term of e."""
    _, constant = linear(e)
    return constant, e - constant
