"""The emitting interpreter: an expression as code, through a small builder interface.

    emit(t//8*128 + t%8*16, PythonSource())     ->  "(((t >> 3) << 7) + ((t & 7) << 4))"

The builder supplies one method per operation; `emit` decides which operation each node becomes.  Multiplication,
floor division and modulo by powers of two become shifts and masks, which is right for negative numbers too because
an arithmetic shift rounds down.  Division of numbers that are known to be non-negative uses the unsigned form; the
rest asks the builder for a full floor division.  Shared subexpressions are emitted once.

Values are two's complement of the builder's width.  What it cannot do: it does not prove the absence of overflow
(see `smt.z3_no_overflow`) and it does not schedule; order follows the expression.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

from argus.layout.node import Expr

V = TypeVar("V")


class Builder(Protocol[V]):
    """What a code generator provides.  Comparisons return booleans; `as_number` turns one into 0 or 1."""

    def const(self, n: int) -> V: ...
    def truth(self, value: bool) -> V: ...
    def var(self, e: Expr) -> V: ...
    def apply(self, e: Expr, args: Sequence[V]) -> V: ...
    def add(self, a: V, b: V) -> V: ...
    def sub(self, a: V, b: V) -> V: ...
    def mul(self, a: V, b: V) -> V: ...
    def shl(self, a: V, b: V) -> V: ...
    def shr(self, a: V, b: V) -> V:
        """Arithmetic shift to the right."""
        ...

    def udiv(self, a: V, b: V) -> V:
        """Quotient of non-negative numbers."""
        ...

    def urem(self, a: V, b: V) -> V:
        """Remainder of non-negative numbers."""
        ...

    def floordiv(self, a: V, b: V) -> V:
        """Quotient rounded down, any signs."""
        ...

    def floormod(self, a: V, b: V) -> V:
        """Remainder with the sign of b, any signs."""
        ...

    def xor(self, a: V, b: V) -> V: ...
    def bit_and(self, a: V, b: V) -> V: ...
    def bit_or(self, a: V, b: V) -> V: ...
    def compare(self, op: str, a: V, b: V) -> V:
        """Signed comparison; op is lt, le, eq or ne."""
        ...

    def lnot(self, a: V) -> V: ...
    def land(self, a: V, b: V) -> V: ...
    def lor(self, a: V, b: V) -> V: ...
    def select(self, c: V, a: V, b: V) -> V: ...
    def minimum(self, a: V, b: V) -> V: ...
    def maximum(self, a: V, b: V) -> V: ...
    def as_number(self, truth: V) -> V: ...


def emit(e: Expr, builder: Builder[V], cache: dict[Expr, V] | None = None) -> V:
    """Code for `e`.  A `cache` shared between calls reuses values emitted before (they must still be available)."""
    done: dict[Expr, V] = {} if cache is None else cache
    stack = [e]
    while stack:
        node = stack[-1]
        if node in done:
            stack.pop()
            continue
        needed = [arg for arg in _operands(node) if arg not in done]
        if needed:
            stack.extend(reversed(needed))
        else:
            done[node] = _emit_node(node, builder, done)
            stack.pop()
    return done[e]


def _operands(node: Expr) -> list[Expr]:
    """The arguments whose values the node's code uses; a sum uses the positive form of a negative term."""
    if node.op == "add":
        return [_without_sign(arg)[0] for arg in node.args if arg.op != "const"]
    return [arg for arg in node.args if arg.op != "const" or node.op not in ("mul", "floordiv", "mod")]


def _without_sign(term: Expr) -> tuple[Expr, bool]:
    """(|term|, negative) for a term with a negative constant factor."""
    if term.op == "mul" and term.args[-1].op == "const" and term.args[-1].value < 0:
        return -term, True
    return term, False


def _number(node: Expr, builder: Builder[V], done: dict[Expr, V]) -> V:
    if node.op == "const":
        return builder.const(node.value)
    return builder.as_number(done[node]) if node.boolean else done[node]


def _power(e: Expr) -> int | None:
    if e.op == "const" and e.value > 0 and e.value & (e.value - 1) == 0:
        return e.value.bit_length() - 1
    return None


def _emit_node(node: Expr, b: Builder[V], done: dict[Expr, V]) -> V:
    op = node.op
    if op == "const":
        return b.truth(node.value == 1) if node.boolean else b.const(node.value)
    if op == "var":
        return b.var(node)
    if op == "add":
        return _emit_sum(node, b, done)
    if op == "not":
        return b.lnot(done[node.args[0]])
    if op in ("land", "lor"):
        return _fold(b.land if op == "land" else b.lor, [done[arg] for arg in node.args])
    if op == "select" and node.boolean:
        return b.select(done[node.args[0]], done[node.args[1]], done[node.args[2]])
    numbers = [_number(arg, b, done) for arg in node.args]
    if op == "select":
        return b.select(done[node.args[0]], numbers[1], numbers[2])
    if op == "apply":
        return b.apply(node, numbers)
    if op == "mul":
        return _emit_product(node, numbers, b)
    if op in ("floordiv", "mod"):
        return _emit_division(node, numbers, b)
    if op in ("lt", "le", "eq", "ne"):
        return b.compare(op, numbers[0], numbers[1])
    step = {
        "xor": b.xor,
        "and": b.bit_and,
        "or": b.bit_or,
        "shl": b.shl,
        "shr": b.shr,
        "min": b.minimum,
        "max": b.maximum,
    }[op]
    return _fold(step, numbers)


class _Step(Protocol[V]):
    def __call__(self, a: V, b: V, /) -> V: ...


def _fold(step: _Step[V], values: Sequence[V]) -> V:
    result = values[0]
    for value in values[1:]:
        result = step(result, value)
    return result


def _emit_sum(node: Expr, b: Builder[V], done: dict[Expr, V]) -> V:
    """Positive terms first, so that nothing is negated unless every term is negative."""
    positive: list[Expr] = []
    negative: list[Expr] = []
    for arg in node.args:
        term, minus = _without_sign(arg)
        (negative if minus else positive).append(term)
    if positive:
        total = _fold(b.add, [_number(term, b, done) for term in positive])
    else:
        total = b.const(0)
    for term in negative:
        total = b.sub(total, _number(term, b, done))
    return total


def _emit_product(node: Expr, numbers: list[V], b: Builder[V]) -> V:
    shift = _power(node.args[-1])
    if shift is None and node.args[-1].op == "const" and node.args[-1].value == -1:
        return b.sub(b.const(0), _fold(b.mul, numbers[:-1]))
    if shift is None:
        return _fold(b.mul, numbers)
    return b.shl(_fold(b.mul, numbers[:-1]), b.const(shift))


def _emit_division(node: Expr, numbers: list[V], b: Builder[V]) -> V:
    shift = _power(node.args[1])
    dividing = node.op == "floordiv"
    if shift is not None:
        if dividing:
            return b.shr(numbers[0], b.const(shift))
        return b.bit_and(numbers[0], b.const(node.args[1].value - 1))
    unsigned = all(arg.lo is not None and arg.lo >= 0 for arg in node.args)
    if dividing:
        return b.udiv(*numbers) if unsigned else b.floordiv(*numbers)
    return b.urem(*numbers) if unsigned else b.floormod(*numbers)


class PythonSource:
    """Builds a Python source expression; the reference implementation of `Builder`."""

    def const(self, n: int) -> str:
        return str(n) if n >= 0 else f"({n})"

    def truth(self, value: bool) -> str:
        return str(value)

    def var(self, e: Expr) -> str:
        return e.name

    def apply(self, e: Expr, args: Sequence[str]) -> str:
        return f"{e.name}({', '.join(args)})"

    def add(self, a: str, b: str) -> str:
        return f"({a} + {b})"

    def sub(self, a: str, b: str) -> str:
        return f"({a} - {b})"

    def mul(self, a: str, b: str) -> str:
        return f"({a} * {b})"

    def shl(self, a: str, b: str) -> str:
        return f"({a} << {b})"

    def shr(self, a: str, b: str) -> str:
        return f"({a} >> {b})"

    def udiv(self, a: str, b: str) -> str:
        return f"({a} // {b})"

    def urem(self, a: str, b: str) -> str:
        return f"({a} % {b})"

    def floordiv(self, a: str, b: str) -> str:
        return f"({a} // {b})"

    def floormod(self, a: str, b: str) -> str:
        return f"({a} % {b})"

    def xor(self, a: str, b: str) -> str:
        return f"({a} ^ {b})"

    def bit_and(self, a: str, b: str) -> str:
        return f"({a} & {b})"

    def bit_or(self, a: str, b: str) -> str:
        return f"({a} | {b})"

    def compare(self, op: str, a: str, b: str) -> str:
        symbol = {"lt": "<", "le": "<=", "eq": "==", "ne": "!="}[op]
        return f"({a} {symbol} {b})"

    def lnot(self, a: str) -> str:
        return f"(not {a})"

    def land(self, a: str, b: str) -> str:
        return f"({a} and {b})"

    def lor(self, a: str, b: str) -> str:
        return f"({a} or {b})"

    def select(self, c: str, a: str, b: str) -> str:
        return f"({a} if {c} else {b})"

    def minimum(self, a: str, b: str) -> str:
        return f"min({a}, {b})"

    def maximum(self, a: str, b: str) -> str:
        return f"max({a}, {b})"

    def as_number(self, truth: str) -> str:
        return f"int({truth})"
