"""Addresses: which part of a buffer address is computed in 64 bits, and how far the rest may reach.

    y[512*b + lane*K]       base      2048*b, the same for all lanes: 64 bits, taken off the buffer's size
                            offset    4*lane*K, per lane: 32 bits, compared with what is left of the size

The offset is right modulo 2**32. A buffer has at most 2**31 bytes from its base on, so from -2**31 to below 2**32 an
offset that is outside of the tensor is outside for the hardware as well. Beyond that it would come back to the start: a
row past the last one of a wide matrix is such an offset. `reach` lists what must hold of the sizes at a launch so that
no lane's offset gets there; launches refuse sizes that break it. `base_limits` does the same for bases and 64 bits.

An offset that may be negative has no base: the hardware compares it before the base is added. Padding makes such
offsets, in images of any size; but there the guard compares the coordinate with 0, axis by axis:

    x[n, 4*b + lane - 1]    base      4*n*W, of an axis whose own offset is never negative
    where 0 <= 4*b+lane-1   offset    4*(4*b + lane - 1), the whole of an axis that the guard keeps from being negative

Where the guard holds, a sum over axes is then not negative. Where it does not hold, nothing is accessed, whatever the
offset is. The coordinates must add up to the address, and the guard must have the very comparison as one of its parts.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import reduce

from argus.ir.kernel import BLOCK_X, BLOCK_Y, BLOCK_Z, Kernel
from argus.ir.ops import Access, Tensor
from argus.ir.semantics.arithmetic import LEAST
from argus.ir.semantics.parts import global_access, named_data, visits
from argus.layout import expr as E
from argus.layout.expr import Expr

ZERO = E.const(0)
LIMIT = 2**32
WORD = E.const(2**31)
FARTHEST = 2**62
_THREAD = frozenset({"lane", "wave"})
_BLOCKS = frozenset({"block_x", "block_y", "block_z"})


@dataclass(frozen=True, slots=True)
class BufferParts:
    """A buffer address as base + offset; `base` is uniform over a wave and not negative, and 0 where the offset may be
    negative while the guard holds."""

    base: Expr
    offset: Expr

    @property
    def plain(self) -> bool:
        """The offset stays in reach by the bounds of its variables."""
        low, high = self.offset.lo, self.offset.hi
        return low is not None and high is not None and low >= LEAST and high < LIMIT - 16


def varying(kernel: Kernel) -> frozenset[str]:
    """Names of variables that differ between the lanes of a wave."""
    return frozenset({"lane", *(op.symbol.name for op in named_data(kernel))})


@dataclass(frozen=True, slots=True)
class AddressSplit:
    """An address as block + moving + rest + constant; block and moving are uniform over a wave and not negative."""

    block: Expr
    moving: Expr
    rest: Expr
    constant: int
    guarded: bool = False
    """The offset is not negative where the guard holds; elsewhere it may be."""

    @property
    def offset(self) -> Expr:
        """The part of each lane."""
        return self.rest + self.constant


def split_address(address: Expr, per_lane: Collection[str], loops: Iterable[str]) -> AddressSplit:
    """Uniform terms that cannot be negative: those with loop variables, and of the others those with blocks."""
    inner = set(loops)
    block, moving, rest = ZERO, ZERO, ZERO
    terms, constant = E.linear(address)
    for atom, factor in terms.items():
        term = atom * factor
        names = {v.name for v in atom.free()}
        if not names.isdisjoint(per_lane) or _least(term) < 0:
            rest = rest + term
        elif names & inner:
            moving = moving + term
        elif names & _BLOCKS:
            block = block + term
        else:
            rest = rest + term
    return AddressSplit(block, moving, rest, constant)


def split_access(access: Access, per_lane: Collection[str], loops: Iterable[str]) -> AddressSplit:
    """The address of an access to a tensor taken apart: as a whole, or by axes where its offset may be negative; with
    nothing in the base where it still may be."""
    inner = frozenset(loops)
    whole = split_address(access.address, per_lane, inner)
    if _least(whole.offset) >= 0:
        return whole
    parts = _split_by_axes(access, per_lane, inner)
    return AddressSplit(ZERO, ZERO, access.address - whole.constant, whole.constant) if parts is None else parts


def _split_by_axes(access: Access, per_lane: Collection[str], loops: frozenset[str]) -> AddressSplit | None:
    """Uniform terms of the axes whose own offset is never negative; the other axes stay whole, and the guard says that
    their coordinates are not negative. None where it does not, or where nothing is left for the base."""
    tensor, guard = access.memory, access.guard
    if not isinstance(tensor, Tensor) or guard is None or len(access.coords) != len(tensor.strides):
        return None
    known = frozenset(guard.args if guard.op == "land" else (guard,))
    block, moving, rest, left = ZERO, ZERO, ZERO, access.address
    for coordinate, stride in zip(access.coords, tensor.strides, strict=True):
        term = coordinate * stride * tensor.dtype.bytes
        parts = split_address(term, per_lane, loops)
        left = left - term
        if _least(parts.offset) >= 0:
            block, moving, rest = block + parts.block, moving + parts.moving, rest + parts.offset
        elif _least(stride) >= 0 and coordinate.ge(0) in known:
            rest = rest + term
        else:
            return None
    if left.op != "const" or left.value < 0 or (block is ZERO and moving is ZERO):
        return None
    constant = E.linear(rest + left)[1]
    return AddressSplit(block, moving, rest + left - constant, constant, guarded=True)


def buffer_parts(access: Access, per_lane: frozenset[str], loops: Iterable[str]) -> BufferParts:
    """The address taken apart: uniform terms in blocks and loops that cannot be negative are the base."""
    parts = split_access(access, per_lane, loops)
    return BufferParts(parts.block + parts.moving, parts.offset)


def _least(e: Expr) -> int:
    return -1 if e.lo is None else e.lo


def size_bounds(kernel: Kernel) -> dict[Expr, Expr]:
    """For sizes, and for data whose author says so (`expert <= E - 1`), an expression over sizes they never exceed."""
    found: dict[Expr, Expr] = {size: size for size in kernel.shapes}
    stated = [op for op in named_data(kernel) if (op.symbol.lo or 0) >= 0]
    for _ in stated:  # one may be bounded by another
        for op in stated:
            for fact in op.facts:
                if fact.op == "le" and fact.args[0] is op.symbol and op.symbol not in found:
                    most = ceiling(fact.args[1], found)
                    if most is not None:
                        found[fact.args[0]] = most
    return found


def ceiling(e: Expr, known: Mapping[Expr, Expr]) -> Expr | None:
    """An expression over sizes that e never exceeds, whatever lane and wave are; None where more than these matters."""
    if any(v not in known and v.name not in _THREAD for v in e.free()):
        return None
    terms, constant = E.linear(e)
    total: Expr = E.const(constant)
    for atom, factor in terms.items():
        most = _most(atom, known) if factor > 0 else atom.lo
        if most is None:
            return None
        total = total + E.as_expr(most) * factor
    return total


def _most(atom: Expr, known: Mapping[Expr, Expr]) -> Expr | int | None:
    if atom in known:
        return known[atom]
    if atom.op == "mul" and all(arg.lo is not None and arg.lo >= 0 for arg in atom.args):
        product: Expr = E.const(1)
        for arg in atom.args:
            most = _most(arg, known)
            if most is None:
                return None
            product = product * most
        return product
    if atom.op == "add":
        return ceiling(atom, known)
    if atom.op == "floordiv" and atom.args[1].op == "const" and atom.args[1].value > 0:
        most = ceiling(atom.args[0], known)
        return None if most is None else most // atom.args[1]
    if atom.op in ("min", "max"):
        ends = [end for end in (ceiling(arg, known) for arg in atom.args) if end is not None]
        if atom.op == "min" and ends:
            return reduce(E.minimum, ends)
        return reduce(E.maximum, ends) if len(ends) == len(atom.args) else None
    return atom.hi


def reached(access: Access, parts: BufferParts, known: Mapping[Expr, Expr]) -> Expr | None:
    """An expression over sizes that bounds the end of the access's bytes, where it is to be checked at a launch; None
    where there is none to say."""
    most = ceiling(parts.offset, known)
    if most is None or parts.offset.lo is None or parts.offset.lo < LEAST:
        return None
    return most + access.count * access.memory.dtype.bytes


def reach(kernel: Kernel) -> tuple[Expr, ...]:
    """Conditions on the sizes that every launch is checked for, beside `requires` and extents."""
    known, per_lane = size_bounds(kernel), varying(kernel)
    found: list[Expr] = []
    for op, loops in visits(kernel.body):
        access = global_access(op)
        if access is None:
            continue
        parts = buffer_parts(access, per_lane, (loop.var.name for loop in loops))
        end = None if parts.plain else reached(access, parts, known)
        if end is not None:
            found.append(end)
    ends = [end for end in dict.fromkeys(found) if not any(_follows(end, other) for other in found if other is not end)]
    return tuple(condition for end in ends if (condition := end.le(LIMIT)) is not E.TRUE)


def base_limits(kernel: Kernel) -> tuple[Expr, ...]:
    """Conditions on the sizes that every launch is checked for: no base of a buffer beyond 2**62 bytes. A block far
    past the end has such a base, where nothing remains of the tensor; modulo 2**64 it would come back."""
    known, per_lane = size_bounds(kernel), varying(kernel)
    blocks = {block: extent - 1 for block, extent in zip((BLOCK_X, BLOCK_Y, BLOCK_Z), kernel.grid, strict=True)}
    found: list[Expr] = []
    for op, loops in visits(kernel.body):
        access = global_access(op)
        if access is None:
            continue
        base = buffer_parts(access, per_lane, (loop.var.name for loop in loops)).base
        if base is ZERO:
            continue
        here = {**known, **blocks}
        for loop in loops:
            last = ceiling(loop.hi - 1, here)
            here[loop.var] = WORD if last is None else last
        found.append(_farthest(base, here))
    ends = [end for end in dict.fromkeys(found) if not any(_follows(end, other) for other in found if other is not end)]
    return tuple(condition for end in ends if (condition := end.le(FARTHEST)) is not E.TRUE)


def _farthest(e: Expr, known: Mapping[Expr, Expr]) -> Expr:
    """What a sum of products never exceeds; what is neither sum nor product is a number of 32 bits."""
    terms, constant = E.linear(e)
    total: Expr = E.const(max(constant, 0))
    for atom, factor in terms.items():
        total = total + _largest(atom, known) * abs(factor)
    return total


def _largest(atom: Expr, known: Mapping[Expr, Expr]) -> Expr:
    if atom.lo is not None and atom.lo >= 0:
        most = _most(atom, known)
        if most is not None:
            return E.as_expr(most)
    if atom.op == "mul":
        return reduce(lambda a, b: a * b, (_farthest(arg, known) for arg in atom.args))
    return _farthest(atom, known) if atom.op == "add" else WORD


def _follows(end: Expr, other: Expr) -> bool:
    """`end` is never above `other`: sizes are not negative."""
    terms, constant = E.linear(end)
    more, larger = E.linear(other)
    return constant <= larger and all(factor <= more.get(atom, 0) for atom, factor in terms.items())
