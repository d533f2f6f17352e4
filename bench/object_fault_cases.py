"""Kernels whose objects `bench.object_faults` changes: small, proved, with all forms of addresses and branches.

vadd         straight line, workgroups past the end
branches     lanes split by a branch in a loop, both arms through LDS, guarded LDS accesses, a ring of two slots
edge         bf16 vectors of odd length: narrow stores at the end of a tensor
gather       an index from data
gemm         tiles through swizzled LDS, a loop over K, matrix instructions

`bench.object_bit_flips` takes these and

direct       direct copies to LDS in one arm of a branch
totals       atomics
neighbors, rows, halves, reversed_lanes               elements moved between lanes: DPP, ds_swizzle, ds_bpermute
binary, transpose, softmax, rowreduce, quantise       kernels of the library at small sizes
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


def _direct() -> list[Any]:
    return [_numbers(256, dtype=np.int32), np.zeros(256, np.int32), 256]


def _lanes() -> list[Any]:
    return [np.arange(128, dtype=np.int32) * 3 + 1, np.zeros(128, np.int32), 128]


def _totals() -> list[Any]:
    return [_numbers(5, 128), _numbers(128), 5]


def _binary() -> list[Any]:
    n = 2500
    x, y = _numbers(n, dtype=ml_dtypes.bfloat16), _numbers(n + 1, dtype=ml_dtypes.bfloat16)[:n].copy()
    return [x, y, np.zeros(n, ml_dtypes.bfloat16), n]


def _transpose() -> list[Any]:
    x = np.arange(24 * 40).reshape(24, 40).astype(ml_dtypes.bfloat16)
    return [x, np.zeros((40, 24), ml_dtypes.bfloat16), 24, 40]


def _softmax() -> list[Any]:
    return [_numbers(3, 200, dtype=ml_dtypes.bfloat16), np.zeros((3, 200), ml_dtypes.bfloat16), 3, 200]


def _rowreduce() -> list[Any]:
    return [_numbers(3, 200, dtype=ml_dtypes.bfloat16), np.zeros(3, np.float32), 3, 200]


def _quantise() -> list[Any]:
    rows = 20
    return [
        _numbers(rows, 128, dtype=ml_dtypes.bfloat16),
        np.zeros((rows, 128), ml_dtypes.float8_e4m3fnuz),
        np.zeros(rows, np.float32),
        rows,
    ]


CASES = (
    FaultCase("vadd", KERNELS / "vadd.py", _vadd, (2, 1, 1), 256),
    FaultCase("branches", HERE / "branches.py", _branches, (1, 1, 1), 256),
    FaultCase("edge", HERE / "edge.py", _edge, (2, 1, 1), 64),
    FaultCase("gather", HERE / "gather.py", _gather, (4, 1, 1), 64),
    FaultCase("gemm", KERNELS / "gemm.py", _gemm, (1, 1, 1), 256),
)
EXCHANGES = tuple(
    FaultCase(name, HERE / "exchanges.py", _lanes, (2, 1, 1), 64, name)
    for name in ("neighbors", "rows", "halves", "reversed_lanes")
)
MORE_CASES = (
    FaultCase("direct", HERE / "direct.py", _direct, (2, 1, 1), 128),
    FaultCase("totals", HERE / "totals.py", _totals, (5, 1, 1), 64),
    *EXCHANGES,
    FaultCase("binary", KERNELS / "elementwise.py", _binary, (1, 1, 1), 256, "binary"),
    FaultCase("transpose", KERNELS / "transpose.py", _transpose, (1, 1, 1), 256),
    FaultCase("softmax", KERNELS / "softmax.py", _softmax, (1, 1, 1), 256, "softmax"),
    FaultCase("rowreduce", KERNELS / "rowreduce.py", _rowreduce, (1, 1, 1), 256, "rowreduce"),
    FaultCase("quantise", KERNELS / "moe.py", _quantise, (1, 1, 1), 256, "quantise"),
)
