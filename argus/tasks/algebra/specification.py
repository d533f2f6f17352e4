"""The value of a specification in exact algebra: the same tree as `argus.spec.evaluation`, in prime fields.

    AlgebraEvaluator({"A": a, "B": b}, {"M": 64, "scale": 0.5}, constants, seed).result(spec, c.shape)

Elements of tensors have the residues that the object's memory begins with; exp(x) is exp2(x log2 e). Choices (maximum,
where, floor) follow the values in float64. An object decides them in its own arithmetic, so a choice between numbers
that rounding may exchange is doubtful. `tanh` is written with exp2 and `erf` is an unknown function, both doubtful:
objects approximate them by polynomials.

A sum runs over its index in chunks, so that no intermediate has more than `CHUNK` elements where one index suffices.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction
from functools import partial, reduce
from math import isinf
from typing import assert_never

import numpy as np
import numpy.typing as npt

from argus.machine.algebra import fields, numbers
from argus.machine.algebra.constants import Constants, NamedConstant, fraction
from argus.machine.algebra.fields import EVERY_LEVEL
from argus.machine.algebra.numbers import AlgebraNumbers
from argus.spec.errors import SpecError
from argus.spec.extents import reduction_extent
from argus.spec.functions import FUNCTIONS
from argus.spec.tree import (
    Arithmetic,
    Complement,
    ConditionalValue,
    Connective,
    FunctionCall,
    IndexName,
    IndexReduction,
    Negation,
    NumberLiteral,
    Relation,
    ResultSpec,
    ScalarName,
    SizeName,
    SpecNode,
    TensorElement,
)
from argus.spec.walk import factors, open_indices, walk
from argus.tasks.algebra.contraction import MOST_TERMS, contracted
from argus.tasks.algebra.indexed import (
    DecidedCondition,
    Indexed,
    Truth,
    arithmetic,
    constant,
    expanded,
    like,
    multiplied,
    power,
    summed,
    times,
)

CHUNK = 1 << 19
SMALLEST = 1e-3
"""Numbers below it are as near to each other as their difference to this."""

Arrays = Mapping[str, npt.NDArray[np.generic]]

_RELATIONS = {
    "<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal, "==": np.equal, "!=": np.not_equal,
}  # fmt: skip


def input_numbers(array: npt.NDArray[np.generic], seed: int) -> AlgebraNumbers:
    """The numbers a tensor's elements have in memory when the launch begins."""
    with np.errstate(invalid="ignore"):
        real = array.astype(np.float64)
    if array.dtype.kind in "iub":
        return numbers.of_floats(real)
    return numbers.exactly(fields.drawn(real, seed), real)


_VARIABLE = (IndexName, TensorElement, IndexReduction, Relation, Connective, Complement)
"""Nodes that make a formula more than a number."""


def named_constants(
    spec: ResultSpec, tensors: Arrays, symbols: Mapping[str, float], seed: int
) -> Iterator[NamedConstant]:
    """The numbers a specification implies: those it writes, computes from numbers alone, or reduces over."""
    plain = AlgebraEvaluator({}, symbols, Constants(seed), seed)
    shapes = {name: array.shape for name, array in tensors.items()}
    for node in walk(spec.expression):
        if isinstance(node, IndexReduction):
            yield fraction(reduction_extent(node, shapes, symbols))
        elif not any(isinstance(part, _VARIABLE) for part in walk(node)):
            made = plain.visit(node).numbers
            if int(made.present) == EVERY_LEVEL:
                yield NamedConstant(float(made.real), made.residue)


class AlgebraEvaluator:
    """The numbers of one specification."""

    def __init__(self, tensors: Arrays, symbols: Mapping[str, float], constants: Constants, seed: int) -> None:
        self._shapes = {name: array.shape for name, array in tensors.items()}
        self._arrays, self._seed = tensors, seed
        self._tensors: dict[str, AlgebraNumbers] = {}
        self._symbols, self._constants = symbols, constants
        self._positions: dict[str, npt.NDArray[np.int64]] = {}
        self._made: dict[tuple[SpecNode, tuple[tuple[str, int, int], ...]], Indexed] = {}
        narrow = any(a.dtype.kind not in "iub" and a.dtype.itemsize < 4 for a in tensors.values())
        self._near = 2.0**-7 if narrow else 2.0**-18

    def result(
        self, spec: ResultSpec, shape: tuple[int, ...], positions: Sequence[npt.NDArray[np.int64]] | None = None
    ) -> AlgebraNumbers:
        """The specified numbers of a result of this shape; `positions`: only at these of each axis."""
        if positions is not None:
            shape = tuple(len(where) for where in positions)
        chosen = positions or [np.arange(n) for n in shape]
        self._positions = dict(zip(spec.indices, chosen, strict=True))
        with np.errstate(all="ignore"):
            found = self.visit(spec.expression)
        whole = self._spread(found, spec.indices)
        return whole.arranged(lambda array: np.broadcast_to(array, shape))

    # -- nodes ---------------------------------------------------------------------------------------------------

    def visit(self, node: SpecNode) -> Indexed:
        match node:
            case NumberLiteral(value) if isinf(value):
                raise SpecError("a prime field has no infinite number")
            case NumberLiteral(value):
                return constant(self._constants.symbol(value) or fraction(Fraction(repr(value))))
            case SizeName(name) | ScalarName(name):
                if name not in self._symbols:
                    raise SpecError(f"the value of {name} is not given")
                return constant(fraction(Fraction(self._symbols[name])))
            case IndexName(name):
                return Indexed((name,), numbers.of_floats(self._positions[name].astype(np.float64)))
            case TensorElement():
                return self._element(node)
            case Negation(operand):
                x = self.visit(operand)
                return Indexed(x.indices, numbers.negate(x.numbers))
            case Arithmetic(op, left, right):
                union, sides = self._aligned(self.visit(left), self.visit(right))
                return Indexed(union, arithmetic(op, *sides))
            case FunctionCall(name, args):
                union, given = self._aligned(*[self.visit(arg) for arg in args])
                return Indexed(union, self._function(name, given))
            case IndexReduction():
                return self._once(node)
            case ConditionalValue(condition, yes, no):
                return self._conditional(self._condition(condition), self.visit(yes), self.visit(no))
            case Relation() | Connective() | Complement():
                raise SpecError("a condition is not a number", "data", node.span)
            case _:
                assert_never(node)

    def _once(self, node: IndexReduction) -> Indexed:
        """A reduction is computed once for the same positions of what it depends on."""
        places = tuple(
            (i, int(p[0]), len(p)) for i, p in sorted(self._positions.items()) if i in open_indices(node) and len(p)
        )
        if (node, places) not in self._made:
            self._made[node, places] = self._reduction(node)
        return self._made[node, places]

    def _element(self, node: TensorElement) -> Indexed:
        """Elements at computed places; zero outside of the tensor."""
        if node.tensor not in self._arrays:
            raise SpecError(f"the specification reads {node.tensor}, of which there is no array", "data", node.span)
        if node.tensor not in self._tensors:
            self._tensors[node.tensor] = input_numbers(self._arrays[node.tensor], self._seed)
        tensor, shape = self._tensors[node.tensor], self._shapes[node.tensor]
        union, places = self._aligned(*[self.visit(item) for item in node.indices])
        if 0 in shape:
            return Indexed(union, numbers.of_floats(np.zeros(np.broadcast_shapes(*(p.shape for p in places)))))
        at = [np.rint(p.real).astype(np.int64) for p in places]
        inside = reduce(np.logical_and, [(p >= 0) & (p < n) for p, n in zip(at, shape, strict=True)], np.bool_(True))
        found = tensor.at(tuple(np.clip(p, 0, n - 1) for p, n in zip(at, shape, strict=True)))
        zeros = numbers.of_floats(np.zeros(np.shape(inside)))
        return Indexed(union, numbers.choose(np.asarray(inside), found, zeros))

    def _conditional(self, c: DecidedCondition, yes: Indexed, no: Indexed) -> Indexed:
        union = tuple(dict.fromkeys((*c.indices, *yes.indices, *no.indices)))
        x, y = self._spread(yes, union), self._spread(no, union)
        holds, doubtful = (expanded(part, c.indices, union) for part in (c.holds, c.doubtful))
        made = numbers.choose(holds, x, y)
        return Indexed(union, made.doubted(np.broadcast_to(doubtful, made.shape) & ~numbers.same(x, y)))

    def _condition(self, node: SpecNode) -> DecidedCondition:
        match node:
            case Relation(op, left, right):
                union, (x, y) = self._aligned(self.visit(left), self.visit(right))
                return DecidedCondition(union, _RELATIONS[op](x.real, y.real), self._close(x, y))
            case Connective(op, left, right):
                p, q = self._condition(left), self._condition(right)
                union = tuple(dict.fromkeys((*p.indices, *q.indices)))
                first, second = (expanded(c.holds, c.indices, union) for c in (p, q))
                doubts = [expanded(c.doubtful, c.indices, union) for c in (p, q)]
                holds = first & second if op == "and" else first | second
                return DecidedCondition(union, holds, doubts[0] | doubts[1])
            case Complement(operand):
                c = self._condition(operand)
                return DecidedCondition(c.indices, ~c.holds, c.doubtful)
            case _:
                raise SpecError("a number is not a condition")

    def _close(self, x: AlgebraNumbers, y: AlgebraNumbers) -> Truth:
        """Where rounding may decide a comparison: never between numbers as they were in memory."""
        size = np.maximum(np.maximum(np.abs(x.real), np.abs(y.real)), SMALLEST)
        close: Truth = np.abs(x.real - y.real) <= self._near * size
        return close & (((x.taint | y.taint) & numbers.ROUNDED) > 0)

    # -- functions -----------------------------------------------------------------------------------------------

    def _function(self, name: str, given: list[AlgebraNumbers]) -> AlgebraNumbers:
        x = given[0]
        log2_e = constant(self._constants.log2_e).numbers
        match name:
            case "exp":
                return numbers.exp2(times(x, log2_e))
            case "exp2":
                return numbers.exp2(x)
            case "log":
                return numbers.divide(numbers.log2(x), like(log2_e, x))
            case "log2":
                return numbers.log2(x)
            case "sqrt":
                return numbers.sqrt(x)
            case "rsqrt":
                return numbers.inverse(numbers.sqrt(x))
            case "abs":
                other = numbers.negate(x)
                return numbers.absolute(x).doubted(self._close(x, other) & ~numbers.same(x, other))
            case "floor":
                made = numbers.of_floats(np.floor(x.real))
                uncertain = np.abs(x.real - np.rint(x.real)) <= self._near * np.maximum(np.abs(x.real), 1.0)
                return made.doubted(uncertain & ~numbers.same(x, numbers.of_floats(x.real)))
            case "maximum" | "minimum":
                return self._selected(name == "maximum", *given)
            case "pow":
                return power(x, given[1])
            case "tanh":
                e = numbers.exp2(times(times(x, log2_e), numbers.of_floats(np.array(2.0))))
                one = like(numbers.of_floats(np.array(1.0)), e)
                made = numbers.divide(numbers.subtract(e, one), numbers.add(e, one)).with_real(np.tanh(x.real))
                return made.doubted(np.ones(made.shape, np.bool_))
            case _:
                return numbers.unknown_function(x, name, np.asarray(FUNCTIONS[name].value(x.real)))

    def _selected(self, largest: bool, x: AlgebraNumbers, y: AlgebraNumbers) -> AlgebraNumbers:
        first = x.real >= y.real if largest else x.real <= y.real
        made = numbers.choose(first | np.isnan(y.real), x, y)
        return made.doubted(self._close(x, y) & ~numbers.same(x, y))

    # -- reductions ----------------------------------------------------------------------------------------------

    def _reduction(self, node: IndexReduction) -> Indexed:
        extent = reduction_extent(node, self._shapes, self._symbols)
        if node.kind == "sum" and 1 < extent <= MOST_TERMS:
            with self._bound(node.index, np.arange(extent)):
                sides = self._sides(node)
            if len(sides) == 2:
                x, y = sides
                over = tuple(dict.fromkeys(i for i in (*x.indices, *y.indices) if i != node.index))
                return Indexed(over, contracted(x.numbers, y.numbers, x.indices, y.indices, node.index))
        rest = sorted(open_indices(node) & self._positions.keys())
        size = int(np.prod([len(self._positions[i]) for i in rest], dtype=np.int64))
        step = max(1, min(extent, CHUNK // max(size, 1))) if node.kind == "sum" else extent
        total: Indexed | None = None
        for start in range(0, extent, step):
            with self._bound(node.index, np.arange(start, min(start + step, extent))):
                part = self._reduced(node)
            if total is None:
                total = part
            else:
                union, both = self._aligned(total, part)
                total = Indexed(union, numbers.add(*both))
        empty = NumberLiteral(0 if node.kind == "sum" else 1)  # only a sum or a product may be over nothing
        return self.visit(empty) if total is None else total

    def _sides(self, node: IndexReduction) -> list[Indexed]:
        """Two factors of the summed product, each with the index, none with all of the other's: multiplied out, there
        would be an intermediate larger than both. Nothing if there are not two such."""
        parts = factors(node.body)
        open_ = [open_indices(part) for part in parts]
        largest = [k for k, mine in enumerate(open_) if not any(mine < other for other in open_)]
        kinds = {frozenset(open_[k]) for k in largest}
        if len(kinds) != 2 or any(node.index not in kind for kind in kinds):
            return []
        sides: list[Indexed] = []
        for kind in sorted(kinds, key=sorted):
            taken = [part for part, mine in zip(parts, open_, strict=True) if mine <= kind]
            parts, open_ = (
                [part for part, mine in zip(parts, open_, strict=True) if not mine <= kind],
                [mine for mine in open_ if not mine <= kind],
            )
            product = self.visit(reduce(lambda a, b: Arithmetic("*", a, b), taken))
            shape = tuple(len(self._positions[i]) for i in product.indices)
            whole = product.numbers.arranged(partial(np.broadcast_to, shape=shape))
            sides.append(Indexed(product.indices, whole))
        return sides

    @contextmanager
    def _bound(self, index: str, positions: npt.NDArray[np.int64]) -> Iterator[None]:
        self._positions[index] = positions
        try:
            yield
        finally:
            del self._positions[index]

    def _reduced(self, node: IndexReduction) -> Indexed:
        body = self.visit(node.body)
        rest = tuple(i for i in body.indices if i != node.index)
        whole = self._spread(body, (*rest, node.index))
        count = len(self._positions[node.index])
        terms = whole.arranged(lambda array: np.broadcast_to(array, (*array.shape[:-1], count)))
        if node.kind in ("sum", "prod"):
            return Indexed(rest, summed(terms) if node.kind == "sum" else multiplied(terms))
        return Indexed(rest, self._best(terms, node.kind))

    def _best(self, terms: AlgebraNumbers, kind: str) -> AlgebraNumbers:
        """The greatest or least over the last axis, or its first place."""
        sign = 1.0 if kind in ("max", "argmax") else -1.0
        values = terms.real * sign
        where = np.argmax(values, axis=-1)
        found = terms.at((*np.indices(where.shape), where))
        alone = AlgebraNumbers(
            found.residue[..., None], found.present[..., None], found.taint[..., None], found.real[..., None]
        )
        rivals = self._close(terms, alone) & ~numbers.same(terms, alone)
        made = numbers.of_floats(where.astype(np.float64)) if kind.startswith("arg") else found
        return made.doubted(np.asarray(rivals.any(axis=-1)))

    # -- alignment -----------------------------------------------------------------------------------------------

    def _aligned(self, *given: Indexed) -> tuple[tuple[str, ...], list[AlgebraNumbers]]:
        union = tuple(dict.fromkeys(i for x in given for i in x.indices))
        return union, [self._spread(x, union) for x in given]

    def _spread(self, x: Indexed, union: tuple[str, ...]) -> AlgebraNumbers:
        if x.indices == union:
            return x.numbers
        return x.numbers.arranged(lambda array: expanded(array, x.indices, union))
