"""Does what a candidate states about data follow from what the task states?

    e = ag.as_index(table[b].load(ONE, width=4), 0, P - 1)

The checker takes such bounds for granted: they are obligations of the launch. Whoever launches knows the task, not the
candidate, so a candidate may state only

    what the naive kernel states       the same bounds of the same element, at the same place of the same grid; or
    what follows from it in numbers    at every shape of the task, the bounds enclose what the number can be: of a
                                       loaded one the widest that the naive kernel states of that tensor, else its type;
                                       of a computed one what constants, min and max leave of it

A candidate that says less about its data than the task is welcome. One that moves a bound which depends on more than
sizes (`first <= next`) to other tiles is refused, though it may be right: nobody proves it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from functools import cached_property

from argus.agent.judge.problem import Sizes, shape_text
from argus.ir import ops
from argus.ir.index_ranges import limit_of, stated_range, stated_ranges
from argus.ir.kernel import Kernel
from argus.ir.origins import Origins, numbers
from argus.ir.types import Value
from argus.layout.expr import Expr

Range = tuple[int, int]
NESTED = 3
LONG = 400


def unfounded(candidate: Kernel, naive: Kernel, shapes: tuple[Sizes, ...]) -> Iterator[str]:
    """What the candidate states that does not follow."""
    theirs, mine = Statements(naive), Statements(candidate)
    for op, text in mine.made.items():
        if text in theirs.texts:
            continue
        name = op.symbol.name
        moving = [fact for fact in op.facts if not _of_sizes(op, fact, candidate)]
        if moving:
            yield f"states {moving[0]} of {name} (line {op.span.line}), which the naive kernel does not state"
            continue
        for sizes in shapes:
            low, high = stated_range(op, sizes)
            least, most = mine.between(op.value, sizes, naive)
            if least < low or most > high:
                yield (
                    f"states that {name} (line {op.span.line}) lies between {low} and {high} at {shape_text(sizes)}; "
                    f"by the task it may lie between {least} and {most}"
                )
                break


class Statements:
    """The statements of one kernel, each with a text that holds everything it depends on."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel, self._origins = kernel, Origins(kernel)
        self._loops = {op.var: op for op in ops.walk(kernel.body) if isinstance(op, ops.For)}
        self._symbols = {op.symbol: op for op in ops.walk(kernel.body) if isinstance(op, ops.Symbol)}
        self._values: dict[Value, str] = {}
        self.made = dict(self._walk(kernel.body, ()))

    @cached_property
    def texts(self) -> frozenset[str]:
        return frozenset(self.made.values())

    def between(self, value: Value, sizes: Sizes, naive: Kernel) -> Range:
        """The least and the greatest a number can be, as far as the task says."""
        ranges = [self._range(made, sizes, naive, NESTED) for made in self._origins.of(value)]
        return min(low for low, _ in ranges), max(high for _, high in ranges)

    def _range(self, value: Value, sizes: Sizes, naive: Kernel, nested: int) -> Range:
        whole = numbers(value.dtype)
        match self._origins.made.get(value):
            case ops.Load() as op if isinstance(op.access.memory, ops.Tensor):
                low, high = _given(op.access.memory.name, sizes, naive) or whole
                return (low, high) if op.access.guard is None else (min(low, 0), max(high, 0))
            case ops.Constant(value=int(number)):
                return number, number
            case ops.Index(expr=expr):
                least, most = expr.subst({s: sizes[s.name] for s in expr.free() if s.name in sizes}).bounds()
                return whole if least is None or most is None else (least, most)
            case ops.Map(fn="min" | "max" as fn, args=args) if nested:
                pick = min if fn == "min" else max
                ranges = [self._range(made, sizes, naive, nested - 1) for arg in args for made in self._origins.of(arg)]
                return pick(low for low, _ in ranges), pick(high for _, high in ranges)
        return whole

    def _walk(self, block: list[ops.Op], path: tuple[str, ...]) -> Iterator[tuple[ops.Symbol, str]]:
        for op in block:
            if isinstance(op, ops.Symbol):
                said = [self._expression(fact) for fact in op.facts]
                yield op, f"{self._value(op.value)} {op.symbol.bounds()} {said} {path}"
            paths = [path] * len(op.blocks)
            if op.control is ops.Control.BRANCH:
                (condition,) = (self._expression(e) for e in op.expressions)
                paths = [(*path, condition), (*path, f"not {condition}")]
            for inner, way in zip(op.blocks, paths, strict=True):
                yield from self._walk(inner, way)

    def _value(self, value: Value) -> str:
        """How it is made, once for each value; a long text is its digest, since operands may be used many times."""
        if value not in self._values:
            text = self._made(value)
            self._values[value] = text if len(text) <= LONG else hashlib.sha256(text.encode()).hexdigest()
        return self._values[value]

    def _made(self, value: Value) -> str:
        """How a value is made; what is not told apart here is the same in the same file only."""
        op = self._origins.made.get(value)
        match op:
            case ops.Load():
                how = op.access.memory.name
            case ops.Map():
                how = op.fn
            case ops.Constant():
                how = str(op.value)
            case ops.Registers():
                how = f"registers {op.pick}"
            case ops.Index() | ops.Lanes():
                how = ""
            case _:
                return f"a value of {self._kernel.full_source}"
        parts = [self._expression(e) for e in op.mentioned]
        return f"{how} {value.dtype.name} {parts} {[self._value(arg) for arg in op.operands]}"

    def _expression(self, e: Expr) -> str:
        """Its text, and what each of its variables stands for."""
        return f"{e} where {sorted(self._variable(v) for v in e.free())}"

    def _variable(self, v: Expr) -> str:
        if v in self._kernel.shapes:
            return v.name
        if v in self._symbols:
            return f"{v} is {self._value(self._symbols[v].value)}"
        if v in self._loops:
            loop = self._loops[v]
            return f"{v} in {self._expression(loop.lo)}, {self._expression(loop.hi)}, {loop.step}"
        return f"{v} of {self._kernel.grid} x {self._kernel.waves}"


def _of_sizes(op: ops.Symbol, fact: Expr, kernel: Kernel) -> bool:
    limit = limit_of(op, fact)
    return limit is not None and limit.free() <= frozenset(kernel.shapes)


def _given(name: str, sizes: Mapping[str, int], naive: Kernel) -> Range | None:
    """The widest range the naive kernel states of a tensor."""
    tensor = next(t for t in naive.tensors if t.name == name)
    stated = stated_ranges(naive, tensor, sizes)
    return (min(low for low, _ in stated), max(high for _, high in stated)) if stated else None
