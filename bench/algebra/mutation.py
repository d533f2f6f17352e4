"""The share of mutants found that stay inside the tolerance of the float comparison.

A mutant counts if it is wrong and passes: on ordinary (standard normal) inputs its result leaves the tolerance, so it
is no equivalent change; and there are inputs on which every element is within the error bound. Those inputs have one
part of an axis, or one tensor, much larger than the rest (or, for exponentials, higher), as data often have. Exact
algebra judges the run on *those* inputs.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import numpy.typing as npt

import argus.kernels
from argus.compile import compile_kernel
from argus.device.simulated import JitDevice
from argus.ir.kernel import Kernel
from argus.ir.passes.schedule import scheduled
from argus.lang import read
from argus.spec import evaluate
from argus.spec.compare import compare
from argus.tasks.algebra import compare_kernel
from argus.tasks.inputs import make_arrays, make_scalars
from bench.algebra.addends import AddendMutant, addend_mutants

LIBRARY = Path(argus.kernels.__file__).parent
Arrays = dict[str, npt.NDArray[np.generic]]


@dataclass(frozen=True)
class Subject:
    """A library kernel at small sizes."""

    file: str
    kernel: str
    sizes: Mapping[str, int] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)

    def read(self) -> Kernel:
        return read(LIBRARY / self.file, settings=dict(self.settings), kernel=self.kernel)


SUBJECTS = (
    Subject("vadd.py", "vadd", {"N": 1024}),
    Subject("elementwise.py", "binary", {"N": 2000}),
    Subject("elementwise.py", "unary", {"N": 2000}),
    Subject("elementwise.py", "combine", {"M": 4, "N": 200}),
    Subject("rowreduce.py", "rowreduce", {"M": 4, "N": 200}),
    Subject("rowreduce.py", "rowreduce", {"M": 4, "N": 200}, {"OP": "mean"}),
    Subject("rowreduce.py", "rowreduce_long", {"M": 4, "N": 2000}),
    Subject("softmax.py", "softmax", {"M": 4, "N": 200}),
    Subject("softmax.py", "softmax_long", {"M": 2, "N": 2000}),
    Subject("rmsnorm.py", "rmsnorm", {"M": 4, "N": 200}),
    Subject("rmsnorm.py", "rmsnorm_long", {"M": 2, "N": 2000}),
    Subject("layernorm.py", "layernorm", {"M": 4, "N": 200}),
    Subject("layernorm.py", "layernorm_long", {"M": 2, "N": 2000}),
    Subject("moe.py", "combine", {"T": 3, "R": 20, "N": 256}),
    Subject("gemm.py", "gemm", {"M": 64, "N": 64, "K": 128}, {"BM": 64, "BN": 64}),
    Subject("matmul_direct.py", "matmul_direct", {"M": 64, "N": 128, "K": 512}),
)


@dataclass
class MutantTally:
    """Verdicts of counted mutants, by kind."""

    found: Counter[str] = field(default_factory=Counter)
    missed: list[str] = field(default_factory=list)

    @property
    def total(self) -> int:
        return sum(self.found.values()) + len(self.missed)


def inputs(kernel: Kernel, sizes: Mapping[str, int], dice: Random) -> Iterator[Arrays]:
    """Inputs of which one part dominates: part j of a number of parts of the last axis, or all of a tensor."""
    tensors = [t.name for t in kernel.tensors if t.read and t.dtype.kind == "float"]
    chosen = [(parts, j, shift) for parts in (8, 4, 2) for j in range(parts) for shift in (False, True)]
    dice.shuffle(chosen)
    for parts, j, shift in chosen:
        arrays = make_arrays(kernel, sizes, dice.randrange(1 << 20))
        for name in tensors:
            array = arrays[name]
            width = -(-array.shape[-1] // parts)
            small = np.ones(array.shape[-1], np.bool_)
            small[j * width : (j + 1) * width] = False
            real = array.astype(np.float64)
            real[..., small] = real[..., small] - 40.0 if shift else real[..., small] * 2.0**-30
            array[...] = real.astype(array.dtype)
        yield arrays
    for name in tensors:
        arrays = make_arrays(kernel, sizes, dice.randrange(1 << 20))
        arrays[name][...] = (arrays[name].astype(np.float64) * 2.0**-40).astype(arrays[name].dtype)
        yield arrays


def passes(kernel: Kernel, code: bytes, sizes: Mapping[str, int], arrays: Arrays, scalars: Mapping[str, float]) -> bool:
    """Whether the float comparison accepts a run; a specification without a finite value accepts nothing."""
    given = {name: array.copy() for name, array in arrays.items()}
    before = {name: array.copy() for name, array in given.items()}
    JitDevice().launch(kernel, code, sizes, given, scalars)
    assert kernel.computes is not None
    symbols = {**sizes, **scalars}
    for spec in kernel.computes.results:
        want = evaluate(spec, before, symbols)
        if not np.isfinite(want.value).all() or not compare(given[spec.result], want).ok:
            return False
    return True


def judged(subject: Subject, original: Kernel, mutant: AddendMutant, dice: Random, tally: MutantTally) -> bool:
    """Whether the mutant counts; its verdict goes to the tally."""
    sizes, scalars = subject.sizes, make_scalars(original, 0)
    code = compile_kernel(scheduled(mutant.kernel)).object
    if passes(original, code, sizes, make_arrays(original, sizes, 1), scalars):
        return False
    for arrays in inputs(original, sizes, dice):
        if passes(original, code, sizes, arrays, scalars):
            break
    else:
        return False
    verdicts = [c.verdict for c in compare_kernel(original, code, sizes, arrays, scalars)]
    if "different" in verdicts:
        tally.found[mutant.kind] += 1
    else:
        tally.missed.append(f"{subject.file}:{subject.kernel} {mutant.name}: {', '.join(verdicts)}")
    return True


def run(wanted: int, seed: int) -> MutantTally:
    """Mutants of all subjects in turn until `wanted` of them count."""
    dice, tally, tried = Random(seed), MutantTally(), 0
    started = time.process_time()
    pools = []
    for subject in SUBJECTS:
        original = subject.read()
        pool = list(addend_mutants(original))
        dice.shuffle(pool)
        pools.append((subject, original, pool))
    while tally.total < wanted and any(pool for _, _, pool in pools):
        for subject, original, pool in pools:
            while pool and tally.total < wanted:
                tried += 1
                if judged(subject, original, pool.pop(), dice, tally):
                    break
        print(f"{tally.total} counted of {tried} tried, {time.process_time() - started:.0f} s CPU", flush=True)
    return tally
