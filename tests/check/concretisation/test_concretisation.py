"""What the walk claims holds in executions: a part of `python -m bench.concretisation`, and that it can fail."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from argus.ir.passes.schedule import scheduled
from argus.lang.reader import read
from bench.concretisation.compare import concretised
from bench.concretisation.hook import watched_walk
from bench.concretisation.material import LIBRARY_KERNELS, drawn, generated, library_launch
from bench.verdict_fuzz.corpus import LIBRARY

QUICK = [("vadd", "vadd"), ("elementwise", "unary"), ("transpose", "transpose"), ("gemm", "gemm"), ("moe", "combine")]


@pytest.mark.parametrize(("file", "kernel"), QUICK)
def test_library_kernels(file: str, kernel: str) -> None:
    found = library_launch(file, kernel)
    assert found.claims > 10_000
    assert found.differences == []


@pytest.mark.full
@pytest.mark.parametrize(("file", "kernel"), sorted(set(LIBRARY_KERNELS) - set(QUICK)))
def test_further_library_kernels(file: str, kernel: str) -> None:
    assert library_launch(file, kernel).differences == []


@pytest.mark.parametrize("n", range(24))
def test_generated_kernels(n: int) -> None:
    _, program, arrays, sizes, scalars = generated(Random(f"ci:{n}"))
    assert concretised(program, arrays, sizes, scalars).differences == []


def test_a_wrong_claim_is_seen() -> None:
    """Other inputs than those that were run: nearly every claim about an element is wrong."""
    program = scheduled(read(LIBRARY / "vadd.py", settings={"PER_THREAD": 1}, kernel="vadd"))
    sizes = {"N": 256}
    walk = watched_walk(program)
    arrays = drawn(program.kernel, sizes)
    assert concretised(program, arrays, sizes, walk=walk).differences == []
    shifted = {one.op.id: one for snapshots in walk.snapshots.values() for one in snapshots}
    for one in shifted.values():
        for tags in one.values.values():
            for case in tags.cases:
                case.offset[...] += 1
    assert concretised(program, arrays, sizes, walk=walk).differences != []


def test_claims_are_about_most_elements() -> None:
    """A walk that says nothing would have no differences either."""
    program = scheduled(read(LIBRARY / "gemm.py", settings={"BM": 64, "BN": 64}, kernel="gemm"))
    sizes = {"M": 64, "N": 64, "K": 64}
    found = concretised(program, drawn(program.kernel, sizes), sizes)
    assert found.claims > 20 * sum(found.silent.values())
    assert np.isfinite(found.claims)
