"""Values of a specification (`argus.tasks.spec`) in float64, each with a bound on the error of f32 arithmetic.

    sum of n terms t       error + n * u * sum(|t|)             u = 2^-24, the unit roundoff of f32
    product x * y          |x| * error(y) + |y| * error(x) + u * |x * y|
    exp2, rsqrt, ...       slope * error(x) + 2 u * |result|    two units in the last place for the hardware's functions
    x / y                  the error of y, 2 u * |result|, and |x| * 2^-126, below which f32 has no reciprocal

The standard running error analysis: the bound holds for a kernel that does the same arithmetic in f32 in any order. An
intermediate is an array over named indices. Indices of tensors are whole numbers, computed exactly; outside of a tensor
there are zeros. The position of a maximum (`argmax`) is the first; its error is the distance to the farthest place that
the error of the values allows. Infinities and NaNs have no error: what follows from them is exact (exp(-inf) is 0).
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Whole = npt.NDArray[np.int64]

UNIT_F32 = 2.0**-24
HARDWARE_ULPS = 2.0  # exp2, log2, rcp, rsqrt of the hardware are within this many ulps
LEAST_F32 = 2.0**-126  # a reciprocal below it is zero
MAX_ELEMENTS = 1 << 27
REDUCTIONS = ("sum", "max", "min", "argmax", "argmin")


class SpecError(ValueError):
    """The specification cannot be parsed or does not fit the kernel's tensors."""


@dataclass(frozen=True, slots=True)
class Bounded:
    """An array over named indices (in the order of `indices`) with an error bound of the same shape."""

    indices: tuple[str, ...]
    value: Array
    error: Array


def parts(node: ast.expr) -> tuple[str, list[ast.expr]]:
    """Name and index expressions of `A[m, k + 1]`."""
    if not isinstance(node, ast.Subscript) or not isinstance(node.value, ast.Name):
        raise SpecError(f"expected a tensor with indices such as A[m, k], found {ast.unparse(node)!r}")
    items = list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]
    for item in items:
        if isinstance(item, ast.Slice | ast.Starred):
            raise SpecError(f"indices are names and whole numbers, found {ast.unparse(item)!r}")
    return node.value.id, items


def _plain(node: ast.expr) -> tuple[str, tuple[str, ...]] | None:
    """Name and indices where all are different plain names."""
    name, items = parts(node)
    names = tuple(item.id for item in items if isinstance(item, ast.Name))
    return (name, names) if len(names) == len(items) == len(set(names)) else None


_COMPARE: dict[type[ast.cmpop], Callable[[Array, Array], npt.NDArray[np.bool_]]] = {
    ast.Lt: np.less, ast.LtE: np.less_equal, ast.Gt: np.greater, ast.GtE: np.greater_equal,
    ast.Eq: np.equal, ast.NotEq: np.not_equal,
}  # fmt: skip


class Evaluator:
    def __init__(
        self,
        tensors: Mapping[str, npt.NDArray[np.generic]],
        symbols: Mapping[str, float],
        extents: Mapping[str, int],
        positions: Mapping[str, npt.NDArray[np.intp]],
        constant: str = "",
    ) -> None:
        """`constant`: an index whose quotients by numbers are the same at all of its positions."""
        self._tensors, self._symbols, self._extents, self._positions = tensors, symbols, extents, positions
        self._constant = constant
        self._made: dict[str, Bounded] = {}

    def visit(self, node: ast.expr) -> Bounded:
        if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
            return self._exact((), np.float64(node.value))
        if isinstance(node, ast.Name):
            return self._name(node)
        if isinstance(node, ast.Subscript):
            return self._element(node)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            x = self.visit(node.operand)
            return Bounded(x.indices, -x.value, x.error)
        if isinstance(node, ast.BinOp):
            return self._binary(node)
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _COMPARE:
            x, y = self._align(self.visit(node.left), self.visit(node.comparators[0]))
            return self._exact(x.indices, _COMPARE[type(node.ops[0])](x.value, y.value).astype(np.float64))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
            if node.func.id not in REDUCTIONS:
                return self._call(node.func.id, node.args)
            text = ast.unparse(node)
            if text not in self._made:
                self._made[text] = self._call(node.func.id, node.args)
            return self._made[text]
        raise SpecError(f"a specification cannot contain {ast.unparse(node)!r}")

    def _element(self, node: ast.Subscript) -> Bounded:
        plain = _plain(node)
        if plain is not None and all(i in self._extents for i in plain[1]):
            return self._exact(plain[1], self._tensors[plain[0]].astype(np.float64))
        indices, array, inside = self._gathered(node)
        return self._exact(indices, np.where(inside, array.astype(np.float64), 0.0))

    def _gathered(self, node: ast.Subscript) -> tuple[tuple[str, ...], npt.NDArray[np.generic], npt.NDArray[np.bool_]]:
        """The elements at computed places, over the indices these depend on, and which of them exist."""
        name, items = parts(node)
        array = self._tensors[name]
        places = [self._whole(item) for item in items]
        union: tuple[str, ...] = ()
        for indices, _ in places:
            union += tuple(i for i in indices if i not in union)
        self._affordable(union)
        spread = [self._spread(indices, place, union) for indices, place in places]
        inside = np.ones([self._extents[i] for i in union], dtype=np.bool_)
        for place, extent in zip(spread, array.shape, strict=True):
            inside &= (place >= 0) & (place < extent)
        if 0 in array.shape:
            return union, np.zeros(inside.shape, array.dtype), np.zeros(inside.shape, np.bool_)
        found = array[tuple(np.clip(p, 0, n - 1) for p, n in zip(spread, array.shape, strict=True))]
        return union, found, inside

    def _whole(self, node: ast.expr) -> tuple[tuple[str, ...], Whole]:
        """A whole number over indices, exact."""
        match node:
            case ast.Constant(value=int() as number) if not isinstance(number, bool):
                return (), np.asarray(number, dtype=np.int64)
            case ast.Name():
                made = self._name(node)
                if not (made.value == np.floor(made.value)).all():
                    raise SpecError(f"{node.id} is not a whole number")
                return made.indices, made.value.astype(np.int64)
            case ast.Subscript():
                name, _ = parts(node)
                if self._tensors[name].dtype.kind not in "iu":
                    raise SpecError(f"{name} is used as an index, but its elements are not whole numbers")
                indices, array, inside = self._gathered(node)
                return indices, np.where(inside, array.astype(np.int64), 0)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                indices, value = self._whole(operand)
                return indices, -value
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _WHOLE:
                x, y = self._whole(left), self._whole(right)
                union = x[0] + tuple(i for i in y[0] if i not in x[0])
                self._affordable(union)
                a, b = (self._spread(indices, value, union) for indices, value in (x, y))
                if isinstance(op, ast.FloorDiv | ast.Mod) and (b == 0).any():
                    raise SpecError(f"{ast.unparse(node)!r} divides by zero")
                found = np.asarray(_WHOLE[type(op)](a, b), dtype=np.int64)
                if isinstance(op, ast.FloorDiv) and union == (self._constant,) and (found == found[0]).all():
                    return (), found[0]
                return union, found
        raise SpecError(f"{ast.unparse(node)!r} is not a whole number of indices, sizes and elements")

    def _affordable(self, union: tuple[str, ...]) -> None:
        unknown = [i for i in union if i not in self._extents]
        if unknown:
            raise SpecError(f"nothing says how far {unknown[0]} runs")
        if np.prod([self._extents[i] for i in union], dtype=np.float64) > MAX_ELEMENTS:
            raise SpecError(f"an intermediate over {', '.join(union)} is too large to evaluate at these shapes")

    def _spread(self, indices: tuple[str, ...], value: Whole, union: tuple[str, ...]) -> Whole:
        present = [i for i in union if i in indices]
        order = [indices.index(i) for i in present]
        shape = [self._extents[i] if i in present else 1 for i in union]
        full = [self._extents[i] for i in union]
        return np.broadcast_to(value.transpose(order).reshape(shape), full)

    def _exact(self, indices: tuple[str, ...], value: Array | np.float64) -> Bounded:
        array = np.asarray(value, dtype=np.float64)
        return Bounded(indices, array, np.zeros_like(array))

    def _name(self, node: ast.Name) -> Bounded:
        if node.id in self._positions:
            return self._exact((node.id,), self._positions[node.id].astype(np.float64))
        if node.id in self._extents:
            return self._exact((node.id,), np.arange(self._extents[node.id], dtype=np.float64))
        if node.id in self._symbols:
            return self._exact((), np.float64(self._symbols[node.id]))
        raise SpecError(f"{node.id} is neither an index nor a shape or scalar of the kernel")

    def _align(self, x: Bounded, y: Bounded) -> tuple[Bounded, Bounded]:
        """Both operands over the union of their indices."""
        union = x.indices + tuple(i for i in y.indices if i not in x.indices)
        self._affordable(union)

        def spread(b: Bounded) -> Bounded:
            present = [i for i in union if i in b.indices]
            order = [b.indices.index(i) for i in present]
            shape = [self._extents[i] if i in present else 1 for i in union]
            full = [self._extents[i] for i in union]
            return Bounded(
                union,
                np.broadcast_to(b.value.transpose(order).reshape(shape), full),
                np.broadcast_to(b.error.transpose(order).reshape(shape), full),
            )

        return spread(x), spread(y)

    def _binary(self, node: ast.BinOp) -> Bounded:
        if isinstance(node.op, ast.FloorDiv | ast.Mod):
            indices, whole = self._whole(node)
            return self._exact(indices, whole.astype(np.float64))
        x, y = self._align(self.visit(node.left), self.visit(node.right))
        if isinstance(node.op, ast.Add | ast.Sub):
            value = x.value + y.value if isinstance(node.op, ast.Add) else x.value - y.value
            error = x.error + y.error
        elif isinstance(node.op, ast.Mult):
            value = x.value * y.value
            error = np.abs(x.value) * y.error + np.abs(y.value) * x.error + x.error * y.error
        elif isinstance(node.op, ast.Div):
            value = x.value / y.value
            error = (x.error + np.abs(value) * y.error) / np.maximum(np.abs(y.value) - y.error, np.finfo(float).tiny)
            error = np.where(np.isinf(y.value), 0.0, error) + HARDWARE_ULPS * UNIT_F32 * np.abs(value)
            error = error + LEAST_F32 * np.abs(x.value)
        else:
            raise SpecError(f"a specification cannot contain {ast.unparse(node)!r}")
        return _bounded(x.indices, value, error + UNIT_F32 * np.abs(value))

    def _call(self, name: str, args: list[ast.expr]) -> Bounded:
        if name in REDUCTIONS and self._is_reduction(args):
            return self._reduce(name, args)
        if name == "where" and len(args) == 3:
            return self._where(args)
        if name in ("maximum", "minimum", "max", "min") and len(args) == 2:
            x, y = self._align(self.visit(args[0]), self.visit(args[1]))
            pick = np.maximum if name.startswith("max") else np.minimum
            return Bounded(x.indices, pick(x.value, y.value), np.maximum(x.error, y.error))
        if name in _FUNCTIONS and len(args) == 1:
            x = self.visit(args[0])
            value, slope = _FUNCTIONS[name](x.value, x.error)
            return _bounded(x.indices, value, slope * x.error + HARDWARE_ULPS * UNIT_F32 * np.abs(value))
        raise SpecError(f"a specification cannot call {name} with {len(args)} arguments")

    def _where(self, args: list[ast.expr]) -> Bounded:
        c, x = self._align(self.visit(args[0]), self.visit(args[1]))
        y, c2 = self._align(self.visit(args[2]), c)
        x, y = self._align(x, y)
        c, _ = self._align(c2, y)
        order = [c.indices.index(i) for i in x.indices]
        true = c.value.transpose(order) != 0
        order = [y.indices.index(i) for i in x.indices]
        return Bounded(
            x.indices,
            np.where(true, x.value, y.value.transpose(order)),
            np.where(true, x.error, y.error.transpose(order)),
        )

    def _is_reduction(self, args: list[ast.expr]) -> bool:
        if len(args) not in (2, 3) or not isinstance(args[1], ast.Name):
            return False
        return len(args) == 3 or args[1].id in self._extents

    def _reduce(self, name: str, args: list[ast.expr]) -> Bounded:
        body, index = args[0], ast.unparse(args[1])
        if len(args) == 3:
            indices, extent = self._whole(args[2])
            if indices or int(extent) < 1 or self._extents.get(index, int(extent)) != int(extent):
                raise SpecError(f"{index} runs over {ast.unparse(args[2])!r}, which does not fit")
            extents = {**self._extents, index: int(extent)}
            return Evaluator(self._tensors, self._symbols, extents, self._positions)._reduce(name, args[:2])
        if name == "sum":
            factors = self._factors(body)
            if factors is not None:
                return self._sum_of_products(factors, index)
        x = self.visit(body)
        if index not in x.indices:
            raise SpecError(f"{ast.unparse(body)!r} does not depend on {index}")
        axis = x.indices.index(index)
        rest = x.indices[:axis] + x.indices[axis + 1 :]
        if name == "sum":
            n = x.value.shape[axis]
            error = x.error.sum(axis) + n * UNIT_F32 * (np.abs(x.value) + x.error).sum(axis)
            return _bounded(rest, x.value.sum(axis), error)
        if name in ("argmax", "argmin"):
            return _place(rest, x.value if name == "argmax" else -x.value, x.error, axis)
        pick = np.max if name == "max" else np.min
        return Bounded(rest, pick(x.value, axis=axis), x.error.max(axis=axis))

    def _factors(self, node: ast.expr) -> list[tuple[Array, tuple[str, ...]]] | None:
        """The elements of a pure product A[..]*B[..]*…, or None if the expression is anything else."""
        if isinstance(node, ast.Subscript):
            made = self._element(node)
            return [(made.value, made.indices)]
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            left, right = self._factors(node.left), self._factors(node.right)
            return None if left is None or right is None else left + right
        return None

    def _sum_of_products(self, factors: list[tuple[Array, tuple[str, ...]]], index: str) -> Bounded:
        """Σ over `index` of a product of tensors, without the intermediate: einsum, and einsum of magnitudes."""
        terms = self._extents[index] + len(factors) - 1
        together: dict[tuple[str, ...], Array] = {}
        for array, indices in factors:
            together[indices] = together[indices] * array if indices in together else array
        factors = [(array, indices) for indices, array in together.items()]
        letters: dict[str, str] = {}
        for _, indices in factors:
            for i in indices:
                letters.setdefault(i, chr(ord("a") + len(letters)))
        if index not in letters:
            raise SpecError(f"the summed product does not depend on {index}")
        rest = tuple(i for i in letters if i != index)
        lhs = ",".join("".join(letters[i] for i in indices) for _, indices in factors)
        formula = f"{lhs}->{''.join(letters[i] for i in rest)}"
        arrays = [array for array, _ in factors]
        value = np.einsum(formula, *arrays, optimize=True)
        size = np.einsum(formula, *[np.abs(a) for a in arrays], optimize=True)
        return _bounded(rest, value, terms * UNIT_F32 * size)


def _bounded(indices: tuple[str, ...], value: Array, error: Array) -> Bounded:
    """Without an error where there is no finite value."""
    finite = np.isfinite(value)
    return Bounded(indices, value, error if finite.all() else np.where(finite, error, 0.0))


_WHOLE: dict[type[ast.operator], Callable[[Whole, Whole], Whole]] = {
    ast.Add: np.add, ast.Sub: np.subtract, ast.Mult: np.multiply, ast.FloorDiv: np.floor_divide, ast.Mod: np.mod,
}  # fmt: skip


def _place(rest: tuple[str, ...], value: Array, error: Array, axis: int) -> Bounded:
    """The first place of the maximum; where errors leave several, how far they lie from it."""
    found = value.argmax(axis=axis)
    best = np.take_along_axis(value - error, np.expand_dims(found, axis), axis)
    shape = [1] * value.ndim
    shape[axis] = value.shape[axis]
    places = np.arange(value.shape[axis]).reshape(shape)
    distance = np.where(value + error >= best, np.abs(places - np.expand_dims(found, axis)), 0)
    exact = (error == 0).all(axis=axis)
    return Bounded(rest, found.astype(np.float64), np.where(exact, 0.0, distance.max(axis=axis).astype(np.float64)))


def _exp(x: Array, e: Array) -> tuple[Array, Array]:
    return np.exp(x), np.exp(x + e)


def _exp2(x: Array, e: Array) -> tuple[Array, Array]:
    return np.exp2(x), np.exp2(x + e) * np.log(2.0)


def _log2(x: Array, e: Array) -> tuple[Array, Array]:
    return np.log2(x), 1.0 / (np.maximum(x - e, np.finfo(float).tiny) * np.log(2.0))


def _sqrt(x: Array, e: Array) -> tuple[Array, Array]:
    return np.sqrt(x), 0.5 / np.sqrt(np.maximum(x - e, np.finfo(float).tiny))


def _rsqrt(x: Array, e: Array) -> tuple[Array, Array]:
    return 1.0 / np.sqrt(x), 0.5 * np.maximum(x - e, np.finfo(float).tiny) ** -1.5


def _abs(x: Array, e: Array) -> tuple[Array, Array]:
    return np.abs(x), np.ones_like(x)


_FUNCTIONS: dict[str, Callable[[Array, Array], tuple[Array, Array]]] = {
    "exp": _exp, "exp2": _exp2, "log2": _log2, "sqrt": _sqrt, "rsqrt": _rsqrt, "abs": _abs,
}  # fmt: skip

FUNCTIONS = (*REDUCTIONS, "where", "maximum", "minimum", *_FUNCTIONS)
