"""Elementwise functions (`Map`) as LLVM instructions.

Functions that LLVM has on vectors are emitted on the whole register vector, so that packed f32 instructions can be
chosen where they pay; the transcendental ones are one hardware instruction per element (`v_exp_f32` and its kin,
unadjusted). Nothing is contracted: a product and a sum stay two roundings, `fma` is one.

bf16 and the 8-bit floats have no arithmetic on this chip: they are widened to f32, computed, and rounded to nearest
even. For one operation that equals rounding the exact result, because f32 has more than twice their bits.
"""

from __future__ import annotations

from collections.abc import Callable

from argus.compile import convert
from argus.compile.context import EmitContext, element_type, vector
from argus.ir.ops import Map
from argus.ir.types import DType, f32

_FLOAT = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv"}
_INT = {"add": "add", "sub": "sub", "mul": "mul", "and": "and", "or": "or", "xor": "xor", "shl": "shl"}
_FLOAT_COMPARE = {"lt": "olt", "le": "ole", "gt": "ogt", "ge": "oge", "eq": "oeq", "ne": "une"}
_INT_COMPARE = {"lt": "lt", "le": "le", "gt": "gt", "ge": "ge"}
_HARDWARE = {"exp2": "exp2", "log2": "log", "rcp": "rcp", "rsqrt": "rsq", "sqrt": "sqrt"}
_HARDWARE_F64 = frozenset({"rcp", "rsqrt", "sqrt"})
_NARROW = ("bf16", "fp8", "bf8")


def emit_map(c: EmitContext, op: Map) -> None:
    dtype, count = op.args[-1].dtype, op.result.count
    if dtype.name in _NARROW and op.fn != "select":
        wide = [convert.to_f32(c, arg) for arg in op.args]
        text = _apply(c, op, f32, wide, count)
        text = text if op.result.dtype.kind == "bool" else convert.from_f32(c, text, op.result)
    elif op.fn == "select":
        condition = c.typed(op.args[0])
        held = [c.typed(arg) for arg in op.args[1:]]
        kind = vector(element_type(dtype), count)
        text = c.function.let(f"select {vector('i1', count)} {condition}, {kind} {held[0]}, {kind} {held[1]}")
        text = c.packed(text, op.result)
    else:
        text = _apply(c, op, dtype, [c.typed(arg) for arg in op.args], count)
        text = c.packed(text, op.result)
    c.set(op.result, text)


def _apply(c: EmitContext, op: Map, dtype: DType, args: list[str], count: int) -> str:
    emit: Callable[[EmitContext, Map, DType, list[str], int], str | None]
    emit = {"float": _float, "int": _integer, "uint": _integer, "bool": _boolean}[dtype.kind]
    text = emit(c, op, dtype, args, count)
    if text is None:
        raise c.fail("C101", f"`{op.fn}` is not an operation on {op.args[-1].dtype}")
    return text


def _suffix(dtype: DType, count: int) -> str:
    scalar = dtype.name if dtype.kind == "float" else f"i{dtype.bits}"
    return scalar if count == 1 else f"v{count}{scalar}"


def _intrinsic(c: EmitContext, name: str, dtype: DType, args: list[str], count: int, *immediates: str) -> str:
    kind = vector(element_type(dtype), count)
    operands = [f"{kind} {arg}" for arg in args]
    return c.function.call(kind, f"llvm.{name}.{_suffix(dtype, count)}", *operands, *immediates)


def _float(c: EmitContext, op: Map, dtype: DType, args: list[str], count: int) -> str | None:
    fn, kind = op.fn, vector(element_type(dtype), count)
    if fn in _FLOAT:
        return c.function.let(f"{_FLOAT[fn]} {kind} {args[0]}, {args[1]}")
    if fn in _FLOAT_COMPARE:
        return c.function.let(f"fcmp {_FLOAT_COMPARE[fn]} {kind} {args[0]}, {args[1]}")
    if fn == "neg":
        return c.function.let(f"fneg {kind} {args[0]}")
    if fn in ("max", "min", "fma", "abs", "floor"):
        name = {"max": "maxnum", "min": "minnum", "abs": "fabs"}.get(fn, fn)
        return _intrinsic(c, name, dtype, args, count)
    if fn in _HARDWARE and (dtype.bits < 64 or fn in _HARDWARE_F64):
        element = element_type(dtype)
        parts = c.elements(args[0], element, count)
        done = [_intrinsic(c, f"amdgcn.{_HARDWARE[fn]}", dtype, [part], 1) for part in parts]
        return c.build(done, element)
    return None


def _integer(c: EmitContext, op: Map, dtype: DType, args: list[str], count: int) -> str | None:
    fn, kind, signed = op.fn, vector(element_type(dtype), count), dtype.kind == "int"
    sign = "s" if signed else "u"
    if fn in _INT:
        return c.function.let(f"{_INT[fn]} {kind} {args[0]}, {args[1]}")
    if fn == "shr":
        return c.function.let(f"{'ashr' if signed else 'lshr'} {kind} {args[0]}, {args[1]}")
    if fn in _INT_COMPARE:
        return c.function.let(f"icmp {sign}{_INT_COMPARE[fn]} {kind} {args[0]}, {args[1]}")
    if fn in ("eq", "ne"):
        return c.function.let(f"icmp {fn} {kind} {args[0]}, {args[1]}")
    if fn in ("max", "min"):
        return _intrinsic(c, f"{sign}{fn}", dtype, args, count)
    if fn == "neg":
        return c.function.let(f"sub {kind} zeroinitializer, {args[0]}" if count > 1 else f"sub {kind} 0, {args[0]}")
    if fn == "abs":
        return _intrinsic(c, "abs", dtype, args, count, "i1 false") if signed else args[0]
    return None


def _boolean(c: EmitContext, op: Map, dtype: DType, args: list[str], count: int) -> str | None:
    kind = vector("i1", count)
    if op.fn in ("and", "or", "xor"):
        return c.function.let(f"{op.fn} {kind} {args[0]}, {args[1]}")
    if op.fn == "not":
        ones = "true" if count == 1 else "<" + ", ".join(["i1 true"] * count) + ">"
        return c.function.let(f"xor {kind} {args[0]}, {ones}")
    return None
