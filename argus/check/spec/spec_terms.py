"""What a kernel's `computes` line says about values: the line as a term.

    y[m, n] = x[m, n] * rsqrt(sum(x[m, k] * x[m, k], k) / N + eps) * w[n]

    X · W · base(1/N · red(sum, N, X²) + eps)^-1/2        with own coordinates m on axis M, n on axis N

The reader follows `spec`, which knows the axis of every index. A reduction runs over the whole extent of the axis its
variable stands at. What a term cannot say (an index as a number, two indices on one axis at the same place, a tensor
inside a comparison) raises Unreadable: then values are not compared.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from math import e, log2

from argus.check.domain.records import Tables
from argus.check.spec.computed_indices import index_expression
from argus.check.spec.coordinates import SpecCoordinates, Unreadable
from argus.check.terms.atoms import UNKNOWN, Number, Reduction, own
from argus.check.terms.elementwise_terms import extreme
from argus.check.transfer.computed_places import leaf, lookup
from argus.ir.kernel import Kernel
from argus.layout import expr as E
from argus.layout.expr import Expr

LOG2E = log2(e)
_COMPARE: dict[type[ast.cmpop], Callable[[Expr, Expr], Expr]] = {
    ast.Lt: lambda x, y: x.lt(y), ast.LtE: lambda x, y: x.le(y), ast.Gt: lambda x, y: x.gt(y),
    ast.GtE: lambda x, y: x.ge(y), ast.Eq: lambda x, y: x.eq(y), ast.NotEq: lambda x, y: x.ne(y),
}  # fmt: skip

NOWHERE: Mapping[str, Expr] = {}
Scope = dict[int, str]
"""Which index stands at each axis."""


def meaning(
    kernel: Kernel, spec: SpecCoordinates, tables: Tables, whole: bool = False, at: Mapping[str, Expr] = NOWHERE
) -> int:
    """The term of one output element at its own coordinates. Raises Unreadable.

    `at`: where it is stored along indices that no tensor has.
    `whole`: exponentials of differences with a maximum stay as they are written, as they do in kernels where taking
    them apart is not known to be harmless.
    """
    scope = {axis: spec.names[position] for axis, position in sorted((spec.placed | spec.partly).items())}
    term = _TermReader(kernel, tables, whole, at).visit(spec.value, scope)
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
    def __init__(self, kernel: Kernel, tables: Tables, whole: bool, at: Mapping[str, Expr]) -> None:
        self.tables, self.terms, self.whole, self.at = tables, tables.terms, whole, at
        self.tensors = {t.name: t for t in kernel.tensors}
        self.sizes = {s.name: s for s in kernel.shapes}
        self.scalars = {s.name for s in kernel.scalars}

    def visit(self, node: ast.expr, scope: Scope) -> int:
        terms = self.terms
        match node:
            case ast.Constant(value=int() | float() as value):
                return terms.constant(value)
            case ast.Name(id=name) if name in self.scalars:
                return terms.atom(Number(name))
            case ast.Name(id=name) if name in self.sizes:
                return terms.atom(Number(self.sizes[name]))
            case ast.Subscript():
                return self._element(node, scope)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return terms.negative(self.visit(operand, scope))
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                return self.visit(operand, scope)
            case ast.BinOp(left=left, op=op, right=right):
                return self._binary(op, self.visit(left, scope), self.visit(right, scope))
            case ast.Call(func=ast.Name(id=("sum" | "max" | "min") as name), args=[body, ast.Name(id=index)]):
                return self._reduction(name, body, index, scope)
            case ast.Call(func=ast.Name(id="where"), args=[condition, yes, no]):
                held = self._condition(condition, scope)
                return terms.where(held, self.visit(yes, scope), self.visit(no, scope))
            case ast.Call(func=ast.Name(id=name), args=args):
                return self._function(name, [self.visit(a, scope) for a in args])
            case _:
                raise Unreadable(f"values are not compared through `{ast.unparse(node)}`")

    def _binary(self, op: ast.operator, x: int, y: int) -> int:
        match op:
            case ast.Add():
                return self.terms.add(x, y)
            case ast.Sub():
                return self.terms.add(x, self.terms.negative(y))
            case ast.Mult():
                return self.terms.multiply(x, y)
            case _:
                return self.terms.divide(x, y)

    def _function(self, name: str, args: list[int]) -> int:
        terms = self.terms
        match name:
            case "exp" | "exp2":
                exponent = terms.scaled(args[0], LOG2E) if name == "exp" else args[0]
                if self.whole and any(extreme(atom) for atom in terms.inside(exponent)):
                    return terms.apply("exp2", (exponent,))
                return terms.exp2(exponent)
            case "log2":
                return terms.log2(args[0])
            case "sqrt" | "rsqrt":
                return terms.power(args[0], 1 if name == "sqrt" else -1)
            case "maximum" | "minimum":
                return terms.extreme("max" if name == "maximum" else "min", args)
            case _:
                return terms.apply(name, tuple(args))

    def _element(self, node: ast.Subscript, scope: Scope) -> int:
        assert isinstance(node.value, ast.Name)
        tensor = self.tensors[node.value.id]
        return self.terms.atom(leaf(self.tables, tensor, self._at(node, scope)))

    def _at(self, node: ast.Subscript, scope: Scope) -> tuple[Expr, ...]:
        """Where the element of a tensor is, as formulas of own coordinates."""
        assert isinstance(node.value, ast.Name)
        tensor = self.tensors[node.value.id]
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if tensor.written:
            raise Unreadable(f"{tensor.name} is both read and written")
        found = []
        for axis, part in zip(self.tables.tensor_axes[tensor], parts, strict=True):
            if isinstance(part, ast.Name) and scope.get(axis) == part.id:
                found.append(own(axis))
                continue
            if isinstance(part, ast.Name):
                where = self.tables.axis_names[axis]
                raise Unreadable(f"`{ast.unparse(node)}` has another index on {where} than what stands around it")
            if isinstance(part, ast.Subscript):
                assert isinstance(part.value, ast.Name)
                found.append(lookup(self.tables, self.tensors[part.value.id], self._at(part, scope)))
                continue
            homes = {i: min(a for a, index in scope.items() if index == i) for i in scope.values()}
            made = index_expression(part, homes)
            if made is None:
                raise Unreadable(f"`{ast.unparse(part)}` is no formula of indices")
            found.append(made)
        return tuple(found)

    def _reduction(self, name: str, body: ast.expr, index: str, scope: Scope) -> int:
        axes = {axis for node in ast.walk(body) for axis in self._axes_at(node, index)}
        if len(axes) != 1:
            raise Unreadable(f"{index} does not stand at one axis")
        axis = axes.pop()
        extent = extent_of(self.tables, axis)
        if extent is None:
            raise Unreadable(f"{self.tables.axis_names[axis]} has different extents in different tensors")
        op: Reduction = "sum" if name == "sum" else "max" if name == "max" else "min"
        inner = self.visit(body, {**{a: i for a, i in scope.items() if i != index}, axis: index})
        return self.terms.reduce(op, axis, inner, (), domain(axis, extent))

    def _axes_at(self, node: ast.AST, index: str) -> list[int]:
        if not (isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name)):
            return []
        axes = self.tables.tensor_axes[self.tensors[node.value.id]]
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        return [a for a, part in zip(axes, parts, strict=True) if isinstance(part, ast.Name) and part.id == index]

    def _condition(self, node: ast.expr, scope: Scope) -> Expr:
        match node:
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _COMPARE:
                return _COMPARE[type(op)](self._index(left, scope), self._index(right, scope))
            case _:
                raise Unreadable(f"values are not compared through the condition `{ast.unparse(node)}`")

    def _index(self, node: ast.expr, scope: Scope) -> Expr:
        match node:
            case ast.Constant(value=int() as value) if not isinstance(value, bool):
                return E.const(value)
            case ast.Name(id=name) if name in scope.values():
                return own(min(a for a, i in scope.items() if i == name))
            case ast.Name(id=name) if name in self.at:
                return self.at[name]
            case ast.Name(id=name) if name in self.sizes:
                return self.sizes[name]
            case ast.Subscript(value=ast.Name(id=name)) if self.tensors[name].dtype.kind in ("int", "uint"):
                return lookup(self.tables, self.tensors[name], self._at(node, scope))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -1 * self._index(operand, scope)
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return self._index(left, scope) + self._index(right, scope)
            case ast.BinOp(left=left, op=ast.Sub(), right=right):
                return self._index(left, scope) - self._index(right, scope)
            case ast.BinOp(left=left, op=ast.Mult(), right=right):
                return self._index(left, scope) * self._index(right, scope)
            case ast.BinOp(left=left, op=ast.FloorDiv(), right=ast.Constant(value=int() as by)) if by > 0:
                return self._index(left, scope) // by
            case _:
                raise Unreadable(f"`{ast.unparse(node)}` in a condition is not an index expression")
