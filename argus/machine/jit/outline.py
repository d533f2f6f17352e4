"""Long table functions as calls instead of inline code.

A division step (v_div_scale_f32) is sixty LLVM instructions; an attention kernel's epilogue holds a hundred of them in
unrolled code, and compiling each copy costs more than the calls do. A function longer than LIMIT is therefore emitted
once per kernel, for eight lanes, and called:

    %r = call { <8 x i32>, <8 x i1> } @op_v_div_scale_f32(<8 x i32> %x, <8 x i32> %d, <8 x i32> %n)

Calls with constant arguments stay inline, because constants fold much of such functions away; so does the exponential,
which attention kernels execute in their inner loop.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from argus.machine.jit.irtext import JitFunction, JitModule
from argus.machine.jit.llvm_builder import LlvmBuilder, LlvmValue

LIMIT = 45

Apply = Callable[..., Any]
Key = tuple[str, bool, tuple[bool, bool, bool]]

_COSTS: dict[Key, int] = {}


def apply(b: LlvmBuilder, name: str, fn: Apply, saturating: bool, arguments: Sequence[LlvmValue]) -> Any:
    """`fn` over the arguments, inline or as a call."""
    if any(a.known is not None for a in arguments):
        return fn(b, *arguments)
    key: Key = (name, saturating, b.mode)
    cost = _COSTS.get(key)
    if cost is None:
        cost = _COSTS[key] = _cost(b, fn, arguments)
    if cost <= LIMIT:
        return fn(b, *arguments)
    return _call(b, key, fn, arguments)


def _parameters(arguments: Sequence[LlvmValue]) -> list[LlvmValue]:
    return [LlvmValue(a.bits, f"%p{i}") for i, a in enumerate(arguments)]


def _cost(b: LlvmBuilder, fn: Apply, arguments: Sequence[LlvmValue]) -> int:
    trial = JitModule().function("trial", "void", [])
    fn(b.like(trial), *_parameters(arguments))
    return len(trial.lines)


def _call(b: LlvmBuilder, key: Key, fn: Apply, arguments: Sequence[LlvmValue]) -> Any:
    name, saturating, mode = key
    function = f"op_{name}{'_sat' if saturating else ''}_{''.join(str(int(m)) for m in mode)}"
    types = [b.type_of(a.bits) for a in arguments]
    bits = _define(b, function, fn, arguments, types)
    passed = [(type_, b.whole(a)) for type_, a in zip(types, arguments, strict=True)]
    if len(bits) == 1:
        return LlvmValue(bits[0], b.f.call(b.type_of(bits[0]), function, *passed))
    struct = "{ " + ", ".join(b.type_of(n) for n in bits) + " }"
    made = b.f.call(struct, function, *passed)
    return tuple(LlvmValue(n, b.f.let(f"extractvalue {struct} {made}, {i}")) for i, n in enumerate(bits))


_RESULTS: dict[str, list[int]] = {}


def _define(b: LlvmBuilder, name: str, fn: Apply, arguments: Sequence[LlvmValue], types: Sequence[str]) -> list[int]:
    """Write the function into the kernel's module if it is not there; the widths of its results."""
    module = b.f.module
    if name in module.functions:
        return _RESULTS[name]
    f: JitFunction = module.function(name, "", [(type_, f"p{i}") for i, type_ in enumerate(types)])
    inner = b.like(f)
    made = fn(inner, *_parameters(arguments))
    values: tuple[LlvmValue, ...] = made if isinstance(made, tuple) else (made,)
    bits = [value.bits for value in values]
    if len(values) == 1:
        returns = b.type_of(bits[0])
        f.ret(returns, inner.whole(values[0]))
    else:
        returns = "{ " + ", ".join(b.type_of(n) for n in bits) + " }"
        built = "poison"
        for i, value in enumerate(values):
            built = f.let(f"insertvalue {returns} {built}, {b.type_of(value.bits)} {inner.whole(value)}, {i}")
        f.ret(returns, built)
    f.returns(returns)
    _RESULTS[name] = bits
    return bits
