"""What a wave finds at the start, as the kernel descriptor of the object says: arguments, workgroup, thread.

    start = start_registers(object, kernel, code, space)
    start[SCALAR + 2], start[SCALAR + 3]      the two halves of the pointer to the first tensor

Arguments are words of the argument segment, preloaded into scalar registers or loaded from it; which bytes are which
argument is in the object's metadata, and held against the signature of the kernel.
"""

from __future__ import annotations

from argus.compile.decoded import Decoded
from argus.compile.object.results import KERNARG, MASK, SCALAR
from argus.compile.objects import read_object
from argus.gfx942.elf import ET_DYN, Elf, LoadError
from argus.gfx942.inst import EXEC
from argus.ir.compile_error import CompileError
from argus.ir.kernel import BLOCK_X, BLOCK_Y, BLOCK_Z, Kernel
from argus.ir.semantics import MAX_BYTES, extent_bytes, may_be_large
from argus.layout import expr as E
from argus.layout.expr import Expr
from argus.machine.descriptor import DESCRIPTOR_SIZE, USER_SGPR_FEATURES, Descriptor, parse_descriptor
from argus.machine.symbolic.sums import WordSum
from argus.machine.symbolic.words import Words

BLOCKS = (BLOCK_X, BLOCK_Y, BLOCK_Z)


def descriptor_of(code_object: bytes, kernel: str) -> Descriptor:
    return _descriptor(read_object(code_object, ET_DYN), kernel)[1]


def entry_of(code_object: bytes, kernel: str) -> tuple[int, int]:
    """Where the descriptor says that the code begins, and where the kernel's symbol is."""
    source = read_object(code_object, ET_DYN)
    at, found = _descriptor(source, kernel)
    return at + found.entry_offset, next((s.value for s in source.symbols if s.name == kernel), -1)


def _descriptor(source: Elf, kernel: str) -> tuple[int, Descriptor]:
    symbol = next((s for s in source.symbols if s.name == f"{kernel}.kd"), None)
    if symbol is None or symbol.section >= len(source.sections):
        raise CompileError("C401", f"the object has no descriptor of kernel {kernel!r}")
    section = source.sections[symbol.section]
    at = symbol.value - section.address
    try:
        return symbol.value, parse_descriptor(section.data[at : at + DESCRIPTOR_SIZE])
    except LoadError as error:
        raise CompileError("C401", str(error)) from None


def pointer(space: Words, tensor: str) -> WordSum:
    """The address of a tensor: a word of 64 bits."""
    return space.word(space.atom("pointer", tensor, width=64, uniform=True))


def size(space: Words, symbol: Expr) -> WordSum:
    """A size of the launch."""
    least = max(0, symbol.lo or 0)
    most = (1 << 31) - 1 if symbol.hi is None else symbol.hi
    return space.word(space.atom("size", symbol.name, lo=least, hi=most, uniform=True))


def block(space: Words, kernel: Kernel, axis: int) -> WordSum:
    """The workgroup's number on an axis of the grid."""
    extent = kernel.grid[axis].hi
    most = (1 << 31) - 1 if extent is None else max(extent - 1, 0)
    return space.word(space.atom("block", BLOCKS[axis].name, hi=min(most, (1 << 31) - 1), uniform=True))


def limit_products(space: Words, kernel: Kernel) -> None:
    """A tensor that cannot be large has fewer than 2**31 bytes, so products of two sizes in its extent are bounded by
    more than each size.

    A block variable is below the grid's extent, which for `s`, `s // d` and `(s + c) // d` with c < d is at most s."""
    equal = {c.args[0]: c.args[1] for c in kernel.requires if c.op == "eq" and c.args[0].op == "var"}
    stands: dict[Expr, list[WordSum]] = {s: [size(space, s)] for s in kernel.shapes}
    for axis, extent in enumerate(kernel.grid):
        source = _not_above(extent)
        if source in stands and source is not None and (source.lo or 0) >= 1:
            stands[source].append(block(space, kernel, axis))
    for tensor in kernel.tensors:
        if may_be_large(tensor):
            continue
        whole = extent_bytes(tensor)
        for form in (whole, whole.subst(equal)):
            terms, _ = E.linear(form)
            if any(factor < 0 for factor in terms.values()):
                continue
            for atom, factor in terms.items():
                if atom.op != "mul" or len(atom.args) != 2 or not all(arg in stands for arg in atom.args):
                    continue
                for a in stands[atom.args[0]]:
                    for b in stands[atom.args[1]]:
                        space.limit([*a.atoms, *b.atoms], MAX_BYTES // factor)


def _not_above(extent: Expr) -> Expr | None:
    """A size that the extent of a grid does not exceed."""
    if extent.op == "var":
        return extent
    if extent.op != "floordiv" or extent.args[1].op != "const":
        return None
    terms, constant = E.linear(extent.args[0])
    if len(terms) == 1 and next(iter(terms.values())) == 1 and constant < extent.args[1].value:
        return next(iter(terms))
    return None


def argument_words(kernel: Kernel, code: Decoded, space: Words) -> dict[int, WordSum]:
    """Byte of the argument segment -> the dword there."""
    wanted = [8] * len(kernel.tensors) + [max(1, s.dtype.bytes) for s in kernel.scalars] + [4] * len(kernel.shapes)
    try:
        rows = [row for row in code.metadata[".args"] if not str(row[".value_kind"]).startswith("hidden")]
        sizes, places = [row[".size"] for row in rows], [int(row[".offset"]) for row in rows]
    except (KeyError, TypeError, ValueError):
        sizes, places = [], []
    if sizes != wanted:
        raise CompileError("C304", "the arguments of the object are not those of the kernel", kernel.span)
    found: dict[int, WordSum] = {}
    for tensor, at in zip(kernel.tensors, places, strict=False):
        whole = pointer(space, tensor.name)
        found[at], found[at + 4] = space.trunc(whole), space.high(whole)
    scalars = len(kernel.tensors)
    for scalar, at in zip(kernel.scalars, places[scalars:], strict=False):
        for dword in range(at & ~3, at + scalar.dtype.bytes, 4):
            found[dword] = space.word(space.atom("argument", dword, uniform=True))
    for symbol, at in zip(kernel.shapes, places[scalars + len(kernel.scalars) :], strict=True):
        found[at] = size(space, symbol)
    return found


def written_at_start(descriptor: Descriptor) -> set[int]:
    """Registers that the hardware fills before the first instruction."""
    count = descriptor.user_sgpr_count + sum(descriptor.workgroup_ids) + descriptor.workgroup_info
    return {0, *(SCALAR + n for n in (*range(count), EXEC, EXEC + 1))}


def start_registers(code_object: bytes, kernel: Kernel, code: Decoded, space: Words) -> dict[int, WordSum]:
    """Register -> word at the start of a wave."""
    descriptor = descriptor_of(code_object, kernel.name)
    words = argument_words(kernel, code, space)
    segment = space.word(space.atom("arguments", width=64, uniform=True))
    start: dict[int, WordSum] = {KERNARG: segment, **{KERNARG + 1 + at: word for at, word in words.items()}}
    at = 0
    sizes = dict(USER_SGPR_FEATURES)
    for name in descriptor.user_sgprs:
        if name == "kernarg_segment_ptr":
            start[SCALAR + at], start[SCALAR + at + 1] = space.trunc(segment), space.high(segment)
        at += sizes[name]
    for k in range(descriptor.kernarg_preload_length):
        word = words.get(4 * (descriptor.kernarg_preload_offset + k))
        if word is not None:
            start[SCALAR + at + k] = word
    at = descriptor.user_sgpr_count
    for axis, enabled in enumerate(descriptor.workgroup_ids):
        if enabled:
            start[SCALAR + at] = block(space, kernel, axis)
            at += 1
    start[0] = space.rows(space.thread)
    start[MASK + EXEC] = space.one
    return start
