"""Byte addresses split over the fields of a memory instruction.

    buffer_load_dwordx4 v[..], VOFFSET, RESOURCE, SOFFSET offen offset:IMMEDIATE

    RESOURCE    the tensor, with the workgroup's part of the address (terms in block_x, block_y, block_z) added to its
                base and taken off its size: scalar, once per kernel
    SOFFSET     the part that changes with a loop and is equal for all lanes: a scalar running sum
    VOFFSET     the rest, per lane: computed before the loop
    IMMEDIATE   the constant, up to 4095; for LDS up to 65535

so a load in a loop costs no vector instruction. A guard that differs between lanes replaces VOFFSET by 2**31 where it
is false: every buffer is smaller, so the load gives zeros and the store nothing. A guard all lanes agree on makes the
resource empty instead, which is scalar work.

The range check. The hardware compares VOFFSET + IMMEDIATE with the size; whether SOFFSET takes part is documented
both ways, so SOFFSET is used only where `Facts.in_bounds` shows that nothing is out of range; elsewhere the loop's
part goes into the resource too (four scalar instructions per iteration), which is exact under either reading. Parts
that could be negative on their own stay in VOFFSET, where the whole sum is compared.
"""

from __future__ import annotations

from dataclasses import dataclass

from argus.compile.context import EmitContext
from argus.gfx942.memory import BUFFER_WORD3, OFFSET_BITS
from argus.ir.ops import Access, Shared, Tensor
from argus.layout import expr as E
from argus.layout.expr import Expr

OUT_OF_RANGE = -(1 << 31)
ZERO = E.const(0)


@dataclass(frozen=True, slots=True)
class BufferAddress:
    """Operands of a buffer instruction; `voffset` includes the immediate as its last addition."""

    resource: str
    voffset: str
    soffset: str


def extent_bytes(tensor: Tensor) -> Expr:
    """Bytes from the first to past the last element."""
    dense = all(tensor.strides[n] is tensor.strides[n + 1] * tensor.shape[n + 1] for n in range(len(tensor.shape) - 1))
    if dense and tensor.strides[-1] is E.const(1):
        return tensor.strides[0] * tensor.shape[0] * tensor.dtype.bytes
    last = ZERO
    for extent, stride in zip(tensor.shape, tensor.strides, strict=True):
        last = last + (extent - 1) * stride
    return (last + 1) * tensor.dtype.bytes


def buffer_address(c: EmitContext, access: Access) -> BufferAddress:
    assert isinstance(access.memory, Tensor)
    block, moving, rest, constant = _split(c, access.address)
    soffset = ZERO
    if moving is not ZERO and c.facts.in_bounds(access):
        soffset = moving
    elif moving is not ZERO:
        block = block + moving
    limit = 1 << OFFSET_BITS["buffer"][0]
    immediate = constant % limit if constant >= 0 else 0
    voffset = rest + (constant - immediate)
    if _least(voffset) < 0:
        soffset, block, voffset = ZERO, ZERO, access.address - immediate
    switch = E.TRUE
    if access.guard is not None and c.indices.uniform(access.guard):
        switch = access.guard
    elif access.guard is not None:
        voffset = E.select(access.guard, voffset, E.const(OUT_OF_RANGE))
    resource = _resource(c, access.memory, block, switch)
    offset = _kept(c, voffset)
    if immediate:
        offset = c.function.let(f"add i32 {offset}, {immediate}")
    return BufferAddress(resource, offset, c.indices.value(soffset))


def _least(e: Expr) -> int:
    return -1 if e.lo is None else e.lo


def _split(c: EmitContext, address: Expr) -> tuple[Expr, Expr, Expr, int]:
    """(workgroup part, loop part, rest, constant); the first two are uniform and never negative."""
    loops = _loop_variables(c)
    block, moving, rest = ZERO, ZERO, ZERO
    terms, constant = E.linear(address)
    for atom, factor in terms.items():
        term = atom * factor
        names = {v.name for v in atom.free()}
        if not c.indices.uniform(atom) or _least(term) < 0:
            rest = rest + term
        elif names & loops:
            moving = moving + term
        elif names & {"block_x", "block_y", "block_z"}:
            block = block + term
        else:
            rest = rest + term
    return block, moving, rest, constant


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


def _resource(c: EmitContext, tensor: Tensor, base: Expr, switch: Expr) -> str:
    """The buffer resource of the tensor from byte `base` on, empty where the uniform `switch` is false.

    Made once per scope in which both are fixed; the size is computed outside the scope of the switch where possible.
    """
    home = max(c.indices.home(base), c.indices.home(switch), key=lambda scope: scope.depth)
    key = (tensor.name, base, switch)
    scope = c.function.scope
    while True:
        if key in scope.resources:
            return scope.resources[key]
        if scope.parent is None or scope is home:
            break
        scope = scope.parent
    inside, c.function.scope = c.function.scope, home
    pointer = f"%{tensor.name}"
    if base is not ZERO:
        wide = c.function.let(f"zext i32 {c.indices.value(base)} to i64", home)
        pointer = c.function.let(f"getelementptr i8, ptr addrspace(1) {pointer}, i64 {wide}", home)
    left = E.maximum(extent_bytes(tensor) - base, 0) if base is not ZERO else extent_bytes(tensor)
    size = c.indices.value(E.select(switch, left, ZERO))
    records = c.function.let(f"zext i32 {size} to i64", home)
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


def alignment(e: Expr) -> int:
    """A power of two that divides e for every value of its variables (at most 2**20)."""
    top = 1 << 20
    if e.op == "const":
        return min(top, e.value & -e.value) if e.value else top
    if e.op == "mul":
        product = 1
        for arg in e.args:
            product *= alignment(arg)
        return min(top, product)
    if e.op in ("add", "xor", "or", "min", "max"):
        return min(alignment(arg) for arg in e.args)
    if e.op == "select":
        return min(alignment(arg) for arg in e.args[1:])
    if e.op == "and":
        return max(alignment(arg) for arg in e.args)
    if e.op == "shl" and e.args[1].op == "const":
        return min(top, alignment(e.args[0]) << min(e.args[1].value, 20))
    if e.op == "mod":
        return min(alignment(arg) for arg in e.args)
    return 1
