"""The meaning a kernel states itself: its `computes`, evaluated in float64 by `argus.spec`.

For findings that are replayed from their file alone. The generator's own meaning, which does not go through Argus, is
what the fuzzer judges by; a test holds the two against each other.
"""

from __future__ import annotations

import numpy as np

from argus.ir.interp import extents
from argus.ir.interp.numbers import numpy_dtype
from argus.ir.kernel import Kernel
from argus.spec import evaluate
from bench.verdict_fuzz.bounded import Real
from bench.verdict_fuzz.program import Arrays, Meaning, Sizes


def stated_meaning(kernel: Kernel, scalars: dict[str, float]) -> Meaning:
    assert kernel.computes is not None
    results = kernel.computes.results

    def meaning(arrays: Arrays, sizes: Sizes) -> dict[str, Real]:
        empty = {t.name: np.zeros(extents(t, sizes), numpy_dtype(t.dtype)) for t in kernel.tensors}
        everything = {name: array.astype(np.float64) for name, array in (empty | dict(arrays)).items()}
        whole = {t.name for t in kernel.tensors if numpy_dtype(t.dtype).kind in "iu"}
        given = {n: a.astype(np.int64) if n in whole else a for n, a in everything.items()}
        found = {}
        for result in results:
            made = evaluate(result, given, {**sizes, **scalars})
            found[result.result] = Real(made.value, made.error)
        return found

    return meaning
