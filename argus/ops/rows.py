"""Operations on rows and elements: softmax, normalisations, reductions, elementwise, transposition.

The last axis is the row; the axes before it are seen as one. The result has the operand's shape unless said otherwise;
without elements it is empty. A row without elements has the sum 0, the mean NaN and no maximum.

What is not finite: softmax of a row with NaN is NaN; relu, silu and gelu keep NaN and +inf, and silu and gelu of -inf
are NaN, as their formulas say (-inf / inf); `rowmax` passes over NaN, as the chip's maximum does (numpy's fmax).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from argus.ops.arrays import blank_like, element, filled_like, given, shape
from argus.ops.choice import ROW_TYPES, NoKernel, choose_elementwise, choose_rows, choose_transpose, known_type
from argus.ops.launch import run

OF_NOTHING = {"sum": 0.0, "mean": math.nan}
"""What rows without elements reduce to."""


def checked_rows(name: str, x: Any, weights: Mapping[str, Any] | None = None) -> tuple[int, int]:
    """Number and length of the rows of x, if there is a kernel for its type and vectors along the rows fit."""
    extents, dtype = shape(x), element(x, "x")
    known_type(name, dtype, ROW_TYPES)
    if not extents:
        raise NoKernel(f"{name} needs rows; the operand is a single number")
    for role, vector in (weights or {}).items():
        if element(vector, role) != dtype or shape(vector) != extents[-1:]:
            found = f"{element(vector, role)}{list(shape(vector))}"
            raise NoKernel(f"{role} must be {dtype}[{extents[-1]}], not {found}")
    return math.prod(extents[:-1]), extents[-1]


def checked_pair(name: str, x: Any, y: Any) -> None:
    """Refuse operands of different shapes or types."""
    if shape(x) != shape(y) or element(x, "x") != element(y, "y"):
        raise NoKernel(
            f"{name} takes operands of one shape and type, not {element(x, 'x')}{list(shape(x))} and "
            f"{element(y, 'y')}{list(shape(y))}"
        )
    known_type(name, element(x, "x"), ROW_TYPES)


def checked_matrix(x: Any) -> tuple[int, int]:
    """The extents of what is transposed."""
    if len(shape(x)) != 2:
        raise NoKernel(f"transpose takes a matrix, not {list(shape(x))}")
    known_type("transpose", element(x, "x"), ROW_TYPES)
    m, n = shape(x)
    return m, n


def _over_rows(name: str, x: Any, weights: dict[str, Any], scalars: dict[str, float], device: str) -> Any:
    m, n = checked_rows(name, x, weights)
    dtype = element(x, "x")
    choice = choose_rows(name, n or 1, dtype, m=m)
    y = blank_like(x, shape(x), dtype)
    if 0 in (m, n):
        return y
    arrays = {"X": given(x, "x").reshape(m, n), "Y": given(y, "y").reshape(m, n)}
    arrays |= {role: given(vector, role) for role, vector in weights.items()}
    run(choice, arrays, {"M": m, "N": n}, scalars, device)
    return y


def softmax(x: Any, *, device: str = "auto") -> Any:
    """exp(x - max) / sum over the last axis."""
    return _over_rows("softmax", x, {}, {}, device)


def rmsnorm(x: Any, weight: Any, *, eps: float = 1e-6, device: str = "auto") -> Any:
    """x * rsqrt(mean(x^2) + eps) * weight over the last axis."""
    return _over_rows("rmsnorm", x, {"W": weight}, {"eps": eps}, device)


def layernorm(x: Any, weight: Any, bias: Any, *, eps: float = 1e-5, device: str = "auto") -> Any:
    """(x - mean) * rsqrt(variance + eps) * weight + bias over the last axis."""
    return _over_rows("layernorm", x, {"W": weight, "B": bias}, {"eps": eps}, device)


def _reduced(operation: str, x: Any, device: str) -> Any:
    m, n = checked_rows(f"row {operation}", x)
    choice = choose_rows("rowreduce", n or 1, element(x, "x"), operation, m=m)
    if 0 in (m, n):
        if m and operation not in OF_NOTHING:
            raise NoKernel(f"rows without elements have no {operation}; the operand has shape {list(shape(x))}")
        return filled_like(x, shape(x)[:-1], "f32", OF_NOTHING.get(operation, 0.0))
    y = blank_like(x, shape(x)[:-1], "f32")
    arrays = {"X": given(x, "x").reshape(m, n), "Y": given(y, "y").reshape(m)}
    run(choice, arrays, {"M": m, "N": n}, device=device)
    return y


def rowsum(x: Any, *, device: str = "auto") -> Any:
    """Sum over the last axis, in f32."""
    return _reduced("sum", x, device)


def rowmean(x: Any, *, device: str = "auto") -> Any:
    """Mean over the last axis, in f32."""
    return _reduced("mean", x, device)


def rowmax(x: Any, *, device: str = "auto") -> Any:
    """Maximum over the last axis, in f32; NaN are passed over, and a row of nothing else gives -inf or NaN."""
    return _reduced("max", x, device)


def _binary(operation: str, x: Any, y: Any, device: str) -> Any:
    checked_pair(operation, x, y)
    return _elementwise("binary", operation, {"x": x, "y": y}, device)


def _elementwise(kernel: str, operation: str, operands: dict[str, Any], device: str) -> Any:
    extents, dtype = shape(operands["x"]), element(operands["x"], "x")
    count = math.prod(extents)
    choice = choose_elementwise(kernel, operation, count or 1, dtype)
    z = blank_like(operands["x"], extents, dtype)
    if count:
        arrays = {name: given(a, name).reshape(count) for name, a in (*operands.items(), ("z", z))}
        run(choice, arrays, {"N": count}, device=device)
    return z


def add(x: Any, y: Any, *, device: str = "auto") -> Any:
    """x + y."""
    return _binary("add", x, y, device)


def mul(x: Any, y: Any, *, device: str = "auto") -> Any:
    """x * y."""
    return _binary("mul", x, y, device)


def relu(x: Any, *, device: str = "auto") -> Any:
    """max(x, 0); NaN stays NaN."""
    return _elementwise("unary", "relu", {"x": x}, device)


def silu(x: Any, *, device: str = "auto") -> Any:
    """x / (1 + exp(-x))."""
    return _elementwise("unary", "silu", {"x": x}, device)


def gelu(x: Any, *, device: str = "auto") -> Any:
    """x / (1 + exp(-1.5957691 (x + 0.044715 x^3))): the tanh form."""
    return _elementwise("unary", "gelu", {"x": x}, device)


def transpose(x: Any, *, device: str = "auto") -> Any:
    """x with its two axes exchanged, written out."""
    m, n = checked_matrix(x)
    choice = choose_transpose(m or 1, n or 1, element(x, "x"))
    y = blank_like(x, (n, m), element(x, "x"))
    if 0 in (m, n):
        return y
    run(choice, {"X": given(x, "x"), "Y": given(y, "y")}, {"M": m, "N": n}, device=device)
    return y
