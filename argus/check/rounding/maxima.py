"""What a specification says about maxima, which decides how the maxima of a kernel are taken.

    sum(exp(s) * V, k) / sum(exp(s), k)              smooth: a maximum in the kernel can only cancel
    exp(X[m, n] - max(X[m, j], j)) / …               softmax: every maximum is subtracted from one of its own operands
    maximum(x[i] * y[i], 0)                          neither

A proof is an equality of formulas. If the specification has no maximum, magnitude or choice by data in it, the kernel's
running maxima have cancelled by name: the equality holds whatever they are (`functions`, oracle). To take 2^(a - T)
apart the proof has shown that T is a maximum over values that a is one of. In the softmax form that is seen here.
"""

from __future__ import annotations

from argus.ir.kernel import Kernel
from argus.spec.tree import (
    Arithmetic,
    ConditionalValue,
    FunctionCall,
    IndexName,
    IndexReduction,
    SpecNode,
    TensorElement,
)
from argus.spec.walk import walk

CHOOSING = frozenset({"maximum", "minimum", "abs", "floor", "sqrt", "pow"})
"""Functions that a kernel may compute by choosing; of roots because sqrt(x * x) is a magnitude."""


def smooth(kernel: Kernel) -> bool:
    """No result has a maximum, a minimum, a magnitude or a choice by data."""
    return all(not _chooses(node) for node in _nodes(kernel))


def multiplies(kernel: Kernel) -> bool:
    """Some result is a product along an axis."""
    return any(isinstance(node, IndexReduction) and node.kind == "prod" for node in _nodes(kernel))


def softmax_like(kernel: Kernel) -> bool:
    """Every choice in the specification is a maximum that is subtracted, in an exponent, from one of its operands."""
    nodes = _nodes(kernel)
    subtracted = {id(found) for node in nodes if (found := _subtracted(node)) is not None}
    return all(id(node) in subtracted for node in nodes if _chooses(node))


def _nodes(kernel: Kernel) -> list[SpecNode]:
    results = kernel.computes.results if kernel.computes is not None else ()
    return [node for r in results for node in walk(r.expression)]


def _chooses(node: SpecNode) -> bool:
    match node:
        case FunctionCall(name):
            return name in CHOOSING
        case IndexReduction(kind):
            return kind not in ("sum", "prod")
        case ConditionalValue(condition):
            return any(isinstance(part, TensorElement) and not part.whole for part in walk(condition))
        case _:
            return False


def _subtracted(node: SpecNode) -> IndexReduction | None:
    """The maximum of exp(E - max(E', j)) where E' is E with j in the place of another index."""
    match node:
        case FunctionCall("exp" | "exp2", (Arithmetic("-", one, IndexReduction("max", body, index) as largest),)):
            return largest if _renamed(one, body, index) else None
        case _:
            return None


def _renamed(one: SpecNode, body: SpecNode, index: str) -> bool:
    """The body is `one` with the index of the maximum for one of its own."""
    if not (isinstance(one, TensorElement) and isinstance(body, TensorElement) and one.tensor == body.tensor):
        return False
    differing = [(a, b) for a, b in zip(one.indices, body.indices, strict=True) if a != b]
    match differing:
        case [(IndexName(), IndexName(name))]:
            return name == index
        case _:
            return False
