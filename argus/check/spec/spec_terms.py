"""What a kernel's `computes` line says about values: the line as a term.

    y[m, n] = x[m, n] * rsqrt(sum(x[m, k] * x[m, k], k) / N + eps) * w[n]

    X · W · base(1/N · red(sum, N, X²) + eps)^-1/2        with own coordinates m on axis M, n on axis N

The reader follows `spec`, which knows the axis of every index. A reduction runs over the whole extent of the axis its
variable stands at. What a term cannot say (an index as a number, two indices on one axis at the same place, a tensor
inside a comparison) raises Unreadable: then values are not compared.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import e, log, log2
from typing import assert_never

from argus.check.domain.records import Tables, without_constant
from argus.check.domain.reduction_footprint import Over, one
from argus.check.spec.computed_indices import affine, index_expression, neighbor
from argus.check.spec.coordinates import SpecCoordinates, Unreadable
from argus.check.terms.atoms import UNKNOWN, Number, Reduction, axes_in, own
from argus.check.terms.elementwise_terms import extreme, whole_quotient
from argus.check.terms.placed_terms import at_place
from argus.check.terms.places import first_place
from argus.check.transfer.computed_places import leaf, lookup
from argus.ir.kernel import Kernel
from argus.layout import expr as E
from argus.layout.expr import Expr
from argus.spec.printer import spec_text
from argus.spec.tree import (
    Arithmetic,
    ArithmeticOp,
    Complement,
    ConditionalValue,
    Connective,
    FunctionCall,
    IndexName,
    IndexReduction,
    Negation,
    NumberLiteral,
    Relation,
    RelationOp,
    ScalarName,
    SizeName,
    SpecNode,
    TensorElement,
)
from argus.spec.walk import children, elements, open_indices, plain_uses, walk, with_children

LOG2E = log2(e)
LN2 = log(2)
_COMPARE: dict[RelationOp, Callable[[Expr, Expr], Expr]] = {
    "<": lambda x, y: x.lt(y), "<=": lambda x, y: x.le(y), ">": lambda x, y: x.gt(y),
    ">=": lambda x, y: x.ge(y), "==": lambda x, y: x.eq(y), "!=": lambda x, y: x.ne(y),
}  # fmt: skip

_TESTS: dict[RelationOp, str] = {"<": "lt", "<=": "le", ">": "gt", ">=": "ge", "==": "eq", "!=": "ne"}

Scope = dict[int, str]
"""Which index stands at each axis."""


@dataclass(frozen=True, slots=True)
class SpecForm:
    """One way to write the line as a term; kernels may compute any of them.

    `whole`: exponentials of differences with a maximum stay as they are written, as they do in kernels where taking
    them apart is not known to be harmless.
    `formal`: factors cancel, since the specification speaks only of where it is defined; else as in a kernel.
    `data`: elements of integer tensors are compared as values; else as indices.
    `counts`: elements of integer tensors that stand as values are indices, too: `1 / LEN[m]` of a loaded length.
    """

    whole: bool
    formal: bool
    data: bool
    counts: bool = False


def forms_of(spec: SpecCoordinates) -> list[SpecForm]:
    """The forms in which the line may be written."""
    tests = [node for node in walk(spec.value) if isinstance(node, Relation)]
    data = any(element.whole for test in tests for element in elements(test))
    values = any(element.whole for element in elements(spec.value))
    either = (False, True)
    kinds = [(False, False), *([(True, False)] if data else []), *([(False, True)] if values else [])]
    return [SpecForm(w, f, d, c) for d, c in kinds for f in (True, False) for w in either]


def meaning(kernel: Kernel, spec: SpecCoordinates, tables: Tables, form: SpecForm, at: Mapping[str, Expr]) -> int:
    """The term of one output element at its own coordinates, stored `at` these along indices that no tensor has.
    Raises Unreadable."""
    scope = {axis: spec.names[position] for axis, position in sorted((spec.placed | spec.partly).items())}
    return _known(_TermReader(kernel, tables, form, at).visit(spec.value, scope))


def meaning_at(kernel: Kernel, spec: SpecCoordinates, tables: Tables, form: SpecForm, at: Mapping[str, Expr]) -> int:
    """The term of the output element at these coordinates, one for each index of the result, without own coordinates
    but those that reductions bind. Raises Unreadable."""
    bound = {node.index for node in walk(spec.value) if isinstance(node, IndexReduction)}
    if bound & at.keys():
        raise Unreadable(f"{min(bound & at.keys())} is an index of the result and of a reduction")
    return at_place(tables.terms, _known(_PlacedReader(kernel, tables, form, at).visit(spec.value, {})), {})


def _known(term: int) -> int:
    if term == UNKNOWN:
        raise Unreadable("it has no normal form")
    return term


def domain(axis: int, extent: Expr) -> Expr:
    """The own coordinate lies on the axis."""
    return E.land(own(axis).ge(0), own(axis).lt(extent))


def extent_of(tables: Tables, axis: int) -> Expr | None:
    """The common extent of an axis in all tensors that are read."""
    found = {
        tensor.shape[numbers.index(axis)]
        for tensor, numbers in tables.tensor_axes.items()
        if tensor.read and axis in numbers
    }
    return next(iter(found)) if len(found) == 1 else None


class _TermReader:
    def __init__(self, kernel: Kernel, tables: Tables, form: SpecForm, at: Mapping[str, Expr]) -> None:
        self.tables, self.terms, self.form, self.at = tables, tables.terms, form, at
        self.kernel, self.tensors = kernel, {t.name: t for t in kernel.tensors}
        self.sizes = {s.name: s for s in kernel.shapes}

    def visit(self, node: SpecNode, scope: Scope) -> int:
        terms = self.terms
        match node:
            case NumberLiteral(value):
                return terms.constant(value)
            case ScalarName(name):
                return terms.atom(Number(name))
            case SizeName(name):
                return terms.atom(Number(self.sizes[name]))
            case TensorElement():
                return self._element(node, scope)
            case Negation(operand):
                return terms.negative(self.visit(operand, scope))
            case Arithmetic(op, left, right):
                return self._binary(node, op, self.visit(left, scope), self.visit(right, scope))
            case IndexReduction():
                return self._reduction(node, scope)
            case ConditionalValue(condition, yes, no):
                sides = self.visit(yes, scope), self.visit(no, scope)
                test = self._test(condition, scope)
                if test is not None:
                    return terms.apply("select", (test, *sides))
                return terms.where(self._condition(condition, scope), *sides)
            case FunctionCall(name, args):
                return self._function(name, [self.visit(a, scope) for a in args])
            case IndexName() | Relation() | Connective() | Complement():
                raise Unreadable(f"values are not compared through `{spec_text(node)}`")
            case _:
                assert_never(node)

    def _binary(self, node: SpecNode, op: ArithmeticOp, x: int, y: int) -> int:
        match op:
            case "+":
                return self.terms.add(x, y, self.form.formal)
            case "-":
                return self.terms.add(x, self.terms.negative(y), self.form.formal)
            case "*":
                return self.terms.multiply(x, y, self.form.formal)
            case "/":
                return self.terms.multiply(x, self.terms.power(y, -2, self.form.formal), self.form.formal)
            case "//" | "%":
                made = whole_quotient(self.terms, op, x, y)
                if made is None:
                    raise Unreadable(f"values are not compared through `{spec_text(node)}`")
                return made
            case _:
                assert_never(op)

    def _function(self, name: str, args: list[int]) -> int:
        terms = self.terms
        match name:
            case "exp" | "exp2":
                exponent = terms.scaled(args[0], LOG2E) if name == "exp" else args[0]
                if self.form.whole and any(extreme(atom) for atom in terms.inside(exponent)):
                    return terms.apply("exp2", (exponent,))
                return terms.exp2(exponent)
            case "log2":
                return terms.log2(args[0])
            case "log":
                return terms.scaled(terms.log2(args[0]), LN2)
            case "sqrt" | "rsqrt":
                return terms.power(args[0], 1 if name == "sqrt" else -1)
            case "maximum" | "minimum":
                return terms.extreme("max" if name == "maximum" else "min", args)
            case _:
                return terms.apply(name, tuple(args))

    def _element(self, node: TensorElement, scope: Scope) -> int:
        return self.terms.atom(leaf(self.tables, self.tensors[node.tensor], self._at(node, scope)))

    def _at(self, node: TensorElement, scope: Scope) -> tuple[Expr, ...]:
        """Where the element of a tensor is, as formulas of own coordinates."""
        tensor = self.tensors[node.tensor]
        if tensor.written:
            raise Unreadable(f"{tensor.name} is both read and written")
        found: list[Expr] = []
        for axis, part in zip(self.tables.tensor_axes[tensor], node.indices, strict=True):
            if isinstance(part, TensorElement):
                found.append(lookup(self.tables, self.tensors[part.tensor], self._at(part, scope)))
            else:
                found.append(self._place(node, axis, part, scope, len(found)))
        return tuple(found)

    def _place(self, node: TensorElement, axis: int, part: SpecNode, scope: Scope, position: int) -> Expr:
        """Where the element is on one axis."""
        if isinstance(part, IndexName) and scope.get(axis) == part.name:
            return own(axis)
        if isinstance(part, IndexName | SizeName | ScalarName):
            where = self.tables.axis_names[axis]
            raise Unreadable(f"`{spec_text(node)}` has another index on {where} than what stands around it")
        near = neighbor(part)
        if near is not None and scope.get(axis) == near[0] and axis in self.tables.hints.shifted:
            return own(axis) + near[1]
        by, form = self.tables.hints.strided.get((node.tensor, position)), affine(part)
        if by is not None and form is not None and scope.get(by.axis) == form[0]:
            return form[1] * own(by.axis) + form[2]
        homes = {i: min(a for a, index in scope.items() if index == i) for i in scope.values()}
        made = index_expression(part, homes)
        if made is None:
            raise Unreadable(f"`{spec_text(part)}` is no formula of indices")
        return made

    def _reduction(self, node: IndexReduction, scope: Scope) -> int:
        axes = {self.tables.tensor_axes[self.tensors[e.tensor]][n] for e, n in plain_uses(node.body, node.index)}
        if len(axes) != 1:
            raise Unreadable(f"{node.index} does not stand at one axis")
        axis = axes.pop()
        extent = extent_of(self.tables, axis)
        if extent is None:
            raise Unreadable(f"{self.tables.axis_names[axis]} has different extents in different tensors")
        inner = self.visit(node.body, {**{a: i for a, i in scope.items() if i != node.index}, axis: node.index})
        if node.kind == "argmax" or node.kind == "argmin":
            op: Reduction = "max" if node.kind == "argmax" else "min"
            found = first_place(self.terms, self.terms.reduce(op, axis, inner, (), domain(axis, extent)))
            if found == UNKNOWN:
                raise Unreadable(f"values are not compared through `{spec_text(node)}`")
            return found
        return self.terms.reduce(node.kind, axis, inner, (), domain(axis, extent))

    def _test(self, node: SpecNode, scope: Scope) -> int | None:
        """A comparison of values that are not whole numbers, as a term; None for one of indices."""
        match node:
            case Relation(op, left, right) if not (_whole(left) and _whole(right)) or (
                self.form.data and any(True for _ in elements(node))
            ):
                return self.terms.apply(_TESTS[op], (self.visit(left, scope), self.visit(right, scope)))
            case _:
                return None

    def _condition(self, node: SpecNode, scope: Scope) -> Expr:
        match node:
            case Relation(op, left, right):
                return _COMPARE[op](self._index(left, scope), self._index(right, scope))
            case Connective(op, left, right):
                x, y = self._condition(left, scope), self._condition(right, scope)
                return E.land(x, y) if op == "and" else E.lor(x, y)
            case Complement(operand):
                return E.lnot(self._condition(operand, scope))
            case _:
                raise Unreadable(f"values are not compared through the condition `{spec_text(node)}`")

    def _index(self, node: SpecNode, scope: Scope) -> Expr:
        match node:
            case NumberLiteral(int() as value):
                return E.const(value)
            case IndexName(name) if name in scope.values():
                return own(min(a for a, i in scope.items() if i == name))
            case IndexName(name) if name in self.at:
                return self.at[name]
            case SizeName(name):
                return self.sizes[name]
            case TensorElement(tensor=name, whole=True):
                return lookup(self.tables, self.tensors[name], self._at(node, scope))
            case Negation(operand):
                return -1 * self._index(operand, scope)
            case Arithmetic("+", left, right):
                return self._index(left, scope) + self._index(right, scope)
            case Arithmetic("-", left, right):
                return self._index(left, scope) - self._index(right, scope)
            case Arithmetic("*", left, right):
                return self._index(left, scope) * self._index(right, scope)
            case Arithmetic("//", left, NumberLiteral(int() as by)) if by > 0:
                return self._index(left, scope) // by
            case Arithmetic("%", left, NumberLiteral(int() as by)) if by > 0:
                return self._index(left, scope) % by
            case _:
                raise Unreadable(f"`{spec_text(node)}` in a condition is not an index expression")


class _PlacedReader(_TermReader):
    """The line read for one element of the result: `at` says where it is. Indices are formulas of that and of what
    reductions bind, and may be numbers themselves; a reduction may run over a stated range."""

    def visit(self, node: SpecNode, scope: Scope) -> int:
        if _of_indices(node):
            made = self._index(node, scope)
            if axes_in(made):
                raise Unreadable(f"`{spec_text(node)}` is a number that a reduction runs over")
            return self.terms.constant(made.value) if made.op == "const" else self.terms.atom(Number(made))
        if self.form.counts and isinstance(node, TensorElement) and node.whole:
            made = self._index(node, scope)
            if not axes_in(made):
                return self.terms.atom(Number(made))
        return super().visit(node, scope)

    def _place(self, node: TensorElement, axis: int, part: SpecNode, scope: Scope, position: int) -> Expr:
        if isinstance(part, IndexName) and scope.get(axis) == part.name:
            return own(axis)
        return self._index(part, scope)

    def _reduction(self, node: IndexReduction, scope: Scope) -> int:
        if node.extent is None:
            return super()._reduction(node, scope)
        found = {
            (self.tables.tensor_axes[self.tensors[element.tensor]][n], part)
            for element in elements(node.body)
            for n, part in enumerate(element.indices)
            if node.index in open_indices(part)
        }
        again = any(isinstance(inner, IndexReduction) and inner.index == node.index for inner in walk(node.body))
        if node.kind not in ("sum", "max", "min") or len(found) != 1 or again:
            raise Unreadable(f"`{node.index}` runs over the stated range {spec_text(node.extent)}")
        ((axis, part),) = found
        turn = E.var("turn_taken_0", 0)
        where = _PlacedReader(self.kernel, self.tables, self.form, {**self.at, node.index: turn})
        constant, rest = without_constant(where._index(part, scope))
        turns = self._index(node.extent, scope)
        if axes_in(rest) or axes_in(turns) or axis in scope:
            raise Unreadable(f"`{spec_text(part)}` depends on what another reduction binds")
        plain = _with_index(node.body, part, node.index)
        if sum(1 for _ in plain_uses(plain, node.index)) != _uses(plain, node.index):
            raise Unreadable(f"`{node.index}` runs over the stated range {spec_text(node.extent)}")
        inner = self.visit(plain, {**{a: i for a, i in scope.items() if i != node.index}, axis: node.index})
        taken = Over(turn, E.const(0), turns, 1, one(rest, constant))
        return self.terms.reduce(node.kind, axis, inner, (taken,))


def _with_index(node: SpecNode, part: SpecNode, index: str) -> SpecNode:
    """The tree with the index itself wherever the formula stands."""
    if node == part:
        return IndexName(index, span=node.span)
    return with_children(node, tuple(_with_index(child, part, index) for child in children(node)))


def _uses(node: SpecNode, index: str) -> int:
    """How often an open index occurs."""
    if isinstance(node, IndexReduction) and node.index == index:
        return 0
    return (isinstance(node, IndexName) and node.name == index) + sum(_uses(c, index) for c in children(node))


def _of_indices(node: SpecNode) -> bool:
    """A whole number made of indices, with sizes and numbers."""
    parts = list(walk(node))
    divided = any(
        isinstance(part, TensorElement) or (isinstance(part, Arithmetic) and part.op == "/") for part in parts
    )
    return _whole(node) and not divided and any(isinstance(part, IndexName) for part in parts)


def _whole(node: SpecNode) -> bool:
    """Made of indices, sizes, whole numbers and elements of integer tensors alone."""
    match node:
        case NumberLiteral(value):
            return isinstance(value, int)
        case IndexName() | SizeName():
            return True
        case TensorElement(whole=whole):
            return whole
        case Negation(operand):
            return _whole(operand)
        case Arithmetic(left=left, right=right):
            return _whole(left) and _whole(right)
        case _:
            return False
