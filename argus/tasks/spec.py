"""What a kernel computes, as one line of index notation, and its value in float64 with an error bound.

    C[m, n] = sum(A[m, k] * B[n, k], k)

The line is parsed by Python's own parser and interpreted here; nothing in it is executed. A free index (m, n) is an
axis of the result, a bound one (k) is summed or maximised over. Supported: + - * /, unary minus, comparisons, numbers,
shape symbols, tensors and indices; sum, max, min over an index; exp, exp2, log2, sqrt, rsqrt, abs, where, maximum,
minimum.

Every intermediate is a pair (value, error): the value in float64 and a bound on how far a kernel that does the same
arithmetic in f32, in any order, may be from it. The rules are the standard running error analysis with unit roundoff
u = 2^-24: a sum of n terms adds n·u·Σ|t|, a product u·|x·y| on top of what its operands bring. So the tolerance of a
comparison follows from the arithmetic and the data, and nobody chooses it.

Cannot say: recurrences, gathers with data-dependent indices, anything whose intermediate does not fit in memory
(sums of products go through einsum and need no intermediate).
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

UNIT_F32 = 2.0**-24
HARDWARE_ULPS = 2.0  # exp2, log2, rcp, rsqrt of the hardware are within this many ulps
MAX_ELEMENTS = 1 << 27


class SpecError(ValueError):
    """The specification cannot be parsed or does not fit the kernel's tensors."""


@dataclass(frozen=True, slots=True)
class Spec:
    """A parsed specification: `result[indices] = expression`."""

    text: str
    result: str
    indices: tuple[str, ...]
    expression: ast.expr


@dataclass(frozen=True, slots=True)
class Bounded:
    """An array over named indices (in the order of `indices`) with an error bound of the same shape."""

    indices: tuple[str, ...]
    value: Array
    error: Array


def parse(text: str) -> Spec:
    """Read `C[m, n] = …`; the right side is interpreted by `evaluate`."""
    try:
        tree = ast.parse(text, mode="exec")
    except SyntaxError as error:
        raise SpecError(f"cannot read the specification {text!r}: {error.msg}") from error
    if len(tree.body) != 1 or not isinstance(tree.body[0], ast.Assign) or len(tree.body[0].targets) != 1:
        raise SpecError(
            f"a specification is one assignment such as 'C[m, n] = sum(A[m, k] * B[n, k], k)', not {text!r}"
        )
    name, indices = _reference(tree.body[0].targets[0])
    if len(set(indices)) != len(indices):
        raise SpecError(f"the result {name}{list(indices)} names an index twice")
    return Spec(text, name, indices, tree.body[0].value)


def _reference(node: ast.expr) -> tuple[str, tuple[str, ...]]:
    if not isinstance(node, ast.Subscript) or not isinstance(node.value, ast.Name):
        raise SpecError(f"expected a tensor with indices such as A[m, k], found {ast.unparse(node)!r}")
    items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    names = []
    for item in items:
        if not isinstance(item, ast.Name):
            raise SpecError(f"indices are plain names, found {ast.unparse(item)!r} in {ast.unparse(node)!r}")
        names.append(item.id)
    return node.value.id, tuple(names)


def validate(spec: Spec, ranks: Mapping[str, int], symbols: Collection[str]) -> None:
    """Refuse what `evaluate` would refuse at any size: unknown names, wrong numbers of indices, unknown functions."""
    indices: set[str] = set()
    for node in ast.walk(spec.expression):
        if isinstance(node, ast.Subscript):
            name, used = _reference(node)
            _known_tensor(name, used, ranks)
            indices.update(used)
    _known_tensor(spec.result, spec.indices, ranks)
    tensors = {node.value for node in ast.walk(spec.expression) if isinstance(node, ast.Subscript)}
    functions = {node.func for node in ast.walk(spec.expression) if isinstance(node, ast.Call)}
    for node in ast.walk(spec.expression):
        if isinstance(node, ast.Call):
            if not isinstance(node.func, ast.Name) or node.func.id not in FUNCTIONS:
                raise SpecError(
                    f"a specification cannot call {ast.unparse(node.func)}; known are {', '.join(FUNCTIONS)}"
                )
        elif (
            isinstance(node, ast.Name)
            and node not in tensors
            and node not in functions
            and node.id not in indices
            and node.id not in symbols
        ):
            raise SpecError(f"{node.id} is neither an index of a tensor on the right side nor a size or scalar")


def _known_tensor(name: str, indices: tuple[str, ...], ranks: Mapping[str, int]) -> None:
    if name not in ranks:
        raise SpecError(f"the specification names {name}, which is not an argument of the kernel")
    if ranks[name] != len(indices):
        raise SpecError(f"{name} has {ranks[name]} axes but is indexed with {len(indices)}")


def evaluate(
    spec: Spec,
    tensors: Mapping[str, npt.NDArray[np.generic]],
    symbols: Mapping[str, float],
    positions: Mapping[str, npt.NDArray[np.intp]] | None = None,
) -> Bounded:
    """The specified result in float64 and the f32 error bound of each element.

    `positions`: the values of indices along which the tensors were cut, where they do not count from zero.
    """
    extents: dict[str, int] = {}
    for node in ast.walk(spec.expression):
        if isinstance(node, ast.Subscript):
            name, indices = _reference(node)
            if name not in tensors:
                raise SpecError(f"the specification reads {name}, which is not an argument of the kernel")
            shape = tensors[name].shape
            if len(shape) != len(indices):
                raise SpecError(f"{name} has {len(shape)} axes but is indexed with {len(indices)}")
            for index, extent in zip(indices, shape, strict=True):
                if extents.setdefault(index, extent) != extent:
                    raise SpecError(f"index {index} runs over {extents[index]} and over {extent}")
    found = _Evaluator(tensors, symbols, extents, positions or {}).visit(spec.expression)
    missing = [i for i in spec.indices if i not in found.indices]
    extra = [i for i in found.indices if i not in spec.indices]
    if missing or extra:
        raise SpecError(f"left and right side disagree on the free indices: {', '.join(missing + extra)}")
    order = [found.indices.index(i) for i in spec.indices]
    return Bounded(spec.indices, found.value.transpose(order), found.error.transpose(order))


_COMPARE: dict[type[ast.cmpop], Callable[[Array, Array], npt.NDArray[np.bool_]]] = {
    ast.Lt: np.less, ast.LtE: np.less_equal, ast.Gt: np.greater, ast.GtE: np.greater_equal,
    ast.Eq: np.equal, ast.NotEq: np.not_equal,
}  # fmt: skip


class _Evaluator:
    def __init__(
        self,
        tensors: Mapping[str, npt.NDArray[np.generic]],
        symbols: Mapping[str, float],
        extents: Mapping[str, int],
        positions: Mapping[str, npt.NDArray[np.intp]],
    ) -> None:
        self._tensors, self._symbols, self._extents, self._positions = tensors, symbols, extents, positions

    def visit(self, node: ast.expr) -> Bounded:
        if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
            return self._exact((), np.float64(node.value))
        if isinstance(node, ast.Name):
            return self._name(node)
        if isinstance(node, ast.Subscript):
            name, indices = _reference(node)
            return self._exact(indices, self._tensors[name].astype(np.float64))
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            x = self.visit(node.operand)
            return Bounded(x.indices, -x.value, x.error)
        if isinstance(node, ast.BinOp):
            return self._binary(node)
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _COMPARE:
            x, y = self._align(self.visit(node.left), self.visit(node.comparators[0]))
            return self._exact(x.indices, _COMPARE[type(node.ops[0])](x.value, y.value).astype(np.float64))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
            return self._call(node.func.id, node.args)
        raise SpecError(f"a specification cannot contain {ast.unparse(node)!r}")

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
        if np.prod([self._extents[i] for i in union], dtype=np.float64) > MAX_ELEMENTS:
            raise SpecError(f"an intermediate over {', '.join(union)} is too large to evaluate at these shapes")

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
            error = error + HARDWARE_ULPS * UNIT_F32 * np.abs(value)
        else:
            raise SpecError(f"a specification cannot contain {ast.unparse(node)!r}")
        return Bounded(x.indices, value, error + UNIT_F32 * np.abs(value))

    def _call(self, name: str, args: list[ast.expr]) -> Bounded:
        if name in ("sum", "max", "min") and len(args) == 2 and isinstance(args[1], ast.Name):
            if args[1].id not in self._extents:
                raise SpecError(f"{name} runs over {args[1].id}, which is no index of a tensor")
            return self._reduce(name, args[0], args[1].id)
        if name == "where" and len(args) == 3:
            return self._where(args)
        if name in ("maximum", "minimum") and len(args) == 2:
            x, y = self._align(self.visit(args[0]), self.visit(args[1]))
            pick = np.maximum if name == "maximum" else np.minimum
            return Bounded(x.indices, pick(x.value, y.value), np.maximum(x.error, y.error))
        if name in _FUNCTIONS and len(args) == 1:
            x = self.visit(args[0])
            value, slope = _FUNCTIONS[name](x.value, x.error)
            return Bounded(x.indices, value, slope * x.error + HARDWARE_ULPS * UNIT_F32 * np.abs(value))
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

    def _reduce(self, name: str, body: ast.expr, index: str) -> Bounded:
        if name == "sum":
            factors = _factors(body)
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
            return Bounded(rest, x.value.sum(axis), error)
        pick = np.max if name == "max" else np.min
        return Bounded(rest, pick(x.value, axis=axis), x.error.max(axis=axis))

    def _sum_of_products(self, factors: list[tuple[str, tuple[str, ...]]], index: str) -> Bounded:
        """Σ over `index` of a product of tensors, without the intermediate: einsum, and einsum of magnitudes."""
        letters: dict[str, str] = {}
        for _, indices in factors:
            for i in indices:
                letters.setdefault(i, chr(ord("a") + len(letters)))
        if index not in letters:
            raise SpecError(f"the summed product does not depend on {index}")
        rest = tuple(i for i in letters if i != index)
        lhs = ",".join("".join(letters[i] for i in indices) for _, indices in factors)
        formula = f"{lhs}->{''.join(letters[i] for i in rest)}"
        arrays = [self._tensors[name].astype(np.float64) for name, _ in factors]
        value = np.einsum(formula, *arrays, optimize=True)
        size = np.einsum(formula, *[np.abs(a) for a in arrays], optimize=True)
        terms = self._extents[index] + len(factors) - 1
        return Bounded(rest, value, terms * UNIT_F32 * size)


def _factors(node: ast.expr) -> list[tuple[str, tuple[str, ...]]] | None:
    """The tensors of a pure product A[..]*B[..]*…, or None if the expression is anything else."""
    if isinstance(node, ast.Subscript):
        return [_reference(node)]
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        left, right = _factors(node.left), _factors(node.right)
        return None if left is None or right is None else left + right
    return None


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

FUNCTIONS = ("sum", "max", "min", "where", "maximum", "minimum", *_FUNCTIONS)
