"""Exclusive or, and, or, shifts: bit operations kept apart from sums as far as possible.

Integers are read as two's complement of unlimited width, as in Python.  The central rule *cuts* a bit operation
where every operand splits into a multiple of 2**p and a rest below 2**p; no bit crosses the cut, so

    (row*128 + chunk*16 + e*2) ^ (row%8)*16   ->   row*128 + (chunk ^ row%8)*16 + e*2

which leaves the swizzle inside its own digit and everything else an ordinary sum.  Shifts by constants become
multiplication and floor division, masks of consecutive bits become // and %, so that only one normal form exists.

What it cannot do: operands that overlap in unknown bits stay as one atom; `x & 5` with gaps in the mask is not split.
"""

from __future__ import annotations

from collections.abc import Callable

from argus.layout.arith import Terms, add, floordiv, from_terms, mod, mul, scale, terms
from argus.layout.node import BUILDERS, MAX_BITS, Expr, ExprError, const, make

_FOLD: dict[str, Callable[[int, int], int]] = {
    "xor": lambda a, b: a ^ b,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
}
_NEUTRAL = {"xor": 0, "and": -1, "or": 0}


def _flatten(op: str, args: tuple[Expr, ...]) -> tuple[list[Expr], int]:
    """Operands without constants, and the folded constant."""
    constant = _NEUTRAL[op]
    operands: list[Expr] = []
    for arg in args:
        for part in _parts(op, arg):
            if part.op == "const":
                constant = _FOLD[op](constant, part.value)
            else:
                operands.append(part)
    return operands, constant


def _parts(op: str, arg: Expr) -> tuple[Expr, ...]:
    if arg.op == op:
        return arg.args
    if arg.op == "mul" and len(arg.args) == 2 and arg.args[0].op == op and _power_of_two(arg.args[1]):
        # A left shift moves each bit on its own: (x^y)*2**p == x*2**p ^ y*2**p.
        return tuple(scale(part, arg.args[1].value) for part in arg.args[0].args)
    return (arg,)


def _power_of_two(e: Expr) -> bool:
    return e.op == "const" and e.value > 0 and e.value & (e.value - 1) == 0


def _cut_points(operands: list[Expr]) -> list[int]:
    points: set[int] = set()
    for operand in operands:
        parts, _ = terms(operand)
        points.update((k & -k).bit_length() - 1 for k in parts.values())
    return sorted(points - {0})


def _cut_at(operand: Expr, p: int) -> tuple[Expr, Expr] | None:
    """(high, low) with operand == high*2**p + low and 0 <= low < 2**p."""
    parts, constant = terms(operand)
    unit = 1 << p
    high: Terms = {atom: k >> p for atom, k in parts.items() if k % unit == 0}
    low = from_terms({atom: k for atom, k in parts.items() if k % unit}, constant % unit)
    if low.lo is None or low.hi is None or low.lo < 0 or low.hi >= unit:
        return None
    return from_terms(high, constant >> p), low


def _combine(op: str, operands: list[Expr], constant: int) -> Expr:
    everything = [*operands, const(constant)] if constant != _NEUTRAL[op] else operands
    for p in _cut_points(everything):
        pieces = [_cut_at(operand, p) for operand in everything]
        whole = [piece for piece in pieces if piece is not None]
        if len(whole) < len(everything) or all(_zero(high) for high, _ in whole):
            continue
        # Bits at and above p come from the high parts only, bits below p from the low parts only.
        high = BUILDERS[op](*(piece[0] for piece in whole))
        low = BUILDERS[op](*(piece[1] for piece in whole))
        return add(scale(high, 1 << p), low)
    if len(everything) == 1:
        return everything[0]
    ordered = sorted(operands, key=lambda o: o.key)
    return make(op, tuple(ordered) if constant == _NEUTRAL[op] else (*ordered, const(constant)))


def _zero(e: Expr) -> bool:
    return e.op == "const" and e.value == 0


def xor(*args: Expr) -> Expr:
    operands, constant = _flatten("xor", args)
    # x ^ x == 0: pairs cancel, an odd one stays.
    odd = [x for x in dict.fromkeys(operands) if operands.count(x) % 2]
    if not odd:
        return const(constant)
    if constant == -1 and len(odd) == 1:
        # x ^ -1 flips every bit, which is -x - 1.
        return add(scale(odd[0], -1), const(-1))
    return _combine("xor", odd, constant)


def bit_and(*args: Expr) -> Expr:
    operands, constant = _flatten("and", args)
    operands = list(dict.fromkeys(operands))  # x & x == x
    if constant == 0 or not operands:
        return const(constant)
    if constant > 0:
        low = (constant & -constant).bit_length() - 1
        width = constant.bit_length() - low
        if constant == ((1 << width) - 1) << low:
            # A mask of consecutive bits keeps the digit (x >> low) % 2**width in place.
            digits = [mod(floordiv(x, const(1 << low)), const(1 << width)) for x in operands]
            return scale(digits[0] if len(digits) == 1 else bit_and(*digits), 1 << low)
    return _combine("and", operands, constant)


def bit_or(*args: Expr) -> Expr:
    operands, constant = _flatten("or", args)
    operands = list(dict.fromkeys(operands))  # x | x == x
    if constant == -1 or not operands:
        return const(constant)
    return _combine("or", operands, constant)


def _shift_amount(b: Expr) -> int:
    if b.value < 0:
        raise ExprError(f"a shift by {b.value} bits is not possible")
    if b.value > MAX_BITS:
        raise ExprError(f"a shift by {b.value} bits is too far for an index expression")
    return b.value


def shl(a: Expr, b: Expr) -> Expr:
    if b.op == "const":
        return mul(a, const(1 << _shift_amount(b)))  # x << s == x * 2**s
    return make("shl", (a, b))


def shr(a: Expr, b: Expr) -> Expr:
    if b.op == "const":
        return floordiv(a, const(1 << _shift_amount(b)))  # x >> s == x // 2**s, rounding down
    return make("shr", (a, b))


BUILDERS.update({"xor": xor, "and": bit_and, "or": bit_or, "shl": shl, "shr": shr})
