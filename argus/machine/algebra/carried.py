"""A register or a word on its way through an instruction: bits, and the id of a value for every byte.

    CarriedRow(bits, ids)       bits (lanes,) of 32 or 64 bits; ids (lanes, bytes), or None where all are literals

It behaves like the NumPy row that the interpreter's closures expect (indexing, shifts, masks, `np.where`,
`np.copyto`), so that one closure executes an instruction on plain registers or on carried ones. Bits are computed by
NumPy; ids follow by bytes:

    and    a literal byte 0 gives a literal 0, a literal mask keeps the other's id
    or     a literal byte 0 gives the other's id
    shifts by whole bytes move ids
    other integer operations: the one id among all operands, everywhere; of several, none is followed

Whether a byte's bits still *are* its value is asked when they are read as a float (`float_reading`), so sequences of
integer instructions that round (f32 to bf16) need no rule of their own. What NumPy would do in silence without ids
(`np.array`) raises here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from argus.machine.algebra.value_table import LITERAL, Ids, ValueTable

Row = Any
_U8 = np.uint8
_BYTE = 8


class CarriedRow:
    """See the module. `home`: the table, and the cause of what is lost now."""

    __slots__ = ("bits", "home", "ids")
    __array_ufunc__ = None

    def __init__(self, bits: Row, ids: Ids | None, home: Home) -> None:
        self.bits, self.ids, self.home = bits, ids, home

    # -- what NumPy rows offer -----------------------------------------------------------------------------------

    @property
    def dtype(self) -> Any:
        return self.bits.dtype

    def __getitem__(self, index: Any) -> Row:
        return self.home.row(self.bits[index], None if self.ids is None else self.ids[index])

    def __setitem__(self, index: Any, value: Row) -> None:
        raise TypeError("a carried word is not written in place")

    def __len__(self) -> int:
        return len(self.bits)

    def __array__(self, *unused: Any, **none: Any) -> Any:
        raise TypeError("the ids of a carried row would be lost")

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if function not in _FUNCTIONS:
            raise TypeError(f"{function.__name__} is not defined for carried rows")
        return _FUNCTIONS[function](self.home, *args, **kwargs)

    def copy(self) -> Row:
        return self.home.row(self.bits.copy(), None if self.ids is None else self.ids.copy())

    def astype(self, dtype: Any) -> Row:
        made = self.bits.astype(dtype)
        return self.home.row(made, None if self.ids is None else _resized(self.ids, made.dtype.itemsize))

    def view(self, dtype: Any) -> Row:
        """The same bits, signed or unsigned."""
        if np.dtype(dtype).kind not in "iu" or np.dtype(dtype).itemsize != self.dtype.itemsize:
            raise TypeError("a carried row has no such view")
        return self.home.row(self.bits.view(dtype), self.ids)

    def __and__(self, other: Row) -> Row:
        return self.home.and_(self, other)

    def __or__(self, other: Row) -> Row:
        return self.home.or_(self, other)

    def __xor__(self, other: Row) -> Row:
        return self.home.xor(self, other)

    def __lshift__(self, other: Row) -> Row:
        return self.home.shifted(self, other, left=True)

    def __rshift__(self, other: Row) -> Row:
        return self.home.shifted(self, other, left=False)

    def __add__(self, other: Row) -> Row:
        return self.home.sum_of(self, other)

    def __sub__(self, other: Row) -> Row:
        return self.home.mixed(np.subtract, self, other)

    def __mul__(self, other: Row) -> Row:
        return self.home.mixed(np.multiply, self, other)

    def __invert__(self) -> Row:
        return self.home.row(~self.bits, self.ids)

    __rand__, __ror__, __rxor__ = __and__, __or__, __xor__
    __radd__ = __add__


class RegisterRow(CarriedRow):
    """The lanes of a register in place: reading gives words, writing writes bits and ids."""

    __slots__ = ()

    def __init__(self, bits: Row, home: Home) -> None:
        super().__init__(bits, None, home)

    def __setitem__(self, index: Any, value: Row) -> None:
        bits, ids = bits_of(value), ids_of(value)
        self.bits[index] = bits
        self._own()
        if ids is not None:
            if self.ids is None:
                self.ids = np.zeros((len(self.bits), self.bits.itemsize), np.uint32)
            self.ids[index] = ids
        elif self.ids is not None:
            self.ids[index] = LITERAL

    def keep(self, ids: Ids | None, where: Any) -> None:
        """New ids where it is said, for bits that are written already."""
        self._own()
        if ids is None:
            if self.ids is not None:
                self.ids[where] = LITERAL
            return
        if self.ids is None:
            self.ids = np.zeros((len(self.bits), self.bits.itemsize), np.uint32)
        self.ids[where] = ids

    def share(self, ids: Ids) -> None:
        """The same ids, not writeable, as other registers have; a copy is made when they change."""
        self.ids = ids

    def _own(self) -> None:
        if self.ids is not None and not self.ids.flags.writeable:
            self.ids = self.ids.copy()

    def settle(self) -> None:
        """Forget ids that are all literals."""
        if self.ids is not None and not self.ids.any():
            self.ids = None


def bits_of(x: Row) -> Row:
    return x.bits if isinstance(x, CarriedRow) else x


def ids_of(x: Row) -> Ids | None:
    return x.ids if isinstance(x, CarriedRow) else None


def _resized(ids: Ids, size: int) -> Ids:
    """Ids of the low bytes, or with literals above."""
    if size <= ids.shape[-1]:
        return ids[..., :size]
    return np.concatenate([ids, np.zeros((*ids.shape[:-1], size - ids.shape[-1]), np.uint32)], axis=-1)


def _bytes(bits: Row, lanes: int, size: int) -> NDArray[np.uint8]:
    """(lanes, bytes) of a row or a constant."""
    row = np.broadcast_to(bits, (lanes,))
    return np.ascontiguousarray(row).view(_U8).reshape(lanes, size)


class Home:
    """The rules by which ids follow integer operations. Results without ids are plain NumPy."""

    def __init__(self, table: ValueTable) -> None:
        self.table = table
        self.cause: object = ""

    def row(self, bits: Row, ids: Ids | None) -> Row:
        return bits if ids is None else CarriedRow(bits, ids, self)

    def lost(self) -> int:
        """The id of what is lost at the present instruction."""
        return self.table.lost(self.cause)

    def _pair(self, a: Row, b: Row, lanes: int, size: int) -> tuple[Ids, Ids]:
        none = np.zeros((1, size), np.uint32)
        x, y = ids_of(a), ids_of(b)
        shape = (lanes, size)
        return np.broadcast_to(none if x is None else x, shape), np.broadcast_to(none if y is None else y, shape)

    def _one_of(self, x: Ids, y: Ids) -> Ids:
        """Per byte the id that one of them has; lost if both have different ones."""
        made = np.maximum(x, y)
        conflict = (x != y) & (x != LITERAL) & (y != LITERAL)
        if conflict.any():
            kept = np.where(self.table.is_lost(x), x, np.where(self.table.is_lost(y), y, np.uint32(self.lost())))
            made = np.where(conflict, kept, made)
        return made

    def _bytewise(self, bits: Row, a: Row, b: Row, ones: bool, zeros: bool) -> Row:
        """`ones`, `zeros`: whether a literal byte of all ones, of zeros makes the result's byte a literal. Where zeros
        do not, a byte 0 leaves the other as it is, whatever its own id."""
        if ids_of(a) is None and ids_of(b) is None:
            return bits
        lanes, size = len(bits), bits.itemsize
        x, y = self._pair(a, b, lanes, size)
        p, q = _bytes(bits_of(a), lanes, size), _bytes(bits_of(b), lanes, size)
        if not zeros:
            both = (x != LITERAL) & (y != LITERAL) & (x != y)
            x, y = np.where(both & (p == 0), y, x), np.where(both & (p != 0) & (q == 0), x, y)
        made = self._one_of(x, y)
        for absorbing, value in ((ones, 0xFF), (zeros, 0)):
            if absorbing:
                literal = ((x == LITERAL) & (p == value)) | ((y == LITERAL) & (q == value))
                made = np.where(literal, np.uint32(LITERAL), made)
        return self.row(bits, made)

    def and_(self, a: Row, b: Row) -> Row:
        return self._bytewise(bits_of(a) & bits_of(b), a, b, ones=False, zeros=True)

    def or_(self, a: Row, b: Row) -> Row:
        return self._bytewise(bits_of(a) | bits_of(b), a, b, ones=True, zeros=False)

    def xor(self, a: Row, b: Row) -> Row:
        return self._bytewise(bits_of(a) ^ bits_of(b), a, b, ones=False, zeros=False)

    def sum_of(self, a: Row, b: Row) -> Row:
        """A sum in which no byte has two parts is an `or`."""
        bits = bits_of(a) + bits_of(b)
        if ids_of(a) is None and ids_of(b) is None:
            return bits
        lanes, size = len(bits), bits.itemsize
        p, q = _bytes(bits_of(a), lanes, size), _bytes(bits_of(b), lanes, size)
        if not ((p != 0) & (q != 0)).any():
            return self._bytewise(bits, a, b, ones=False, zeros=False)
        return self._spread(bits, a, b)

    def mixed(self, operation: Callable[..., Row], *operands: Row) -> Row:
        """An integer operation all of whose bits may depend on all bits of its operands."""
        return self._spread(operation(*map(bits_of, operands)), *operands)

    def _spread(self, bits: Row, *operands: Row) -> Row:
        known = [ids for ids in map(ids_of, operands) if ids is not None]
        if not known:
            return bits
        made = np.zeros(len(bits), np.uint32)
        for ids in known:
            for byte in range(ids.shape[-1]):
                made = self._one_of(made, np.broadcast_to(ids[..., byte], made.shape))
        return self.row(bits, np.repeat(made[:, None], bits.itemsize, axis=1))

    def shifted(self, a: Row, by: Row, *, left: bool) -> Row:
        """Shifts by whole bytes move ids; signed rows repeat their last byte."""
        n = bits_of(by)
        bits = bits_of(a) << n if left else bits_of(a) >> n
        ids = ids_of(a)
        if ids is None and ids_of(by) is None:
            return bits
        if ids is None or ids_of(by) is not None or (np.asarray(n) % _BYTE).any():
            return self._spread(bits, a, by)
        size = bits.itemsize
        steps = np.broadcast_to(np.asarray(n, np.int64) // _BYTE, (len(bits),))[:, None]
        source = np.arange(size)[None] + (-steps if left else steps)
        signed = bits.dtype.kind == "i"
        outside = (source < 0) | ((source >= size) & (not signed))
        moved = np.take_along_axis(ids, np.clip(source, 0, size - 1), axis=1)
        return self.row(bits, np.where(outside, np.uint32(LITERAL), moved))

    def where(self, mask: Any, a: Row, b: Row) -> Row:
        bits: Row = np.where(mask, bits_of(a), bits_of(b))
        if ids_of(a) is None and ids_of(b) is None:
            return bits
        x, y = self._pair(a, b, len(bits), bits.itemsize)
        return self.row(bits, np.where(np.asarray(mask)[..., None], x, y))


def _where(home: Home, mask: Any, a: Row, b: Row) -> Row:
    return home.where(mask, a, b)


def _copyto(home: Home, target: Row, source: Row, where: Any = True) -> None:
    lanes = np.broadcast_to(where, (len(target),))
    value = _broadcast_to(home, source, (len(target),))
    target[lanes] = value[lanes]


def _broadcast_to(home: Home, x: Row, shape: tuple[int, ...]) -> Row:
    ids = ids_of(x)
    bits = np.broadcast_to(bits_of(x), shape)
    return home.row(bits, None if ids is None else np.broadcast_to(ids, (*shape, ids.shape[-1])))


_FUNCTIONS: dict[Any, Callable[..., Any]] = {
    np.where: _where,
    np.copyto: _copyto,
    np.broadcast_to: _broadcast_to,
}
