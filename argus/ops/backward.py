"""Gradients of operations on rows and elements, each by kernels of the library: what `argus.torch` differentiates with.

    g = the gradient of the result
    dx = softmax_backward(softmax(x), g)
    dx, dw = rmsnorm_backward(x, weight, g)            dw in f32, as the sum over rows leaves it
    db = columnsum(g)                                  the gradient of a bias

The normalisations take two launches (statistics of rows, then the gradient) and one for the sum over rows. A NaN stays
one, as in the operations themselves, except that relu's gradient is 0 where x is NaN.
"""

from __future__ import annotations

import math
from typing import Any

from argus.ops.arrays import blank_like, element, filled_like, given, shape
from argus.ops.choice import NoKernel, choose_columns, choose_elementwise, choose_walk, known_type
from argus.ops.launch import run
from argus.ops.rows import checked_pair, checked_rows

DIFFERENTIABLE = ("relu", "silu", "gelu")


def columnsum(x: Any, *, device: str = "auto") -> Any:
    """Sum over all axes but the last, in f32."""
    m, n = checked_rows("columnsum", x)
    if 0 in (m, n):
        return filled_like(x, (n,), "f32", 0.0)
    y = blank_like(x, (n,), "f32")
    arrays = {"X": given(x, "x").reshape(1, m, n), "Y": given(y, "y").reshape(1, n)}
    run(choose_columns(m, n, element(x, "x")), arrays, {"A": 1, "K": m, "C": n}, device=device)
    return y


def softmax_backward(y: Any, g: Any, *, device: str = "auto") -> Any:
    """y * (g - sum(g * y)) over the last axis, y being the softmax."""
    checked_pair("softmax_backward", y, g)
    m, n = checked_rows("softmax_backward", y)
    dx = blank_like(y, shape(y), element(y, "y"))
    if 0 in (m, n):
        return dx
    arrays = {name: given(a, name).reshape(m, n) for name, a in (("Y", y), ("G", g), ("dX", dx))}
    run(
        choose_walk("rows_backward", "softmax_backward", m, n, element(y, "y")), arrays, {"M": m, "N": n}, device=device
    )
    return dx


def rmsnorm_backward(x: Any, weight: Any, g: Any, *, eps: float = 1e-6, device: str = "auto") -> tuple[Any, Any]:
    """The gradients of x and of the weight (f32)."""
    return _normalised("rmsnorm_backward", x, weight, g, eps, device)


def layernorm_backward(x: Any, weight: Any, g: Any, *, eps: float = 1e-5, device: str = "auto") -> tuple[Any, Any]:
    """The gradients of x and of the weight (f32); that of the bias is `columnsum(g)`."""
    return _normalised("layernorm_backward", x, weight, g, eps, device)


def _normalised(kernel: str, x: Any, weight: Any, g: Any, eps: float, device: str) -> tuple[Any, Any]:
    checked_pair(kernel, x, g)
    m, n = checked_rows(kernel, x, {"W": weight})
    dtype = element(x, "x")
    dx = blank_like(x, shape(x), dtype)
    if 0 in (m, n):
        return dx, filled_like(x, (n,), "f32", 0.0)
    sizes = {"M": m, "N": n}
    products, dev = blank_like(x, (m, n), "f32"), blank_like(x, (m,), "f32")
    rows = {"X": given(x, "x").reshape(m, n)}
    arrays = rows | {"W": given(weight, "weight"), "G": given(g, "g").reshape(m, n), "dev": given(dev, "dev")}
    arrays |= {"dX": given(dx, "dx").reshape(m, n), "P": given(products, "products")}
    if kernel == "layernorm_backward":
        arrays["mean"] = given(blank_like(x, (m,), "f32"), "mean")
        statistics = choose_walk("moments", "moments_long", m, n, dtype)
        run(statistics, rows | {"mean": arrays["mean"], "dev": arrays["dev"]}, sizes, device=device)
    else:
        run(choose_walk("rownorm", "squares", m, n, dtype), rows | {"P": arrays["dev"]}, sizes, device=device)
    run(choose_walk("rows_backward", kernel, m, n, dtype), arrays, sizes, {"eps": eps}, device)
    return dx, columnsum(products, device=device)


def activation_backward(x: Any, g: Any, activation: str, *, device: str = "auto") -> Any:
    """g times the derivative of an activation (relu, silu or gelu) at x."""
    checked_activation(x, g, activation)
    extents, dtype = shape(x), element(x, "x")
    count = math.prod(extents)
    dx = blank_like(x, extents, dtype)
    if count:
        choice = choose_elementwise("activation_backward", activation, count, dtype)
        arrays = {name: given(a, name).reshape(count) for name, a in (("x", x), ("g", g), ("dx", dx))}
        run(choice, arrays, {"N": count}, device=device)
    return dx


def checked_activation(x: Any, g: Any, activation: str) -> None:
    """Refuse activations that no kernel differentiates, and operands that do not fit together."""
    if activation not in DIFFERENTIABLE:
        raise NoKernel(f"there is no gradient of {activation!r}; there are {', '.join(DIFFERENTIABLE)}")
    checked_pair(activation, x, g)
    known_type(activation, element(x, "x"), ("bf16", "f16", "f32"))
