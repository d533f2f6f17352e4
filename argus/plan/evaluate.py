"""The value of every node of a graph in float64, written from the operators' definitions with numpy alone.

    values(graph, {"x": x, "w": w})["y"]

It is the oracle of plans: it shares no code with the kernels, their specifications, or torch. Nothing is rounded on the
way, whatever the element types of the graph.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from itertools import product

import numpy as np
import numpy.typing as npt

from argus.plan.graph import BINARY, UNARY, Graph, Node, PlanError

Array = npt.NDArray[np.float64]

_erf = np.vectorize(math.erf, otypes=[np.float64])


def _expm1_below(x: Array) -> Array:
    return np.asarray(np.expm1(np.minimum(x, 0.0)))


def _softplus(x: Array) -> Array:
    return np.asarray(np.logaddexp(x, 0.0))


def _sigmoid(x: Array) -> Array:
    return np.asarray(np.exp(-np.logaddexp(-x, 0.0)))


FUNCTIONS: Mapping[str, Callable[[Array, float], Array | np.floating]] = {
    "none": lambda x, p: x,
    "relu": lambda x, p: np.where(x < 0, 0.0, x),
    "relu6": lambda x, p: np.clip(x, 0, 6),
    "leaky": lambda x, p: np.where(x >= 0, x, p * x),
    "elu": lambda x, p: np.where(x > 0, x, p * _expm1_below(x)),
    "selu": lambda x, p: 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * _expm1_below(x)),
    "gelu": lambda x, p: x * 0.5 * (1 + _erf(x / math.sqrt(2))),
    "gelu_tanh": lambda x, p: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    "silu": lambda x, p: x * _sigmoid(x),
    "sigmoid": lambda x, p: _sigmoid(x),
    "logsigmoid": lambda x, p: -_softplus(-x),
    "tanh": lambda x, p: np.tanh(x),
    "mish": lambda x, p: x * np.tanh(_softplus(x)),
    "softplus": lambda x, p: _softplus(x),
    "softsign": lambda x, p: x / (1 + np.abs(x)),
    "hardtanh": lambda x, p: np.clip(x, -1, 1),
    "hardsigmoid": lambda x, p: np.clip((x + 3) / 6, 0, 1),
    "hardswish": lambda x, p: x * np.clip((x + 3) / 6, 0, 1),
    "abs": lambda x, p: np.abs(x),
    "square": lambda x, p: x**2,
    "exp": lambda x, p: np.exp(x),
    "scale": lambda x, p: x * p,
    "shift": lambda x, p: x + p,
    "log": lambda x, p: np.log(x),
    "log_or_zero": lambda x, p: np.where(x == 0, 0.0, np.log(x)),
    "sqrt": lambda x, p: np.sqrt(x),
    "rsqrt": lambda x, p: 1 / np.sqrt(x),
    "reciprocal": lambda x, p: 1 / x,
    "atleast": lambda x, p: np.maximum(x, p),
    "atmost": lambda x, p: np.minimum(x, p),
    "from": lambda x, p: p - x,
    "over": lambda x, p: p / x,
    "huber": lambda x, p: np.where(np.abs(x) < 1, 0.5 * x * x, np.abs(x) - 0.5),
}
OPERATIONS: Mapping[str, Callable[[Array, Array], Array]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "min": np.minimum,
    "max": np.maximum,
}


def values(graph: Graph, given: Mapping[str, npt.NDArray[np.generic]]) -> dict[str, Array]:
    """Every node's value; `given`: inputs and parameters by name."""
    found: dict[str, Array] = {}
    with np.errstate(all="ignore"):
        for node in graph.nodes.values():
            if node.op in ("input", "parameter"):
                found[node.name] = np.asarray(given[node.name], dtype=np.float64)
            else:
                found[node.name] = value(node, [found[name] for name in node.inputs])
            if found[node.name].shape != node.shape:
                raise PlanError("ARG-G101", f"its value is {found[node.name].shape}, not {node.shape}", node.name)
    return found


def value(node: Node, operands: list[Array]) -> Array:
    """The value of one node."""
    at = node.attributes
    if node.op in UNARY:
        return np.asarray(FUNCTIONS[node.op](operands[0], at.get("p", 0.0)))
    if node.op in BINARY:
        return OPERATIONS[node.op](operands[0], operands[1])
    return _WHOLE[node.op](node, operands)


def _sliced(node: Node, operands: list[Array]) -> Array:
    at = node.attributes
    index = [slice(None)] * operands[0].ndim
    index[at["dim"]] = slice(at["start"], at["stop"], at["step"])
    return operands[0][tuple(index)]


def _reduced(node: Node, operands: list[Array]) -> Array:
    x, dims, kept = operands[0], node.attributes["dims"], node.attributes["keepdim"]
    match node.attributes["kind"]:
        case "sum":
            return np.asarray(x.sum(dims, keepdims=kept))
        case "mean":
            return np.asarray(x.mean(dims, keepdims=kept))
        case "max":
            return np.asarray(x.max(dims, keepdims=kept))
        case "min":
            return np.asarray(x.min(dims, keepdims=kept))
        case "logsumexp":
            top = x.max(dims, keepdims=True)
            total = np.log(np.exp(x - top).sum(dims, keepdims=True)) + top
            return np.asarray(total if kept else np.squeeze(total, dims))
    raise PlanError("ARG-G101", f"no reduction {node.attributes['kind']}", node.name)


def _softmax(node: Node, operands: list[Array]) -> Array:
    x, dim = operands[0], node.attributes["dim"]
    off = x - x.max(dim, keepdims=True)
    total = np.exp(off).sum(dim, keepdims=True)
    return np.asarray(off - np.log(total) if node.op == "log_softmax" else np.exp(off) / total)


def _normalized(x: Array, dims: tuple[int, ...], eps: float) -> Array:
    off = x - x.mean(dims, keepdims=True)
    return np.asarray(off / np.sqrt((off * off).mean(dims, keepdims=True) + eps))


def _layer_norm(node: Node, operands: list[Array]) -> Array:
    """Operands: x, or x, weight and bias; the last two along the normalized axes."""
    x = operands[0]
    y = _normalized(x, tuple(range(x.ndim - node.attributes["axes"], x.ndim)), node.attributes["eps"])
    return y if len(operands) == 1 else y * operands[1] + operands[2]


def _group_norm(node: Node, operands: list[Array]) -> Array:
    x, weight, bias = operands
    groups = node.attributes["groups"]
    seen = x.reshape(x.shape[0], groups, -1)
    y = _normalized(seen, (2,), node.attributes["eps"]).reshape(x.shape)
    along = (1, -1) + (1,) * (x.ndim - 2)
    return y * weight.reshape(along) + bias.reshape(along)


def _batch_norm(node: Node, operands: list[Array]) -> Array:
    """Operands: x, weight, bias, and outside of training mean and variance."""
    x, weight, bias = operands[:3]
    along = (1, -1) + (1,) * (x.ndim - 2)
    if node.attributes["training"]:
        y = _normalized(x, (0, *range(2, x.ndim)), node.attributes["eps"])
    else:
        mean, variance = (v.reshape(along) for v in operands[3:])
        y = (x - mean) / np.sqrt(variance + node.attributes["eps"])
    return y * weight.reshape(along) + bias.reshape(along)


def _pooled(node: Node, operands: list[Array]) -> Array:
    """Windows over the last axes; a mean counts the padding, a maximum does not see it."""
    at = node.attributes
    x, dims = operands[0], len(at["window"])
    padding = [(0, 0)] * (x.ndim - dims) + [(p, p + s) for p, s in zip(at["padding"], at["stride"], strict=True)]
    padded = np.pad(x, padding, constant_values=-np.inf if at["kind"] == "max" else 0.0)
    taps = []
    for tap in product(*map(range, at["window"])):
        index: list[slice] = [slice(None)] * (x.ndim - dims)
        for place, count, stride, dilation in zip(tap, node.shape[-dims:], at["stride"], at["dilation"], strict=True):
            first = place * dilation
            index.append(slice(first, first + (count - 1) * stride + 1, stride))
        taps.append(padded[tuple(index)])
    joined = np.stack(taps)
    return np.asarray(joined.max(0) if at["kind"] == "max" else joined.mean(0))


def _convolved(node: Node, operands: list[Array]) -> Array:
    """Operands: x [N, C, ...] and weight [O, C / groups, ...]."""
    x, weight = operands
    at = node.attributes
    groups, dims = at["groups"], weight.ndim - 2
    padded = np.pad(x, [(0, 0), (0, 0), *((p, p) for p in at["padding"])])
    seen = padded.reshape(x.shape[0], groups, -1, *padded.shape[2:])
    filters = weight.reshape(groups, -1, *weight.shape[1:])
    total = np.zeros((x.shape[0], groups, filters.shape[1], *node.shape[2:]))
    for tap in product(*map(range, weight.shape[2:])):
        index: list[slice] = [slice(None)] * 3
        for place, count, stride, dilation in zip(tap, node.shape[-dims:], at["stride"], at["dilation"], strict=True):
            first = place * dilation
            index.append(slice(first, first + (count - 1) * stride + 1, stride))
        here = filters.reshape(*filters.shape[:3], -1)[..., np.ravel_multi_index(tap, weight.shape[2:])]
        window: Array = seen[tuple(index)]
        total += np.einsum("ngc...,goc->ngo...", window, here)
    return total.reshape(node.shape)


def _spread(node: Node, operands: list[Array]) -> Array:
    """Operands: x [N, C, ...] and weight [C, O / groups, ...]; every element of x goes to a window of the result."""
    x, weight = operands
    at = node.attributes
    groups, window = at["groups"], weight.shape[2:]
    seen = x.reshape(x.shape[0], groups, -1, *x.shape[2:])
    filters = weight.reshape(groups, -1, *weight.shape[1:])
    reach = [
        max(s * (e - 1) + d * (k - 1) + 1, r + p)
        for s, e, d, k, r, p in zip(
            at["stride"], x.shape[2:], at["dilation"], window, node.shape[2:], at["padding"], strict=True
        )
    ]
    total = np.zeros((x.shape[0], groups, filters.shape[2], *reach))
    for tap in np.ndindex(*window):
        places = [
            slice(d * r, d * r + s * (e - 1) + 1, s)
            for d, r, s, e in zip(at["dilation"], tap, at["stride"], x.shape[2:], strict=True)
        ]
        weights = filters[(slice(None), slice(None), slice(None), *tap)]
        total[(slice(None), slice(None), slice(None), *places)] += np.einsum("ngc...,gco->ngo...", seen, weights)
    kept = [slice(p, p + r) for p, r in zip(at["padding"], node.shape[2:], strict=True)]
    return total[(slice(None), slice(None), slice(None), *kept)].reshape(node.shape)


def _scanned(node: Node, operands: list[Array]) -> Array:
    """Operands: x, or x and a mask of truth values."""
    at = node.attributes
    x = operands[0] if len(operands) == 1 else operands[0] * operands[1]
    rows = np.moveaxis(x, at["dim"], -1)
    rows = rows[..., ::-1] if at["reverse"] else rows
    found = np.add.accumulate(rows, -1) if at["kind"] == "sum" else np.multiply.accumulate(rows, -1)
    if at["exclusive"]:
        start = np.full((*rows.shape[:-1], 1), 0.0 if at["kind"] == "sum" else 1.0)
        found = np.concatenate([start, found[..., :-1]], -1)
    found = found[..., ::-1] if at["reverse"] else found
    return np.asarray(np.moveaxis(found, -1, at["dim"]))


def _place(node: Node, operands: list[Array]) -> Array:
    """The first place of the largest or smallest element."""
    x, dim = operands[0], node.attributes["dim"]
    found = x.argmax(dim) if node.attributes["kind"] == "max" else x.argmin(dim)
    return np.asarray(found, dtype=np.float64).reshape(node.shape)


def _cross_entropy(node: Node, operands: list[Array]) -> Array:
    """Operands: x [M, N] and the targets [M]."""
    x, target = operands
    off = x - x.max(1, keepdims=True)
    terms = np.log(np.exp(off).sum(1)) - off[np.arange(len(x)), target.astype(np.int64)]
    kind = node.attributes["kind"]
    return np.asarray(terms.mean() if kind == "mean" else terms.sum() if kind == "sum" else terms)


def _batch_statistic(node: Node, operands: list[Array]) -> Array:
    """Mean or variance of every channel."""
    x = operands[0]
    dims = (0, *range(2, x.ndim))
    return np.asarray(x.mean(dims) if node.attributes["kind"] == "mean" else x.var(dims))


def _axis_norm(node: Node, operands: list[Array]) -> Array:
    """Elements divided by the mean magnitude (l1), root of the sum of squares (l2) or root mean square of an axis."""
    x, at = operands[0], node.attributes
    if at["kind"] == "l1":
        return np.asarray(x / np.abs(x).mean(at["dim"], keepdims=True))
    squares = (x * x).sum(at["dim"], keepdims=True)
    return np.asarray(x / np.sqrt(squares if at["kind"] == "l2" else squares / x.shape[at["dim"]] + at["eps"]))


def _triangle(node: Node, operands: list[Array]) -> Array:
    return np.asarray(np.tril(operands[0]) if node.attributes["side"] == "lower" else np.triu(operands[0]))


_WHOLE: Mapping[str, Callable[[Node, list[Array]], Array]] = {
    "view": lambda node, x: x[0].reshape(node.shape),
    "permute": lambda node, x: x[0].transpose(node.attributes["dims"]),
    "expand": lambda node, x: np.broadcast_to(x[0], node.shape),
    "slice": _sliced,
    "matmul": lambda node, x: x[0] @ x[1],
    "reduce": _reduced,
    "softmax": _softmax,
    "log_softmax": _softmax,
    "layer_norm": _layer_norm,
    "axis_norm": _axis_norm,
    "group_norm": _group_norm,
    "batch_norm": _batch_norm,
    "pool": _pooled,
    "convolution": _convolved,
    "conv_transpose": _spread,
    "triangle": _triangle,
    "scan": _scanned,
    "argreduce": _place,
    "flip": lambda node, x: np.flip(x[0], node.attributes["dims"]),
    "cat": lambda node, x: np.concatenate(x, node.attributes["dim"]),
    "full": lambda node, x: np.full(node.shape, node.attributes["value"]),
    "batch_statistic": _batch_statistic,
    "cross_entropy": _cross_entropy,
}
