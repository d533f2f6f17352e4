"""Kernels to concretise: the library at its example sizes, generated ones from the verdict fuzzer's families."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from argus.ir.interp import extents
from argus.ir.interp.numbers import numpy_dtype
from argus.ir.kernel import Kernel
from argus.ir.passes.schedule import scheduled
from argus.ir.stages import Scheduled
from argus.lang.reader import read
from argus.layout import expr as E
from argus.tasks.inputs import in_memory
from bench.concretisation.compare import Concretised, concretised
from bench.verdict_fuzz.corpus import LIBRARY
from bench.verdict_fuzz.judge import program_of_text
from bench.verdict_fuzz.launch_data import inputs
from bench.verdict_fuzz.sources import FAMILIES, GIVEN
from bench.verdict_fuzz.truth import legal

Launch = tuple[str, Scheduled, dict[str, NDArray[Any]], dict[str, int], dict[str, float]]
SCALARS = {"eps": 1e-5, "scale": 0.25}
SMALL: dict[str, dict[str, Any]] = {
    "softmax": {"CHUNKS": 1}, "rmsnorm": {"CHUNKS": 1}, "layernorm": {"CHUNKS": 1}, "rowreduce": {"CHUNKS": 1},
    "gemm": {"BM": 64, "BN": 64},
}  # fmt: skip
"""Knobs where the default is larger than it has to be."""
SIZES: dict[str, dict[str, int]] = {
    "attention": {"Sq": 256, "Sk": 256}, "softmax_long": {"M": 2, "N": 520}, "rmsnorm_long": {"M": 2, "N": 520},
    "layernorm_long": {"M": 2, "N": 520}, "rowreduce_long": {"M": 2, "N": 520}, "softmax": {"M": 2},
    "rmsnorm": {"M": 2}, "layernorm": {"M": 2}, "rowreduce": {"M": 2},
}  # fmt: skip
"""Sizes where the example's are larger than they have to be: two turns of a loop, one ragged."""


def kernels_of(file: str) -> list[str]:
    """Names of the kernels in a library file, by their decorator."""
    lines = (LIBRARY / f"{file}.py").read_text().splitlines()
    found, decorated = [], False
    for line in lines:
        decorated = decorated or line.startswith("@ag.kernel")
        if decorated and line.startswith("def "):
            found.append(line.removeprefix("def ").partition("(")[0])
            decorated = False
    return found


LIBRARY_KERNELS = [
    (path.stem, kernel)
    for path in sorted(LIBRARY.glob("*.py"))
    if path.stem != "__init__"
    for kernel in kernels_of(path.stem)
]


def library_launch(file: str, name: str) -> Concretised:
    """The first and the last block of a library kernel at its example's sizes."""
    program = scheduled(read(LIBRARY / f"{file}.py", settings=SMALL.get(file, {}), kernel=name))
    kernel = program.kernel
    sizes = {k: int(v) for k, v in kernel.example.items()} | SIZES.get(name, {})
    grid = tuple(int(E.evaluate(g, sizes)) for g in kernel.grid)
    last = (grid[0] - 1, grid[1] - 1, grid[2] - 1)
    scalars = {s.name: SCALARS.get(s.name, 0.5) for s in kernel.scalars}
    return concretised(program, drawn(kernel, sizes), sizes, scalars, list(dict.fromkeys([(0, 0, 0), last])))


def drawn(kernel: Kernel, sizes: dict[str, int]) -> dict[str, NDArray[Any]]:
    """Floats around one; 0 or 1 as whole numbers, which every index may be. Where strides overlap, elements share."""
    dice = np.random.default_rng(4)
    made = {}
    for tensor in kernel.tensors:
        if tensor.read:
            shape, dtype = extents(tensor, sizes), numpy_dtype(tensor.dtype)
            whole = dtype.kind in "iu"
            values = dice.integers(0, 1, shape, endpoint=True) if whole else dice.uniform(-2, 2, shape)
            made[tensor.name] = np.asarray(values, dtype=np.float32).astype(dtype)
    return in_memory(kernel, sizes, made)


def generated(dice: Random) -> Launch:
    """A generated kernel and one of its launches."""
    names = sorted(set(FAMILIES) - GIVEN)
    family = dice.choice(names)
    program = FAMILIES[family](dice)
    made = program_of_text(program, program.source)
    launches = [s for s in program.launches if legal(made.kernel, s)]
    sizes = dice.choice(launches[:3])
    return family, made, inputs(program, made.kernel, sizes, "mixed", 3), sizes, dict(program.scalars)
