"""How one instruction is entered in the semantic table: a signature and a function over a `Builder`.

    define(VALU, "v_add_co_u32", "u32 mask = u32 u32", add_carry_out)

reads: two results (a 32-bit vector register, then a lane mask in a scalar register pair), two 32-bit arguments. The
words of a signature stand in the order of the operands of AMD's assembly text, results first, and an executor walks
both together. Words marked *implicit* consume no operand.

Results
    u32 f32      a 32-bit destination.
    u64 f64      a destination register pair.
    u16 f16      a 16-bit value; the destination's high half becomes zero.
    h16          a 16-bit value for one half of the destination (op_sel[3], or the `hi` opcodes); the other half is
                 kept.
    b8           an 8-bit value for one byte of the destination (number op_sel[2] + 2 * op_sel[3]); the others are kept.
    mask         a lane mask: a scalar pair (the written bits of inactive lanes are 0).
    scc exec     the scalar condition code; the exec mask (implicit).
Arguments
    u32 f32      a 32-bit source. `neg`/`abs` act on bit 31. Inline floats are f32 bits.
    u64 f64      a 64-bit source. `neg`/`abs` act on bit 63. Inline integers are sign-extended, inline floats are f64
                 bits; a 32-bit literal is the high half of an f64, zero-extended for u64, sign-extended for i64.
    i64          as u64.
    u16 i16 f16  the low half of a source (the high half under op_sel), zero-extended (i16: sign-extended) to a w32.
                 `neg`/`abs` of f16 act on bit 15. Inline floats are f16 bits.
    mask         a lane mask in a scalar pair.
    k16 k16u     a 16-bit immediate, sign-extended / zero-extended.
    old old64    the destination's previous value (implicit).
    vcc scc exec the carry mask, the condition code, the exec mask as w64 (implicit).
    lane         the lane number 0..63 as w32 (implicit).

A function returns one value for one result, else a tuple in signature order.

Shapes: `plain`; `pk16` (VOP3P on 16-bit halves: the function is applied to the low and the high half, the halves
chosen by op_sel / op_sel_hi, signs by neg_lo / neg_hi); `pk32` (the same on the two registers of 64-bit operands; an
inline constant is both halves); `pkmov` (v_pk_mov_b32: the function gets half op_sel[0] of the first and half
op_sel[1] of the second source); `mix` (v_fma_mix: op_sel_hi chooses f16 or f32 for each source, op_sel the half;
neg_lo and neg_hi are neg and abs); `dot` (VOP3P whose sources are whole 32-bit words).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

Shape = Literal["plain", "pk16", "pk32", "pkmov", "mix", "dot"]

IMPLICIT = frozenset({"old", "old64", "vcc", "scc", "exec", "lane"})
RESULT_WORDS = frozenset({"u32", "f32", "u64", "f64", "u16", "f16", "h16", "b8", "mask", "scc", "exec"})
ARGUMENT_WORDS = frozenset(
    {"u32", "f32", "u64", "f64", "i64", "u16", "i16", "f16", "mask", "k16", "k16u", *IMPLICIT},
)


@dataclass(frozen=True, slots=True)
class MachineOp:
    """One entry: the words of the signature and the function."""

    name: str
    results: tuple[str, ...]
    args: tuple[str, ...]
    fn: Callable[..., Any]
    shape: Shape = "plain"


Table = dict[str, MachineOp]


def define(table: Table, names: str, signature: str, fn: Callable[..., Any], shape: Shape = "plain") -> None:
    """Enter `fn` under each of the space-separated `names`."""
    left, _, right = signature.partition("=")
    results, args = tuple(left.split()), tuple(right.split())
    unknown = [w for w in results if w not in RESULT_WORDS] + [w for w in args if w not in ARGUMENT_WORDS]
    if unknown:
        raise ValueError(f"{names}: unknown signature words {unknown}")
    for name in names.split():
        if name in table:
            raise ValueError(f"{name} is defined twice")
        table[name] = MachineOp(name, results, args, fn, shape)
