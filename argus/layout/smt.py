"""The Z3 interpreter: an expression as a bit-vector or an integer term.

    to_z3(a, "bv")          32-bit signed vectors: right for swizzles, fast, exact while nothing overflows
    to_z3(a, "int")         mathematical integers: right for induction, symbolic sizes, odd divisors
    z3_bounds(a.free(), "bv")         the variables' declared bounds as constraints
    z3_no_overflow(a, 32)             a sufficient condition for the bit-vector term to equal the integer value

Booleans become Z3 booleans, and If(c, 1, 0) where they are used as numbers.  In the integer theory exclusive or,
and, or are written bit by bit, which needs operands with known non-negative bounds; without them an `ExprError`
says to use "bv". Division is Python's: rounding down, remainder with the sign of the divisor, in both theories.

What it cannot do: division by zero is left to the solver's own convention, so a divisor that may be zero must be
excluded by a constraint of the caller.  A bound that does not fit the chosen width is an error, not a truncation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import reduce
from typing import Any, Literal

from argus.layout.interval import transfer
from argus.layout.node import Expr, ExprError, postorder

Theory = Literal["bv", "int"]
Term = Any


def to_z3(e: Expr, theory: Theory, width: int = 32, cache: dict[Expr, Term] | None = None) -> Term:
    """`e` as a Z3 term, boolean when `e.boolean`.  Calls with the same theory and width may share a `cache`."""
    terms: dict[Expr, Term] = {} if cache is None else cache
    encoder = _BitVectors(width) if theory == "bv" else _Integers()
    for node in postorder(e, stop=terms):
        terms[node] = encoder.term(node, [terms[arg] for arg in node.args])
    return terms[e]


def z3_bounds(variables: Iterable[Expr], theory: Theory, width: int = 32) -> list[Term]:
    """The declared bounds of variables (and of `apply` nodes, when given) as constraints."""
    import z3

    constraints = []
    for variable in sorted(variables, key=lambda v: v.key):
        term = to_z3(variable, theory, width)
        for bound, relation in ((variable.lo, _at_least), (variable.hi, _at_most)):
            if bound is None:
                continue
            if theory == "bv" and not _representable(bound, width):
                raise ExprError(f"the bound {bound} of `{variable}` does not fit into {width} bits")
            constraints.append(relation(term, z3.BitVecVal(bound, width) if theory == "bv" else z3.IntVal(bound)))
    return constraints


def z3_no_overflow(e: Expr, width: int = 32) -> Term:
    """Holds only where every step of the bit-vector computation of `e` is exact."""
    import z3

    cache: dict[Expr, Term] = {}
    to_z3(e, "bv", width, cache)
    conditions: list[Term] = []
    for node in postorder(e):
        if not _always_exact(node, width):
            conditions.extend(_exactness(node, [_number(cache[arg], arg, width) for arg in node.args], width))
    return z3.And(*conditions) if conditions else z3.BoolVal(True)


def _at_least(term: Term, bound: Term) -> Term:
    return term >= bound


def _at_most(term: Term, bound: Term) -> Term:
    return term <= bound


def _representable(n: int, width: int) -> bool:
    return -(1 << (width - 1)) <= n < (1 << (width - 1))


def _always_exact(node: Expr, width: int) -> bool:
    if node.op not in ("add", "mul", "floordiv", "shl"):
        return True
    prefixes = [tuple(arg.bounds() for arg in node.args[:i]) for i in range(2, len(node.args) + 1)]
    ranges = [transfer(node.op, prefix) for prefix in prefixes]
    return all(
        lo is not None and hi is not None and _representable(lo, width) and _representable(hi, width)
        for lo, hi in ranges
    )


def _exactness(node: Expr, args: list[Term], width: int) -> list[Term]:
    import z3

    conditions = []
    if node.op in ("add", "mul"):
        total = args[0]
        for arg in args[1:]:
            if node.op == "add":
                conditions += [z3.BVAddNoOverflow(total, arg, True), z3.BVAddNoUnderflow(total, arg)]
                total = total + arg
            else:
                conditions += [z3.BVMulNoOverflow(total, arg, True), z3.BVMulNoUnderflow(total, arg)]
                total = total * arg
    elif node.op == "floordiv":
        conditions.append(z3.BVSDivNoOverflow(args[0], args[1]))
    else:
        shifted = args[0] << args[1]
        conditions += [args[1] >= 0, args[1] < width, (shifted >> args[1]) == args[0]]
    return conditions


def _number(term: Term, e: Expr, width: int | None) -> Term:
    """A boolean term as the number 0 or 1."""
    import z3

    if not e.boolean:
        return term
    if width is None:
        return z3.If(term, z3.IntVal(1), z3.IntVal(0))
    return z3.If(term, z3.BitVecVal(1, width), z3.BitVecVal(0, width))


_COMPARE: dict[str, Callable[[Term, Term], Term]] = {
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
}


class _Encoder:
    """What both theories share; `width` is None for integers."""

    width: int | None = None

    def term(self, node: Expr, args: list[Term]) -> Term:
        import z3

        match node.op:
            case "const" if node.boolean:
                return z3.BoolVal(node.value == 1)
            case "not":
                return z3.Not(args[0])
            case "land":
                return z3.And(*args)
            case "lor":
                return z3.Or(*args)
            case "const":
                return self.constant(node.value)
            case "var":
                return self.variable(node.name)
            case "select" if node.boolean:
                return z3.If(args[0], args[1], args[2])
        numbers = [_number(term, arg, self.width) for term, arg in zip(args, node.args, strict=True)]
        match node.op:
            case "select":
                return z3.If(args[0], numbers[1], numbers[2])
            case "min":
                return reduce(lambda a, b: z3.If(a <= b, a, b), numbers)
            case "max":
                return reduce(lambda a, b: z3.If(a >= b, a, b), numbers)
            case "add":
                return reduce(lambda a, b: a + b, numbers)
            case "mul":
                return reduce(lambda a, b: a * b, numbers)
            case "lt" | "le" | "eq" | "ne":
                return _COMPARE[node.op](numbers[0], numbers[1])
            case "apply":
                sort = z3.IntSort() if self.width is None else z3.BitVecSort(self.width)
                return z3.Function(node.name, *([sort] * (len(numbers) + 1)))(*numbers)
        return self.operation(node, numbers)

    def constant(self, n: int) -> Term:
        raise NotImplementedError

    def variable(self, name: str) -> Term:
        raise NotImplementedError

    def operation(self, node: Expr, args: list[Term]) -> Term:
        raise NotImplementedError


def _power_of_two(e: Expr) -> int | None:
    if e.op == "const" and e.value > 0 and e.value & (e.value - 1) == 0:
        return e.value.bit_length() - 1
    return None


class _BitVectors(_Encoder):
    def __init__(self, width: int) -> None:
        self.width: int = width

    def constant(self, n: int) -> Term:
        import z3

        if not _representable(n, self.width):
            raise ExprError(f"the constant {n} does not fit into {self.width} bits")
        return z3.BitVecVal(n, self.width)

    def variable(self, name: str) -> Term:
        import z3

        return z3.BitVec(name, self.width)

    def operation(self, node: Expr, args: list[Term]) -> Term:
        import z3

        a, b = args[0], args[1]
        match node.op:
            case "floordiv":
                shift = _power_of_two(node.args[1])
                if shift is not None:
                    return a >> shift
                if _nonnegative(node.args[0]) and _nonnegative(node.args[1]):
                    return z3.UDiv(a, b)
                return (a - a % b) / b  # Z3's % on vectors takes the sign of the divisor
            case "mod":
                shift = _power_of_two(node.args[1])
                if shift is not None:
                    return a & z3.BitVecVal((1 << shift) - 1, self.width)
                if _nonnegative(node.args[0]) and _nonnegative(node.args[1]):
                    return z3.URem(a, b)
                return a % b
            case "xor":
                return reduce(lambda x, y: x ^ y, args)
            case "and":
                return reduce(lambda x, y: x & y, args)
            case "or":
                return reduce(lambda x, y: x | y, args)
            case "shl":
                return a << b
            case "shr":
                return a >> b
        raise ExprError(f"`{node}` has no bit-vector form")


def _nonnegative(e: Expr) -> bool:
    return e.lo is not None and e.lo >= 0


class _Integers(_Encoder):
    def constant(self, n: int) -> Term:
        import z3

        return z3.IntVal(n)

    def variable(self, name: str) -> Term:
        import z3

        return z3.Int(name)

    def operation(self, node: Expr, args: list[Term]) -> Term:
        a, b = args[0], args[1]
        match node.op:
            case "floordiv":
                return self.divide(a, b, node.args[1])
            case "mod":
                if node.args[1].lo is not None and node.args[1].lo > 0:
                    return a % b
                return a - b * self.divide(a, b, node.args[1])
            case "xor" | "and" | "or":
                bits = self.bit_count(node)
                return reduce(lambda x, y: self.bitwise(node.op, x, y, bits), args)
            case "shl" | "shr":
                return self.shifted(node, a, b)
        raise ExprError(f"`{node}` has no integer form")

    def divide(self, a: Term, b: Term, divisor: Expr) -> Term:
        import z3

        # Z3's integer division rounds down for positive divisors; a//b == (-a)//(-b) covers the negative ones.
        if divisor.lo is not None and divisor.lo > 0:
            return a / b
        return z3.If(b > 0, a / b, (-a) / (-b))

    def bit_count(self, node: Expr) -> int:
        highest = 0
        for arg in node.args:
            if arg.lo is None or arg.hi is None or arg.lo < 0:
                raise ExprError(f"`{node}` needs non-negative bounds on `{arg}` in integers; use bit-vectors for it")
            highest = max(highest, arg.hi)
        return highest.bit_length()

    def bitwise(self, op: str, a: Term, b: Term, bits: int) -> Term:
        import z3

        total = []
        for i in range(bits):
            x, y = (a / (1 << i)) % 2, (b / (1 << i)) % 2
            condition = {"xor": x != y, "and": z3.And(x == 1, y == 1), "or": z3.Or(x == 1, y == 1)}[op]
            total.append(z3.If(condition, z3.IntVal(1 << i), z3.IntVal(0)))
        return z3.Sum(*total) if total else z3.IntVal(0)

    def shifted(self, node: Expr, a: Term, b: Term) -> Term:
        import z3

        lo, hi = node.args[1].bounds()
        if lo is None or hi is None or lo < 0 or hi > 64:
            raise ExprError(f"`{node}` needs a shift within 0..64 in integers; use bit-vectors for it")
        result = None
        for amount in range(hi, lo - 1, -1):
            one = a * (1 << amount) if node.op == "shl" else a / (1 << amount)
            result = one if result is None else z3.If(b == amount, one, result)
        return result
