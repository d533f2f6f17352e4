"""Every program written in the language compiles, and the machine agrees with the IR interpreter on a workgroup.

The interpreter has no meaning for instructions named directly; programs with such are only run.
"""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pytest

from argus import machine
from argus.compile import compile_kernel
from argus.ir import interp
from argus.ir.kernel import Kernel
from argus.ir.ops import Instruction, Tensor, walk
from argus.ir.passes.schedule import scheduled
from argus.lang import read
from argus.layout import expr as E
from argus.plan.product_tiles import TRIANGLE_TILE
from tests.compile.harness import EXACT, NUMPY

ROOT = Path(__file__).parents[2]
FILES = sorted([*(ROOT / "tests/lang/programs").glob("*.py"), *(ROOT / "argus/kernels").glob("[a-z]*.py")])
FITTING = {
    "linear": {"BN": 128},  # with 256 columns, bias and accumulators are a register too many
    "conv3d": {"ROWS": 1},  # planes of the window take registers for addresses
    "matmul_triangle": {"TRIANGLE": "upper", **TRIANGLE_TILE},  # without a triangle it is matmul_chain
    "attention_lengths": {"BC": 32},  # rows of values are apart by a size of the launch, which takes registers
}
TOLERANCE = {"f32": 2.0**-16, "f16": 2.0**-9, "bf16": 2.0**-6, "fp8": 2.0**-2, "bf8": 2.0**-1}


def contents(t: Tensor, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Outputs empty; integers small enough to be any index; floats around one."""
    if not t.read:
        return np.zeros(shape, NUMPY[t.dtype.name])
    if t.dtype.kind != "float":
        return rng.integers(0, 2, shape).astype(NUMPY[t.dtype.name])
    return rng.uniform(-1, 1, shape).astype(np.float32).astype(NUMPY[t.dtype.name])


def elements(t: Tensor, sizes: dict[str, int]) -> int:
    """How many the tensor's memory holds, from its first to its last."""
    return int(
        np.max([1 + sum((n - 1) * s for n, s in zip(interp.extents(t, sizes), steps(t, sizes), strict=True)), 0])
    )


def steps(t: Tensor, sizes: dict[str, int]) -> list[int]:
    return [int(E.evaluate(s, sizes)) for s in t.strides]


def strided(t: Tensor, flat: np.ndarray, sizes: dict[str, int]) -> np.ndarray:
    bytes_ = [s * flat.itemsize for s in steps(t, sizes)]
    return np.lib.stride_tricks.as_strided(flat, interp.extents(t, sizes), bytes_)


def first_workgroup(kernel: Kernel) -> None:
    rng = np.random.default_rng(0)
    sizes = {s.name: kernel.example[s.name] for s in kernel.shapes}
    flat = {t.name: contents(t, (elements(t, sizes),), rng) for t in kernel.tensors}
    arrays = {t.name: strided(t, flat[t.name], sizes) for t in kernel.tensors}
    scalars = {s.name: 0.125 if s.dtype.kind == "float" else 1 for s in kernel.scalars}
    named = any(isinstance(op, Instruction) for op in walk(kernel.body))
    before = {n: a.copy() for n, a in arrays.items()}
    meant = None if named else interp.run(kernel, before, sizes, scalars=scalars, blocks=[(0, 0, 0)])
    compiled = compile_kernel(scheduled(kernel))
    values = [NUMPY[s.dtype.name].type(scalars[s.name]) for s in kernel.scalars]
    result = machine.load(compiled.object).kernel(kernel.name)(
        (1, 1, 1), (kernel.threads, 1, 1), *flat.values(), *values, *sizes.values(),
        options=machine.Options(checks=EXACT, max_steps=2_000_000),
    )  # fmt: skip
    assert not result.reports, result.reports[0]
    for t in kernel.tensors:
        if t.written and meant is None:
            assert np.isfinite(arrays[t.name].astype(np.float64)).all()
            assert (arrays[t.name] != before[t.name]).any()
        elif t.written and meant is not None:
            got, want = (x.astype(np.float64) for x in (arrays[t.name], meant.arrays[t.name]))
            limit = TOLERANCE.get(t.dtype.name, 0.0)
            scale = float(np.abs(want[np.isfinite(want)]).max(initial=0.0))
            np.testing.assert_allclose(got, want, rtol=limit, atol=limit * scale, err_msg=t.name)


def kernels(path: Path) -> list[str]:
    """Names of the kernels of a file."""
    tree = ast.parse(path.read_text())
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    return [f.name for f in functions if any(ast.unparse(d).startswith("ag.kernel") for d in f.decorator_list)]


PROGRAMS = [
    pytest.param(path, name, id=f"{path.parent.name}-{path.stem}-{name}") for path in FILES for name in kernels(path)
]


@pytest.mark.parametrize(("path", "name"), PROGRAMS)
def test_program(path: Path, name: str) -> None:
    first_workgroup(read(path, settings=FITTING.get(name), kernel=name))
