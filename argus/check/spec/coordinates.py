"""What a kernel's `computes` line says about coordinates, read as syntax.

    C[m, n] = sum(A[m, k] * B[n, k], k)

    output C, index m is axis 0 and n axis 1; axis 0 of A belongs to m, axis 0 of B to n; k is summed away

From this the checker knows which axes of a stored value must equal which coordinates of the store (`placed`), and which
axes must be contracted completely (`summed`). An axis can play both parts:

    y[m, n] = x[m, n] * sum(x[m, k], k) * w[n]        axis N belongs to n, and is reduced over as well (`partly`)

An index of the result that no tensor has is what a store says there (`loose`): `value` reads the line store by store.

    W[s, m, n] = sum(where(k >= 512 * s, where(k < 512 * s + 512, A[m, k] * B[n, k], 0), 0), k)      part s of a sum

An index can be computed from others, or looked up in a tensor of whole numbers (`computed_indices`): such an axis
belongs to no index of its own. `value` has to show that what is stored follows the formula; without that, `placed` is
undecided.

What cannot be turned into such a statement is kept as a reason and ends in `unknown`: an axis with two output indices
or two formulas, several or masked reductions of one axis. A line of another form, with names or functions nobody knows,
is refused as a whole. The line's numerical meaning is evaluated elsewhere.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field, replace

from argus.check.domain.records import Tables
from argus.check.spec.computed_indices import Formula, Hints, SpecIndex, hints_of
from argus.check.spec.scatter import scattered
from argus.ir.kernel import Kernel
from argus.ir.ops import Tensor
from argus.layout.expr import Expr

REDUCTIONS = ("sum", "max", "min")
FUNCTIONS = {"exp": 1, "exp2": 1, "log2": 1, "sqrt": 1, "rsqrt": 1, "abs": 1, "where": 3, "maximum": 2, "minimum": 2}
SIZE = "a size or an argument of the kernel"
_OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.Div)


class Unreadable(Exception):
    """Why a specification says nothing to the checker."""


@dataclass(frozen=True, slots=True)
class SpecCoordinates:
    """`placed`, `partly`: axis -> position in the output; `summed`: axes contracted over their whole extent.

    `sources` are, per axis of `placed` and `partly`, the tensors whose only index there is the output's. `unjudged` and
    `unreduced` say what `placed` and `reduced` cannot decide. `plain`: nothing but a sum of a product of elements.
    `computed`: why `placed` cannot decide where `value` has not; `hints` tell `value` about computed indices. `axes`,
    `shape`, `names` are those of the result, as seen from where its amounts come from if the kernel `adds` (`scatter`).
    `loose`: index of the result that stands at no tensor -> its position; it is what the store says there.
    """

    output: Tensor
    placed: dict[int, int]
    partly: dict[int, int]
    summed: frozenset[int]
    sources: dict[int, tuple[Tensor, ...]]
    unjudged: tuple[str, ...]
    unreduced: tuple[str, ...]
    plain: bool
    computed: tuple[str, ...] = ()
    hints: Hints = field(default_factory=Hints)
    axes: tuple[int, ...] = ()
    shape: tuple[Expr, ...] = ()
    names: tuple[str, ...] = ()
    value: ast.expr = field(default_factory=lambda: ast.Constant(0))
    adds: bool = False
    loose: dict[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class _CoordinateReader:
    """One pass over the right side: which index stands at which axis, which reduction binds it."""

    tensors: dict[str, Tensor]
    free: frozenset[str]
    scalars: frozenset[str]
    uses: list[tuple[Tensor, int, SpecIndex | None]] = field(default_factory=list)
    formulas: list[Formula] = field(default_factory=list)
    lookups: list[tuple[Tensor, int, Tensor]] = field(default_factory=list)
    kinds: list[str] = field(default_factory=list)
    as_values: set[SpecIndex] = field(default_factory=set)

    def visit(self, node: ast.expr, bound: dict[str, int]) -> None:
        match node:
            case ast.Constant(value=int() | float()):
                return
            case ast.Name(id=name) if name in bound or name in self.free:
                self.as_values.add(SpecIndex(name, bound.get(name, 0)))
            case ast.Name(id=name) if name in self.scalars:
                return
            case ast.Name(id=name):
                raise Unreadable(f"`{name}` is no index, no size and no argument of the kernel")
            case ast.Subscript():
                self._subscript(node, bound)
            case ast.UnaryOp(op=ast.USub() | ast.UAdd(), operand=operand):
                self.visit(operand, bound)
            case ast.BinOp(left=left, op=op, right=right) if isinstance(op, _OPERATORS):
                self.visit(left, bound)
                self.visit(right, bound)
            case ast.Compare(left=left, comparators=[right]):
                self._compared(left, bound)
                self._compared(right, bound)
            case ast.Call(func=ast.Name(id=name), args=args, keywords=[]):
                self._call(name, args, bound)
            case _:
                raise Unreadable(f"it contains `{ast.unparse(node)}`")

    def _compared(self, node: ast.expr, bound: dict[str, int]) -> None:
        """A side of a comparison: whole numbers are divided as in indices."""
        match node:
            case ast.BinOp(left=left, op=ast.FloorDiv(), right=ast.Constant(value=int() as by)) if by > 0:
                self._compared(left, bound)
            case ast.BinOp(left=left, op=ast.Add() | ast.Sub() | ast.Mult(), right=right):
                self._compared(left, bound)
                self._compared(right, bound)
            case _:
                self.visit(node, bound)

    def _call(self, name: str, args: list[ast.expr], bound: dict[str, int]) -> None:
        if name in REDUCTIONS and len(args) == 2 and isinstance(args[1], ast.Name):
            if args[1].id in self.scalars:
                raise Unreadable(f"`{args[1].id}`, which is reduced over, is also {SIZE}")
            self.kinds.append(name)
            self.visit(args[0], {**bound, args[1].id: len(self.kinds)})
        elif FUNCTIONS.get(name) == len(args):
            for arg in args:
                self.visit(arg, bound)
        else:
            raise Unreadable(f"there is no function `{name}` of {len(args)} arguments")

    def _subscript(self, node: ast.Subscript, bound: dict[str, int]) -> None:
        tensor, parts = _reference(node, self.tensors)
        for position, part in enumerate(parts):
            if isinstance(part, ast.Name) and (part.id in bound or part.id in self.free):
                self.uses.append((tensor, position, SpecIndex(part.id, bound.get(part.id, 0))))
            elif isinstance(part, ast.Name) and part.id not in self.scalars:
                raise Unreadable(f"the index `{part.id}` of {tensor.name} is neither the output's nor reduced over")
            elif isinstance(part, ast.Subscript):
                self.lookups.append((tensor, position, _reference(part, self.tensors)[0]))
                self._subscript(part, bound)
            else:
                self.formulas.append(Formula(tensor, position, part, bound))


def spec_of(kernel: Kernel, tables: Tables) -> SpecCoordinates | None:
    """The reading of `computes`, or None when there is none. Raises Unreadable."""
    if not kernel.computes:
        return None
    try:
        tree = ast.parse(kernel.computes.strip())
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise Unreadable("it is not written like `C[m, n] = sum(A[m, k] * B[n, k], k)`") from error
    if len(tree.body) > 1:
        raise Unreadable(f"it has {len(tree.body)} statements; each result is stated by one assignment")
    if len(tree.body) != 1 or not isinstance(tree.body[0], ast.Assign) or len(tree.body[0].targets) != 1:
        raise Unreadable("it is not one assignment such as `C[m, n] = sum(A[m, k] * B[n, k], k)`")
    statement = tree.body[0]
    tensors = {t.name: t for t in kernel.tensors}
    output, parts = _reference(statement.targets[0], tensors)
    indices = [part.id for part in parts if isinstance(part, ast.Name)]
    if len(indices) != len(parts) or len(set(indices)) != len(parts):
        raise Unreadable(f"the indices of the result {output.name} are not different plain names")
    if not output.written:
        raise Unreadable(f"the kernel's argument {output.name} is no output")
    scalars = frozenset({s.name for s in kernel.scalars} | {s.name for s in kernel.shapes})
    for name in sorted(scalars & {*indices}):
        raise Unreadable(f"the index `{name}` of the result is also {SIZE}")
    axes, shape, value = list(tables.tensor_axes[output]), list(output.shape), statement.value
    assert isinstance(statement.targets[0], ast.Subscript)
    found = scattered(statement.targets[0], tuple(indices), value, tensors)
    if found is not None:
        indices, value = list(found.names), found.value
        axes[found.position], shape[found.position] = tables.tensor_axes[found.through][0], found.through.shape[0]
    reader = _CoordinateReader(tensors, frozenset(indices), scalars)
    try:
        reader.visit(value, {})
    except RecursionError as error:
        raise Unreadable("it is nested too deeply") from error
    spec = _classified(reader, output, indices, axes, tables, _is_plain(value))
    hints = spec.hints
    if found is not None:
        hints = replace(hints, views={**hints.views, (output.name, found.position): frozenset({found.through.name})})
    return replace(
        spec, hints=hints, axes=tuple(axes), shape=tuple(shape), names=tuple(indices), value=value,
        adds=found is not None, plain=spec.plain and found is None, loose=spec.loose if found is None else {},
    )  # fmt: skip


def _reference(node: ast.expr, tensors: dict[str, Tensor]) -> tuple[Tensor, list[ast.expr]]:
    if not (isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name)):
        raise Unreadable(f"`{ast.unparse(node)}` is not a tensor with indices")
    tensor = tensors.get(node.value.id)
    if tensor is None:
        raise Unreadable(f"`{node.value.id}` is not a tensor of the kernel")
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    if len(parts) != len(tensor.axes):
        raise Unreadable(f"{tensor.name} has {len(tensor.axes)} axes but is given {len(parts)} indices")
    return tensor, parts


def _classified(
    reader: _CoordinateReader, output: Tensor, indices: list[str], axes: list[int], tables: Tables, plain: bool
) -> SpecCoordinates:
    roles: dict[int, dict[Tensor, set[SpecIndex | None]]] = {}
    plainly = frozenset(tables.tensor_axes[t][p] for t, p, _ in reader.uses)
    homes = _homes(reader, tables)
    alone: dict[int, int] = {}
    taken = {tables.tensor_axes[f.tensor][f.position] for f in reader.formulas}
    taken |= {tables.tensor_axes[t][p] for t, p, _ in reader.lookups} | plainly
    for n, (name, axis) in enumerate(zip(indices, axes, strict=True)):
        if (
            SpecIndex(name) not in homes and axis not in taken
        ):  # no input has a plain index of this name: the output has
            homes[SpecIndex(name)], alone[axis] = axis, n
    hints, dark = hints_of(tables.tensor_axes, homes, plainly, reader.formulas, reader.lookups)
    for f in reader.formulas:
        if tables.tensor_axes[f.tensor][f.position] in dark:
            reader.uses.append((f.tensor, f.position, None))
    for tensor, position, _ in reader.lookups:
        if tables.tensor_axes[tensor][position] in dark:
            reader.uses.append((tensor, position, None))
    for tensor, position, index in reader.uses:
        roles.setdefault(tables.tensor_axes[tensor][position], {}).setdefault(tensor, set()).add(index)
    placed: dict[int, int] = dict(alone) if hints.derived else {}
    partly: dict[int, int] = {}
    summed: set[int] = set()
    unjudged: list[str] = []
    unreduced: list[str] = []
    sources: dict[int, tuple[Tensor, ...]] = {}
    for axis, by_tensor in roles.items():
        name = tables.axis_names[axis]
        found = set().union(*by_tensor.values())
        own = {i for i in found if i is not None and not i.binder}
        reduced = {i for i in found if i is not None and i.binder}
        if None in found:
            unjudged.append(f"the specification computes its index on {name}, and only plain indices are compared")
        elif len(own) > 1:
            unjudged.append(f"the specification uses {name} with several indices of the output")
        elif own:
            (index,) = own
            (partly if reduced else placed)[axis] = indices.index(index.name)
            sources[axis] = tuple(t for t, names in by_tensor.items() if names == {index})
        kinds = {reader.kinds[i.binder - 1] for i in reduced}
        if len(reduced) == 1 and found == reduced and kinds == {"sum"} and not reduced & reader.as_values:
            summed.add(axis)
        elif reduced:
            unreduced.append(f"that every {name} is reduced over as the specification says is not decided")
    if not (placed or partly or unjudged):
        unjudged.append("the specification ties no axis of an input to an index of the output")
    through = {tables.tensor_axes[t][p] for t, p, _ in reader.lookups}
    computed = tuple(
        f"the specification computes its index on {tables.axis_names[a]}, and what is stored is not known to follow it"
        for a in sorted({*hints.derived, *through} - dark)
    )
    loose = {indices[n]: n for n in alone.values() if not hints.derived and SpecIndex(indices[n]) in reader.as_values}
    return SpecCoordinates(
        output, placed, partly, frozenset(summed), sources, tuple(unjudged), tuple(unreduced),
        plain and not through, computed, hints, loose=loose,
    )  # fmt: skip


def _homes(reader: _CoordinateReader, tables: Tables) -> dict[SpecIndex, int]:
    """The axis each index stands at plainly."""
    homes: dict[SpecIndex, int] = {}
    for tensor, position, index in reader.uses:
        axis = tables.tensor_axes[tensor][position]
        if index is not None:
            homes[index] = min(axis, homes.get(index, axis))
    return homes


def _is_plain(node: ast.expr) -> bool:
    """`sum(A[...] * B[...], k)`: with ones everywhere it counts what is accumulated."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "sum"):
        return False
    factors = [node.args[0]]
    while factors:
        factor = factors.pop()
        if isinstance(factor, ast.BinOp) and isinstance(factor.op, ast.Mult):
            factors += [factor.left, factor.right]
        elif not isinstance(factor, ast.Subscript):
            return False
    return True
