"""Loads, stores, direct copies to LDS and atomics.

An access of n bytes is the widest instructions that make it up: 16, then 12 (only when 12 remain), 8, 4, 2 and 1 bytes.
Ordinarily that is exactly one instruction per op, which is what the audit counts on; at the end of a tensor of narrow
elements it may be more (`tails`).

LDS accesses wider than 4 bytes need their full alignment on this hardware; an address that is not known to be aligned
is an error at the source line (C104), never a silent split.

Every access is followed by a scheduling fence: the order of memory instructions in the object is the order of the IR.
Direct copies to LDS are marked as not aliasing ordinary LDS accesses, so that LLVM inserts no waits for them; the waits
that make them visible are the kernel's own.
"""

from __future__ import annotations

from collections.abc import Callable

from argus.compile.address import OUT_OF_RANGE, Dwords, buffer_address, lds_address
from argus.compile.context import EmitContext, element_type, held_type, vector
from argus.compile.tail_code import past_the_end_is_zero, store_last_elements
from argus.compile.tails import Tail, pieces
from argus.ir.ops import Access, Atomic, CopyToLds, Load, Shared, Store, Tensor
from argus.ir.semantics import DWORD, alignment, extent_bytes
from argus.ir.types import Value
from argus.layout import expr as E

DMA_STORE = ", !alias.scope !{dma}"
DMA_APART = ", !noalias !{dma}"


def _piece_type(width: int) -> str:
    return vector("i32", width // 4) if width >= 4 else f"i{8 * width}"


def _suffix(kind: str) -> str:
    return kind if kind.startswith("i") else "v" + kind[1:-1].replace(" x ", "")


def _advanced(access: Access, start: int) -> Access:
    return Access(access.memory, access.address + start, access.count, access.coords, access.axis, access.guard)


def emit_load(c: EmitContext, op: Load) -> None:
    _known_guard(c, op.access)
    tail = c.tails.get(op.id, Tail.WHOLE)
    cut = pieces(op.access, tail)
    if isinstance(op.access.memory, Shared):
        _check_lds(c, op.access)
        parts = [_load_lds(c, _advanced(op.access, start), width) for start, width in cut]
    else:
        parts = [_load_global(c, _advanced(op.access, start), width, tail) for start, width in cut]
    c.set(op.result, _assemble(c, parts, [width for _, width in cut], op.result))


def _known_guard(c: EmitContext, access: Access) -> None:
    if access.guard is not None and not access.guard.boolean:
        raise c.fail("C103", f"the guard `{access.guard}` of a memory access is a number, not a condition")


def _check_lds(c: EmitContext, access: Access) -> None:
    assert isinstance(access.memory, Shared)
    for start, width in pieces(access):
        need = 16 if width == 12 else width
        have = alignment(access.address + (access.memory.base + start))
        if have < need:
            raise c.fail(
                "C104",
                f"{width} bytes at an address of `{access.memory.name}` that is only a multiple of {have}",
                f"address {access.address}",
                f"an LDS access of {width} bytes needs a multiple of {need}; use narrower accesses or another layout",
            )


def _load_global(c: EmitContext, access: Access, width: int, tail: Tail) -> str:
    kind = _piece_type(width)
    rounded = tail is Tail.ROUNDED and width >= DWORD
    at = buffer_address(c, access, "up" if rounded else "exact")
    text = c.function.call(
        kind,
        f"llvm.amdgcn.raw.ptr.buffer.load.{_suffix(kind)}",
        f"ptr addrspace(8) {at.resource}",
        f"i32 {at.voffset}",
        f"i32 {at.soffset}",
        "i32 0",
    )
    c.function.keep_order()
    if not rounded:
        return text
    return c.build(past_the_end_is_zero(c, access, c.elements(text, "i32", width // DWORD)), "i32")


def _load_lds(c: EmitContext, access: Access, width: int) -> str:
    assert isinstance(access.memory, Shared)
    memory = access.memory
    kind = _piece_type(width)

    def read() -> str:
        pointer = lds_address(c, memory, access.address)
        aligned = 16 if width == 12 else width
        text = c.function.let(f"load {kind}, ptr addrspace(3) {pointer}, align {aligned}{DMA_APART}")
        c.function.keep_order()
        return text

    return _guarded(c, access, read, kind)


def _guarded(c: EmitContext, access: Access, inside: Callable[[], str], kind: str) -> str:
    """Run `inside` only where the guard holds; elsewhere its value is zero."""
    if access.guard is None or access.guard is E.TRUE:
        return inside()
    condition = c.indices.value(access.guard)
    then, done = c.function.label(), c.function.label()
    before = c.function.scope.label
    c.function.open("branch", then)
    c.function.start_block(then)
    text = inside()
    c.function.line(f"br label %{done}")
    inner = c.function.close()
    c.function.line(f"br i1 {condition}, label %{then}, label %{done}")
    c.function.scope.lines += inner.lines
    c.function.start_block(done)
    if not kind:
        return ""
    zero = "zeroinitializer" if kind.startswith("<") else "0"
    return c.function.let(f"phi {kind} [ {text}, %{inner.label} ], [ {zero}, %{before} ]")


def _assemble(c: EmitContext, parts: list[str], sizes: list[int], result: Value) -> str:
    """Pieces of memory, first bytes first, as the held form of a value."""
    if len(parts) == 1 and sizes[0] >= 4:
        return c.cast(parts[0], _piece_type(sizes[0]), held_type(result))
    words: list[str] = []
    filled = 0
    for part, width in zip(parts, sizes, strict=True):
        if width >= DWORD:
            words += c.elements(part, "i32", width // DWORD)
            continue
        narrow = c.function.let(f"zext i{8 * width} {part} to i32")
        if filled:
            high = c.function.let(f"shl i32 {narrow}, {8 * filled}")
            words[-1] = c.function.let(f"or i32 {words[-1]}, {high}")
        else:
            words.append(narrow)
        filled = (filled + width) % DWORD
    return c.from_dwords(words, result)


def _disassemble(c: EmitContext, value: Value, cut: list[tuple[int, int]]) -> list[str]:
    """The value as the pieces its store is made of."""
    if len(cut) == 1 and cut[0][1] >= 4:
        return [c.cast(c.get(value), held_type(value), _piece_type(cut[0][1]))]
    words = c.dwords(value)
    result: list[str] = []
    for start, width in cut:
        if width >= 4:
            result.append(c.build(words[start // 4 : (start + width) // 4], "i32"))
        else:
            word = words[start // 4]
            if start % 4:
                word = c.function.let(f"lshr i32 {word}, {8 * (start % 4)}")
            result.append(c.function.let(f"trunc i32 {word} to i{8 * width}"))
    return result


def emit_store(c: EmitContext, op: Store) -> None:
    access = op.access
    _known_guard(c, access)
    if op.value.dtype.bits != access.memory.dtype.bits or op.value.count != access.count:
        raise c.fail("C103", f"a store of {op.value.type} into {access.count} elements of {access.memory.dtype}")
    if isinstance(access.memory, Shared):
        _check_lds(c, access)
    tail = c.tails.get(op.id, Tail.WHOLE)
    cut = pieces(access, tail)
    for text, (start, width) in zip(_disassemble(c, op.value, cut), cut, strict=True):
        there = _advanced(access, start)
        if isinstance(access.memory, Shared):
            _store_lds(c, there, width, text)
        elif tail is Tail.ROUNDED and width >= DWORD:
            _store_global(c, there, width, text, "down")
            store_last_elements(c, there, c.elements(text, "i32", width // DWORD))
        else:
            _store_global(c, there, width, text, "exact")


def _store_global(c: EmitContext, access: Access, width: int, text: str, dwords: Dwords) -> None:
    kind = _piece_type(width)
    at = buffer_address(c, access, dwords)
    c.function.call(
        "void",
        f"llvm.amdgcn.raw.ptr.buffer.store.{_suffix(kind)}",
        f"{kind} {text}",
        f"ptr addrspace(8) {at.resource}",
        f"i32 {at.voffset}",
        f"i32 {at.soffset}",
        "i32 0",
    )
    c.function.keep_order()


def _store_lds(c: EmitContext, access: Access, width: int, text: str) -> None:
    assert isinstance(access.memory, Shared)
    memory = access.memory

    def write() -> str:
        pointer = lds_address(c, memory, access.address)
        aligned = 16 if width == 12 else width
        c.function.line(f"store {_piece_type(width)} {text}, ptr addrspace(3) {pointer}, align {aligned}{DMA_APART}")
        c.function.keep_order()
        return ""

    _guarded(c, access, write, "")


def _no_partial_dword(c: EmitContext, op: CopyToLds | Atomic, what: str) -> None:
    if op.id in c.tails:
        tensor = op.access.memory
        raise c.fail(
            "C105",
            f"{what} may meet a dword that `{tensor.name}` fills only in part",
            f"elements of {tensor.dtype} are moved by dwords, and its size is not known to be a multiple of 4 bytes",
        )


def emit_copy_to_lds(c: EmitContext, op: CopyToLds) -> None:
    size = op.access.count * op.access.memory.dtype.bytes
    if size not in (1, 2, 4):
        raise c.fail("C103", f"a direct copy to LDS moves 1, 2 or 4 bytes a lane on gfx942, not {size}")
    if not c.indices.uniform(op.lds_base):
        raise c.fail("C103", f"the LDS address `{op.lds_base}` of a direct copy differs between lanes of a wave")
    _no_partial_dword(c, op, "a direct copy to LDS")
    at = buffer_address(c, op.access)
    pointer = lds_address(c, op.into, op.lds_base)
    name = "llvm.amdgcn.raw.ptr.buffer.load.lds"
    operands = [
        f"ptr addrspace(8) {at.resource}",
        f"ptr addrspace(3) {pointer}",
        f"i32 {size}",
        f"i32 {at.voffset}",
        f"i32 {at.soffset}",
        "i32 0",
        "i32 0",
    ]
    c.function.declarations.setdefault(
        name, f"declare void @{name}(ptr addrspace(8), ptr addrspace(3), i32 immarg, i32, i32, i32 immarg, i32 immarg)"
    )
    c.function.line(f"call void @{name}({', '.join(operands)}){DMA_STORE}")
    c.function.keep_order()


_INTEGER_ATOMICS = {"add": "add", "sub": "sub", "and": "and", "or": "or", "xor": "xor"}


def emit_atomic(c: EmitContext, op: Atomic) -> None:
    """One instruction per element, or per pair for 16-bit floats."""
    dtype, access = op.value.dtype, op.access
    pair = dtype.bits == 16 and dtype.kind == "float"
    if pair and access.count % 2:
        raise c.fail("C103", f"atomics on {dtype} work on pairs; {access.count} elements are not pairs")
    _no_partial_dword(c, op, "an atomic on pairs")
    width = 4 if pair else dtype.bytes
    if width not in (4, 8):
        raise c.fail("C103", f"no atomics on {dtype}; use a 32-bit or 64-bit type")
    kind = ("<2 x bfloat>" if dtype.name == "bf16" else "<2 x half>") if pair else element_type(dtype)
    count = access.count // 2 if pair else access.count
    if pair:
        parts = [c.cast(word, "i32", kind) for word in c.dwords(op.value)]
    else:
        parts = c.elements(c.get(op.value), kind, count)
    for n, part in enumerate(parts):
        one = _advanced(access, n * width)
        if isinstance(access.memory, Shared):
            _atomic_lds(c, op, one, kind, part, width)
        elif dtype.name == "bf16":
            _atomic_pointer(c, op, one, kind, part)
        elif by_sign(op):
            _atomic_by_sign(c, op, one, part)
        else:
            _atomic_global(c, op, one, kind, part)
        c.function.keep_order()


def by_sign(op: Atomic) -> bool:
    """f32 maxima and minima in global memory have no instruction: two integer ones take their place."""
    return op.value.dtype.name == "f32" and op.fn in ("max", "min") and isinstance(op.access.memory, Tensor)


def _atomic_by_sign(c: EmitContext, op: Atomic, access: Access, part: str) -> None:
    """Floats are ordered like signed integers where the new value is positive, and against unsigned ones where it is
    negative. Lanes that an instruction does not concern, and NaN, address nothing."""
    bits = c.cast(part, "float", "i32")
    at = buffer_address(c, access)
    negative = c.function.let(f"icmp slt i32 {bits}, 0")
    nan = c.function.let(f"fcmp uno float {part}, {part}")
    other = {"max": "umin", "min": "umax"}[op.fn]
    for name, off in ((f"s{op.fn}", negative), (other, c.function.let(f"xor i1 {negative}, true"))):
        nowhere = c.function.let(f"or i1 {off}, {nan}")
        voffset = c.function.let(f"select i1 {nowhere}, i32 {OUT_OF_RANGE}, i32 {at.voffset}")
        c.function.call(
            "i32",
            f"llvm.amdgcn.raw.ptr.buffer.atomic.{name}.i32",
            f"i32 {bits}",
            f"ptr addrspace(8) {at.resource}",
            f"i32 {voffset}",
            f"i32 {at.soffset}",
            "i32 0",
        )


def _operation(c: EmitContext, op: Atomic) -> str:
    """The name of the read-modify-write in LLVM's terms."""
    kind = op.value.dtype.kind
    if kind == "float" and op.fn == "add":
        return "fadd"
    if (
        kind == "float"
        and op.fn in ("max", "min")
        and (op.value.dtype.bits == 64 or isinstance(op.access.memory, Shared))
    ):
        return f"f{op.fn}"
    if kind in ("int", "uint") and op.fn in _INTEGER_ATOMICS:
        return _INTEGER_ATOMICS[op.fn]
    if kind in ("int", "uint") and op.fn in ("max", "min"):
        return ("" if kind == "int" else "u") + op.fn
    raise c.fail("C103", f"gfx942 has no atomic `{op.fn}` on {op.value.dtype} in this memory")


def _atomic_global(c: EmitContext, op: Atomic, access: Access, kind: str, part: str) -> None:
    name = _operation(c, op)
    if op.value.dtype.kind != "float":
        name = {"max": "smax", "min": "smin"}.get(name, name)
    suffix = {"float": "f32", "double": "f64", "<2 x half>": "v2f16"}.get(kind, kind)
    at = buffer_address(c, access)
    c.function.call(
        kind,
        f"llvm.amdgcn.raw.ptr.buffer.atomic.{name}.{suffix}",
        f"{kind} {part}",
        f"ptr addrspace(8) {at.resource}",
        f"i32 {at.voffset}",
        f"i32 {at.soffset}",
        "i32 0",
    )


def _atomic_lds(c: EmitContext, op: Atomic, access: Access, kind: str, part: str, width: int) -> None:
    memory = access.memory
    assert isinstance(memory, Shared)
    name = _operation(c, op)

    def update() -> str:
        pointer = lds_address(c, memory, access.address)
        place = f"ptr addrspace(3) {pointer}, {kind} {part}"
        c.function.let(f'atomicrmw {name} {place} syncscope("workgroup") monotonic, align {width}{DMA_APART}')
        return ""

    _guarded(c, access, update, "")


def _atomic_pointer(c: EmitContext, op: Atomic, access: Access, kind: str, part: str) -> None:
    """Pairs of bf16 have no buffer form: a branch does what the buffer's range check would."""
    tensor = access.memory
    assert isinstance(tensor, Tensor)
    inside = E.land(access.address.ge(0), access.address.lt(extent_bytes(tensor)))
    guard = inside if access.guard is None else E.land(access.guard, inside)

    def update() -> str:
        offset = c.function.let(f"zext i32 {c.indices.value(access.address)} to i64")
        pointer = c.function.let(f"getelementptr i8, ptr addrspace(1) %{tensor.name}, i64 {offset}")
        place = f"ptr addrspace(1) {pointer}, {kind} {part}"
        apart = ", !amdgpu.no.fine.grained.memory !{empty}, !amdgpu.no.remote.memory !{empty}"
        c.function.let(f'atomicrmw {_operation(c, op)} {place} syncscope("agent") monotonic, align 4{apart}')
        return ""

    _guarded(c, Access(tensor, access.address, access.count, access.coords, access.axis, guard), update, "")
