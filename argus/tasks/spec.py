"""What a kernel computes, as lines of index notation, and its value in float64 with an error bound.

    C[m, n] = sum(A[m, k] * B[n, k], k)
    y[i, c] = sum(x[i + k, c] * w[k, c], k)                     shifted: outside of x there are zeros
    out[b, d] = table[page[b], d]                               gathered
    Y[m, n] = X[m, n] / s[m]; s[m] = max(abs(X[m, n]), n)       two results

The text is parsed by Python's own parser and interpreted here; nothing in it is executed. A free index (m, n) is an
axis of the result, a bound one (k) is reduced over. Supported: + - * / // %, unary minus, comparisons, numbers, shape
symbols, tensors and indices; sum, max, min, argmax, argmin over an index, with a third argument where no tensor says
how far it runs (`sum(x[i + k], k, 4)`); exp, exp2, log2, sqrt, rsqrt, abs, where, maximum, minimum (max and min of two
values are the same). An index of a tensor may be any whole number made of indices, sizes and elements of integer
tensors; what lies outside of a tensor is zero, as it is for loads.

Several results are separated by `;` and each is judged on its own; a name that is no argument of the kernel cannot be
defined.

Every intermediate is a pair (value, error): the value in float64 and a bound on how far a kernel that does the same
arithmetic in f32, in any order, may be from it (`argus.tasks.evaluation`). So the tolerance of a comparison follows
from the arithmetic and the data, and nobody chooses it.

Cannot say: recurrences, anything whose intermediate does not fit in memory (sums of products go through einsum and
need no intermediate).
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from argus.tasks.contraction import Contracting
from argus.tasks.evaluation import FUNCTIONS, REDUCTIONS, Bounded, SpecError, parts

__all__ = ["Bounded", "ResultSpec", "SpecError", "evaluate", "parse", "parse_all", "validate"]


@dataclass(frozen=True, slots=True)
class ResultSpec:
    """A parsed specification of one result: `result[indices] = expression`."""

    text: str
    result: str
    indices: tuple[str, ...]
    expression: ast.expr


def parse(text: str) -> ResultSpec:
    """Read `C[m, n] = …`, the specification of one result."""
    found = parse_all(text)
    if len(found) != 1:
        raise SpecError(f"the specification states {len(found)} results; here one is needed")
    return found[0]


def parse_all(text: str) -> tuple[ResultSpec, ...]:
    """Read one assignment or several, separated by `;`; the right sides are interpreted by `evaluate`."""
    try:
        tree = ast.parse(text.strip(), mode="exec")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        why = error.msg if isinstance(error, SyntaxError) else str(error)
        raise SpecError(f"cannot read the specification {text!r}: {why}") from error
    made: list[ResultSpec] = []
    for statement in tree.body:
        if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
            raise SpecError(
                f"a specification is an assignment such as 'C[m, n] = sum(A[m, k] * B[n, k], k)', not {text!r}"
            )
        name, items = parts(statement.targets[0])
        indices = tuple(item.id for item in items if isinstance(item, ast.Name))
        if len(indices) != len(items):
            raise SpecError(f"the indices of a result are plain names, unlike {ast.unparse(statement.targets[0])!r}")
        if len(set(indices)) != len(indices):
            raise SpecError(f"the result {name}{list(indices)} names an index twice")
        if any(name == other.result for other in made):
            raise SpecError(f"the result {name} is stated twice")
        made.append(ResultSpec(ast.unparse(statement), name, indices, statement.value))
    if not made:
        raise SpecError("the specification is empty; write 'C[m, n] = sum(A[m, k] * B[n, k], k)'")
    return tuple(made)


def validate(spec: ResultSpec, ranks: Mapping[str, int], symbols: Collection[str]) -> None:
    """Refuse what `evaluate` would refuse at any size: unknown names, wrong numbers of indices, unknown functions."""
    indices = set(spec.indices)
    _known_tensor(spec.result, len(spec.indices), ranks)
    for node in ast.walk(spec.expression):
        if isinstance(node, ast.Subscript):
            name, items = parts(node)
            _known_tensor(name, len(items), ranks)
            indices.update(item.id for item in items if isinstance(item, ast.Name))
        elif isinstance(node, ast.Call):
            if not isinstance(node.func, ast.Name) or node.func.id not in FUNCTIONS:
                raise SpecError(
                    f"a specification cannot call {ast.unparse(node.func)}; known are {', '.join(FUNCTIONS)}"
                )
            if node.func.id in REDUCTIONS and len(node.args) == 3 and isinstance(node.args[1], ast.Name):
                indices.add(node.args[1].id)
    tensors = {node.value for node in ast.walk(spec.expression) if isinstance(node, ast.Subscript)}
    functions = {node.func for node in ast.walk(spec.expression) if isinstance(node, ast.Call)}
    for node in ast.walk(spec.expression):
        if not isinstance(node, ast.Name) or node in tensors or node in functions:
            continue
        if node.id not in indices and node.id not in symbols:
            raise SpecError(f"{node.id} is neither an index of a tensor on the right side nor a size or scalar")


def _known_tensor(name: str, given: int, ranks: Mapping[str, int]) -> None:
    if name not in ranks:
        raise SpecError(f"the specification names {name}, which is not an argument of the kernel")
    if ranks[name] != given:
        raise SpecError(f"{name} has {ranks[name]} axes but is indexed with {given}")


def evaluate(
    spec: ResultSpec,
    tensors: Mapping[str, npt.NDArray[np.generic]],
    symbols: Mapping[str, float],
    positions: Mapping[str, npt.NDArray[np.intp]] | None = None,
) -> Bounded:
    """The specified result in float64 and the f32 error bound of each element.

    `positions`: the values of indices along which the tensors were cut, where they do not count from zero; a
    tensor that is indexed with anything but plain indices, or whose elements are indices, must be whole.
    """
    extents = _extents(spec, tensors, positions or {})
    block = _block(spec)
    if block is not None and block[0] in extents:
        return _by_blocks(spec, tensors, symbols, positions or {}, extents, block)
    return _evaluated(spec, tensors, symbols, extents, positions or {})


def _evaluated(
    spec: ResultSpec,
    tensors: Mapping[str, npt.NDArray[np.generic]],
    symbols: Mapping[str, float],
    extents: Mapping[str, int],
    positions: Mapping[str, npt.NDArray[np.intp]],
    constant: str = "",
) -> Bounded:
    with np.errstate(all="ignore"):
        found = Contracting(tensors, symbols, extents, positions, constant).visit(spec.expression)
    missing = [i for i in spec.indices if i not in found.indices]
    extra = [i for i in found.indices if i not in spec.indices]
    if missing or extra:
        raise SpecError(f"left and right side disagree on the free indices: {', '.join(missing + extra)}")
    order = [found.indices.index(i) for i in spec.indices]
    return Bounded(spec.indices, found.value.transpose(order), found.error.transpose(order))


def _block(spec: ResultSpec) -> tuple[str, int] | None:
    """r and 128 where an element at r // 128 picks what the rows are computed with: `W[expert[r // 128], n, k]`."""
    for name in nested(spec):
        for node in ast.walk(spec.expression):
            if isinstance(node, ast.Subscript) and parts(node)[0] == name:
                match parts(node)[1]:
                    case [ast.BinOp(left=ast.Name(id=index), op=ast.FloorDiv(), right=ast.Constant(value=int(by)))]:
                        if index in spec.indices:
                            return index, by
    return None


def nested(spec: ResultSpec) -> set[str]:
    """Tensors whose elements serve as indices of others."""
    return {
        inner.value.id
        for node in ast.walk(spec.expression)
        if isinstance(node, ast.Subscript)
        for inner in ast.walk(node.slice)
        if isinstance(inner, ast.Subscript) and isinstance(inner.value, ast.Name)
    }


def _by_blocks(
    spec: ResultSpec,
    tensors: Mapping[str, npt.NDArray[np.generic]],
    symbols: Mapping[str, float],
    positions: Mapping[str, npt.NDArray[np.intp]],
    extents: Mapping[str, int],
    block: tuple[str, int],
) -> Bounded:
    """Block by block, in each of which `r // 128` is one number: what it picks does not depend on r there."""
    index, by = block
    rows = positions.get(index, np.arange(extents[index]))
    found: list[Bounded] = []
    for number in np.unique(rows // by):
        own = rows[rows // by == number]
        here = {**extents, index: len(own)}
        found.append(_evaluated(spec, tensors, symbols, here, {**positions, index: own}, index))
    if not np.array_equal(rows, np.sort(rows)):
        raise SpecError(f"the positions of {index} are not in order")
    axis = spec.indices.index(index)
    return Bounded(
        spec.indices,
        np.concatenate([part.value for part in found], axis=axis),
        np.concatenate([part.error for part in found], axis=axis),
    )


def _extents(
    spec: ResultSpec, tensors: Mapping[str, npt.NDArray[np.generic]], positions: Mapping[str, npt.NDArray[np.intp]]
) -> dict[str, int]:
    """How far each index runs: as tensors indexed with it plainly say, else as the result says."""
    extents = {index: len(places) for index, places in positions.items()}
    inner = nested(spec)
    for node in ast.walk(spec.expression):
        if isinstance(node, ast.Subscript):
            name, items = parts(node)
            if name not in tensors:
                raise SpecError(f"the specification reads {name}, which is not an argument of the kernel")
            shape = tensors[name].shape
            if len(shape) != len(items):
                raise SpecError(f"{name} has {len(shape)} axes but is indexed with {len(items)}")
            whole = name in inner or not all(isinstance(item, ast.Name) for item in items)
            for item, extent in zip(items, shape, strict=True):
                if whole and isinstance(item, ast.Name) and item.id in positions:
                    continue
                if isinstance(item, ast.Name) and extents.setdefault(item.id, extent) != extent:
                    raise SpecError(f"index {item.id} runs over {extents[item.id]} and over {extent}")
    if spec.result in tensors and tensors[spec.result].ndim == len(spec.indices):
        for index, extent in zip(spec.indices, tensors[spec.result].shape, strict=True):
            extents.setdefault(index, extent)
    return extents
