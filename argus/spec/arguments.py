"""What a specification may name: the tensors, sizes and scalars of its kernel.

of_arrays({"A": a, "B": b}, {"N": 4})      the same, of arrays at hand
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from argus.layout.expr import Expr, const


@dataclass(frozen=True, slots=True)
class TensorArgument:
    """The extents of a tensor's axes, whether its elements are whole numbers, and what the kernel does with it."""

    extents: tuple[Expr, ...]
    whole: bool = False
    read: bool = True
    written: bool = True


@dataclass(frozen=True, slots=True)
class SpecArguments:
    """`scalars` says of each scalar argument whether it is a whole number."""

    tensors: Mapping[str, TensorArgument]
    sizes: frozenset[str] = field(default_factory=frozenset)
    scalars: Mapping[str, bool] = field(default_factory=dict)


def of_arrays(
    arrays: Mapping[str, npt.NDArray[np.generic]], symbols: Mapping[str, float] | None = None
) -> SpecArguments:
    """Arguments as arrays and numbers state them: an int is a size, a float a scalar; every tensor may be a result."""
    given = symbols or {}
    return SpecArguments(
        {n: TensorArgument(tuple(const(e) for e in a.shape), a.dtype.kind in "iu") for n, a in arrays.items()},
        frozenset(name for name, value in given.items() if isinstance(value, int)),
        {name: False for name, value in given.items() if not isinstance(value, int)},
    )
