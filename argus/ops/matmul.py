"""`matmul(a, b)`: C = op(A) @ op(B), with bias and activation, in one launch or in two when K is split."""

from __future__ import annotations

from typing import Any

from argus.ops.arrays import blank_like, element, given, shape
from argus.ops.choice import Unsupported, choose_matmul
from argus.ops.launch import run


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
    """activation(op(a) @ op(b) + bias): a is [M, K] (`a_by_k`: [K, M]), b is [N, K] (`b_by_k`: [K, N])."""
    dtype = element(a, "a")
    for name, other in (("b", b), ("bias", bias)):
        if other is not None and element(other, name) != dtype:
            raise Unsupported(f"{name} is {element(other, name)} but a is {dtype}; matmul takes one element type")
    if len(shape(a)) != 2 or len(shape(b)) != 2:
        raise Unsupported(f"matmul takes matrices, not {list(shape(a))} and {list(shape(b))}")
    m, k = shape(a)[::-1] if a_by_k else shape(a)
    n, kb = shape(b)[::-1] if b_by_k else shape(b)
    if k != kb:
        raise Unsupported(f"a has K = {k} and b has K = {kb}")
    if bias is not None and shape(bias) != (n,):
        raise Unsupported(f"the bias has shape {list(shape(bias))}, the result has {n} columns")
    choice = choose_matmul(m, n, k, dtype, a_by_k=a_by_k, b_by_k=b_by_k, bias=bias is not None, activation=activation)
    c = blank_like(a, (m, n), dtype)
    sizes = {"M": m, "N": n, "K": k}
    arrays = {"A": given(a, "a"), "B": given(b, "b"), "C": given(c, "c")}
    if choice.kernel in ("split", "linear"):
        missing = blank_like(a, (n,), dtype)
        arrays["bias"] = given(bias, "bias") if bias is not None else _zeroed(missing)
    if choice.then is not None:
        arrays["W"] = given(blank_like(a, (int(choice.knobs["SPLITS"]), m, n), "f32"), "W")
        run(choice, arrays, sizes, device=device)
        run(choice.then, arrays, {"M": m, "N": n}, device=device)
    else:
        run(choice, arrays, sizes, device=device)
    return c


def _zeroed(array: Any) -> Any:
    array[...] = 0
    return given(array, "bias")
