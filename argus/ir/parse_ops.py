"""How each op without a body is read from text: one small function per word, the counterpart of `printer._simple`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from argus.ir import ops
from argus.ir.ops import Memory, Op, Shared
from argus.ir.tokens import ParseError
from argus.ir.types import Value
from argus.layout.expr import Expr

if TYPE_CHECKING:
    from argus.ir.parser import KernelParser

Read = Callable[["KernelParser", list[Value]], Op]


def _one(p: KernelParser, results: list[Value]) -> Value:
    if len(results) != 1:
        raise ParseError(f"line {p.tokens.line}: this op has one result, not {len(results)}")
    return results[0]


def _none(p: KernelParser, results: list[Value]) -> None:
    if results:
        raise ParseError(f"line {p.tokens.line}: this op has no result")


def _constant(p: KernelParser, results: list[Value]) -> Op:
    text = p.tokens.take("number")
    whole = text.lstrip("-").isdecimal()
    return ops.Constant(result=_one(p, results), value=int(text) if whole else float(text))


def _index(p: KernelParser, results: list[Value]) -> Op:
    return ops.Index(result=_one(p, results), expr=p.expr())


def _symbol(p: KernelParser, results: list[Value]) -> Op:
    _none(p, results)
    value = p.use()
    p.tokens.expect("as")
    symbol = p.expr()
    p.tokens.expect("facts")
    return ops.Symbol(value=value, symbol=symbol, facts=p.exprs())


def _load(p: KernelParser, results: list[Value]) -> Op:
    return ops.Load(result=_one(p, results), access=p.access())


def _store(p: KernelParser, results: list[Value]) -> Op:
    _none(p, results)
    access = p.access()
    p.tokens.expect("value")
    return ops.Store(access=access, value=p.use())


def _copy(p: KernelParser, results: list[Value]) -> Op:
    _none(p, results)
    access = p.access()
    p.tokens.expect("into")
    into = p.memory()
    if not isinstance(into, Shared):
        raise ParseError(f"line {p.tokens.line}: {into.name} is not an LDS buffer")
    p.tokens.expect("base")
    return ops.CopyToLds(access=access, into=into, lds_base=p.expr())


def _atomic(p: KernelParser, results: list[Value]) -> Op:
    _none(p, results)
    fn = p.tokens.take("word")
    access = p.access()
    p.tokens.expect("value")
    return ops.Atomic(fn=fn, access=access, value=p.use())


def _map(p: KernelParser, results: list[Value]) -> Op:
    fn = p.tokens.take("word")
    return ops.Map(result=_one(p, results), fn=fn, args=p.uses())


def _convert(p: KernelParser, results: list[Value]) -> Op:
    value = p.use()
    rounding = p.tokens.take("word")
    saturate = p.tokens.accept("saturate")
    finite = p.tokens.accept("finite")
    return ops.Convert(result=_one(p, results), value=value, rounding=rounding, saturate=saturate, finite=finite)


def _bitcast(p: KernelParser, results: list[Value]) -> Op:
    return ops.Bitcast(result=_one(p, results), value=p.use())


def _registers(p: KernelParser, results: list[Value]) -> Op:
    t = p.tokens
    args = p.uses()
    picks: list[tuple[int, int]] = []
    t.expect("[")
    while not t.accept("]"):
        arg = t.integer()
        t.expect(":")
        first = t.integer()
        repeated = t.accept("*")
        if not repeated:
            t.expect("+")
        count = t.integer()
        if not 1 <= count <= 4096:
            raise ParseError(f"line {t.line}: a run of {count} elements")
        picks += [(arg, first if repeated else first + i) for i in range(count)]
        if not t.peek("]"):
            t.expect(",")
    return ops.Registers(result=_one(p, results), args=args, pick=tuple(picks))


def _lanes(p: KernelParser, results: list[Value]) -> Op:
    value = p.use()
    p.tokens.expect("from")
    return ops.Lanes(result=_one(p, results), value=value, source=p.expr())


def _mfma(p: KernelParser, results: list[Value]) -> Op:
    inst = p.tokens.take("word")
    operands = p.uses()
    if len(operands) != 3:
        raise ParseError(f"line {p.tokens.line}: mfma has three operands")
    a, b, c = operands
    return ops.Mfma(result=_one(p, results), inst=inst, a=a, b=b, c=c)


def _instruction(p: KernelParser, results: list[Value]) -> Op:
    inst = p.tokens.string()
    args = p.uses()
    return ops.Instruction(inst=inst, args=args, outs=tuple(results), attrs=p.pairs())


def _barrier(p: KernelParser, results: list[Value]) -> Op:
    _none(p, results)
    return ops.Barrier(bare=p.tokens.accept("bare"))


def _wait(p: KernelParser, results: list[Value]) -> Op:
    _none(p, results)
    vm = p.tokens.integer() if p.tokens.accept("vm") else None
    lgkm = p.tokens.integer() if p.tokens.accept("lgkm") else None
    return ops.Wait(vm=vm, lgkm=lgkm, registers=p.tokens.accept("registers"))


def _setprio(p: KernelParser, results: list[Value]) -> Op:
    _none(p, results)
    return ops.SetPrio(priority=p.tokens.integer())


def _target(p: KernelParser) -> Value | Memory | str:
    if p.tokens.accept("op"):
        return p.tokens.string()
    if p.tokens.accept("memory"):
        return p.memory()
    return p.use()


def _tag(p: KernelParser, results: list[Value]) -> Op:
    _none(p, results)
    target = _target(p)
    if isinstance(target, str):
        raise ParseError(f"line {p.tokens.line}: a tag is on a value or a memory")
    name = p.tokens.string()
    p.tokens.expect("params")
    params = p.exprs()
    p.tokens.expect("exprs")
    return ops.Tag(target=target, name=name, params=params, exprs=p.exprs())


def _check(p: KernelParser, results: list[Value]) -> Op:
    _none(p, results)
    t = p.tokens
    rule = t.take("word")
    t.expect("(")
    targets: list[Value | Memory | str] = []
    while not t.accept(")"):
        targets.append(_target(p))
        if not t.peek(")"):
            t.expect(",")
    t.expect("{")
    facts: dict[str, Expr | str | int | tuple[Expr, ...]] = {}
    while not t.accept("}"):
        name = t.string()
        t.expect("=")
        facts[name] = p.expr() if t.next_is("expr") else p.exprs() if t.peek("[") else t.scalar()
        if not t.peek("}"):
            t.expect(",")
    return ops.Check(rule=rule, targets=tuple(targets), args=facts)


SIMPLE: dict[str, Read] = {
    "constant": _constant,
    "index": _index,
    "symbol": _symbol,
    "load": _load,
    "store": _store,
    "copy": _copy,
    "atomic": _atomic,
    "map": _map,
    "convert": _convert,
    "bitcast": _bitcast,
    "registers": _registers,
    "lanes": _lanes,
    "mfma": _mfma,
    "instruction": _instruction,
    "barrier": _barrier,
    "wait": _wait,
    "setprio": _setprio,
    "tag": _tag,
    "check": _check,
}
