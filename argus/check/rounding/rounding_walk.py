"""One walk over a kernel: what is known of every register, of LDS, and of what is stored.

    walk = RoundingWalk(kernel, oracle=True)
    walk.run()
    walk.stored["C"]      a RoundedValue, or Unbounded with line and reason
    walk.hazards          what was noticed on the way

A value is one `Abstract` for all threads and, where they are alike, for all its elements; else one for each element.
What is in an LDS buffer is one `Abstract`: everything stored there so far. Loops are in `rounding_loops`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import assert_never

from argus.check.rounding import arithmetic, functions, leaves
from argus.check.rounding.hazards import Hazards
from argus.check.rounding.magnitudes import NOTHING, Magnitude, constant
from argus.check.rounding.maxima import softmax_like
from argus.check.rounding.rounded_value import Abstract, BitPattern, NoRuleError, RoundedValue, Unbounded
from argus.check.rounding.rounding_loops import looped
from argus.gfx942.calling import entry
from argus.gfx942.mfma import mfma
from argus.ir import ops
from argus.ir.conversions import exact
from argus.ir.float_formats import FORMATS
from argus.ir.kernel import Kernel
from argus.ir.maps import MAPS
from argus.ir.ops import Op, Shared, Tensor
from argus.ir.types import Value
from argus.layout.expr import Expr

Held = Abstract | tuple[Abstract, ...]
COMPARISONS = frozenset({"lt", "le", "gt", "ge", "eq", "ne"})
ROUNDED_TEST = "a comparison of rounded numbers may turn out differently"


class RoundingWalk:
    def __init__(self, kernel: Kernel, oracle: bool) -> None:
        self.kernel, self.oracle = kernel, oracle
        self.dominated = softmax_like(kernel)
        self.sizes = frozenset(kernel.shapes)
        self.implied = leaves.implied_numbers(kernel)
        self.values: dict[Value, Held] = {s.value: leaves.scalar(s) for s in kernel.scalars}
        self.lds: dict[Shared, Abstract] = {}
        self.stored: dict[str, Abstract] = {}
        self.tests: dict[Value, tuple[str, Value, Value]] = {}
        self.chosen_by: dict[Value, Value] = {}
        self.added: dict[Value, tuple[Op, tuple[Value, ...], tuple[Value, ...]]] = {}
        self.decided: dict[Expr, Value] = {}
        self.used_oracle = False
        self.largest_theta, self.shares = NOTHING, NOTHING
        self.hazards = Hazards(kernel)
        self._first: dict[tuple[object, ...], Value] = {}
        self._alike: dict[Value, Value] = {}
        self._table: dict[Abstract, Abstract] = {}
        self._mapped: dict[tuple[object, ...], Abstract] = {}

    def run(self) -> None:
        self.block(self.kernel.body)

    def block(self, body: Iterable[Op]) -> None:
        for op in body:
            self.step(op)

    # -- values ------------------------------------------------------------------------------------------------------

    def elements(self, value: Value) -> tuple[Abstract, ...]:
        held = self.values[value]
        return held if isinstance(held, tuple) else (held,) * value.count

    def whole(self, value: Value) -> Abstract:
        """All elements as one."""
        held = self.values[value]
        if not isinstance(held, tuple):
            return held
        found = held[0]
        for other in held[1:]:
            found = found if other is found else self.joined(found, other)
        return found

    def hold(self, value: Value, parts: tuple[Abstract, ...]) -> None:
        first = parts[0]
        self.values[value] = first if all(p is first for p in parts) else parts

    def kept(self, x: Abstract) -> Abstract:
        found = self._table.setdefault(x, x)
        if found is x and isinstance(x, RoundedValue):
            self.largest_theta = self.largest_theta.largest(x.total)
        return found

    def joined(self, x: Abstract, y: Abstract) -> Abstract:
        if x is y:
            return x
        if isinstance(x, Unbounded) or isinstance(y, Unbounded):
            return x if isinstance(x, Unbounded) else y
        if isinstance(x, BitPattern) or isinstance(y, BitPattern):
            if isinstance(x, BitPattern) and isinstance(y, BitPattern) and x.dtype == y.dtype:
                inner = self.joined(x.value, y.value)
                return self.kept(BitPattern(x.dtype, inner)) if not isinstance(inner, BitPattern) else inner
            return self.kept(Unbounded(0, "bits of several types in one place"))
        try:
            return self.kept(arithmetic.join(x, y))
        except NoRuleError as error:
            return self.kept(Unbounded(0, str(error)))

    def each(self, op: Op, result: Value, args: tuple[Value, ...], rule: Callable[..., RoundedValue], key: str) -> None:
        """The rule on every element."""
        columns = [self.values[a] for a in args]
        alike = tuple(c for c in columns if not isinstance(c, tuple))
        if len(alike) == len(columns):
            self.values[result] = self.one(op, rule, key, alike)
            return
        rows = zip(*(self.elements(a) for a in args), strict=True)
        self.hold(result, tuple(self.one(op, rule, key, row) for row in rows))

    def one(self, op: Op, rule: Callable[..., RoundedValue], key: str, args: tuple[Abstract, ...]) -> Abstract:
        place = (key, *args)
        found = self._mapped.get(place)
        if found is not None:
            return found
        made: Abstract
        bad = next((a for a in args if isinstance(a, Unbounded)), None)
        if bad is not None:
            made = bad
        elif any(isinstance(a, BitPattern) for a in args):
            made = Unbounded(op.span.line, "arithmetic on bits of another type")
        else:
            try:
                made = rule(*args)
            except NoRuleError as error:
                made = Unbounded(op.span.line, str(error))
        made = self.kept(made)
        if not isinstance(made, Unbounded) or bad is not None:
            self._mapped[place] = made
        return made

    # -- ops ---------------------------------------------------------------------------------------------------------

    def step(self, op: Op) -> None:
        match op:
            case ops.Constant():
                self.values[op.result] = self.kept(leaves.written(op.value, op.result.dtype, self.implied))
            case ops.Index():
                self.values[op.result] = self.kept(leaves.size_of(op.expr, self.sizes))
            case ops.Symbol():
                self.decided[op.symbol] = op.value
            case ops.Map():
                self._map(op, op.fn, op.args, op.result)
            case ops.Convert():
                self._convert(op)
            case ops.Bitcast():
                self._bitcast(op)
            case ops.Registers():
                held = [self.elements(a) for a in op.args]
                self.hold(op.result, tuple(held[a][n] for a, n in op.pick))
            case ops.Lanes():
                self.values[op.result] = self.values[op.value]
            case ops.Mfma():
                self._mfma(op)
            case ops.Instruction():
                self._instruction(op)
            case ops.Load():
                self.values[op.result] = self._loaded(op.access.memory, op)
            case ops.Store():
                self._store(op.access.memory, self.whole(op.value), op)
            case ops.CopyToLds():
                self._store(op.into, self._loaded(op.access.memory, op), op)
            case ops.Atomic():
                exact = op.value.dtype.kind != "float"
                reason = "atomics add in any order, as often as the data say"
                value = self.whole(op.value) if exact else self.kept(Unbounded(op.span.line, reason))
                self._store(op.access.memory, value, op)
            case ops.For():
                looped(self, op)
            case ops.If():
                self._branch(op)
            case ops.Schedule():
                self.block(op.body)
            case ops.Barrier() | ops.Wait() | ops.SetPrio() | ops.Tag() | ops.Check():
                pass  # no value is made
            case _:
                assert_never(op)

    def _map(self, op: Op, fn: str, args: tuple[Value, ...], result: Value) -> None:
        if fn in COMPARISONS:
            self.tests[result] = fn, args[0], args[1]
            self.each(op, result, args, lambda x, y: _compared(op, fn, x, y), f"{fn} {op.span.line}")
            return
        if fn == "select":
            self._select(op, args, result)
            return
        alike = tuple(self._alike.get(a, a) for a in args)
        self._alike[result] = self._first.setdefault((fn, result.dtype.name, *alike), result)
        same = len(args) > 1 and alike[0] is alike[1]
        dtype = result.dtype
        if dtype.kind == "bool":
            self.each(op, result, args, lambda *xs: RoundedValue(form=None, size=constant(1.0)), fn)
            return
        if fn in ("max", "min") and dtype.kind == "float":
            self._oracle(args)
        self.hazards.before(op, fn, [self.whole(a) for a in args], same)
        self.each(
            op,
            result,
            args,
            lambda *xs: functions.apply(fn, xs, dtype, same, self.oracle, self.dominated),
            f"{fn} {dtype} {same}",
        )
        if fn in ("rcp", "div", "log", "log2", "rsqrt", "sqrt"):
            self._away_from_zero(self.whole(args[-1]))
        self.hazards.after(op, fn, result, self.whole(result))
        if fn in ("add", "fma"):
            self.added[result] = op, args if fn == "add" else args[2:], args

    def _oracle(self, args: tuple[Value, ...]) -> None:
        for a in args:
            x = self.whole(a)
            if self.oracle and isinstance(x, RoundedValue) and not x.exact and x.number is None:
                self.used_oracle = True

    def _away_from_zero(self, x: Abstract) -> None:
        """Absolute error is at most half of the least value there."""
        if isinstance(x, RoundedValue) and x.alpha:
            low = constant(0.5) if x.weights else x.least
            if low is not None:
                self.shares = self.shares.largest(x.alpha * low.inverse())

    def _select(self, op: Op, args: tuple[Value, ...], result: Value) -> None:
        condition, yes, no = args
        self.chosen_by[result] = condition
        if not isinstance(self.whole(condition), Unbounded):
            self.each(op, result, (yes, no), arithmetic.join, "join")
            return
        test = self.tests.get(condition)
        if test is not None and self._chosen_between(test, yes, no):
            self.each(op, result, (yes, no), lambda x, y: functions.extreme(x, y, False, False), "extreme")
            return
        both = (self.whole(yes), self.whole(no))
        if self.oracle and all(isinstance(x, RoundedValue) and x.ups and x.exact for x in both):
            self.used_oracle = True
            self.each(op, result, (yes, no), arithmetic.join, "join")
            return
        if result.dtype.kind != "float" and test is not None:
            self.values[result] = self.whole(condition)
            return
        found = self.whole(condition)
        if isinstance(found, Unbounded) and found.reason == ROUNDED_TEST:
            self.hazards.note("test", op, "the test compares rounded numbers: rounding may turn it")
        self.values[result] = self.whole(condition)

    def _chosen_between(self, test: tuple[str, Value, Value], yes: Value, no: Value) -> bool:
        """What is chosen is what was compared: a maximum or minimum."""
        fn, left, right = test

        def alike(x: Value, y: Value) -> bool:
            a, b = self.whole(x), self.whole(y)
            constants = isinstance(a, RoundedValue) and isinstance(b, RoundedValue) and a.number is not None
            return x is y or (constants and a == b)

        return fn not in ("eq", "ne") and (
            (alike(left, yes) and alike(right, no)) or (alike(left, no) and alike(right, yes))
        )

    def _convert(self, op: ops.Convert) -> None:
        source, dtype = op.value.dtype, op.result.dtype
        self.hazards.converted(op, self.whole(op.value))

        def rule(x: RoundedValue) -> RoundedValue:
            if dtype.kind != "float":
                if source.kind == "float" and not x.exact:
                    raise NoRuleError("a rounded number as an integer")
                return x if source.kind != "float" else replace(x, form=None, size=None, own=True, monomial=False)
            digits = FORMATS[dtype.name].digits
            known = None if x.size is None or source.kind == "float" else x.size.number
            if exact(source, dtype) or (known is not None and known <= 2.0**digits):
                return x
            return arithmetic.as_type(x, dtype, op.rounding == "rtz")

        self.each(op, op.result, (op.value,), rule, f"convert {source} {dtype} {op.rounding}")

    def _bitcast(self, op: ops.Bitcast) -> None:
        x, name = self.whole(op.value), op.result.dtype.name
        if isinstance(x, BitPattern):
            found: Abstract = x.value if x.dtype == name else x
        elif name == op.value.dtype.name:
            found = x
        else:
            found = BitPattern(op.value.dtype.name, x)
        self.values[op.result] = self.kept(found)

    def _mfma(self, op: ops.Mfma) -> None:
        row = mfma(op.inst)
        a, b, dtype = self.whole(op.a), self.whole(op.b), op.result.dtype
        exact = row.a in ("bf16", "f16", "fp8", "bf8")

        def rule(c: RoundedValue, x: RoundedValue, y: RoundedValue) -> RoundedValue:
            if row.a == "xf32":
                x, y = arithmetic.read_as_xf32(x), arithmetic.read_as_xf32(y)
            return functions.matrix_product(x, y, c, row.k, exact, dtype)

        parts = self.elements(op.c)
        done = {c: self.one(op, rule, op.inst, (c, a, b)) for c in dict.fromkeys(parts)}
        self.hold(op.result, tuple(done[c] for c in parts))
        self.hazards.matrix(op, a, b)

    def _instruction(self, op: ops.Instruction) -> None:
        row = entry(op.inst)
        for out in op.outs:
            if row is not None and row.transfer in ("lanes", "mov") and op.args:
                found = self.whole(op.args[0])
                for other in op.args[1:] if row.transfer == "lanes" else ():
                    found = self.joined(found, self.whole(other))
                self.values[out] = found
            elif row is not None and row.transfer in MAPS and row.transfer != "select":
                args, fn = op.args, row.transfer
                while len(args) > 2 and fn != "fma":
                    between = Value(-1, args[0].dtype, args[0].count)
                    self._map(op, fn, args[:2], between)
                    args = (between, *args[2:])
                self._map(op, fn, args, out)
            elif out.dtype.kind == "float" and row is not None and row.transfer == "select":
                self._select(op, (op.args[2], op.args[1], op.args[0]), out)
            else:
                self.values[out] = self.kept(Unbounded(op.span.line, f"{op.inst} has no error rule"))

    # -- memory ------------------------------------------------------------------------------------------------------

    def _loaded(self, memory: Tensor | Shared, op: Op) -> Abstract:
        if isinstance(memory, Tensor):
            return self.kept(leaves.element(memory))
        found: Abstract | None = None
        for other, held in self.lds.items():
            if other.base < memory.base + memory.bytes and memory.base < other.base + other.bytes:
                alike = other.dtype.name == memory.dtype.name
                here = held if alike else self.kept(Unbounded(op.span.line, "LDS that holds several types"))
                found = here if found is None else self.joined(found, here)
        return found if found is not None else self.kept(Unbounded(op.span.line, "LDS that nothing was stored to"))

    def _store(self, memory: Tensor | Shared, value: Abstract, op: Op) -> None:
        if isinstance(memory, Shared):
            self.lds[memory] = self.joined(self.lds.get(memory, value), value)
            return
        self.stored[memory.name] = self.joined(self.stored.get(memory.name, value), value)

    # -- branches ----------------------------------------------------------------------------------------------------

    def _branch(self, op: ops.If) -> None:
        for body in op.blocks:
            self.block(body)
        factor = self._skipped_factor(op)
        unknown = factor is None and self._decided_by_rounded(op)
        for out, yes, no in zip(op.outs, op.then_yields, op.else_yields, strict=True):
            if unknown:
                self.values[out] = self.kept(Unbounded(op.span.line, ROUNDED_TEST))
                continue
            left, right = self.elements(yes), self.elements(no)
            if factor is not None:
                right = tuple(
                    self.kept(replace(x, theta=x.theta + factor)) if isinstance(x, RoundedValue) else x for x in right
                )
            self.hold(out, tuple(self.joined(x, y) for x, y in zip(left, right, strict=True)))
        if unknown:
            self.hazards.note("test", op, "the branch depends on rounded numbers: rounding may turn it")

    def _tests(self, op: ops.If) -> list[Value]:
        return [self.decided[v] for v in op.cond.free() if v in self.decided]

    def _decided_by_rounded(self, op: ops.If) -> bool:
        return any(isinstance(self.whole(v), Unbounded) for v in self._tests(op))

    def _skipped_factor(self, op: ops.If) -> Magnitude | None:
        """The error of k where a branch multiplies with k unless k is 1: what is left out is within it."""
        for value in self._tests(op):
            test = self.tests.get(self.chosen_by.get(value, value))
            if test is not None and test[0] == "ne":
                k, one = self.whole(test[1]), self.whole(test[2])
                if isinstance(k, RoundedValue) and isinstance(one, RoundedValue) and one.number == 1.0:
                    return k.total
        return None


def _compared(op: Op, fn: str, x: RoundedValue, y: RoundedValue) -> RoundedValue:
    """A condition. The sign of what is not negative is known however it is rounded."""
    signed = y.zero and (x.weights or (x.own and x.nonnegative and not x.alpha)) and fn in ("gt", "le")
    if (x.exact and y.exact) or signed or x.absent or y.absent:
        return RoundedValue(form=None, size=constant(1.0), inputs=x.inputs | y.inputs)
    raise NoRuleError(ROUNDED_TEST)
