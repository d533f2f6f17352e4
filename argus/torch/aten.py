"""ATen operators as nodes of a graph: one converter per operator, by its name without overload.

A converter gets the `Conversion` and the operator's arguments, adds nodes and returns the name of the last. Numbers
beside a tensor become the parameter of a function (`x + 2` is `shift` with p = 2). Where PyTorch has an option that no
template has, the converter refuses it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from argus.plan.graph import FLOATS, Shape
from argus.torch.aten_norms import (
    batch_norm,
    batch_norm_of_stored_statistics,
    batch_norm_without_statistics,
    group_norm,
    instance_norm,
    layer_norm,
    running_statistic,
)
from argus.torch.aten_scans import cat, dropout, flip, full, place, scan
from argus.torch.aten_windows import adaptive_mean, convolution, pool

if TYPE_CHECKING:
    from argus.torch.export import Conversion

Converter = Callable[..., str]
INDICES = ("i32", "i64")

ALIASES = ("clone", "alias", "detach", "detach_", "contiguous", "lift_fresh_copy", "lift_fresh", "dropout_eval")
"""Operators whose result is their first operand."""
NEAREST: Mapping[str, str] = {
    "gather": "a product with a mask",
}
"""What comes nearest to an operator without a template."""


def _unary(name: str) -> Converter:
    return lambda at, x: at.add(name, (at.name_of(x),))


def _with_number(name: str, value: Callable[[float], float] = float) -> Converter:
    return lambda at, x, number: at.add(name, (at.name_of(x),), p=value(number))


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float))


def _binary(name: str, number: str, turned: str = "", value: Callable[[float], float] = float) -> Converter:
    """An operation of two tensors, or of one and a number: then the function `number`; `turned`: number first."""

    def convert(at: Conversion, x: Any, y: Any, alpha: float = 1) -> str:
        if _is_number(y):
            return at.add(number, (at.name_of(x),), p=value(y * alpha))
        if _is_number(x):
            return at.add(turned or number, (at.name_of(y),), p=float(x))
        left, right = _alike(at, at.name_of(x), at.name_of(y))
        if alpha != 1:
            right = at.add("scale", (right,), at.nodes[right].shape, p=float(alpha))
        return at.add(name, (left, right))

    return convert


def _alike(at: Conversion, left: str, right: str) -> tuple[str, str]:
    """A single floating number beside a tensor takes the tensor's type, as PyTorch has it."""
    a, b = at.nodes[left], at.nodes[right]
    if a.dtype == b.dtype or not {a.dtype, b.dtype} <= set(FLOATS):
        return left, right
    if not b.shape and a.shape:
        return left, at.add("none", (right,), (), a.dtype)
    if not a.shape and b.shape:
        return at.add("none", (left,), (), b.dtype), right
    return left, right


def _rsub(at: Conversion, x: Any, number: Any, alpha: float = 1) -> str:
    if alpha != 1 or not _is_number(number):
        raise at.refused("rsub of a tensor, or with a factor, has no template; nearest is sub")
    return at.add("from", (at.name_of(x),), p=float(number))


def _clamp(at: Conversion, x: Any, low: Any = None, high: Any = None) -> str:
    name = at.name_of(x)
    for bound, function in ((low, "atleast"), (high, "atmost")):
        if bound is None:
            continue
        if not _is_number(bound):
            raise at.refused("clamp by a tensor has no template; nearest is minimum or maximum")
        name = at.add(function, (name,), p=float(bound))
    return name


def _pow(at: Conversion, x: Any, exponent: Any) -> str:
    known = {2: "square", 0.5: "sqrt", -0.5: "rsqrt", -1: "reciprocal", 1: "none"}
    if not _is_number(exponent) or exponent not in known:
        if exponent == 3:
            name = at.name_of(x)
            return at.add("mul", (at.add("square", (name,)), name))
        raise at.refused(f"the power {exponent} has no template; nearest is 2, 3, 0.5, -0.5 or -1")
    return at.add(known[exponent], (at.name_of(x),))


def _gelu(at: Conversion, x: Any, approximate: str = "none") -> str:
    return at.add("gelu_tanh" if approximate == "tanh" else "gelu", (at.name_of(x),))


def _elu(at: Conversion, x: Any, alpha: float = 1.0, scale: float = 1.0, input_scale: float = 1.0) -> str:
    name = at.name_of(x)
    name = name if input_scale == 1 else at.add("scale", (name,), p=float(input_scale))
    name = at.add("elu", (name,), p=float(alpha))
    return name if scale == 1 else at.add("scale", (name,), p=float(scale))


def _softplus(at: Conversion, x: Any, beta: float = 1.0, threshold: float = 20.0) -> str:
    """Above the threshold PyTorch returns x; the difference is less than exp(-threshold)."""
    name = at.name_of(x)
    name = name if beta == 1 else at.add("scale", (name,), p=float(beta))
    name = at.add("softplus", (name,))
    return name if beta == 1 else at.add("scale", (name,), p=1.0 / beta)


def _smooth_l1(at: Conversion, x: Any, y: Any, reduction: int = 1, beta: float = 1.0) -> str:
    if beta != 1:
        raise at.refused(f"smooth_l1_loss with beta {beta} has no template; nearest is 1")
    shape = at.node_of(x).shape
    off = at.add("sub", (at.name_of(x), at.name_of(y)), shape)
    return _loss(at, at.add("huber", (off,), shape), reduction)


def _kl_div(at: Conversion, x: Any, target: Any, reduction: int = 1, log_target: bool = False) -> str:
    """target * (log target - x); a target of 0 is a term of 0, as PyTorch has it."""
    shape, name = at.node_of(x).shape, at.name_of(target)
    log = name if log_target else at.add("log_or_zero", (name,), shape)
    term = at.add("sub", (log, at.name_of(x)), shape)
    factor = at.add("exp", (name,), shape) if log_target else name
    return _loss(at, at.add("mul", (term, factor), shape), reduction)


def _cross_entropy(
    at: Conversion, x: Any, target: Any, weight: Any = None, reduction: int = 1, ignored: int = -100,
    smoothing: float = 0.0,
) -> str:  # fmt: skip
    """Targets are classes; PyTorch's class that is ignored is none of them."""
    shape = at.node_of(x).shape
    if weight is not None or smoothing or len(shape) != 2 or ignored >= 0 or at.node_of(target).dtype not in INDICES:
        raise at.refused("cross entropy with weights, smoothing, or of more than rows with a class each: not yet")
    kind = ("none", "mean", "sum")[reduction]
    return at.add("cross_entropy", (at.name_of(x), at.name_of(target)), kind=kind)


def _loss(at: Conversion, name: str, reduction: int) -> str:
    if reduction == 0:
        return name
    dims = tuple(range(len(at.nodes[name].shape)))
    return at.add("reduce", (name,), kind="mean" if reduction == 1 else "sum", dims=dims, keepdim=False)


# -- views -----------------------------------------------------------------------------------------------------------


def _view(at: Conversion, x: Any, *ignored: Any) -> str:
    return at.add("view", (at.name_of(x),))


def _permute(at: Conversion, x: Any, dims: Sequence[int]) -> str:
    rank = len(at.node_of(x).shape)
    return at.add("permute", (at.name_of(x),), dims=tuple(dim % rank for dim in dims))


def _transpose(at: Conversion, x: Any, first: int, second: int) -> str:
    rank = len(at.node_of(x).shape)
    dims = list(range(rank))
    dims[first % rank], dims[second % rank] = dims[second % rank], dims[first % rank]
    return at.add("permute", (at.name_of(x),), dims=tuple(dims))


def _reversed_axes(at: Conversion, x: Any) -> str:
    return at.add("permute", (at.name_of(x),), dims=tuple(reversed(range(len(at.node_of(x).shape)))))


def _expand(at: Conversion, x: Any, sizes: Sequence[int], implicit: bool = False) -> str:
    return at.add("expand", (at.name_of(x),))


def _slice(at: Conversion, x: Any, dim: int = 0, start: Any = None, stop: Any = None, step: int = 1) -> str:
    shape = at.node_of(x).shape
    dim %= len(shape)
    first, last, _ = slice(start, stop, step).indices(shape[dim])
    return at.add("slice", (at.name_of(x),), dim=dim, start=first, stop=last, step=step)


def _select(at: Conversion, x: Any, dim: int, index: int) -> str:
    shape = at.node_of(x).shape
    dim %= len(shape)
    at_index = index % shape[dim]
    kept = (*shape[:dim], 1, *shape[dim + 1 :])
    one = at.add("slice", (at.name_of(x),), kept, dim=dim, start=at_index, stop=at_index + 1, step=1)
    return at.add("view", (one,))


def _to(at: Conversion, x: Any, *ignored: Any, **kept: Any) -> str:
    return at.add("none", (at.name_of(x),))


# -- products --------------------------------------------------------------------------------------------------------


def _turned(at: Conversion, name: str) -> str:
    shape = at.nodes[name].shape
    dims = (*range(len(shape) - 2), len(shape) - 1, len(shape) - 2)
    return at.add("permute", (name,), tuple(shape[d] for d in dims), dims=dims)


def _matmul(at: Conversion, x: Any, y: Any) -> str:
    return product(at, at.name_of(x), at.name_of(y), at.shape)


def product(at: Conversion, left: str, right: str, shape: Shape) -> str:
    """A product of two arrays of two axes or more, or of vectors, which are seen as matrices."""
    a, b = at.nodes[left].shape, at.nodes[right].shape
    if len(a) == 1:
        left, a = at.add("view", (left,), (1, a[0])), (1, a[0])
    if len(b) == 1:
        right, b = at.add("view", (right,), (b[0], 1)), (b[0], 1)
    if len(b) > 2 and a[:-2] != b[:-2]:
        batch = shape[: max(len(a), len(b)) - 2]
        left = at.add("expand", (left,), (*batch, *a[-2:]))
        right = at.add("expand", (right,), (*batch, *b[-2:]))
        a, b = at.nodes[left].shape, at.nodes[right].shape
    full = (*a[:-1], b[-1])
    made = at.add("matmul", (left, right), full)
    return made if full == shape else at.add("view", (made,), shape)


def _linear(at: Conversion, x: Any, weight: Any, bias: Any = None) -> str:
    made = product(at, at.name_of(x), _turned(at, at.name_of(weight)), at.shape)
    return made if bias is None else at.add("add", (made, at.name_of(bias)))


def _addmm(at: Conversion, bias: Any, x: Any, y: Any, beta: float = 1, alpha: float = 1) -> str:
    if beta != 1 or alpha != 1:
        raise at.refused("addmm with factors has no template; nearest is without")
    return at.add("add", (product(at, at.name_of(x), at.name_of(y), at.shape), at.name_of(bias)))


def _attention(
    at: Conversion, q: Any, k: Any, v: Any, mask: Any = None, dropout: float = 0.0, causal: bool = False,
    scale: float | None = None, enable_gqa: bool = False,
) -> str:  # fmt: skip
    if mask is not None or dropout or causal or enable_gqa:
        raise at.refused("attention with a mask, dropout or shared heads: not yet; nearest is without")
    shape = at.node_of(q).shape
    scores = (*shape[:-1], at.node_of(k).shape[-2])
    made = at.add("matmul", (at.name_of(q), _turned(at, at.name_of(k))), scores)
    made = at.add("scale", (made,), scores, p=scale if scale is not None else 1 / math.sqrt(shape[-1]))
    made = at.add("softmax", (made,), scores, dim=len(scores) - 1)
    return at.add("matmul", (made, at.name_of(v)))


# -- reductions ------------------------------------------------------------------------------------------------------


def _dims(at: Conversion, x: Any, dims: Any) -> tuple[int, ...]:
    rank = len(at.node_of(x).shape)
    given = range(rank) if dims is None or dims == [] else [dims] if isinstance(dims, int) else dims
    return tuple(sorted(dim % rank for dim in given)) if rank else ()


def _reduction(kind: str) -> Converter:
    def convert(at: Conversion, x: Any, dims: Any = None, keepdim: bool = False, dtype: Any = None) -> str:
        found = _dims(at, x, dims)
        return at.add("reduce", (at.name_of(x),), kind=kind, dims=found, keepdim=keepdim)

    return convert


def _extreme(kind: str, number: str) -> Converter:
    """`max` over an axis, over everything, or of two tensors."""

    def convert(at: Conversion, x: Any, other: Any = None, keepdim: bool = False) -> str:
        if other is None or isinstance(other, int):
            return at.add("reduce", (at.name_of(x),), kind=kind, dims=_dims(at, x, other), keepdim=keepdim)
        return _binary(kind, number)(at, x, other)

    return convert


def _vector_norm(
    at: Conversion, x: Any, order: float = 2, dims: Any = None, keepdim: bool = False, dtype: Any = None
) -> str:
    if order not in (1, 2):
        raise at.refused(f"the norm of order {order} has no template; nearest is 1 or 2")
    name, shape = at.name_of(x), at.node_of(x).shape
    term = at.add("square" if order == 2 else "abs", (name,), shape)
    total = at.add("reduce", (term,), kind="sum", dims=_dims(at, x, dims), keepdim=keepdim)
    return at.add("sqrt", (total,)) if order == 2 else total


def _softmax(name: str) -> Converter:
    def convert(at: Conversion, x: Any, dim: int, *ignored: Any) -> str:
        return at.add(name, (at.name_of(x),), dim=dim % len(at.node_of(x).shape))

    return convert


def _triangle(side: str) -> Converter:
    def convert(at: Conversion, x: Any, diagonal: int = 0) -> str:
        if diagonal:
            raise at.refused("a triangle beside the main diagonal has no template; nearest is diagonal 0")
        return at.add("triangle", (at.name_of(x),), side=side)

    return convert


SECOND: Mapping[tuple[str, int], Converter] = {
    ("max", 1): place("max"),
    ("min", 1): place("min"),
    ("_native_batch_norm_legit_functional", 3): lambda at, *given: running_statistic(at, "mean", *given),
    ("_native_batch_norm_legit_functional", 4): lambda at, *given: running_statistic(at, "variance", *given),
}
"""Results of operators after their first."""

CONVERTED: Mapping[str, Converter] = {
    **{
        name: _unary(name)
        for name in (
            "relu", "relu6", "sigmoid", "tanh", "exp", "log", "sqrt", "rsqrt", "abs", "reciprocal", "silu", "mish",
            "selu", "hardswish", "hardsigmoid", "square",
        )
    },
    "log_sigmoid": _unary("logsigmoid"),
    "softsign": _unary("softsign"),
    "neg": lambda at, x: at.add("scale", (at.name_of(x),), p=-1.0),
    "gelu": _gelu,
    "elu": _elu,
    "softplus": _softplus,
    "leaky_relu": lambda at, x, slope=0.01: at.add("leaky", (at.name_of(x),), p=float(slope)),
    "hardtanh": lambda at, x, low=-1.0, high=1.0: _clamp(at, x, low, high),
    "clamp": _clamp,
    "clamp_min": lambda at, x, low: _clamp(at, x, low),
    "clamp_max": lambda at, x, high: _clamp(at, x, None, high),
    "add": _binary("add", "shift"),
    "sub": _binary("sub", "shift", "from", lambda y: -float(y)),
    "rsub": _rsub,
    "mul": _binary("mul", "scale"),
    "multiply": _binary("mul", "scale"),
    "div": _binary("div", "scale", "over", lambda y: 1.0 / y),
    "minimum": _binary("min", "atmost"),
    "maximum": _binary("max", "atleast"),
    "pow": _pow,
    "smooth_l1_loss": _smooth_l1,
    "kl_div": _kl_div,
    "cross_entropy_loss": _cross_entropy,
    "view": _view,
    "reshape": _view,
    "_unsafe_view": _view,
    "flatten": _view,
    "unsqueeze": _view,
    "squeeze": _view,
    "permute": _permute,
    "transpose": _transpose,
    "t": _reversed_axes,
    "numpy_T": _reversed_axes,
    "expand": _expand,
    "slice": _slice,
    "select": _select,
    "_to_copy": _to,
    "to": _to,
    "matmul": _matmul,
    "mm": _matmul,
    "bmm": _matmul,
    "mv": _matmul,
    "dot": _matmul,
    "linear": _linear,
    "addmm": _addmm,
    "scaled_dot_product_attention": _attention,
    "sum": _reduction("sum"),
    "mean": _reduction("mean"),
    "amax": _reduction("max"),
    "amin": _reduction("min"),
    "logsumexp": _reduction("logsumexp"),
    "max": _extreme("max", "atleast"),
    "min": _extreme("min", "atmost"),
    "linalg_vector_norm": _vector_norm,
    "softmax": _softmax("softmax"),
    "_softmax": _softmax("softmax"),
    "log_softmax": _softmax("log_softmax"),
    "_log_softmax": _softmax("log_softmax"),
    "layer_norm": layer_norm,
    "native_layer_norm": layer_norm,
    "group_norm": group_norm,
    "instance_norm": instance_norm,
    "batch_norm": batch_norm,
    "_native_batch_norm_legit_functional": batch_norm,
    "_native_batch_norm_legit": batch_norm_without_statistics,
    "_native_batch_norm_legit_no_training": batch_norm_of_stored_statistics,
    "convolution": convolution,
    "max_pool1d": pool("max", 1),
    "max_pool2d": pool("max", 2),
    "max_pool3d": pool("max", 3),
    "avg_pool1d": pool("mean", 1),
    "avg_pool2d": pool("mean", 2),
    "avg_pool3d": pool("mean", 3),
    "adaptive_avg_pool1d": adaptive_mean,
    "adaptive_avg_pool2d": adaptive_mean,
    "adaptive_avg_pool3d": adaptive_mean,
    "tril": _triangle("lower"),
    "triu": _triangle("upper"),
    "dropout": dropout,
    "native_dropout": dropout,
    "cumsum": scan("sum"),
    "cumprod": scan("prod"),
    "argmax": place("max"),
    "argmin": place("min"),
    "flip": flip,
    "cat": cat,
    "full": full,
    "full_like": full,
}  # fmt: skip
