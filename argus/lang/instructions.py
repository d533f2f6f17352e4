"""Instructions a kernel names directly: element by element on tiles, with the types the instruction has.

    from argus.gfx942 import v_med3_f32
    x = v_med3_f32(x, f32(-1.0), f32(1.0))

`S` rows are (operand types, result type); control instructions take one number. Matrix, memory, wait and barrier
instructions are functions of the language of their own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from argus.ir import ops
from argus.ir.types import DTYPES, Value
from argus.lang import arguments as want
from argus.lang import arithmetic, tiles
from argus.lang.errors import Note
from argus.lang.values import Builtin, Tile

if TYPE_CHECKING:
    from argus.lang.expressions import Expressions


@dataclass(frozen=True, slots=True)
class Signature:
    """Element types of operands and result."""

    operands: tuple[str, ...]
    result: str


_I1, _I2, _I3 = ("i32",), ("i32",) * 2, ("i32",) * 3
_F1, _F3 = ("f32",), ("f32",) * 3

ELEMENTWISE: dict[str, Signature] = {
    "v_perm_b32": Signature(_I3, "i32"),
    "v_alignbyte_b32": Signature(_I3, "i32"),
    "v_bfe_u32": Signature(_I3, "i32"),
    "v_bfe_i32": Signature(_I3, "i32"),
    "v_med3_f32": Signature(_F3, "f32"),
    "v_fract_f32": Signature(_F1, "f32"),
    "v_sin_f32": Signature(_F1, "f32"),
    "v_cos_f32": Signature(_F1, "f32"),
    "v_ldexp_f32": Signature(("f32", "i32"), "f32"),
    "v_frexp_mant_f32": Signature(_F1, "f32"),
    "v_frexp_exp_i32_f32": Signature(_F1, "i32"),
    "v_mul_u32_u24": Signature(_I2, "i32"),
    "v_mul_i32_i24": Signature(_I2, "i32"),
    "v_sad_u8": Signature(_I3, "i32"),
    "v_readfirstlane_b32": Signature(_I1, "i32"),
}
CONTROL: dict[str, int] = {"s_sleep": 127, "s_nop": 15}
"""Name -> largest immediate."""


def instruction(name: str) -> Builtin | None:
    """The instruction as a function, or None."""
    if name in ELEMENTWISE:
        return Builtin(name, _elementwise, (name,))
    if name in CONTROL:
        return Builtin(name, _control, (name,))
    return None


def _elementwise(interp: Expressions, name: str, *operands: object) -> object:
    ctx, row = interp.ctx, ELEMENTWISE[name]
    if len(operands) != len(row.operands):
        raise ctx.error("AG112", function=name, problem=f"it takes {len(row.operands)} operands, not {len(operands)}")
    if name == "v_readfirstlane_b32":
        for level, span in ctx.divergence:
            if level == "lane":
                raise ctx.error("AG511", Note("the branch is decided here", span), what=name)
    like = next((t for t in operands if isinstance(t, Tile)), None)
    if like is None:
        raise ctx.error("AG112", function=name, problem="one of its operands must be a tile")
    given: list[Tile] = []
    for position, (operand, kind) in enumerate(zip(operands, row.operands, strict=True)):
        if isinstance(operand, (int, float)):
            made = tiles.constant(ctx, operand, DTYPES[kind], like.dist, like.chunk)
        else:
            made = want.tile(ctx, name, f"operand {position}", arithmetic.to_tile(ctx, operand, like))
        if made.dtype.name != kind:
            raise ctx.error("AG401", what=f"operand {position} of {name}", left=kind, right=made.dtype)
        given.append(made)
    spread = tiles.common(ctx, given)
    chunk = min(t.chunk for t in spread)
    columns = [tiles.regroup(ctx, t, chunk).pieces for t in spread]
    pieces: list[Value] = []
    for group in zip(*columns, strict=True):
        result = ctx.b.value(DTYPES[row.result], chunk)
        ctx.b.append(ops.Instruction(inst=name, args=group, outs=(result,)))
        pieces.append(result)
    return Tile(DTYPES[row.result], spread[0].dist, tuple(pieces))


def _control(interp: Expressions, name: str, value: object = 0) -> None:
    number = want.integer(interp.ctx, name, "value", value, 0, CONTROL[name])
    interp.ctx.b.append(ops.Instruction(inst=name, args=(), outs=(), attrs={"value": number}))
