"""Operations on rows and elements: softmax, normalisations, reductions, elementwise, transposition.

The last axis is the row; the axes before it are seen as one. The result has the operand's shape unless said otherwise.
"""

from __future__ import annotations

import math
from typing import Any

from argus.ops.arrays import blank_like, element, given, shape
from argus.ops.choice import Choice, Unsupported, choose_elementwise, choose_rows, choose_transpose
from argus.ops.launch import run


def _matrix(x: Any, name: str) -> tuple[int, int]:
    extents = shape(x)
    if not extents or 0 in extents:
        raise Unsupported(f"{name} needs rows; the operand has shape {list(extents)}")
    return math.prod(extents[:-1]), extents[-1]


def _over_rows(name: str, x: Any, weights: dict[str, Any], scalars: dict[str, float], device: str) -> Any:
    m, n = _matrix(x, name)
    dtype = element(x, "x")
    for role, vector in weights.items():
        if element(vector, role) != dtype or shape(vector) != (n,):
            raise Unsupported(f"{role} must be {dtype}[{n}], not {element(vector, role)}{list(shape(vector))}")
    y = blank_like(x, shape(x), dtype)
    arrays = {"X": given(x, "x").reshape(m, n), "Y": given(y, "y").reshape(m, n)}
    arrays |= {role: given(vector, role) for role, vector in weights.items()}
    run(choose_rows(name, n, dtype), arrays, {"M": m, "N": n}, scalars, device)
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
    m, n = _matrix(x, f"row {operation}")
    y = blank_like(x, shape(x)[:-1], "f32")
    arrays = {"X": given(x, "x").reshape(m, n), "Y": given(y, "y").reshape(m)}
    run(choose_rows("rowreduce", n, element(x, "x"), operation), arrays, {"M": m, "N": n}, device=device)
    return y


def rowsum(x: Any, *, device: str = "auto") -> Any:
    """Sum over the last axis, in f32."""
    return _reduced("sum", x, device)


def rowmean(x: Any, *, device: str = "auto") -> Any:
    """Mean over the last axis, in f32."""
    return _reduced("mean", x, device)


def rowmax(x: Any, *, device: str = "auto") -> Any:
    """Maximum over the last axis, in f32."""
    return _reduced("max", x, device)


def _binary(operation: str, x: Any, y: Any, device: str) -> Any:
    if shape(x) != shape(y) or element(x, "x") != element(y, "y"):
        raise Unsupported(
            f"{operation} takes operands of one shape and type, not {element(x, 'x')}{list(shape(x))} and "
            f"{element(y, 'y')}{list(shape(y))}"
        )
    count = math.prod(shape(x))
    z = blank_like(x, shape(x), element(x, "x"))
    arrays = {name: given(a, name).reshape(count) for name, a in (("x", x), ("y", y), ("z", z))}
    run(choose_elementwise("binary", operation, count, element(x, "x")), arrays, {"N": count}, device=device)
    return z


def add(x: Any, y: Any, *, device: str = "auto") -> Any:
    """x + y."""
    return _binary("add", x, y, device)


def mul(x: Any, y: Any, *, device: str = "auto") -> Any:
    """x * y."""
    return _binary("mul", x, y, device)


def _unary(operation: str, x: Any, device: str) -> Any:
    count = math.prod(shape(x))
    z = blank_like(x, shape(x), element(x, "x"))
    arrays = {name: given(a, name).reshape(count) for name, a in (("x", x), ("z", z))}
    run(choose_elementwise("unary", operation, count, element(x, "x")), arrays, {"N": count}, device=device)
    return z


def relu(x: Any, *, device: str = "auto") -> Any:
    """max(x, 0)."""
    return _unary("relu", x, device)


def silu(x: Any, *, device: str = "auto") -> Any:
    """x / (1 + exp(-x))."""
    return _unary("silu", x, device)


def gelu(x: Any, *, device: str = "auto") -> Any:
    """x / (1 + exp(-1.5957691 (x + 0.044715 x^3))): the tanh form."""
    return _unary("gelu", x, device)


def transpose(x: Any, *, device: str = "auto") -> Any:
    """x with its two axes exchanged, written out."""
    if len(shape(x)) != 2 or 0 in shape(x):
        raise Unsupported(f"transpose takes a matrix, not {list(shape(x))}")
    m, n = shape(x)
    y = blank_like(x, (n, m), element(x, "x"))
    choice: Choice = choose_transpose(m, n, element(x, "x"))
    run(choice, {"X": given(x, "x"), "Y": given(y, "y")}, {"M": m, "N": n}, device=device)
    return y
