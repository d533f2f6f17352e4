"""Kernels whose objects `bench.object_faults` changes: small, proved, and between them every form of address and branch.

vadd         straight line, workgroups past the end
branches     lanes split by a branch in a loop, both arms through LDS, guarded LDS accesses, a ring of two slots
edge         bf16 vectors of odd length: narrow stores at the end of a tensor
gather       an index from data
gemm         tiles through swizzled LDS, a loop over K, matrix instructions
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

from argus.ir.kernel import KnobValue
from argus.ir.passes.schedule import scheduled
from argus.ir.stages import Scheduled
from argus.lang import read

KERNELS = Path(__file__).parents[1] / "argus/kernels"
HERE = Path(__file__).parent / "object_fault_kernels"


@dataclass(frozen=True, slots=True)
class FaultCase:
    """A kernel and one launch of it; `arguments` makes fresh arrays and sizes."""

    name: str
    file: Path
    arguments: Callable[[], list[Any]]
    grid: tuple[int, int, int]
    threads: int
    kernel: str | None = None
    knobs: dict[str, KnobValue] = field(default_factory=dict)

    def program(self) -> Scheduled:
        return scheduled(read(str(self.file), settings=self.knobs, kernel=self.kernel))


def _numbers(*shape: int, dtype: Any = np.float32) -> np.ndarray:
    return np.random.default_rng(sum(shape)).integers(-8, 9, shape).astype(dtype)


def _vadd() -> list[Any]:
    return [_numbers(1900), _numbers(1900) + 1, np.zeros(1900, np.float32), 1900]


def _branches() -> list[Any]:
    return [_numbers(5, 256), np.zeros((5, 256), np.float32), 5]


def _edge() -> list[Any]:
    return [_numbers(1021, dtype=ml_dtypes.bfloat16), np.zeros(1021, ml_dtypes.bfloat16), 1021]


def _gather() -> list[Any]:
    rows = np.array([3, 0, 2, 1], np.int32)
    return [_numbers(5, 256), rows, np.zeros((4, 256), np.float32), 5, 4]


def _gemm() -> list[Any]:
    a, b = _numbers(128, 128, dtype=ml_dtypes.bfloat16), _numbers(128, 128, dtype=ml_dtypes.bfloat16)[::-1].copy()
    return [a, b, np.zeros((128, 128), ml_dtypes.bfloat16), 128, 128, 128]


CASES = (
    FaultCase("vadd", KERNELS / "vadd.py", _vadd, (2, 1, 1), 256),
    FaultCase("branches", HERE / "branches.py", _branches, (1, 1, 1), 256),
    FaultCase("edge", HERE / "edge.py", _edge, (2, 1, 1), 64),
    FaultCase("gather", HERE / "gather.py", _gather, (4, 1, 1), 64),
    FaultCase("gemm", KERNELS / "gemm.py", _gemm, (1, 1, 1), 256),
)
