"""ATen's normalizations as nodes of a graph (`aten`).

Without a weight or a bias they are those with ones and zeros; stored statistics are operands of batch norm alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from argus.plan.graph import Shape

if TYPE_CHECKING:
    from argus.torch.export import Conversion


def _affine(at: Conversion, weight: Any, bias: Any, shape: Shape) -> tuple[str, str]:
    """Weight and bias, or ones and zeros."""
    return (
        at.constant(1.0, shape) if weight is None else at.name_of(weight),
        at.constant(0.0, shape) if bias is None else at.name_of(bias),
    )


def layer_norm(
    at: Conversion, x: Any, shape: Sequence[int], weight: Any = None, bias: Any = None, eps: float = 1e-5, *more: Any
) -> str:
    operands: tuple[str, ...] = (at.name_of(x),)
    if weight is not None or bias is not None:
        operands = (*operands, *_affine(at, weight, bias, tuple(shape)))
    return at.add("layer_norm", operands, axes=len(shape), eps=float(eps))


def group_norm(
    at: Conversion, x: Any, groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5, *more: Any
) -> str:
    operands = (at.name_of(x), *_affine(at, weight, bias, (at.shape[1],)))
    return at.add("group_norm", operands, groups=groups, eps=float(eps))


def instance_norm(
    at: Conversion, x: Any, weight: Any, bias: Any, mean: Any, variance: Any, use_input: bool, *rest: Any
) -> str:
    if not use_input:
        raise at.refused("instance norm with stored statistics has no template; nearest is batch norm")
    return group_norm(at, x, at.shape[1], weight, bias, float(rest[1]))


def batch_norm(
    at: Conversion, x: Any, weight: Any, bias: Any, mean: Any, variance: Any, training: bool, momentum: float,
    eps: float, *more: Any,
) -> str:  # fmt: skip
    operands: tuple[str, ...] = (at.name_of(x), *_affine(at, weight, bias, (at.shape[1],)))
    if not training:
        operands = (*operands, at.name_of(mean), at.name_of(variance))
    return at.add("batch_norm", operands, training=training, eps=float(eps))


def running_statistic(at: Conversion, kind: str, x: Any, weight: Any, bias: Any, mean: Any, variance: Any,
                      training: bool, momentum: float, eps: float) -> str:  # fmt: skip
    """The new value of a stored mean or variance: old + momentum * (of this batch - old); variances by n - 1. What the
    batch has stays f32 up to the result."""
    old = at.name_of(mean if kind == "mean" else variance)
    if not training:
        return old
    node, dtype = at.node_of(x), at.nodes[old].dtype
    new = at.add("batch_statistic", (node.name,), dtype="f32", kind=kind)
    if kind == "variance":
        count = node.elements // node.shape[1]
        new = at.add("scale", (new,), dtype="f32", p=count / (count - 1))
    off = at.add("scale", (at.add("sub", (new, old), dtype=dtype),), dtype=dtype, p=float(momentum))
    return at.add("add", (off, old), dtype=dtype)


def batch_norm_without_statistics(
    at: Conversion, x: Any, weight: Any, bias: Any, training: bool, momentum: float, eps: float
) -> str:
    return batch_norm(at, x, weight, bias, None, None, True, momentum, eps)


def batch_norm_of_stored_statistics(
    at: Conversion, x: Any, weight: Any, bias: Any, mean: Any, variance: Any, momentum: float, eps: float
) -> str:
    """What a module in training has where its batch norm is in evaluation."""
    return batch_norm(at, x, weight, bias, mean, variance, False, momentum, eps)
