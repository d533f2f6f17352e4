"""The library's own kernels: all have a bound, and the only notes are those that docs/rounding.md explains."""

from __future__ import annotations

from pathlib import Path

import pytest

from argus.check.rounding import ErrorBound, rounding
from argus.pipeline import program_of
from bench.rounding import LIBRARY

LARGE = ("attention", "fp8_gemm", "gemm_pipelined", "gemm_opposite", "matmul_direct")
"""Files of which one form is read: reading takes longer than the walk."""
CHOSEN = [row for n, row in enumerate(LIBRARY) if row[0] not in LARGE or row[:2] not in {r[:2] for r in LIBRARY[:n]}]


@pytest.mark.parametrize(("file", "kernel", "settings"), CHOSEN)
def test_bounded_and_noted_as_documented(file: str, kernel: str, settings: dict[str, str]) -> None:
    found = rounding(program_of(Path("argus/kernels") / f"{file}.py", settings, kernel).kernel)
    assert found.bounds
    assert all(isinstance(bound, ErrorBound) for bound in found.bounds), [b.text() for b in found.bounds]
    products = kernel in ("matmul", "linear", "combine") or settings.get("OP") == "mul"
    wanted = {"overflow"} if settings.get("DTYPE") == "f16" and products else set()
    assert {hazard.kind for hazard in found.hazards} == wanted
