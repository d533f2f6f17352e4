"""What a kernel means: one text for checker, interpreter, compiler, audit and documentation.

A kernel is the program of every thread of the grid. Its meaning is the *set* of executions that the rules here allow,
and a verdict `proved` speaks of all of them. Where the chip is documented, the set is small; where it is not, or where
two sources disagree, the set holds both behaviors, and a right kernel depends on neither. `rules.RULES` lists the
rules, each with its source and date, or the word *assumed*; `docs/semantics.md` is made from it.

Three examples, each of which is a kernel that looks right and is not:

    if lane < 32: tile.store(a)     The arms of a branch that splits a wave have no order: LLVM may put either first,
    else:         tile.store(b)     and does. Whoever reads `tile` later may see a or b: not proved.

    x.copy(tile, …)                 A counted wait retires what is older than the n youngest accesses *issued*. The
    dead = x.load(…)                dead load is never issued, so `vm=1` leaves the copy outstanding.
    ag.wait(vm=1)

    y[512*b].store(v, width=16)     y has 255 elements of 2 bytes. The hardware decides ranges by dwords, and the last
                                    dword is half inside. The meaning is per element: y[254] is written, and no byte
                                    outside y is. The compiler adds what the hardware lacks.

The rules are about memory (`memory`: extents, dwords, footprints of copies), numbers (`arithmetic`: what wraps at 32
bits, and what must fit), addresses (`addresses`: which part of an address is computed how) and order (`rules`: what is
issued, retired, and ordered by what). An op's own facts, such as its footprint and whether it is surely issued, stand
with the op.

What this is not: a model of time, caches, or the arithmetic of floating-point instructions (`argus.ir.interp.numbers`).
"""

from argus.ir.semantics.addresses import BufferParts, base_limits, buffer_parts, reach, reached, size_bounds, varying
from argus.ir.semantics.arithmetic import AMOUNTS, LEAST, MOST, Need, needs
from argus.ir.semantics.grids import grid_limits
from argus.ir.semantics.memory import (
    COPY_BYTES,
    DWORD,
    MAX_BYTES,
    MOST_BYTES,
    alignment,
    copied_to,
    extent_bytes,
    may_be_large,
    multiples,
)
from argus.ir.semantics.rules import RULES, SemanticRule

VERSION = 3
"""Changes when the meaning of some kernel does."""

__all__ = [
    "AMOUNTS",
    "COPY_BYTES",
    "DWORD",
    "LEAST",
    "MAX_BYTES",
    "MOST",
    "MOST_BYTES",
    "RULES",
    "VERSION",
    "BufferParts",
    "Need",
    "SemanticRule",
    "alignment",
    "base_limits",
    "buffer_parts",
    "copied_to",
    "extent_bytes",
    "grid_limits",
    "may_be_large",
    "multiples",
    "needs",
    "reach",
    "reached",
    "size_bounds",
    "varying",
]
