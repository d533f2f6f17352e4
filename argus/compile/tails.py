"""Accesses of narrow elements at the end of a tensor: which need more than the buffer's range check.

An access touches exactly its elements that lie in the tensor (`argus.ir.semantics`). The hardware checks a buffer's
range per dword, and what it does with a dword that lies in it only in part is told in two ways. So

    y[512*b].store(v, width=16)     bf16, N = 255: 510 bytes. The dword at byte 508 holds y[254] and two bytes that are
                                    not the tensor's

is made so that no instruction depends on it:

    WHOLE      no such dword: the access is inside, or address and size are multiples of 4 (of 2 where nothing wider
               than 2 bytes is accessed), or nothing is wider than an element
    ROUNDED    the address is a multiple of 4, and so is every width. A load is given a size rounded up, and elements
               past the end become zero; a store is given a size rounded down, and the elements of the last dword are
               stored one by one (up to two more instructions)
    ELEMENTS   the address may be any multiple of the element, or two bytes are accessed at once: one instruction per
               element, each wholly in or out

Atomics on pairs and direct copies to LDS can do neither: where such a dword may be met they are refused (C105).
"""

from __future__ import annotations

from enum import Enum

from argus.compile.facts import Facts
from argus.ir.kernel import Kernel
from argus.ir.ops import Access, Tensor
from argus.ir.semantics import DWORD, alignment, extent_bytes
from argus.ir.semantics.parts import global_access, visits

WIDTHS = (16, 12, 8, 4, 2, 1)


class Tail(Enum):
    """How an access treats a dword that the tensor fills only in part."""

    WHOLE = "whole"
    ROUNDED = "rounded"
    ELEMENTS = "elements"


def pieces(access: Access, tail: Tail = Tail.WHOLE) -> list[tuple[int, int]]:
    """(byte offset, width) of the instructions an access is made of, the last elements of a tensor apart."""
    each = access.memory.dtype.bytes
    size = access.count * each
    if tail is Tail.ELEMENTS:
        return [(start, each) for start in range(0, size, each)]
    result: list[tuple[int, int]] = []
    start = 0
    while start < size:
        left = size - start
        width = next(w for w in WIDTHS if w <= left and (w != 12 or left == 12))
        result.append((start, width))
        start += width
    return result


def single_stores(access: Access, tail: Tail) -> int:
    """Store instructions for the elements of the last dword."""
    wide = sum(width >= DWORD for _, width in pieces(access, tail))
    return wide * (2 if access.memory.dtype.bytes == 1 else 1) if tail is Tail.ROUNDED else 0


def tails(kernel: Kernel) -> dict[int, Tail]:
    """The accesses, by op id, that are not WHOLE."""
    found: dict[int, Tail] = {}
    for op, loops in visits(kernel.body):
        access = global_access(op)
        if access is None or access.memory.dtype.bytes >= DWORD:
            continue
        facts = Facts(kernel)
        for loop in loops:
            facts.enter(loop.var, loop.hi)
        kind = tail_of(access, facts)
        if kind is not Tail.WHOLE:
            found[op.id] = kind
    return found


def tail_of(access: Access, facts: Facts) -> Tail:
    """How this access is to be made, from what is known of sizes."""
    tensor = access.memory
    if not isinstance(tensor, Tensor) or tensor.dtype.bytes >= DWORD:
        return Tail.WHOLE
    wide = [width for _, width in pieces(access) if width > tensor.dtype.bytes]
    if not wide or facts.in_bounds(access):
        return Tail.WHOLE
    unit = min(DWORD, max(wide))
    if alignment(access.address, facts.multiples) < unit:
        return Tail.ELEMENTS
    if alignment(extent_bytes(tensor), facts.multiples) >= unit:
        return Tail.WHOLE
    return Tail.ROUNDED if min(wide) >= DWORD else Tail.ELEMENTS
