"""One launch of a foreign kernel: which object, which arguments, and how to judge what it wrote.

    case = ForeignCase("fmha", "plain", "fmha_v3_fwd/MI300/fwd_hd128_bf16_rtne.co", "S=256", grid, block, args, …)
    offsets = case.offsets                 AITER gives every argument, pointer or number, 16 bytes
    case.judge()                           CaseJudgement(error, share) after the launch

An error is judged element by element: `bound` is an array, the largest error that correct arithmetic in the kernel's
formats can make at that element, computed beside the reference (roundings of the output, of intermediate conversions,
of f32 sums). `share` is the largest |got - reference| / bound and must not exceed 1. `error` is the usual max |got -
reference| / max |reference|, printed because people compare it. A bound per element is much sharper than one number
for all: where the reference is small, so is the bound.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

BF16 = ml_dtypes.bfloat16
FP8 = ml_dtypes.float8_e4m3fnuz
FP8_MAX = 240.0

BF16_TRUNCATED = 2.0**-7
"""Relative rounding error of bf16 (8 significant bits) when rounding to either neighbour, as truncation does."""
BF16_NEAREST = 2.0**-8
F32_UNIT = 2.0**-24
SLOT = 16
"""Bytes AITER gives to each kernel argument."""

Wide = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class CaseJudgement:
    """How far a result is off, in two measures; see the head of the module."""

    error: float
    share: float

    @property
    def ok(self) -> bool:
        return self.share <= 1.0


def judge(got: NDArray[Any], reference: Wide, bound: Wide) -> CaseJudgement:
    """Compare a result with its reference; NaN and infinity are never right."""
    wide = got.astype(np.float64)
    if not np.isfinite(wide).all():
        return CaseJudgement(float("inf"), float("inf"))
    off = np.abs(wide - reference)
    return CaseJudgement(float(off.max() / np.abs(reference).max()), float((off / bound).max()))


def worst(judgements: Sequence[CaseJudgement]) -> CaseJudgement:
    return CaseJudgement(max(j.error for j in judgements), max(j.share for j in judgements))


@dataclass(frozen=True, slots=True)
class ForeignCase:
    """A launch ready to be made; `flaw` names a fault of the kernel that makes its result depend on the order of
    waves."""

    family: str
    variant: str
    path: str
    shape: str
    grid: tuple[int, int, int]
    block: int
    args: tuple[Any, ...]
    judge: Callable[[], CaseJudgement]
    flops: float
    flaw: str = ""

    @property
    def offsets(self) -> list[int]:
        return [SLOT * k for k in range(len(self.args))]

    @property
    def kernel(self) -> str:
        return self.path.rsplit("/", 1)[-1].removesuffix(".co")


Builder = Callable[[], ForeignCase]
"""Makes a case with fresh arguments."""


def packed(*values: Any) -> tuple[Any, ...]:
    """Arguments with the sizes AITER's structures give them: numbers become 32-bit, arrays and None stay pointers."""
    return tuple(_sized(v) for v in values)


def _sized(value: Any) -> Any:
    if isinstance(value, int):
        return np.uint32(value & 0xFFFFFFFF)
    return np.float32(value) if isinstance(value, float) else value


def normal(rng: np.random.Generator, *shape: int) -> NDArray[Any]:
    """Normal numbers in bf16."""
    return rng.standard_normal(shape).astype(BF16)


def summation_error(terms: int, magnitude: Wide) -> Wide:
    """Bound on an f32 sum of products in any order: terms * 2**-24 * sum of |products|."""
    return terms * F32_UNIT * magnitude
