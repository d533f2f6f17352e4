"""The ops of the kernel IR: few, each one (or a fixed handful of) machine instruction(s), each with its source span.

The IR is the program of *one thread* of the grid with the addresses of *all* threads: a value is the registers one
thread holds, while every address and coordinate is an index expression (`argus.layout.expr`) over

    lane 0..63, wave 0..W-1, block_x, block_y, block_z       who computes
    loop variables, shape symbols, data-dependent symbols     when, how large, where to

so one op describes what every thread of every workgroup does. Static Python loops of the kernel file are unrolled by
the reader; `For` is a loop that stays a loop in the machine code. Index arithmetic has no ops: it lives in the
expressions, which the checker reads as formulas and the compiler as code, so the two cannot disagree about an address.

The order of ops in a block is the order of issue. Example, one step of a GEMM (thread = 64*wave + lane):

    %4 = load A[block_y*128 + wave*16 + lane//8, kt*64 + lane%8*8] : bf16x8
    store lds.sA[...] <- %4
    barrier
    %7 = load lds.sA[...] : bf16x8
    %9 = mfma mfma_32x32x8_bf16 %8[0:4], %7[0:4], %6 : f32x16

`Op` is the closed union of all ops. What passes may know of an op is declared with it (`argus.ir.ops.declared`); a
dispatch on its class is a `match` that ends in `assert_never`, so that mypy lists the places a new op has to be added.
"""

from __future__ import annotations

from collections.abc import Iterator

from argus.ir.ops.accessing import Atomic, CopyToLds, Load, Store
from argus.ir.ops.computing import Bitcast, Constant, Convert, Index, Instruction, Lanes, Map, Mfma, Registers, Symbol
from argus.ir.ops.declared import Control, Declared, OpBase, Ordering
from argus.ir.ops.places import (
    BUFFER_GRANULE,
    COPY_STRIDE,
    Access,
    Counter,
    Footprint,
    Memory,
    Shared,
    Space,
    Tensor,
    space_of,
)
from argus.ir.ops.structure import Barrier, Check, For, If, Schedule, SetPrio, Tag, Wait

__all__ = [
    "BUFFER_GRANULE",
    "COPY_STRIDE",
    "Access",
    "Accessing",
    "Annotation",
    "Atomic",
    "Barrier",
    "Bitcast",
    "Check",
    "Computing",
    "Constant",
    "Control",
    "Convert",
    "CopyToLds",
    "Counter",
    "Declared",
    "Footprint",
    "For",
    "If",
    "Index",
    "Instruction",
    "Lanes",
    "Load",
    "Map",
    "Memory",
    "Mfma",
    "Op",
    "OpBase",
    "Ordered",
    "Ordering",
    "Registers",
    "Schedule",
    "SetPrio",
    "Shared",
    "Space",
    "Store",
    "Structure",
    "Symbol",
    "Tag",
    "Tensor",
    "Wait",
    "space_of",
    "walk",
]

Computing = Constant | Index | Symbol | Map | Convert | Bitcast | Registers | Lanes | Mfma | Instruction
Accessing = Load | Store | CopyToLds | Atomic
Ordered = Barrier | Wait | SetPrio
Annotation = Tag | Check
Structure = For | If | Schedule
Op = Computing | Accessing | Ordered | Annotation | Structure


def walk(block: list[Op]) -> Iterator[Op]:
    """Every op of the block and of the blocks inside it, in program order."""
    for op in block:
        yield op
        for inner in op.blocks:
            yield from walk(inner)
