"""`matmul(a, b)`: C = op(A) @ op(B), with bias and activation, in one launch or in two when K is split.

Without rows or columns the result is empty; without K the sums are 0, to which bias and activation are still applied.
"""

from __future__ import annotations

from typing import Any

from argus.ops.arrays import blank_like, element, filled_like, given, shape
from argus.ops.choice import NoKernel, choose_matmul, finishing, known_matmul, product_type
from argus.ops.launch import run

FEWEST_PARTS = 2


def matmul(
    a: Any,
    b: Any,
    *,
    bias: Any | None = None,
    activation: str = "none",
    a_by_k: bool = False,
    b_by_k: bool = False,
    device: str = "auto",
) -> Any:
    """activation(op(a) @ op(b) + bias): a is [M, K] (`a_by_k`: [K, M]), b is [N, K] (`b_by_k`: [K, N]).

    Operands of fp8 have no scales and are stored by rows; bias and result are bf16 then.
    """
    m, n, k = matmul_sizes(a, b, bias, activation=activation, a_by_k=a_by_k, b_by_k=b_by_k)
    choice = choose_matmul(
        m or 1, n or 1, k or 2, element(a, "a"), a_by_k=a_by_k, b_by_k=b_by_k, bias=bias is not None,
        activation=activation,
    )  # fmt: skip
    dtype = product_type(element(a, "a"))
    if 0 in (m, n, k):
        return _without_products(a, (m, n), bias, activation, device)
    c = blank_like(a, (m, n), dtype)
    sizes = {"M": m, "N": n, "K": k}
    arrays = {"A": given(a, "a"), "B": given(b, "b"), "C": given(c, "c")}
    if choice.then is not None or choice.kernel.startswith("linear"):
        arrays["bias"] = given(filled_like(a, (n,), dtype, 0.0) if bias is None else bias, "bias")
    if choice.then is not None:
        arrays["W"] = given(blank_like(a, (int(choice.knobs["SPLITS"]), m, n), "f32"), "W")
        run(choice, arrays, sizes, device=device)
        run(choice.then, arrays, {"M": m, "N": n}, device=device)
    else:
        run(choice, arrays, sizes, device=device)
    return c


def matmul_sizes(
    a: Any,
    b: Any,
    bias: Any | None = None,
    *,
    activation: str = "none",
    a_by_k: bool = False,
    b_by_k: bool = False,
) -> tuple[int, int, int]:
    """(M, N, K) of operands that fit together, of which nothing but types and extents is asked."""
    dtype = element(a, "a")
    known_matmul(dtype, activation)
    for name, other, wanted in (("b", b, dtype), ("bias", bias, product_type(dtype))):
        if other is not None and element(other, name) != wanted:
            raise NoKernel(f"{name} is {element(other, name)} but a is {dtype}; matmul takes one element type")
    if len(shape(a)) != 2 or len(shape(b)) != 2:
        raise NoKernel(f"matmul takes matrices, not {list(shape(a))} and {list(shape(b))}")
    m, k = shape(a)[::-1] if a_by_k else shape(a)
    n, kb = shape(b)[::-1] if b_by_k else shape(b)
    if k != kb:
        raise NoKernel(f"a has K = {k} and b has K = {kb}")
    if bias is not None and shape(bias) != (n,):
        raise NoKernel(f"the bias has shape {list(shape(bias))}, the result has {n} columns")
    return m, n, k


def _without_products(a: Any, extents: tuple[int, int], bias: Any | None, activation: str, device: str) -> Any:
    """The result of an empty sum: zeros, whose activations are 0 too, or the bias and its activation in every row."""
    dtype, (m, n) = product_type(element(a, "a")), extents
    c = filled_like(a, extents, dtype, 0.0)
    if bias is None or 0 in extents:
        return c
    parts = filled_like(a, (FEWEST_PARTS, m, n), "f32", 0.0)
    arrays = {"W": given(parts, "W"), "bias": given(bias, "bias"), "C": given(c, "c")}
    finish = finishing(dtype, FEWEST_PARTS, n, bias=True, activation=activation)
    run(finish, arrays, {"M": m, "N": n}, device=device)
    return c
