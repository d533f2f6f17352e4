"""What a kernel's `computes` line says about coordinates, read off its tree.

    C[m, n] = sum(A[m, k] * B[n, k], k)

    output C, index m is axis 0 and n axis 1; axis 0 of A belongs to m, axis 0 of B to n; k is summed away

From this the checker knows which axes of a stored value must equal which coordinates of the store (`placed`), and which
axes must be contracted completely (`summed`). An axis can play both parts:

    y[m, n] = x[m, n] * sum(x[m, k], k) * w[n]        axis N belongs to n, and is reduced over as well (`partly`)

Where only every second element along an axis is used, or every third, the index of the result gives the coordinate
(`Hints.strided`): elements of x belong to an n, and lie at 2 * n + c.

    y[n] = x[2 * n - 1] * w[0] + x[2 * n] * w[1] + x[2 * n + 1] * w[2]

An index of the result that no tensor has is what a store says there (`loose`): `value` reads the line store by store.

    W[s, m, n] = sum(where(k >= 512 * s, where(k < 512 * s + 512, A[m, k] * B[n, k], 0), 0), k)      part s of a sum

An index can be computed from others, or looked up in a tensor of whole numbers (`computed_indices`): such an axis
belongs to no index of its own. `value` has to show that what is stored follows the formula; without that, `placed` is
undecided.

What cannot be turned into such a statement is kept as a reason and ends in `unknown`: an axis with two output indices
or two formulas, several or masked reductions of one axis. A line with a form that the rules do not follow (a quotient
as a value) is refused as a whole. The line's numerical meaning is evaluated elsewhere (`argus.spec`).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import assert_never

from argus.check.domain.records import Tables
from argus.check.spec.computed_indices import Formula, Hints, MultipleOf, SpecIndex, affine, hints_of, neighbor
from argus.check.spec.scatter import Update, scattered, updated
from argus.check.spec.stated_ranges import without_ranges
from argus.ir.kernel import Kernel
from argus.ir.ops import Tensor
from argus.layout import expr as E
from argus.layout.expr import Expr
from argus.spec.printer import spec_text
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
from argus.spec.walk import elements, product_of_elements


class Unreadable(Exception):
    """Why a specification says nothing to the checker."""


class ByElement(Exception):
    """Why a specification ties no axes to indices: it can only be compared element by element (`stored_elements`)."""


@dataclass(frozen=True, slots=True)
class SpecCoordinates:
    """`placed`, `partly`: axis -> position in the output; `summed`: axes contracted over their whole extent.

    `sources` are, per axis of `placed` and `partly`, the tensors whose only index there is the output's. `unjudged` and
    `unreduced` say what `placed` and `reduced` cannot decide. `plain`: nothing but a sum of a product of elements.
    `computed`: why `placed` cannot decide where `value` has not; `hints` tell `value` about computed indices. `axes`,
    `shape`, `names` are those of the result, as seen from where its amounts come from if many updates make it
    (`update`, `scatter`); `amounts` are these as a tensor.
    `looked_up`: position of the index that is looked up (`scatter`): beyond its extent the update is made all the same.
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
    value: SpecNode = field(default_factory=lambda: NumberLiteral(0))
    update: Update | None = None
    amounts: Tensor | None = None
    looked_up: int | None = None
    loose: dict[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class _CoordinateReader:
    """One pass over the right side: which index stands at which axis, which reduction binds it."""

    tensors: dict[str, Tensor]
    uses: list[tuple[Tensor, int, SpecIndex | None]] = field(default_factory=list)
    formulas: list[Formula] = field(default_factory=list)
    lookups: list[tuple[Tensor, int, Tensor]] = field(default_factory=list)
    kinds: list[str] = field(default_factory=list)
    as_values: set[SpecIndex] = field(default_factory=set)

    def visit(self, node: SpecNode, bound: dict[str, int]) -> None:
        match node:
            case NumberLiteral() | SizeName() | ScalarName():
                return
            case IndexName(name):
                self.as_values.add(SpecIndex(name, bound.get(name, 0)))
            case TensorElement():
                self._element(node, bound)
            case Negation(operand) | Complement(operand):
                self.visit(operand, bound)
            case Arithmetic("//" | "%", left, NumberLiteral()) if any(True for _ in elements(left)):
                self.visit(left, bound)
            case Arithmetic(op="//" | "%"):
                raise ByElement(f"the specification contains `{spec_text(node)}` as a value")
            case Arithmetic(left=left, right=right) | Connective(left=left, right=right):
                self.visit(left, bound)
                self.visit(right, bound)
            case Relation(left=left, right=right):
                self._compared(left, bound)
                self._compared(right, bound)
            case FunctionCall(args=args):
                for arg in args:
                    self.visit(arg, bound)
            case ConditionalValue(condition, yes, no):
                for part in (condition, yes, no):
                    self.visit(part, bound)
            case IndexReduction(kind, body, index, extent):
                if extent is not None:
                    raise ByElement(f"in the specification `{index}` runs over the stated range {spec_text(extent)}")
                self.kinds.append(kind)
                self.visit(body, {**bound, index: len(self.kinds)})
            case _:
                assert_never(node)

    def _compared(self, node: SpecNode, bound: dict[str, int]) -> None:
        """A side of a comparison: whole numbers are divided as in indices."""
        match node:
            case Arithmetic("//", left, NumberLiteral(int() as by)) if by > 0:
                self._compared(left, bound)
            case Arithmetic("+" | "-" | "*", left, right):
                self._compared(left, bound)
                self._compared(right, bound)
            case _:
                self.visit(node, bound)

    def _element(self, node: TensorElement, bound: dict[str, int]) -> None:
        tensor = self.tensors[node.tensor]
        for position, part in enumerate(node.indices):
            if isinstance(part, IndexName):
                self.uses.append((tensor, position, SpecIndex(part.name, bound.get(part.name, 0))))
            elif isinstance(part, TensorElement):
                self.lookups.append((tensor, position, self.tensors[part.tensor]))
                self._element(part, bound)
            else:
                self.formulas.append(Formula(tensor, position, part, bound))


def spec_of(kernel: Kernel, tables: Tables) -> SpecCoordinates | None:
    """What the kernel's only result says, or None when there is no specification. Raises Unreadable."""
    if kernel.computes is None:
        return None
    if len(kernel.computes.results) != 1:
        raise Unreadable(f"it has {len(kernel.computes.results)} statements; each result is decided by itself")
    return coordinates_of(kernel.computes.results[0], kernel, tables)


def coordinates_of(result: ResultSpec, kernel: Kernel, tables: Tables) -> SpecCoordinates:
    """What the statement of one result says. Raises Unreadable."""
    tensors = {t.name: t for t in kernel.tensors}
    output = tensors[result.result]
    sizes = {size.name: size for size in kernel.shapes}
    indices, value = result.indices, without_ranges(result.expression, tensors, sizes)
    axes, shape = list(tables.tensor_axes[output]), list(output.shape)
    found = scattered(result, tensors)
    if found is not None:
        indices, value = found.names, without_ranges(found.value, tensors, sizes)
        axes[found.position], shape[found.position] = tables.tensor_axes[found.through][0], found.through.shape[0]
    many = None if found is not None else updated(result, tensors)
    if many is not None:
        indices, value = (many.index, *indices), without_ranges(many.value, tensors, sizes)
        axes.insert(0, tables.tensor_axes[many.tensor][many.position])
        shape.insert(0, many.tensor.shape[many.position])
    reader = _CoordinateReader(tensors)
    try:
        reader.visit(value, {})
        spec = _classified(reader, output, list(indices), axes, tables, _is_plain(value))
    except ByElement as error:
        spec = SpecCoordinates(output, {}, {}, frozenset(), {}, (str(error),), (), False)
    hints = spec.hints
    if found is not None:
        hints = replace(hints, views={**hints.views, (output.name, found.position): frozenset({found.through.name})})
    return replace(
        spec, hints=hints, axes=tuple(axes), shape=tuple(shape), names=indices, value=value,
        update="add" if found is not None else None if many is None else many.update,
        amounts=None if many is None else _amounts(output, axes, shape, tables),
        looked_up=None if found is None else found.position,
        plain=spec.plain and found is None and many is None, loose=spec.loose if found is None else {},
    )  # fmt: skip


def _amounts(output: Tensor, axes: list[int], shape: list[Expr], tables: Tables) -> Tensor:
    """The amounts that make a result, as a tensor of their own."""
    names = tuple(tables.axis_names[axis] for axis in axes)
    made = replace(output, axes=names, shape=tuple(shape), strides=(E.const(0), *output.strides), read=False)
    tables.tensor_axes[made] = tuple(axes)
    return made


def _classified(
    reader: _CoordinateReader, output: Tensor, indices: list[str], axes: list[int], tables: Tables, plain: bool
) -> SpecCoordinates:
    roles: dict[int, dict[Tensor, set[SpecIndex | None]]] = {}
    shifted = _shifted(reader, tables)
    plainly = frozenset(tables.tensor_axes[t][p] for t, p, _ in reader.uses)
    homes = _homes(reader, tables)
    alone: dict[int, int] = {}
    footprint = {tables.tensor_axes[f.tensor][f.position] for f in reader.formulas}
    footprint |= {tables.tensor_axes[t][p] for t, p, _ in reader.lookups} | plainly
    for n, (name, axis) in enumerate(zip(indices, axes, strict=True)):
        if (
            SpecIndex(name) not in homes and axis not in footprint
        ):  # no input has a plain index of this name: the output has
            homes[SpecIndex(name)], alone[axis] = axis, n
    strided = _strided(reader, homes, tables, plainly)
    hints, dark = hints_of(tables.tensor_axes, homes, plainly, reader.formulas, reader.lookups)
    for f in reader.formulas:
        if tables.tensor_axes[f.tensor][f.position] in dark:
            reader.uses.append((f.tensor, f.position, None))
    for tensor, position, _ in reader.lookups:
        if tables.tensor_axes[tensor][position] in dark:
            reader.uses.append((tensor, position, None))
    for tensor, position, index in reader.uses:
        roles.setdefault(tables.tensor_axes[tensor][position], {}).setdefault(tensor, set()).add(index)
    along = {by.axis for by in strided.values()}
    placed = {axis: n for axis, n in alone.items() if hints.derived or axis in along}
    partly: dict[int, int] = {}
    summed: set[int] = set()
    unjudged: list[str] = []
    unreduced: list[str] = []
    sources: dict[int, tuple[Tensor, ...]] = {}
    around = {(t, tables.tensor_axes[t][p]) for t, p in shifted}
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
            sources[axis] = tuple(t for t, names in by_tensor.items() if names == {index} and (t, axis) not in around)
        kinds = {reader.kinds[i.binder - 1] for i in reduced}
        if len(reduced) == 1 and found == reduced and kinds == {"sum"} and not reduced & reader.as_values:
            summed.add(axis)
        elif reduced:
            unreduced.append(f"that every {name} is reduced over as the specification says is not decided")
    if not (placed or partly or unjudged):
        unjudged.append("the specification ties no axis of an input to an index of the output")
    through = {tables.tensor_axes[t][p] for t, p, _ in reader.lookups}
    apart = {numbers[p] for t, numbers in tables.tensor_axes.items() for name, p in strided if t.name == name}
    computed = tuple(
        f"the specification computes its index on {tables.axis_names[a]}, and what is stored is not known to follow it"
        for a in sorted({*hints.derived, *through, *(axis for _, axis in around), *apart} - dark)
    )
    near = frozenset({*(axis for _, axis in around), *along})
    taps = {
        numbers[p] for t, numbers in tables.tensor_axes.items()
        for (name, p), found in hints.fixed.items() if name == t.name and len(found) > 1
    }  # fmt: skip
    by_formula = {tables.tensor_axes[f.tensor][f.position] for f in reader.formulas}
    windows = near | apart | taps | by_formula
    multiplied = {n + 1 for n, kind in enumerate(reader.kinds) if kind == "prod"}
    products = frozenset(
        tables.tensor_axes[t][p] for t, p, i in reader.uses if i is not None and i.binder in multiplied
    )
    looked_for = {n + 1 for n, kind in enumerate(reader.kinds) if kind in ("argmax", "argmin")}
    places = frozenset(tables.tensor_axes[t][p] for t, p, i in reader.uses if i is not None and i.binder in looked_for)
    near = (near & placed.keys()) - dark
    hints = replace(hints, strided=strided, shifted=near, windows=windows, products=products, places=places)
    loose = {
        indices[n]: n for axis, n in alone.items()
        if axis not in placed and not hints.derived and SpecIndex(indices[n]) in reader.as_values
    }  # fmt: skip
    return SpecCoordinates(
        output, placed, partly, frozenset(summed), sources, tuple(unjudged), tuple(unreduced),
        plain and not through and not shifted and not strided, computed, hints, loose=loose,
    )  # fmt: skip


def _shifted(reader: _CoordinateReader, tables: Tables) -> set[tuple[Tensor, int]]:
    """Positions of tensors at which neighbors of one index of the result stand, `x[i + 1]`, beside plain ones: these
    formulas become uses of the index. Where another formula or a lookup stands at the axis, nothing is changed."""
    numbers = tables.tensor_axes
    other = {numbers[t][p] for t, p, _ in reader.lookups}
    for f in reader.formulas:
        found = neighbor(f.node)
        if found is None or found[0] in f.bound:
            other.add(numbers[f.tensor][f.position])
    near = [f for f in reader.formulas if numbers[f.tensor][f.position] not in other]
    reader.formulas = [f for f in reader.formulas if numbers[f.tensor][f.position] in other]
    for f in near:
        found = neighbor(f.node)
        assert found is not None
        reader.uses.append((f.tensor, f.position, SpecIndex(found[0])))
    return {(f.tensor, f.position) for f in near}


def _strided(
    reader: _CoordinateReader, homes: dict[SpecIndex, int], tables: Tables, plainly: frozenset[int]
) -> dict[tuple[str, int], MultipleOf]:
    """Positions of tensors at which multiples of one index of the result stand, but for a number, and nothing else:
    these formulas are taken out. The index must have an axis of its own."""
    numbers = tables.tensor_axes
    other = {numbers[t][p] for t, p, _ in reader.lookups} | plainly
    found: dict[int, MultipleOf] = {}
    for f in reader.formulas:
        axis, form = numbers[f.tensor][f.position], affine(f.node)
        home = None if form is None or form[0] in f.bound else homes.get(SpecIndex(form[0]))
        made = None if form is None or home is None else MultipleOf(home, form[1])
        if made is None or axis == made.axis or found.setdefault(axis, made) != made:
            other.add(axis)
    apart = [f for f in reader.formulas if numbers[f.tensor][f.position] not in other]
    reader.formulas = [f for f in reader.formulas if f not in apart]
    return {(f.tensor.name, f.position): found[numbers[f.tensor][f.position]] for f in apart}


def _homes(reader: _CoordinateReader, tables: Tables) -> dict[SpecIndex, int]:
    """The axis each index stands at plainly."""
    homes: dict[SpecIndex, int] = {}
    for tensor, position, index in reader.uses:
        axis = tables.tensor_axes[tensor][position]
        if index is not None:
            homes[index] = min(axis, homes.get(index, axis))
    return homes


def _is_plain(node: SpecNode) -> bool:
    """`sum(A[...] * B[...], k)`: with ones everywhere it counts what is accumulated."""
    return isinstance(node, IndexReduction) and node.kind == "sum" and product_of_elements(node.body) is not None
