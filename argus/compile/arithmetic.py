"""Elementwise functions (`Map`) as LLVM instructions, by the `emission` of their row in `argus.ir.maps`.

    inst NAME ...    the instruction on the whole register vector, so that packed f32 forms can be chosen where they pay
    call NAME ...    the intrinsic on the vector, with immediate operands after the name
    each NAME        the intrinsic element by element: one hardware instruction each, unadjusted
    others           a few lines here, by name (`_FORMS`)

A composite is its program, step by step, in f32. Nothing is contracted: a product and a sum stay two roundings, `fma`
is one. Together with primitives that are rounded correctly this gives the bits that the interpreter computes.

bf16 and the 8-bit floats have no arithmetic on this chip: they are widened to f32, computed, and rounded to nearest
even. For one operation that equals rounding the exact result, because f32 has more than twice their bits. Composites
of f16 are computed so too.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

from argus.compile import convert
from argus.compile.context import EmitContext, element_type, vector
from argus.ir.maps import MAPS, MapFn
from argus.ir.maps.primitives import MOST_EXPONENT
from argus.ir.maps.program import MapConstant
from argus.ir.ops import Map
from argus.ir.types import DType, boolean, f32

_NARROW = ("bf16", "fp8", "bf8")
Form = Callable[[EmitContext, DType, list[str], int], str]


def emit_map(c: EmitContext, op: Map) -> None:
    row, dtype, count = MAPS[op.fn], op.args[-1].dtype, op.result.count
    through_f32 = dtype.name in _NARROW or (row.program is not None and dtype.name == "f16")
    if through_f32 and op.fn != "select":
        text = _apply(c, row, f32, [convert.to_f32(c, arg) for arg in op.args], count)
        text = text if op.result.dtype.kind == "bool" else convert.from_f32(c, text, op.result)
    else:
        text = c.packed(_apply(c, row, dtype, [c.typed(arg) for arg in op.args], count), op.result)
    c.set(op.result, text)


def _apply(c: EmitContext, row: MapFn, dtype: DType, args: list[str], count: int) -> str:
    if row.program is not None and dtype == f32:
        return _program(c, row, args, count)
    form = row.emission.get(dtype.name, row.emission.get(dtype.kind, ""))
    kind = vector(element_type(dtype), count)
    match form.split():
        case ["inst", *words]:
            return c.function.let(f"{' '.join(words)} {kind} {', '.join(args)}")
        case ["call", name, *immediate]:
            return _intrinsic(c, name, dtype, args, count, *([" ".join(immediate)] if immediate else []))
        case ["each", name]:
            element = element_type(dtype)
            parts = [_intrinsic(c, name, dtype, [part], 1) for part in c.elements(args[0], element, count)]
            return c.build(parts, element)
        case [special]:
            return _FORMS[special](c, dtype, args, count)
        case _:
            raise c.fail("C101", f"`{row.name}` is not an operation on {dtype}")


def _program(c: EmitContext, row: MapFn, args: list[str], count: int) -> str:
    """The steps of a composite on f32 vectors; conditions between them are masks."""
    assert row.program is not None
    values = list(args)
    for step in row.program.steps:
        given = [_constant(a.value, count) if isinstance(a, MapConstant) else values[a] for a in step.args]
        made = MAPS[step.fn]
        values.append(_apply(c, made, f32 if "float" in made.kinds else boolean, given, count))
    return values[-1]


def _constant(value: float, count: int) -> str:
    bits = f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"
    return bits if count == 1 else "<" + ", ".join([f"float {bits}"] * count) + ">"


def _suffix(dtype: DType, count: int) -> str:
    scalar = dtype.name if dtype.kind == "float" else f"i{dtype.bits}"
    return scalar if count == 1 else f"v{count}{scalar}"


def _intrinsic(c: EmitContext, name: str, dtype: DType, args: list[str], count: int, *immediates: str) -> str:
    kind = vector(element_type(dtype), count)
    operands = [f"{kind} {arg}" for arg in args]
    return c.function.call(kind, f"llvm.{name}.{_suffix(dtype, count)}", *operands, *immediates)


def _select(c: EmitContext, dtype: DType, args: list[str], count: int) -> str:
    kind = vector(element_type(dtype), count)
    return c.function.let(f"select {vector('i1', count)} {args[0]}, {kind} {args[1]}, {kind} {args[2]}")


def _minus(c: EmitContext, dtype: DType, args: list[str], count: int) -> str:
    return c.function.let(
        f"sub {vector(element_type(dtype), count)} {'zeroinitializer' if count > 1 else '0'}, {args[0]}"
    )


def _complement(c: EmitContext, dtype: DType, args: list[str], count: int) -> str:
    ones = "true" if count == 1 else "<" + ", ".join(["i1 true"] * count) + ">"
    return c.function.let(f"xor {vector('i1', count)} {args[0]}, {ones}")


def _operand(c: EmitContext, dtype: DType, args: list[str], count: int) -> str:
    return args[0]


def _ldexp(c: EmitContext, dtype: DType, args: list[str], count: int) -> str:
    """The exponent arrives as a whole number in f32 and is converted. It is bounded before, a NaN too (`maxnum` takes
    the number), so the conversion is never poison; `fptosi.sat` would be six instructions more for each."""
    floats, whole = vector("float", count), vector("i32", count)
    bits = "i32" if count == 1 else f"v{count}i32"
    least = _intrinsic(c, "maxnum", f32, [args[1], _constant(-MOST_EXPONENT, count)], count)
    bounded = _intrinsic(c, "minnum", f32, [least, _constant(MOST_EXPONENT, count)], count)
    n = c.function.let(f"fptosi {floats} {bounded} to {whole}")
    name = f"llvm.ldexp.{_suffix(f32, count)}.{bits}"
    return c.function.call(floats, name, f"{floats} {args[0]}", f"{whole} {n}")


def _exponent(c: EmitContext, dtype: DType, args: list[str], count: int) -> str:
    parts = []
    for part in c.elements(args[0], "float", count):
        n = c.function.call("i32", "llvm.amdgcn.frexp.exp.i32.f32", f"float {part}")
        parts.append(c.function.let(f"sitofp i32 {n} to float"))
    return c.build(parts, "float")


def _shift(op: str) -> Form:
    """By the amount modulo 32, or 64 of 64 bits; narrower elements in 32 bits. More is poison to LLVM, and the masks
    cost nothing: the instructions have them."""

    def emit(c: EmitContext, dtype: DType, args: list[str], count: int) -> str:
        if dtype.bits < 32:
            args = [_widened(c, dtype, arg, count) for arg in args]
        bits = max(dtype.bits, 32)
        kind = vector(f"i{bits}", count)
        amount = c.function.let(f"and {kind} {args[1]}, {convert.splat(bits - 1, bits, count)}")
        shifted = c.function.let(f"{op} {kind} {args[0]}, {amount}")
        if dtype.bits == bits:
            return shifted
        return c.function.let(f"trunc {kind} {shifted} to {vector(element_type(dtype), count)}")

    return emit


def _widened(c: EmitContext, dtype: DType, text: str, count: int) -> str:
    """Whole numbers in 32 bits; frozen, since LLVM would merge the extension with a load and move that."""
    kind = vector(element_type(dtype), count)
    frozen = c.function.let(f"freeze {kind} {text}")
    grow = "sext" if dtype.kind == "int" else "zext"
    return c.function.let(f"{grow} {kind} {frozen} to {vector('i32', count)}")


_FORMS: dict[str, Form] = {
    "select": _select,
    "minus": _minus,
    "complement": _complement,
    "operand": _operand,
    "ldexp": _ldexp,
    "exponent": _exponent,
    "shl": _shift("shl"),
    "ashr": _shift("ashr"),
    "lshr": _shift("lshr"),
}
