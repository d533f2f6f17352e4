"""Index expressions as code: every part where it is cheapest.

An expression such as `K*(lane//8)*2 + K*64 + kt*128` has parts that differ per lane, parts equal for the whole wave,
and parts that change with a loop. Each node is emitted in the outermost scope in which its variables exist, once
(hash-consed expressions make common subexpressions equal objects), and sums are split so that as much as possible of
them is hoisted and scalar:

    before the loop   v = K*(lane//8)*2 + K*64        vector part, then the scalar part added once
    scalar, in loop   s = kt*128                      becomes a running sum: s += 128 per iteration
    in the loop       v + s

`lane` and data symbols vary per lane; everything else (wave, block, shapes, loop variables) is uniform and LLVM keeps
it in scalar registers because `wave` was read with readfirstlane.

All values are 32-bit. What it cannot do: uninterpreted functions have no code (C102); divisions whose divisor is not a
constant are not moved out of a branch that may guard them, and out of a loop only by divisors above zero.
"""

from __future__ import annotations

from collections.abc import Sequence

from argus.compile.function import CodeScope, LlvmFunction, Phi
from argus.ir.compile_error import CompileError
from argus.ir.semantics import AMOUNTS, LEAST, MOST
from argus.ir.types import NOWHERE, Span
from argus.layout import emit
from argus.layout import expr as E
from argus.layout.expr import Expr


class Code:
    """`argus.layout.emit.Builder` whose values are LLVM operands; instructions go into `scope`."""

    def __init__(self, function: LlvmFunction, scope: CodeScope, variables: dict[str, tuple[str, CodeScope]]) -> None:
        self.function = function
        self.scope = scope
        self.variables = variables

    def _two(self, op: str, a: str, b: str, type: str = "i32") -> str:
        return self.function.let(f"{op} {type} {a}, {b}", self.scope)

    def const(self, n: int) -> str:
        if not -(1 << 31) <= n < 1 << 32:
            raise CompileError("C102", f"the constant {n} of an index expression does not fit 32 bits")
        return str(n - (1 << 32) if n >= 1 << 31 else n)

    def truth(self, value: bool) -> str:
        return "true" if value else "false"

    def var(self, e: Expr) -> str:
        return self.variables[e.name][0]

    def apply(self, e: Expr, args: Sequence[str]) -> str:
        raise CompileError("C102", f"`{e}` stands for data; bind it with a symbol before using it in an address")

    def add(self, a: str, b: str) -> str:
        return self._two("add", a, b)

    def sub(self, a: str, b: str) -> str:
        return self._two("sub", a, b)

    def mul(self, a: str, b: str) -> str:
        return self._two("mul", a, b)

    def shl(self, a: str, b: str) -> str:
        return self._two("shl", a, self._amount(b))

    def shr(self, a: str, b: str) -> str:
        return self._two("ashr", a, self._amount(b))

    def _amount(self, b: str) -> str:
        """More than 31 is poison to LLVM; the instruction has the mask. Constants are below: `const` refuses others."""
        return b if b.isdecimal() else self._two("and", b, str(AMOUNTS[1]))

    def udiv(self, a: str, b: str) -> str:
        return self._two("udiv", a, b)

    def urem(self, a: str, b: str) -> str:
        return self._two("urem", a, b)

    def floordiv(self, a: str, b: str) -> str:
        quotient = self._two("sdiv", a, b)
        return self._two("sub", quotient, self._rounded_up(a, b))

    def floormod(self, a: str, b: str) -> str:
        remainder = self._two("srem", a, b)
        up = self._rounded_up(a, b)
        return self._two("add", remainder, self._two("mul", up, b))

    def _rounded_up(self, a: str, b: str) -> str:
        """1 where the truncated quotient is one above the floor: signs differ and the remainder is not zero."""
        remainder = self._two("srem", a, b)
        uneven = self._two("icmp ne", remainder, "0")
        negative = self._two("icmp slt", self._two("xor", a, b), "0")
        return self.as_number(self._two("and", uneven, negative, "i1"))

    def xor(self, a: str, b: str) -> str:
        return self._two("xor", a, b)

    def bit_and(self, a: str, b: str) -> str:
        return self._two("and", a, b)

    def bit_or(self, a: str, b: str) -> str:
        return self._two("or", a, b)

    def compare(self, op: str, a: str, b: str) -> str:
        return self._two("icmp " + {"lt": "slt", "le": "sle", "eq": "eq", "ne": "ne"}[op], a, b)

    def lnot(self, a: str) -> str:
        return self._two("xor", a, "true", "i1")

    def land(self, a: str, b: str) -> str:
        return self._two("and", a, b, "i1")

    def lor(self, a: str, b: str) -> str:
        return self._two("or", a, b, "i1")

    def select(self, c: str, a: str, b: str) -> str:
        return self.function.let(f"select i1 {c}, i32 {a}, i32 {b}", self.scope)

    def minimum(self, a: str, b: str) -> str:
        return self.function.call("i32", "llvm.smin.i32", f"i32 {a}", f"i32 {b}", scope=self.scope)

    def maximum(self, a: str, b: str) -> str:
        return self.function.call("i32", "llvm.smax.i32", f"i32 {a}", f"i32 {b}", scope=self.scope)

    def as_number(self, truth: str) -> str:
        return self.function.let(f"zext i1 {truth} to i32", self.scope)


class Indices:
    """Emits expressions for the current point of a `LlvmFunction`."""

    def __init__(self, function: LlvmFunction) -> None:
        self.function = function
        self.variables: dict[str, tuple[str, CodeScope]] = {}
        self.varying: set[str] = set()
        self.span: Span = NOWHERE

    def define(self, variable: Expr, value: str, varying: bool = False) -> None:
        """Bind a variable to an LLVM value in the current scope."""
        self.variables[variable.name] = (value, self.function.scope)
        (self.varying.add if varying else self.varying.discard)(variable.name)

    def forget(self, name: str) -> None:
        """Drop what the current scope computed from a variable: it is computed anew instead of kept in registers."""
        scope = self.function.scope
        scope.cache = {e: text for e, text in scope.cache.items() if name not in {v.name for v in e.free()}}
        scope.pointers = {e: text for e, text in scope.pointers.items() if name not in {v.name for v in e.free()}}
        scope.kept = {e: text for e, text in scope.kept.items() if name not in {v.name for v in e.free()}}

    def uniform(self, e: Expr) -> bool:
        return not any(v.name in self.varying for v in e.free())

    def value(self, e: Expr) -> str:
        """An LLVM operand (i32, or i1 for a condition) holding `e` at the current point."""
        found = self._find(e)
        if found is not None:
            return found
        home = self.home(e)
        if e.op == "add" and not e.boolean:
            text = self._sum(e, home)
        elif e.op == "select" and e.boolean:
            condition, yes, no = (self.value(arg) for arg in e.args)
            text = self.function.let(f"select i1 {condition}, i1 {yes}, i1 {no}", home)
        elif e.op in ("lt", "le") and home.kind == "loop":
            text = self._comparison(e, home)
        elif self._steps(e, home):
            text = self._running(e, home)
        else:
            known = {arg: self.value(arg) for arg in e.args if arg.op != "const"}
            text = emit.emit(e, Code(self.function, home, self.variables), known)
        home.cache[e] = text
        return text

    def wide(self, e: Expr) -> str:
        """Like `value`, in 64 bits: sums and products do not wrap; whatever else stands in them fits 32 bits."""
        scope = self.home(e)
        if e in scope.wide:
            return scope.wide[e]
        if e.op == "const":
            return str(e.value)
        if e.op in ("add", "mul"):
            text = self.wide(e.args[0])
            for arg in e.args[1:]:
                text = self.function.let(f"{e.op} i64 {text}, {self.wide(arg)}", scope)
        else:
            text = self.function.let(f"sext i32 {self.value(e)} to i64", scope)
        scope.wide[e] = text
        return text

    def number(self, e: Expr) -> str:
        """Like `value`, a condition as 0 or 1."""
        return (
            Code(self.function, self.function.scope, self.variables).as_number(self.value(e))
            if e.boolean
            else self.value(e)
        )

    def _find(self, e: Expr) -> str | None:
        if e.op == "const":
            code = Code(self.function, self.function.scope, self.variables)
            return code.truth(e.value == 1) if e.boolean else code.const(e.value)
        scope: CodeScope | None = self.function.scope
        while scope is not None:
            if e in scope.cache:
                return scope.cache[e]
            scope = scope.parent
        return None

    def home(self, e: Expr) -> CodeScope:
        """The outermost scope where every variable of `e` is defined and `e` may be computed."""
        needed = 0
        for v in e.free():
            if v.name not in self.variables:
                raise CompileError("C102", f"`{v.name}` has no value here", self.span)
            needed = max(needed, self.variables[v.name][1].depth)
        stops = {kind for kind, stays in (("branch", _may_trap(e)), ("loop", _may_divide_by_zero(e))) if stays}
        scope = self.function.scope
        while scope.parent is not None and scope.depth > needed and scope.kind not in stops:
            scope = scope.parent
        return scope

    def _sum(self, e: Expr, home: CodeScope) -> str:
        """Terms grouped by scope, outermost first, and inside a scope vector terms before scalar terms."""
        groups: dict[tuple[int, bool], list[Expr]] = {}
        for term in e.args:
            groups.setdefault((self.home(term).depth, self.uniform(term)), []).append(term)
        if len(groups) == 1:
            if self._steps(e, home):
                return self._running(e, home)
            return self._plain_sum(e, home)
        total: Expr | None = None
        text = ""
        for key in sorted(groups):
            part = _add(groups[key])
            if total is None:
                total, text = part, self.value(part)
                continue
            total = total + part
            found = self._find(total)
            text = found if found is not None else self._join(total, text, part)
        return text

    def _comparison(self, e: Expr, home: CodeScope) -> str:
        """What moves with the loop on the left, what does not on the right, where it is computed before the loop.

        Both sides as written fit 32 bits (rule `fits`); moved terms might not, and then it stays as it is written."""
        code = Code(self.function, home, self.variables)
        terms, constant = E.linear(e.args[0] - e.args[1])
        moving, fixed = E.const(0), E.const(-constant)
        for atom, factor in terms.items():
            if self.home(atom) is home:
                moving = moving + atom * factor
            else:
                fixed = fixed - atom * factor
        if not (_still_fits(moving, e.args[0]) and _still_fits(fixed, e.args[1])):
            return code.compare(e.op, self.value(e.args[0]), self.value(e.args[1]))
        return code.compare(e.op, self.value(moving), self.value(fixed))

    def _join(self, total: Expr, text: str, part: Expr) -> str:
        home = self.home(total)
        negative = part.op == "mul" and part.args[-1].op == "const" and part.args[-1].value < 0
        op = "sub" if negative else "add"
        joined = self.function.let(f"{op} i32 {text}, {self.value(-part if negative else part)}", home)
        home.cache[total] = joined
        return joined

    def _plain_sum(self, e: Expr, home: CodeScope) -> str:
        known: dict[Expr, str] = {}
        for term in e.args:
            if term.op == "mul" and term.args[-1].op == "const" and term.args[-1].value < 0:
                known[-term] = self.value(-term)
            elif term.op != "const":
                known[term] = self.value(term)
        return emit.emit(e, Code(self.function, home, self.variables), known)

    def _steps(self, e: Expr, home: CodeScope) -> bool:
        """Whether `e` advances by an amount that is the same in every iteration of the loop `home`."""
        if home.kind != "loop" or home.variable is None or e.op == "var" or not self.uniform(e):
            return False
        rate = None if _may_divide_by_zero(e) else slope(e, home.variable)
        return rate is not None and rate is not E.const(0)

    def _running(self, e: Expr, loop: CodeScope) -> str:
        """A running sum: the value in the first iteration, plus the slope times the step after each."""
        rate = slope(e, loop.variable) if loop.variable is not None else None
        if rate is None or loop.variable is None or loop.first is None or loop.parent is None:
            raise ValueError("a running sum needs a loop and a constant slope")
        inside, self.function.scope = self.function.scope, loop.parent
        start = self.value(e.subst({loop.variable: loop.first}))
        increment = self.value(rate * loop.step)
        self.function.scope = inside
        phi = Phi(self.function.name(), "i32", start)
        loop.phis.append(phi)
        loop.increments.append((phi, increment))
        return phi.name


def _still_fits(part: Expr, side: Expr) -> bool:
    """`part`, made of a side of a comparison by moving terms, fits 32 bits as the side does."""
    off = side - part
    below = (off.lo is not None and off.lo >= 0) or (part.hi is not None and part.hi <= MOST)
    above = (off.hi is not None and off.hi <= 0) or (part.lo is not None and part.lo >= LEAST)
    return below and above


def slope(e: Expr, variable: Expr) -> Expr | None:
    """d with e(variable + 1) == e(variable) + d for all values, d free of the variable; None if there is none."""
    if variable not in e.free():
        return E.const(0)
    if e is variable:
        return E.const(1)
    if e.op == "add":
        rates = [slope(arg, variable) for arg in e.args]
        if any(rate is None for rate in rates):
            return None
        return _add([rate for rate in rates if rate is not None])
    if e.op == "mul":
        moving = [arg for arg in e.args if variable in arg.free()]
        rate = slope(moving[0], variable) if len(moving) == 1 else None
        if rate is None:
            return None
        for arg in e.args:
            if arg is not moving[0]:
                rate = rate * arg
        return rate
    return None


def _add(terms: list[Expr]) -> Expr:
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total


def _may_trap(e: Expr) -> bool:
    return any(n.op in ("floordiv", "mod") and n.args[1].op != "const" for n in E.postorder(e))


def _may_divide_by_zero(e: Expr) -> bool:
    """Where it stands it does not (rule `fits`), but before a loop that never runs it might, and from there on LLVM
    takes the divisor for not zero."""
    divisors = [n.args[1] for n in E.postorder(e) if n.op in ("floordiv", "mod")]
    return any(d.lo is None or d.lo < 1 for d in divisors)
