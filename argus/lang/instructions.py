"""Instructions a kernel names directly: element by element on tiles, with the types the instruction has.

    x = ag.v_med3_f32(x, -1.0, 1.0)                     numbers become constants
    total, carry = ag.v_add_co_u32(a, b)                two results
    packed = ag.v_cvt_pk_fp8_f32(x, y, 0, word=0)       modifiers are keywords
    y = ag.v_mov_b32_dpp(x, row_shr=1, bound_ctrl=True)

What exists is `argus.gfx942.calling`; nothing about an instruction is written here. Operands meet by coordinate, as in
arithmetic; packed instructions take the elements of a tile two by two. i32 and u32 are the same registers: either is
taken for an integer operand, and an integer result has the type of the first integer operand of its width.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from argus.gfx942.calls import CALLS, Call, accepts, bind
from argus.gfx942.calls_lanes import DPP, control_code
from argus.gfx942.target import Target
from argus.ir import ops
from argus.ir.types import DTYPES, DType, Value, i32, u32
from argus.lang import arguments as want
from argus.lang import arithmetic, tiles
from argus.lang.values import Builtin, Coordinates, Tile
from argus.layout.expr import Expr

if TYPE_CHECKING:
    from argus.lang.context import ReadContext
    from argus.lang.expressions import Expressions

NAMES: dict[str, Call] = CALLS
DPP_MOVE = "v_mov_b32_dpp"


def instruction(name: str, target: Target) -> Builtin | None:
    """The instruction of the target as a function, or None."""
    return None if target.call(name) is None else Builtin(name, _call, (name,))


def _call(interp: Expressions, name: str, /, *operands: object, **keywords: object) -> object:
    ctx, row = interp.ctx, CALLS[name]
    if row.crosses_lanes:
        ctx.need_all_lanes(name)
    if name == DPP_MOVE:
        operands = (*operands, keywords.pop("old", 0)) if len(operands) == 1 else operands
        keywords = _dpp_control(interp, keywords)
    if not row.args and operands:
        keywords, operands = {"value": operands[0], **keywords}, operands[1:]
    try:
        options = bind(row, {k: _number(ctx, name, k, v) for k, v in keywords.items()})
    except ValueError as error:
        raise ctx.error("AG112", function=name, problem=str(error)) from None
    if len(operands) != len(row.operands):
        problem = f"it takes {len(row.operands)} operands ({', '.join(row.operands) or 'none'}), not {len(operands)}"
        raise ctx.error("AG112", function=name, problem=problem)
    attrs: dict[str, int | str | bool] = dict(options)
    if not row.args:
        ctx.b.append(ops.Instruction(inst=name, args=(), outs=(), attrs=attrs))
        return None
    made = _elementwise(ctx, row, operands, attrs)
    return made[0] if len(made) == 1 else made


def _number(ctx: ReadContext, name: str, keyword: str, value: object) -> int:
    return int(value) if isinstance(value, bool) else want.integer(ctx, name, keyword, value, -(1 << 31), 1 << 31)


def _dpp_control(interp: Expressions, keywords: dict[str, object]) -> dict[str, object]:
    """One of the controls (`row_shr=1`, `quad_perm=[1, 0, 3, 2]`, `row_mirror=True`) as the field of the encoding."""
    ctx = interp.ctx
    chosen = [k for k in keywords if k in DPP]
    if len(chosen) != 1:
        raise ctx.error("AG112", function=DPP_MOVE, problem=f"it needs one of {', '.join(DPP)}")
    control = chosen[0]
    value = keywords.pop(control)
    low, high, _, _ = DPP[control]
    if control == "quad_perm":
        lanes = [want.integer(ctx, DPP_MOVE, control, v, 0, 3) for v in interp.static_items(value, None)]
        if len(lanes) != 4:
            raise ctx.error("AG112", function=DPP_MOVE, problem="`quad_perm` lists four lanes, each 0 to 3")
        number = sum(lane << 2 * i for i, lane in enumerate(lanes))
    elif value is True and low == high:
        number = low
    else:
        number = want.integer(ctx, DPP_MOVE, control, value, low, high)
    return {**keywords, "ctrl": control_code(control, number)}


def _spelled(word: str) -> str:
    word = word.removesuffix("x2")
    if word[0] in "iu":
        return "i64" if word.endswith("64") else f"i{word[1:]} or u{word[1:]}"
    return {"b32": "f32, i32 or u32", "mix": "f32 or f16"}.get(word, word)


def _constant_type(word: str, number: float | int) -> DType:
    word = word.removesuffix("x2")
    if word == "b32":
        word = "f32" if isinstance(number, float) else "u32"
    if word == "mix":
        word = "f32"
    if word == "u32" or word == "i32":
        return u32 if number >= 1 << 31 else i32
    if word == "u16" or word == "i16":
        return DTYPES["u16" if number >= 1 << 15 else "i16"]
    return DTYPES["i64" if word == "u64" else word]


def _operand(ctx: ReadContext, row: Call, position: int, given: object, like: Tile) -> Tile:
    word = row.operands[position]
    if isinstance(given, (int, float)) and not isinstance(given, bool):
        if word == "bool":
            raise ctx.error("AG412", dtype=arithmetic.describe(given))
        return tiles.constant(ctx, given, _constant_type(word, given), like.dist, like.chunk)
    made = want.tile(ctx, row.name, f"operand {position}", arithmetic.to_tile(ctx, given, like))
    if not accepts(word, made.dtype.name):
        raise ctx.error("AG401", what=f"operand {position} of {row.name}", left=_spelled(word), right=made.dtype)
    return made


def _result_type(word: str, row: Call, given: list[tuple[Tile, bool]]) -> DType:
    """An untyped or integer result has the type of the first operand of its width; tiles decide before numbers."""
    word = word.removesuffix("x2")
    if word == "bool" or word[0] == "f":
        return DTYPES[word]
    bits = int(word[1:])
    for only_tiles in (True, False):
        for (tile, is_tile), have in zip(given, row.operands, strict=True):
            alike = have == "b32" if word == "b32" else have[0] in "iu"
            if alike and tile.dtype.bits == bits and is_tile >= only_tiles:
                return tile.dtype
    return DTYPES["i64" if word == "u64" else word]


def _elementwise(
    ctx: ReadContext, row: Call, operands: tuple[object, ...], attrs: dict[str, int | str | bool]
) -> tuple[Tile, ...]:
    found = [tiles.materialise(ctx, x) if isinstance(x, Coordinates) else x for x in operands]
    like = next((t for t in found if isinstance(t, Tile)), None)
    if like is None:
        raise ctx.error("AG112", function=row.name, problem="one of its operands must be a tile")
    given = [(_operand(ctx, row, n, x, like), isinstance(x, (Tile, Expr))) for n, x in enumerate(found)]
    kinds = tuple(_result_type(word, row, given) for word in row.results)
    spread = tiles.common(ctx, [tile for tile, _ in given])
    count, chunk = spread[0].count, min(t.chunk for t in spread)
    if row.packed and chunk % 2:
        if count % 2:
            raise ctx.error("AG112", function=row.name, problem=f"it works on pairs of elements; a thread has {count}")
        chunk = 2
    columns = [tiles.regroup(ctx, t, chunk).pieces for t in spread]
    ctx.spend(count)
    pieces: list[tuple[Value, ...]] = []
    for group in zip(*columns, strict=True):
        outs = tuple(ctx.b.value(kind, chunk) for kind in kinds)
        ctx.b.append(ops.Instruction(inst=row.name, args=group, outs=outs, attrs=dict(attrs)))
        pieces.append(outs)
    dist = spread[0].dist
    return tuple(Tile(kind, dist, tuple(p[n] for p in pieces)) for n, kind in enumerate(kinds))
