"""What a problem of the comparison is: its sizes, its tensors, a small case with its result in float64, and ours.

    problem = PROBLEMS["gemm"]
    problem.operands(4096)["A"]          an operand by shape, for the clock
    problem.small().wanted["C"]          float64, for `judging.py`
    problem.ours(4096, kept).timed       ours, proved

Operands have the names that a file of solutions uses; a layout is a name of its own (`B` and `BT`), so that a kernel
gets what its authors gave it. Turning one layout into another is counted for nobody.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import ml_dtypes
import numpy as np
import numpy.typing as npt

from argus.bench.contestant import Contestant
from argus.bench.kept import Kept, Timed

BF16 = np.dtype(ml_dtypes.bfloat16)
FP8 = np.dtype(ml_dtypes.float8_e4m3fnuz)
F32 = np.dtype(np.float32)
SIZES = (1024, 2048, 4096, 8192, 16384)
"""The published sizes of all three problems."""

Wide = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class SmallCase:
    """Arrays by name, in every layout, and what each output has to be."""

    sizes: Mapping[str, int]
    arrays: Mapping[str, Any]
    wanted: Mapping[str, Wide]


@dataclass(frozen=True, slots=True)
class OursTimed:
    """The library's kernel at a size: its time, its knobs, and how to make it again for perturbed clocks."""

    timed: Timed
    detail: str
    make: Callable[[], Contestant]


class AgentProblem(Protocol):
    """One of the three problems. `axis`: what a published size is called."""

    @property
    def axis(self) -> str: ...

    def sizes(self, size: int) -> dict[str, int]:
        """The names that expressions know."""
        ...

    def operands(self, size: int) -> dict[str, Any]:
        """Tensors and numbers at a published size."""
        ...

    def small(self) -> SmallCase: ...

    def ours(self, size: int, kept: Kept) -> OursTimed: ...


def never_written(shape: tuple[int, ...], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """An output before a launch: what a kernel leaves out stays NaN."""
    return np.full(shape, np.nan, dtype)
