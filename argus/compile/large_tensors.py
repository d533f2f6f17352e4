"""Launches with tensors of 2 GiB and more: whether 32 bits hold at these sizes what they have to hold.

    obstacle(kernel, {"M": 4096, "N": 393216})     None, or the number that may not fit, in words

Proofs speak of every size a launch may have. Where a number must fit 32 bits they use that tensors are smaller than
2**31 bytes. A larger tensor is reached through the base of its buffer, which every workgroup moves in 64 bits
(`argus.compile.address`); what is left to 32 bits is

    - the offset of a lane from that base. The buffer holds at most 2**31 bytes from its base on, so what the lane
      touches must end there: an element of the tensor is then in range, and one outside of it is not
    - numbers that are compared, divided, counted to or used as data (`argus.ir.semantics.arithmetic`)

Both are shown for the sizes of the launch, by the bounds of blocks, lanes, loops and data that these sizes give. What
they do not show is refused; a workgroup whose own part of a tensor spans more than 2 GiB is an example, and so is a
place looked up in a large table. Two things that the compiler makes with 32 bits of the tensor's size are refused for
large tensors: pairs of bf16 that are updated, and last dwords that a tensor fills only in part.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from argus.compile.facts import Facts
from argus.compile.tails import Tail, tail_of
from argus.ir.kernel import BLOCK_X, BLOCK_Y, BLOCK_Z, Kernel
from argus.ir.ops import Access, For, Op, Tensor
from argus.ir.semantics import LEAST, MAX_BYTES, MOST_BYTES, Need, extent_bytes, size_bounds, varying
from argus.ir.semantics.addresses import split_access
from argus.ir.semantics.fitting_numbers import watched_numbers
from argus.ir.semantics.parts import global_access, visits
from argus.layout import expr as E
from argus.layout.expr import Expr, evaluate


def obstacle(kernel: Kernel, sizes: Mapping[str, int]) -> str | None:
    """Why a launch of these sizes is not known to fit 32 bits; None if it is, or if every tensor is below 2 GiB."""
    extents = {t: int(evaluate(extent_bytes(t), dict(sizes))) for t in kernel.tensors}
    large = {t: count for t, count in extents.items() if count >= MAX_BYTES}
    if not large:
        return None
    return _Sizes(kernel, sizes).obstacle(large)


class _Sizes:
    """The kernel at the sizes of a launch: every variable with the bounds it has there."""

    def __init__(self, kernel: Kernel, sizes: Mapping[str, int]) -> None:
        self.kernel = kernel
        self.per_lane = varying(kernel)
        self.known: dict[Expr, Expr] = {symbol: E.const(sizes[symbol.name]) for symbol in kernel.shapes}
        for symbol, most in size_bounds(kernel).items():
            if symbol not in self.known:
                self.known[symbol] = E.var(symbol.name, symbol.lo, int(evaluate(most, dict(sizes))))
        for block, extent in zip((BLOCK_X, BLOCK_Y, BLOCK_Z), kernel.grid, strict=True):
            self.known[block] = E.var(block.name, 0, max(0, int(evaluate(extent, dict(sizes))) - 1))

    def obstacle(self, large: Mapping[Tensor, int]) -> str | None:
        for tensor, count in large.items():
            if count >= MOST_BYTES:
                return f"{tensor.name} has {count} bytes; addresses reach {MOST_BYTES}"
        watched = watched_numbers(self.kernel)
        for op, loops in visits(self.kernel.body):
            here = self._around(loops)
            for need, _ in watched.get(op.id, ()):
                if not replace(need, number=need.number.subst(here)).plain:
                    return f"`{need.number}` may not fit 32 bits at these sizes"
            access = global_access(op)
            if access is not None and access.memory in large:
                found = self._far(op, access, loops, here)
                if found is not None:
                    return found
        return None

    def _around(self, loops: tuple[For, ...]) -> dict[Expr, Expr]:
        """What is known inside these loops."""
        here = dict(self.known)
        for loop in loops:
            first, last = loop.lo.subst(here).lo, (loop.hi - 1).subst(here).hi
            if first is not None and last is not None:
                here[loop.var] = E.var(loop.var.name, first, max(first, last))
        return here

    def _far(self, op: Op, access: Access, loops: tuple[For, ...], here: Mapping[Expr, Expr]) -> str | None:
        tensor = access.memory
        assert isinstance(tensor, Tensor)
        facts = Facts(self.kernel)
        for loop in loops:
            facts.enter(loop.var, loop.hi)
        if tensor.dtype.name == "bf16" and any(f.reads and f.writes for f in op.footprints):
            return f"{tensor.name} is updated by pairs of bf16"
        if tail_of(access, facts) is Tail.ROUNDED:
            return f"the last dword of {tensor.name} may be filled in part"
        wrapping = _not_wide(extent_bytes(tensor), here) or _not_wide(access.address, here)
        if wrapping is not None:
            return f"`{wrapping}` may not fit 32 bits at these sizes"
        parts = split_access(access, self.per_lane, (loop.var.name for loop in loops))
        offset = parts.offset + parts.moving if facts.in_bounds(access) else parts.offset
        far = Need(offset.subst(dict(here)), LEAST, MAX_BYTES - access.count * tensor.dtype.bytes)
        if far.plain:
            return None
        return f"a workgroup may reach {MAX_BYTES} bytes and more from where its part of {tensor.name} begins"


def _not_wide(e: Expr, here: Mapping[Expr, Expr]) -> Expr | None:
    """A part of a sum of products that is computed in 32 bits before it is extended, and may not fit them."""
    if e.op in ("add", "mul"):
        return next((found for arg in e.args if (found := _not_wide(arg, here)) is not None), None)
    return None if e.op == "const" or Need(e.subst(dict(here))).plain else e
