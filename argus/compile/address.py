"""Byte addresses split over the fields of a memory instruction.

    buffer_load_dwordx4 v[..], VOFFSET, RESOURCE, SOFFSET offen offset:IMMEDIATE

    RESOURCE    the tensor, with the workgroup's part of the address (terms in block_x, block_y, block_z) added to its
                base and taken off its size: scalar, once per kernel. A part that is not known to end inside the tensor
                is computed in 64 bits, so that a block far past the end has nothing left instead of coming back; so is
                every part of a tensor that may have 2**31 bytes and more, and the tensor's own size. A buffer has at
                most 2**31 bytes; what a lane touches ends there (`argus.compile.large_tensors`)
    SOFFSET     the part that changes with a loop and is equal for all lanes: a scalar running sum
    VOFFSET     the rest, per lane: computed before the loop
    IMMEDIATE   the constant, up to 4095; for LDS up to 65535

so a load in a loop costs no vector instruction. A guard that differs between lanes replaces VOFFSET by 2**31 where it
is false: no buffer is larger, so the load gives zeros and the store nothing. A guard all lanes agree on makes the
resource empty instead, which is scalar work.

The range check. The hardware compares VOFFSET + IMMEDIATE with the size; whether SOFFSET takes part is documented both
ways, so SOFFSET is used only where `Facts.in_bounds` shows that nothing is out of range; elsewhere the loop's part goes
into the resource too (four scalar instructions per iteration), which is exact under either reading. Parts that could be
negative on their own stay in VOFFSET, where the whole sum is compared: with all of the address, or with all of those
axes that the guard keeps from being negative (`argus.ir.semantics.addresses`). The size is checked per dword: what that
means for elements narrower than a dword is the matter of `argus.compile.tails`, which asks for sizes rounded up or down
to whole dwords.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, assert_never

from argus.compile.context import EmitContext
from argus.gfx942.memory import BUFFER_WORD3, OFFSET_BITS
from argus.ir.ops import Access, Shared, Tensor
from argus.ir.semantics import DWORD, MAX_BYTES, extent_bytes, may_be_large
from argus.ir.semantics.addresses import split_access
from argus.layout import expr as E
from argus.layout.expr import Expr

OUT_OF_RANGE = -(1 << 31)
MAX_BITS = MAX_BYTES.bit_length() - 1
ZERO = E.const(0)
Dwords = Literal["exact", "up", "down"]
"""How a buffer's size counts a last dword that the tensor fills only in part."""


@dataclass(frozen=True, slots=True)
class BufferAddress:
    """Operands of a buffer instruction; `voffset` includes the immediate as its last addition."""

    resource: str
    voffset: str
    soffset: str


def sized(tensor: Tensor, dwords: Dwords) -> Expr:
    """The size a buffer of the tensor is given."""
    size = extent_bytes(tensor)
    match dwords:
        case "exact":
            return size
        case "up":
            return (size + (DWORD - 1)) // DWORD * DWORD
        case "down":
            return size // DWORD * DWORD
        case _:
            assert_never(dwords)


def buffer_address(c: EmitContext, access: Access, dwords: Dwords = "exact") -> BufferAddress:
    assert isinstance(access.memory, Tensor)
    parts = split_access(access, c.indices.varying, _loop_variables(c))
    block, moving, rest, constant = parts.block, parts.moving, parts.rest, parts.constant
    soffset = ZERO
    inside = c.facts.in_bounds(access)
    if moving is not ZERO and inside:
        soffset = moving
    elif moving is not ZERO:
        block = block + moving
    limit = 1 << OFFSET_BITS["buffer"][0]
    least = _least(parts.offset)
    if least >= 0:
        immediate = min(constant, least) % limit if constant >= 0 else 0
    else:
        immediate = constant % limit if constant >= 0 and not parts.guarded else 0
    voffset = rest + (constant - immediate)  # no more negative than with it: the base is added to it, not to the sum
    switch = E.TRUE
    if access.guard is not None and c.indices.uniform(access.guard):
        switch = access.guard
    elif access.guard is not None:
        voffset = E.select(access.guard, voffset, E.const(OUT_OF_RANGE))
    wide = may_be_large(access.memory) or (not inside and not c.facts.at_most(block, extent_bytes(access.memory)))
    resource = buffer_resource(c, access.memory, block, switch, dwords, wide)
    offset = _kept(c, voffset)
    if immediate:
        offset = c.function.let(f"add i32 {offset}, {immediate}")
    return BufferAddress(resource, offset, c.indices.value(soffset))


def _least(e: Expr) -> int:
    return -1 if e.lo is None else e.lo


def _loop_variables(c: EmitContext) -> set[str]:
    names: set[str] = set()
    scope = c.function.scope
    while scope.parent is not None:
        if scope.variable is not None:
            names.add(scope.variable.name)
        scope = scope.parent
    return names


def _kept(c: EmitContext, e: Expr) -> str:
    """A per-lane expression as an opaque value: LLVM keeps it in a register and does not compute it anew in a loop."""
    if e.op == "const":
        return c.indices.value(e)
    home = c.indices.home(e)
    kept = home.kept.get(e)
    if kept is None:
        kept = home.kept[e] = c.function.opaque("i32", c.indices.value(e), "v", home)
    return kept


def buffer_resource(
    c: EmitContext, tensor: Tensor, base: Expr, switch: Expr, dwords: Dwords = "exact", wide: bool = False
) -> str:
    """The buffer resource of the tensor from byte `base` on, empty where the uniform `switch` is false.

    Made once per scope in which both are fixed; the size is computed outside the scope of the switch where possible.
    With `wide`, base and what remains of the size are computed in 64 bits.
    """
    home = max(c.indices.home(base), c.indices.home(switch), key=lambda scope: scope.depth)
    key = (tensor.name, base, switch, dwords, wide)
    scope = c.function.scope
    while True:
        if key in scope.resources:
            return scope.resources[key]
        if scope.parent is None or scope is home:
            break
        scope = scope.parent
    inside, c.function.scope = c.function.scope, home
    pointer, size = f"%{tensor.name}", sized(tensor, dwords)
    offset = ""
    if base is not ZERO:
        offset = c.indices.wide(base) if wide else c.function.let(f"zext i32 {c.indices.value(base)} to i64", home)
        pointer = c.function.let(f"getelementptr i8, ptr addrspace(1) {pointer}, i64 {offset}", home)
    if may_be_large(tensor):
        records = _records_of_large(c, tensor, base, offset, switch, dwords)
    elif wide and base is not ZERO:
        whole = c.function.let(f"zext i32 {c.indices.value(E.select(switch, size, ZERO))} to i64", home)
        left = c.function.let(f"sub i64 {whole}, {offset}", home)
        some = c.function.let(f"icmp sgt i64 {left}, 0", home)
        records = c.function.let(f"select i1 {some}, i64 {left}, i64 0", home)
    else:
        rest = size if base is ZERO else E.maximum(size - base, 0)
        text = c.indices.value(E.select(switch, rest, ZERO))
        records = c.function.let(f"zext i32 {text} to i64", home)
    made = c.function.call(
        "ptr addrspace(8)",
        "llvm.amdgcn.make.buffer.rsrc.p8.p1",
        f"ptr addrspace(1) {pointer}",
        "i16 0",
        f"i64 {records}",
        f"i32 {BUFFER_WORD3}",
        scope=home,
    )
    c.function.scope = inside
    home.resources[key] = made
    return made


def _records_of_large(c: EmitContext, tensor: Tensor, base: Expr, offset: str, switch: Expr, dwords: Dwords) -> str:
    """What remains of the tensor behind the base, from 0 to 2**31, as an i64; tensors of one size share it."""
    home, let, size = c.indices.home(base), c.function.let, extent_bytes(tensor)
    records = home.remains.get((size, base, dwords))
    if records is None:
        left = _whole_size(c, size, dwords)
        if base is not ZERO:
            left = let(f"sub i64 {left}, {offset}", home)
        more = let(f"icmp sgt i64 {let(f'ashr i64 {left}, {MAX_BITS}', home)}, 0", home)
        records = let(f"trunc i64 {left} to i32", home)
        records = let(f"select i1 {more}, i32 {OUT_OF_RANGE}, i32 {records}", home)
        if base is not ZERO:
            some = let(f"icmp sgt i64 {left}, 0", home)
            records = let(f"select i1 {some}, i32 {records}, i32 0", home)
        home.remains[size, base, dwords] = records
    if switch is not E.TRUE:
        records = let(f"select i1 {c.indices.value(switch)}, i32 {records}, i32 0")
    return let(f"zext i32 {records} to i64")


def _whole_size(c: EmitContext, size: Expr, dwords: Dwords) -> str:
    """The size of a tensor as an i64. It is opaque: LLVM would take size - base apart into factors, which costs a
    product of 64 bits, and the object could not be held against the kernel."""
    home, let = c.indices.home(size), c.function.let
    whole = home.remains.get((size, size, dwords))
    if whole is None:
        whole = c.indices.wide(size)
        if dwords == "up":
            whole = let(f"add i64 {whole}, {DWORD - 1}", home)
        if dwords != "exact":
            whole = let(f"and i64 {whole}, {-DWORD}", home)
        whole = home.remains[size, size, dwords] = c.function.opaque("i64", whole, "s", home)
    return whole


def lds_address(c: EmitContext, buffer: Shared, address: Expr) -> str:
    """A pointer into LDS: register part first, constant (with the buffer's place in LDS) as the immediate."""
    terms, constant = E.linear(address)
    moving = ZERO
    for atom, factor in terms.items():
        moving = moving + atom * factor
    constant += buffer.base
    limit = 1 << OFFSET_BITS["ds"][0]
    if not 0 <= constant < limit or _least(moving) < 0:
        moving, constant = moving + constant, 0
    if moving.op == "const":
        return f"inttoptr (i32 {moving.value + constant} to ptr addrspace(3))"
    home = c.indices.home(moving)
    pointer = home.pointers.get(moving)
    if pointer is None:
        value = _kept(c, moving)
        pointer = home.pointers[moving] = c.function.let(f"inttoptr i32 {value} to ptr addrspace(3)", home)
    if not constant:
        return pointer
    return c.function.let(f"getelementptr inbounds i8, ptr addrspace(3) {pointer}, i32 {constant}")
