"""Code for the last dword of a tensor of narrow elements, where `tails` says it is needed.

The dword at byte `last` = size // 4 * 4 is the only one that may be filled in part, and addresses are multiples of 4.
In the lanes that reach it:

    load      the bytes from size % 4 on are set to zero
    store     left out by the wide store; its size % 4 bytes are stored by one instruction of two bytes, one of one

All of it is arithmetic before or after the access, and costs nothing where sizes are required to be multiples of 4.
"""

from __future__ import annotations

from argus.compile.address import OUT_OF_RANGE, ZERO, buffer_resource
from argus.compile.context import EmitContext
from argus.ir.ops import Access, Tensor
from argus.ir.semantics import DWORD, extent_bytes
from argus.layout import expr as E
from argus.layout.expr import Expr


def _tensor(access: Access) -> Tensor:
    assert isinstance(access.memory, Tensor)
    return access.memory


def _last(access: Access) -> Expr:
    """The byte at which the last dword starts."""
    return extent_bytes(_tensor(access)) // DWORD * DWORD


def _here(c: EmitContext, access: Access, count: int) -> list[str]:
    """For each dword of the access, whether it is the last one of the tensor."""
    distance = c.indices.value(_last(access) - access.address)
    return [c.function.let(f"icmp eq i32 {distance}, {DWORD * n}") for n in range(count)]


def past_the_end_is_zero(c: EmitContext, access: Access, words: list[str]) -> list[str]:
    """Loaded dwords with what lies past the end of the tensor set to zero."""
    bits = c.indices.value(extent_bytes(_tensor(access)) % DWORD * 8)
    one = c.function.let(f"shl i32 1, {bits}")
    mask = c.function.let(f"add i32 {one}, -1")
    result = []
    for word, last in zip(words, _here(c, access, len(words)), strict=True):
        kept = c.function.let(f"and i32 {word}, {mask}")
        result.append(c.function.let(f"select i1 {last}, i32 {kept}, i32 {word}"))
    return result


def store_last_elements(c: EmitContext, access: Access, words: list[str]) -> None:
    """Store the elements of the last dword, in the lane that holds it."""
    tensor = _tensor(access)
    word, reached = words[0], "false"
    for candidate, last in zip(words, _here(c, access, len(words)), strict=True):
        word = c.function.let(f"select i1 {last}, i32 {candidate}, i32 {word}")
        reached = c.function.let(f"or i1 {reached}, {last}")
    if access.guard is not None:
        reached = c.function.let(f"and i1 {reached}, {c.indices.value(access.guard)}")
    resource = buffer_resource(c, tensor, ZERO, E.TRUE)
    size = extent_bytes(tensor)
    low = _last(access)
    _store(c, resource, 2, word, reached, E.select((size % DWORD).ge(2), low, E.const(OUT_OF_RANGE)))
    if tensor.dtype.bytes == 1:
        shift = c.indices.value((size % DWORD) // 2 * 16)
        byte = c.function.let(f"lshr i32 {word}, {shift}")
        _store(c, resource, 1, byte, reached, E.select((size % 2).eq(1), size - 1, E.const(OUT_OF_RANGE)))


def _store(c: EmitContext, resource: str, width: int, word: str, reached: str, place: Expr) -> None:
    part = c.function.let(f"trunc i32 {word} to i{8 * width}")
    offset = c.function.let(f"select i1 {reached}, i32 {c.indices.value(place)}, i32 {OUT_OF_RANGE}")
    c.function.call(
        "void",
        f"llvm.amdgcn.raw.ptr.buffer.store.i{8 * width}",
        f"i{8 * width} {part}",
        f"ptr addrspace(8) {resource}",
        f"i32 {offset}",
        "i32 0",
        "i32 0",
    )
    c.function.keep_order()
