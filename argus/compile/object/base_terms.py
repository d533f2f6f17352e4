"""Which terms of an access's address may be in the base of its resource, for the re-check of objects.

    X[n, g, c, 4*b + row - 1, col - 1]      as a whole      none: the register could be negative without its guard
                                            by axes         those of n, g and c; the guard compares the other two with 0

Terms in block or loop variables that are the same for all lanes and never negative, of the whole address: then what is
left for the register must not be negative. If it may be, axis by axis: an axis whose own rest is not negative gives its
terms; any other axis stays in the register whole, and the guard must compare its coordinate with 0. The coordinates and
strides must add up to the address. This is written apart from `argus.ir.semantics.addresses`, which the compiler uses.
"""

from __future__ import annotations

from dataclasses import dataclass

from argus.compile.object.intended import AccessPart
from argus.ir import ops
from argus.layout import expr as E
from argus.layout.expr import Expr

ZERO = E.const(0)
_BLOCKS = frozenset({"block_x", "block_y", "block_z"})


@dataclass(frozen=True, slots=True)
class BaseTerms:
    """What may be in the base; `by_axes`: the rest may be negative, but only where the guard does not hold."""

    block: Expr
    moving: Expr
    by_axes: bool = False

    @property
    def all(self) -> Expr:
        return self.block + self.moving


def never_negative(e: Expr) -> bool:
    return e.lo is not None and e.lo >= 0


def base_terms(part: AccessPart, uniform: frozenset[str], loops: frozenset[str]) -> BaseTerms:
    """`uniform`: variables that are equal for all lanes; `loops`: those of the loops around."""
    whole = _uniform_terms(part.address, uniform, loops)
    if never_negative(part.address - whole.all):
        return whole
    return _terms_by_axes(part, uniform, loops) or whole


def _uniform_terms(e: Expr, uniform: frozenset[str], loops: frozenset[str]) -> BaseTerms:
    block, moving = ZERO, ZERO
    terms, _ = E.linear(e)
    for atom, factor in terms.items():
        term = atom * factor
        names = {v.name for v in atom.free()}
        if not names <= uniform or not never_negative(term):
            continue
        if names & loops:
            moving = moving + term
        elif names & _BLOCKS:
            block = block + term
    return BaseTerms(block, moving)


def _terms_by_axes(part: AccessPart, uniform: frozenset[str], loops: frozenset[str]) -> BaseTerms | None:
    tensor, coords = part.access.memory, part.access.coords
    if not isinstance(tensor, ops.Tensor) or len(coords) != len(tensor.strides):
        return None
    tested = part.guard.args if part.guard.op == "land" else (part.guard,)
    block, moving, ahead = ZERO, ZERO, part.address
    for coordinate, stride in zip(coords, tensor.strides, strict=True):
        along = coordinate * stride * tensor.dtype.bytes
        ahead = ahead - along
        found = _uniform_terms(along, uniform, loops)
        if never_negative(along - found.all):
            block, moving = block + found.block, moving + found.moving
        elif not never_negative(stride) or not any(test is coordinate.ge(0) for test in tested):
            return None
    if ahead.op != "const" or ahead.value < 0 or block + moving is ZERO:
        return None
    return BaseTerms(block, moving, by_axes=True)
