"""Changes of element type (`Convert`), exact about rounding and NaN.

f32 to bf16 has no instruction on gfx942. Round to nearest even in integers, per element:

    lsb     = (x >> 16) & 1                v_bfe_u32
    rounded = x + lsb + 0x7fff             v_add3_u32           carries into the exponent just as rounding should
    rounded = NaN if x is NaN              v_cmp_u + v_cndmask  left out where the author states the range is finite
    pair    = high halves of two elements  v_perm_b32

2.5 instructions an element when finite, 4.5 otherwise. LLVM's own `fptrunc` takes 5.5.
8-bit floats are FNUZ and use the hardware's packed conversions: out-of-range values become NaN, unless `saturate`.

Types of two bytes and less are made from f32. What f32 does not hold (f64, integers of more than two bytes) is rounded
to odd on the way, from f64, so that it is rounded once: the neighbour whose last digit is 1 stands for all numbers
between two of f32, and is no tie of a type with 22 digits or less.

    near    = f32(x)                       v_cvt_f32_f64        nearest; back = f64(near)
    bits    = near - (|back| > |x|)        v_sub                toward zero
    bits    = bits | (back != x)           v_or                 odd
"""

from __future__ import annotations

import struct

from argus.compile.context import EmitContext, element_type, vector
from argus.ir.conversions import cut_at
from argus.ir.ops import Convert
from argus.ir.types import Value

QUIET_NAN = 0x7FC0_0000


def emit_convert(c: EmitContext, op: Convert) -> None:
    source, target = op.value.dtype, op.result.dtype
    if source.name == target.name:
        text = c.get(op.value)
    elif source.kind == "bool":
        text = _from_bool(c, op)
    elif target.kind == "bool":
        text = _to_bool(c, op)
    elif source.kind == "float" and target.kind == "float":
        text = _float_to_float(c, op)
    elif source.kind == "float":
        text = _float_to_int(c, op)
    elif target.kind == "float":
        text = _int_to_float(c, op)
    else:
        text = _int_to_int(c, op)
    c.set(op.result, text)


def to_f32(c: EmitContext, value: Value) -> str:
    """Any float value as `vector("float", count)`; widening is exact."""
    dtype, count = value.dtype, value.count
    if dtype.name == "f32":
        return c.get(value)
    if dtype.name == "bf16":
        parts: list[str] = []
        for word in c.dwords(value):
            for text in (f"shl i32 {word}, 16", f"and i32 {word}, -65536")[: count - len(parts)]:
                parts.append(c.cast(c.function.let(text), "i32", "float"))
        return c.build(parts, "float")
    if dtype.name in ("fp8", "bf8"):
        return _widen_bytes(c, value)
    kind = vector("float", count)
    op = "fpext" if dtype.bits < 32 else "fptrunc"
    return c.function.let(f"{op} {vector(element_type(dtype), count)} {c.typed(value)} to {kind}")


def _widen_bytes(c: EmitContext, value: Value) -> str:
    parts: list[str] = []
    for word in c.dwords(value):
        for half in ("false", "true"):
            name = f"llvm.amdgcn.cvt.pk.f32.{value.dtype.name}"
            pair = c.function.call("<2 x float>", name, f"i32 {word}", f"i1 {half}")
            parts += c.elements(pair, "float", 2)
    return c.build(parts[: value.count], "float")


def from_f32(
    c: EmitContext, text: str, result: Value, rounding: str = "rne", limit: float | None = None, finite: bool = False
) -> str:
    """`vector("float", count)` to the held form of a float value, cut off at `limit` and its negative."""
    dtype, count = result.dtype, result.count
    parts = c.elements(text, "float", count)
    if limit is not None:
        parts = [_clamped(c, part, limit, finite) for part in parts]
    if dtype.name == "bf16":
        return _to_bf16(c, parts, result, rounding, finite)
    if dtype.name in ("fp8", "bf8"):
        return _to_bytes(c, parts, result)
    if dtype.name == "f16" and rounding == "rtz":
        return _to_f16_toward_zero(c, parts, result)
    text = c.build(parts, "float")
    if dtype.name == "f32":
        return text
    op = "fptrunc" if dtype.bits < 32 else "fpext"
    kind = vector(element_type(dtype), count)
    return c.packed(c.function.let(f"{op} {vector('float', count)} {text} to {kind}"), result)


def _clamped(c: EmitContext, part: str, largest: float, finite: bool) -> str:
    low, high = _f32(-largest), _f32(largest)
    clamped = c.function.call("float", "llvm.amdgcn.fmed3.f32", f"float {part}", low, high)
    if finite:
        return clamped
    nan = c.function.let(f"fcmp uno float {part}, {part}")
    return c.function.let(f"select i1 {nan}, float {part}, float {clamped}")


def _f32(number: float) -> str:
    """A number of f32 as LLVM IR writes it: short where that is the number, else the bits of the f64."""
    short = f"{number:e}"
    return f"float {short}" if float(short) == number else f"float 0x{struct.pack('>d', number).hex().upper()}"


def _to_bf16(c: EmitContext, parts: list[str], result: Value, rounding: str, finite: bool) -> str:
    rounded: list[str] = []
    for part in parts:
        bits = c.cast(part, "float", "i32")
        if rounding == "rne":
            above = c.function.let(f"lshr i32 {bits}, 16")
            lsb = c.function.let(f"and i32 {above}, 1")
            sum_ = c.function.let(f"add i32 {c.function.let(f'add i32 {bits}, {lsb}')}, 32767")
            if finite:
                bits = sum_
            else:
                nan = c.function.let(f"fcmp uno float {part}, {part}")
                bits = c.function.let(f"select i1 {nan}, i32 {QUIET_NAN}, i32 {sum_}")
        elif not finite:
            nan = c.function.let(f"fcmp uno float {part}, {part}")
            bits = c.function.let(f"select i1 {nan}, i32 {QUIET_NAN}, i32 {bits}")
        rounded.append(bits)
    words: list[str] = []
    for n in range(0, len(rounded), 2):
        if n + 1 == len(rounded):
            words.append(c.function.let(f"lshr i32 {rounded[n]}, 16"))
        else:
            words.append(high_halves(c, rounded[n], rounded[n + 1]))
    return c.from_dwords(words, result)


def high_halves(c: EmitContext, low: str, high: str) -> str:
    """One register with the high 16 bits of two."""
    return c.function.call("i32", "llvm.amdgcn.perm", f"i32 {high}", f"i32 {low}", f"i32 {0x07060302}")


def _to_bytes(c: EmitContext, parts: list[str], result: Value) -> str:
    words: list[str] = []
    for n in range(0, len(parts), 4):
        word = "0"
        for half in range(2):
            pair = parts[n + 2 * half : n + 2 * half + 2]
            if pair:
                pair = [*pair, "0.0"][:2]
                name = f"llvm.amdgcn.cvt.pk.{result.dtype.name}.f32"
                word = c.function.call(
                    "i32",
                    name,
                    f"float {pair[0]}",
                    f"float {pair[1]}",
                    f"i32 {word}",
                    f"i1 {'true' if half else 'false'}",
                )
        words.append(word)
    return c.from_dwords(words, result)


def _to_f16_toward_zero(c: EmitContext, parts: list[str], result: Value) -> str:
    words: list[str] = []
    for n in range(0, len(parts), 2):
        pair = [*parts[n : n + 2], "0.0"][:2]
        both = c.function.call("<2 x half>", "llvm.amdgcn.cvt.pkrtz", f"float {pair[0]}", f"float {pair[1]}")
        words.append(c.cast(both, "<2 x half>", "i32"))
    return c.from_dwords(words, result)


def _float_to_float(c: EmitContext, op: Convert) -> str:
    source, result = op.value, op.result
    text = _from_f64(c, c.get(source), op) if source.dtype.bits == 64 else to_f32(c, source)
    return from_f32(c, text, result, op.rounding, _limit(op), op.finite)


def _limit(op: Convert) -> float | None:
    return cut_at(op.value.dtype, op.result.dtype) if op.saturate else None


def _from_f64(c: EmitContext, text: str, op: Convert) -> str:
    """f64 to f32: odd on the way to a narrower type, else as the conversion rounds."""
    count, odd = op.result.count, op.result.dtype.bits < 32
    wide, narrow, words = vector("double", count), vector("float", count), vector("i32", count)
    flags, suffix = vector("i1", count), "f64" if count == 1 else f"v{count}f64"
    near = c.function.let(f"fptrunc {wide} {text} to {narrow}")
    if op.rounding == "rne" and not odd:
        return near
    back = c.function.let(f"fpext {narrow} {near} to {wide}")
    sizes = [c.function.call(wide, f"llvm.fabs.{suffix}", f"{wide} {x}") for x in (back, text)]
    grew = c.function.let(f"fcmp ogt {wide} {sizes[0]}, {sizes[1]}")
    bits = c.function.let(f"sub {words} {c.cast(near, narrow, words)}, {_as_number(c, grew, flags, words)}")
    if odd:
        differs = c.function.let(f"fcmp one {wide} {back}, {text}")
        bits = c.function.let(f"or {words} {bits}, {_as_number(c, differs, flags, words)}")
    return c.cast(bits, words, narrow)


def _as_number(c: EmitContext, flag: str, flags: str, words: str) -> str:
    return c.function.let(f"zext {flags} {flag} to {words}")


def _float_to_int(c: EmitContext, op: Convert) -> str:
    """Rounded, then to 32 bits as the hardware does (clamped to the range, NaN gives 0), then wrapped or clamped."""
    count, target = op.result.count, op.result.dtype
    wide, scalar = ("double", "f64") if op.value.dtype.bits == 64 else ("float", "f32")
    text = c.get(op.value) if wide == "double" else to_f32(c, op.value)
    kind = vector(wide, count)
    suffix = scalar if count == 1 else f"v{count}{scalar}"
    if op.rounding == "rne":
        text = c.function.call(kind, f"llvm.rint.{suffix}", f"{kind} {text}")
    signed = target.kind == "int" or (not op.saturate and target.bits < 32)
    bits = max(target.bits, 32)
    integers = vector(f"i{bits}", count)
    into = f"i{bits}" if count == 1 else f"v{count}i{bits}"
    name = f"llvm.fpto{'s' if signed else 'u'}i.sat.{into}.{suffix}"
    text = c.function.call(integers, name, f"{kind} {text}")
    return c.packed(_narrow(c, text, bits, signed, op), op.result)


def _narrow(c: EmitContext, text: str, bits: int, signed: bool, op: Convert) -> str:
    target, count = op.result.dtype, op.result.count
    if target.bits == bits:
        return text
    kind = vector(f"i{bits}", count)
    if op.saturate:
        low = -(1 << target.bits - 1) if target.kind == "int" else 0
        high = (1 << target.bits - (target.kind == "int")) - 1
        suffix = f"i{bits}" if count == 1 else f"v{count}i{bits}"
        sign = "s" if signed else "u"
        text = c.function.call(kind, f"llvm.{sign}min.{suffix}", f"{kind} {text}", f"{kind} {splat(high, bits, count)}")
        if signed:
            text = c.function.call(kind, f"llvm.smax.{suffix}", f"{kind} {text}", f"{kind} {splat(low, bits, count)}")
    return c.function.let(f"trunc {kind} {text} to {vector(f'i{target.bits}', count)}")


def splat(value: int, bits: int, count: int) -> str:
    return str(value) if count == 1 else "<" + ", ".join([f"i{bits} {value}"] * count) + ">"


def _int_to_float(c: EmitContext, op: Convert) -> str:
    source, result, count = op.value, op.result, op.result.count
    bits, target = source.dtype.bits, result.dtype
    through = bits > 16 and target.bits < 64 and (target.bits < 32 or op.rounding == "rtz")
    wide = "double" if target.bits == 64 or through else "float"
    cast = "sitofp" if source.dtype.kind == "int" else "uitofp"
    kind = vector(element_type(source.dtype), count)
    text = kept_apart(c, kind, c.typed(source))
    if through and bits == 64:
        text = _odd_53(c, text, count)
    text = c.function.let(f"{cast} {kind} {text} to {vector(wide, count)}")
    if target.bits == 64:
        return text
    if through:
        text = _from_f64(c, text, op)
    return from_f32(c, text, result, op.rounding, _limit(op), finite=True)


def _odd_53(c: EmitContext, text: str, count: int) -> str:
    """i64 that f64 holds: beyond 2^53 the last 11 bits become one, which is set if any of them was."""
    kind, flags = vector("i64", count), vector("i1", count)

    def number(value: int) -> str:
        return splat(value, 64, count)

    low = c.function.let(f"and {kind} {text}, {number(2047)}")
    some = c.function.let(f"and {kind} {c.function.let(f'add {kind} {low}, {number(2047)}')}, {number(2048)}")
    odd = c.function.let(f"or {kind} {c.function.let(f'and {kind} {text}, {number(-2048)}')}, {some}")
    shifted = c.function.let(f"add {kind} {text}, {number(1 << 53)}")
    large = c.function.let(f"icmp ugt {kind} {shifted}, {number(1 << 54)}")
    return c.function.let(f"select {flags} {large}, {kind} {odd}, {kind} {text}")


def _int_to_int(c: EmitContext, op: Convert) -> str:
    source, result, count = op.value.dtype, op.result, op.result.count
    text, kind = c.typed(op.value), vector(element_type(source), count)
    if op.saturate and result.dtype.bits >= source.bits:
        text = _cut_to_sign(c, text, kind, op)
    if result.dtype.bits > source.bits:
        grow = "sext" if source.kind == "int" else "zext"
        text = c.function.let(f"{grow} {kind} {kept_apart(c, kind, text)} to {vector(f'i{result.dtype.bits}', count)}")
    elif result.dtype.bits < source.bits:
        text = _narrow(c, text, source.bits, source.kind == "int", op)
    return c.packed(text, result)


def _cut_to_sign(c: EmitContext, text: str, kind: str, op: Convert) -> str:
    """To a type that is not narrower: negative numbers become 0 in one without sign, large ones the largest in one with
    sign and as many bits."""
    source, target, count = op.value.dtype, op.result.dtype, op.result.count
    suffix = f"i{source.bits}" if count == 1 else f"v{count}i{source.bits}"
    if source.kind == "int" and target.kind == "uint":
        return c.function.call(kind, f"llvm.smax.{suffix}", f"{kind} {text}", f"{kind} {splat(0, source.bits, count)}")
    if source.kind == "uint" and target.kind == "int" and target.bits == source.bits:
        most = splat((1 << target.bits - 1) - 1, source.bits, count)
        return c.function.call(kind, f"llvm.umin.{suffix}", f"{kind} {text}", f"{kind} {most}")
    return text


def kept_apart(c: EmitContext, kind: str, text: str) -> str:
    """The same value; without this LLVM merges an extension into a narrow load and moves the load here."""
    return c.function.let(f"freeze {kind} {text}")


def _from_bool(c: EmitContext, op: Convert) -> str:
    count, target = op.result.count, op.result.dtype
    if target.kind == "float":
        text = c.function.let(f"uitofp {vector('i1', count)} {c.get(op.value)} to {vector('float', count)}")
        return text if target.name == "f32" else from_f32(c, text, op.result, finite=True)
    kind = vector(f"i{target.bits}", count)
    return c.packed(c.function.let(f"zext {vector('i1', count)} {c.get(op.value)} to {kind}"), op.result)


def _to_bool(c: EmitContext, op: Convert) -> str:
    source, count = op.value.dtype, op.value.count
    if source.kind == "float":
        text = to_f32(c, op.value) if source.bits < 64 else c.get(op.value)
        kind = vector("float" if source.bits < 64 else "double", count)
        return c.function.let(f"fcmp une {kind} {text}, {'zeroinitializer' if count > 1 else '0.0'}")
    kind = vector(f"i{source.bits}", count)
    return c.function.let(f"icmp ne {kind} {c.typed(op.value)}, {'zeroinitializer' if count > 1 else '0'}")
