"""The value of every node of a specification tree in float64, with the error bound of f32 arithmetic (`values`).

An intermediate is an array over the indices it depends on. Whole numbers are exact: indices of tensors are computed in
64-bit integers, and where the result's own elements are whole numbers, sums and products of whole numbers have no
error and carry their residues modulo 2^64. Outside of a tensor there are zeros. A sum of a product of elements goes
through einsum and needs no intermediate over all indices.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import assert_never

import numpy as np
import numpy.typing as npt

from argus.spec.errors import SpecError, SpecTooLarge
from argus.spec.extents import reduction_extent
from argus.spec.functions import FUNCTIONS, UNIT_F32, Array
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
    ResultSpec,
    ScalarName,
    SizeName,
    SpecNode,
    TensorElement,
    type_of,
)
from argus.spec.values import (
    EXACT_F64,
    Bounded,
    WholeArray,
    arithmetic,
    bounded,
    exact,
    itself,
    reduced,
    whole,
    whole_numbers,
)
from argus.spec.walk import open_indices, product_of_elements

MAX_ELEMENTS = 1 << 27
LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

Truth = npt.NDArray[np.bool_]
_RELATIONS: dict[RelationOp, Callable[[Array | WholeArray, Array | WholeArray], Truth]] = {
    "<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal, "==": np.equal, "!=": np.not_equal,
}  # fmt: skip
_WHOLE: dict[ArithmeticOp, Callable[[WholeArray, WholeArray], WholeArray]] = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "//": np.floor_divide, "%": np.mod,
}  # fmt: skip


class Evaluator:
    """The values of one result. `extents`: how far its own indices run; those of reductions join while they last."""

    def __init__(
        self,
        tensors: Mapping[str, npt.NDArray[np.generic]],
        symbols: Mapping[str, float],
        extents: Mapping[str, int],
        positions: Mapping[str, npt.NDArray[np.intp]],
        constant: str = "",
        whole: bool = False,
        most: int = MAX_ELEMENTS,
    ) -> None:
        """`positions`: the values of indices that do not count from zero. `constant`: an index whose quotients by
        numbers are the same at all of its positions. `whole`: the result holds whole numbers. `most`: elements that an
        intermediate may have."""
        self._tensors, self._symbols, self._extents, self._positions = tensors, symbols, dict(extents), positions
        self._constant, self._result_is_whole, self._most = constant, whole, most
        self._made: dict[tuple[IndexReduction, tuple[tuple[str, int], ...]], Bounded] = {}

    def whole_result(self, spec: ResultSpec) -> Bounded:
        """The value over all indices of the result; where a block makes one of them constant, over that too."""
        found = self.visit(spec.expression)
        missing = [self._index(i) for i in spec.indices if i not in found.indices]
        return self._aligned(found, *missing)[0]

    def visit(self, node: SpecNode) -> Bounded:
        match node:
            case NumberLiteral(int() as value):
                return self._integer((), np.asarray(value))
            case NumberLiteral(value):
                return exact((), np.float64(value))
            case SizeName(name) | ScalarName(name):
                if name not in self._symbols:
                    raise SpecError(f"the value of {name} is not given")
                if type_of(node) == "whole":
                    return self._integer((), np.asarray(int(self._symbols[name])))
                return exact((), np.float64(self._symbols[name]))
            case IndexName(name):
                return self._index(name)
            case TensorElement():
                return self._element(node)
            case Negation(operand):
                x = self.visit(operand)
                return whole_numbers(Bounded(x.indices, -x.value, x.error), np.negative, x)
            case Arithmetic(op="//" | "%"):
                indices, quotient = self._whole(node)
                return self._integer(indices, quotient)
            case Arithmetic(op, left, right):
                return self._arithmetic(node, op, *self._aligned(self.visit(left), self.visit(right)))
            case FunctionCall(name, args):
                return self._function(name, [self.visit(arg) for arg in args])
            case IndexReduction():
                return self._once(node)
            case ConditionalValue(condition, yes, no):
                c, x, y = self._aligned(self._truth(condition), self.visit(yes), self.visit(no))
                held = c.value != 0
                made = Bounded(x.indices, np.where(held, x.value, y.value), np.where(held, x.error, y.error))
                return whole_numbers(made, lambda a, b: np.asarray(np.where(held, a, b), dtype=np.int64), x, y)
            case Relation() | Connective() | Complement():
                return self._truth(node)
            case _:
                assert_never(node)

    def _integer(self, indices: tuple[str, ...], number: npt.NDArray[np.generic]) -> Bounded:
        """Whole numbers of 64 bits; with their residues where the result holds whole numbers."""
        return (
            whole(indices, number.astype(np.int64)) if self._result_is_whole else exact(indices, number.astype(float))
        )

    def _arithmetic(self, node: SpecNode, op: ArithmeticOp, x: Bounded, y: Bounded) -> Bounded:
        made = self._without_error(node, arithmetic(op, x, y))
        return made if op == "/" else whole_numbers(made, _WHOLE[op], x, y)

    def _once(self, node: IndexReduction) -> Bounded:
        """A reduction that is written twice is computed once, as long as its indices run as far."""
        key = node, tuple((i, self._extents[i]) for i in sorted(open_indices(node)) if i in self._extents)
        if key not in self._made:
            self._made[key] = self._without_error(node, self._reduction(node))
        return self._made[key]

    def _without_error(self, node: SpecNode, made: Bounded) -> Bounded:
        """Whole numbers in a result of whole numbers are computed exactly."""
        if self._result_is_whole and type_of(node) == "whole" and not _is_place(node):
            return replace(exact(made.indices, made.value), residue=made.residue)
        return made

    # -- conditions --------------------------------------------------------------------------------------------------

    def _truth(self, node: SpecNode) -> Bounded:
        """1 where a condition holds, else 0."""
        match node:
            case Relation(op, left, right):
                x, y = self._aligned(self.visit(left), self.visit(right))
                if x.residue is not None and y.residue is not None:
                    return exact(x.indices, _RELATIONS[op](itself(x), itself(y)).astype(np.float64))
                return exact(x.indices, _RELATIONS[op](x.value, y.value).astype(np.float64))
            case Connective(op, left, right):
                x, y = self._aligned(self._truth(left), self._truth(right))
                return exact(x.indices, (np.minimum if op == "and" else np.maximum)(x.value, y.value))
            case Complement(operand):
                x = self._truth(operand)
                return exact(x.indices, 1.0 - x.value)
            case _:
                raise SpecError(f"{spec_text(node)!r} is not a condition", "type", node.span)

    # -- elements and whole numbers ----------------------------------------------------------------------------------

    def _index(self, name: str) -> Bounded:
        if name in self._positions:
            return self._integer((name,), self._positions[name])
        self._affordable((name,))
        return self._integer((name,), np.arange(self._extents[name]))

    def _element(self, node: TensorElement) -> Bounded:
        plain = self._plain(node)
        if plain is not None:
            names, array = plain
            return self._integer(names, array) if node.whole else exact(names, array.astype(np.float64))
        indices, array, inside = self._gathered(node)
        if node.whole:
            return self._integer(indices, np.where(inside, array, np.zeros_like(array)))
        return exact(indices, np.where(inside, array.astype(np.float64), 0.0))

    def _plain(self, node: TensorElement) -> tuple[tuple[str, ...], npt.NDArray[np.generic]] | None:
        """The array of an element whose indices are different names that run over all of it, or over a part."""
        names = tuple(item.name for item in node.indices if isinstance(item, IndexName))
        array = self._array(node)
        if len(names) != len(node.indices) or len(set(names)) != len(names):
            return None
        for axis, name in enumerate(names):
            places = self._positions.get(name)
            if places is None and self._extents.get(name) != array.shape[axis]:
                return None
            if places is not None and places.size and int(places.max()) >= array.shape[axis]:
                return None
        for axis, name in enumerate(names):
            if name in self._positions:
                array = array.take(self._positions[name], axis=axis)
        return names, array

    def _array(self, node: TensorElement) -> npt.NDArray[np.generic]:
        if node.tensor not in self._tensors:
            raise SpecError(f"the specification reads {node.tensor}, of which there is no array", "data", node.span)
        array = self._tensors[node.tensor]
        if array.ndim != len(node.indices):
            raise SpecError(f"{node.tensor} has {array.ndim} axes but is given {len(node.indices)} indices")
        return array

    def _gathered(self, node: TensorElement) -> tuple[tuple[str, ...], npt.NDArray[np.generic], Truth]:
        """The elements at computed places, over the indices these depend on, and which of them exist."""
        array = self._array(node)
        places = [self._whole(item) for item in node.indices]
        union = _union(*(indices for indices, _ in places))
        self._affordable(union)
        spread = [self._spread(indices, place, union) for indices, place in places]
        inside = np.ones([self._extents[i] for i in union], dtype=np.bool_)
        for place, extent in zip(spread, array.shape, strict=True):
            inside &= (place >= 0) & (place < extent)
        if 0 in array.shape:
            return union, np.zeros(inside.shape, array.dtype), np.zeros(inside.shape, np.bool_)
        found = array[tuple(np.clip(p, 0, n - 1) for p, n in zip(spread, array.shape, strict=True))]
        return union, found, inside

    def _whole(self, node: SpecNode) -> tuple[tuple[str, ...], WholeArray]:
        """A whole number over indices, in 64-bit integers."""
        match node:
            case NumberLiteral(int() as number):
                return (), np.asarray(number, dtype=np.int64)
            case TensorElement():
                indices, array, inside = self._gathered(node)
                return indices, np.where(inside, array.astype(np.int64), 0)
            case Negation(operand):
                indices, value = self._whole(operand)
                return indices, -value
            case Arithmetic(op="+" | "-" | "*") if self._result_is_whole:
                made = self.visit(node)
                return made.indices, itself(made)
            case Arithmetic(op, left, right) if op in _WHOLE:
                x, y = self._whole(left), self._whole(right)
                union = _union(x[0], y[0])
                self._affordable(union)
                a, b = (self._spread(indices, value, union) for indices, value in (x, y))
                if op in ("//", "%") and (b == 0).any():
                    raise SpecError(f"{spec_text(node)!r} divides by zero", "data", node.span)
                found = np.asarray(_WHOLE[op](a, b), dtype=np.int64)
                if op == "//" and union == (self._constant,) and (found == found[0]).all():
                    return (), found[0]
                return union, found
            case _:
                made = self.visit(node)
                if made.residue is not None:
                    return made.indices, itself(made)
                if not (made.value == np.floor(made.value)).all():
                    raise SpecError(f"{spec_text(node)!r} is not a whole number", "data", node.span)
                return made.indices, made.value.astype(np.int64)

    # -- alignment ---------------------------------------------------------------------------------------------------

    def _affordable(self, union: tuple[str, ...]) -> None:
        unknown = [i for i in union if i not in self._extents]
        if unknown:
            raise SpecError(f"nothing says how far {unknown[0]} runs")
        if np.prod([self._extents[i] for i in union], dtype=np.float64) > self._most:
            raise SpecTooLarge(f"an intermediate over {', '.join(union)} is too large to evaluate at these shapes")

    def _spread(self, indices: tuple[str, ...], value: npt.NDArray[np.generic], union: tuple[str, ...]) -> WholeArray:
        present = [i for i in union if i in indices]
        shape = [self._extents[i] if i in present else 1 for i in union]
        ordered = value.transpose([indices.index(i) for i in present]).reshape(shape)
        made: WholeArray = np.broadcast_to(ordered, [self._extents[i] for i in union])
        return made

    def _aligned(self, *given: Bounded) -> tuple[Bounded, ...]:
        """All over the union of their indices."""
        union = _union(*(x.indices for x in given))
        self._affordable(union)

        def spread(x: Bounded, array: Array) -> Array:
            present = [i for i in union if i in x.indices]
            shape = [self._extents[i] if i in present else 1 for i in union]
            ordered = array.transpose([x.indices.index(i) for i in present]).reshape(shape)
            return np.broadcast_to(ordered, [self._extents[i] for i in union])

        def spread_whole(x: Bounded) -> WholeArray | None:
            return None if x.residue is None else self._spread(x.indices, x.residue, union)

        return tuple(Bounded(union, spread(x, x.value), spread(x, x.error), spread_whole(x)) for x in given)

    # -- functions and reductions ------------------------------------------------------------------------------------

    def _function(self, name: str, args: list[Bounded]) -> Bounded:
        row, given = FUNCTIONS[name], self._aligned(*args)
        values, errors = tuple(x.value for x in given), tuple(x.error for x in given)
        value = np.asarray(row.value(*values), dtype=np.float64)
        error = row.error(values, errors) + row.ulps * UNIT_F32 * np.abs(value)
        made = bounded(given[0].indices, value, error)
        return whole_numbers(made, row.whole, *given, ring=False) if row.keeps_whole else made

    def _reduction(self, node: IndexReduction) -> Bounded:
        shapes = {name: array.shape for name, array in self._tensors.items()}
        with self._bound(node.index, reduction_extent(node, shapes, self._symbols)):
            return self._reduced(node)

    def _reduced(self, node: IndexReduction) -> Bounded:
        """Its index is bound."""
        inner = _inner_sums(node)
        product = product_of_elements(inner[-1].body) if inner else None
        if product is not None and all(one.index in open_indices(inner[-1].body) for one in inner):
            shapes = {name: array.shape for name, array in self._tensors.items()}
            with ExitStack() as bound:
                for one in inner[1:]:
                    bound.enter_context(self._bound(one.index, reduction_extent(one, shapes, self._symbols)))
                return self._sum_of_products(product, tuple(one.index for one in inner))
        x = self.visit(node.body)
        if node.index not in x.indices:
            x, _ = self._aligned(x, self._index(node.index))
        made, axis = reduced(node.kind, x, node.index), x.indices.index(node.index)
        match node.kind:
            case "sum":
                return whole_numbers(made, lambda a: a.sum(axis), x)
            case "prod":
                return whole_numbers(made, lambda a: a.prod(axis), x)
            case "max" | "min":
                pick = np.max if node.kind == "max" else np.min
                return whole_numbers(made, lambda a: pick(a, axis=axis), x, ring=False)
            case "argmax" | "argmin":
                return made
            case _:
                assert_never(node.kind)

    @contextmanager
    def _bound(self, index: str, extent: int) -> Iterator[None]:
        before = dict(self._extents)
        self._extents[index] = extent
        try:
            yield
        finally:
            self._extents = before

    def _sum_of_products(self, elements: list[TensorElement], over: tuple[str, ...]) -> Bounded:
        """Σ over the indices of a product of tensors, without the intermediate: einsum, and einsum of magnitudes."""
        terms = sum(self._extents[index] for index in over) + len(elements) - 1
        together: dict[tuple[str, ...], Array] = {}
        residues: dict[tuple[str, ...], WholeArray] = {}
        for element in elements:
            made = self.visit(element)
            known = together.get(made.indices)
            together[made.indices] = made.value if known is None else known * made.value
            if made.residue is not None:
                residues[made.indices] = made.residue * residues.get(made.indices, np.int64(1))
        union = _union(*together)
        if not set(over) <= set(union) or len(union) > len(LETTERS):
            raise SpecError(f"the summed product does not depend on {', '.join(over)}, or on too many others")
        rest = tuple(i for i in union if i not in over)
        self._affordable(rest)
        formula = einsum_formula(list(together), rest)
        value = np.einsum(formula, *together.values(), optimize=True)
        size = np.einsum(formula, *[np.abs(a) for a in together.values()], optimize=True)
        made = bounded(rest, value, terms * UNIT_F32 * size)
        if not self._result_is_whole or any(not element.whole for element in elements):
            return made
        if size.size == 0 or size.max() < EXACT_F64:
            return whole(rest, value.astype(np.int64))
        return whole(rest, np.einsum(formula, *residues.values()), value)


def _inner_sums(node: IndexReduction) -> list[IndexReduction]:
    """The sums directly inside each other, outermost first; none, if it is no sum."""
    if node.kind != "sum":
        return []
    return [node, *_inner_sums(node.body)] if isinstance(node.body, IndexReduction) else [node]


def einsum_formula(operands: list[tuple[str, ...]], rest: tuple[str, ...]) -> str:
    """numpy's notation for a contraction of arrays over these indices."""
    letter = dict(zip(_union(*operands), LETTERS, strict=False))
    parts = ",".join("".join(letter[i] for i in indices) for indices in operands)
    return f"{parts}->{''.join(letter[i] for i in rest)}"


def _is_place(node: SpecNode) -> bool:
    """The place of a maximum is as uncertain as the values are, though it is a whole number."""
    return isinstance(node, IndexReduction) and node.kind in ("argmax", "argmin")


def _union(*indices: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(i for part in indices for i in part))
