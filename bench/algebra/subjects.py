"""Right kernels in exact algebra: the library at its example sizes, and objects of Triton's compiler."""

from __future__ import annotations

import ast
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

import argus.kernels
from argus import machine
from argus.compile import compile_kernel
from argus.ir.passes.schedule import scheduled
from argus.lang import read
from argus.ops.attention import numbers_of
from argus.spec import SpecError, of_arrays, read_specification
from argus.tasks.algebra import AlgebraComparison, compare_kernel, compare_specified
from argus.tasks.inputs import make_arrays, make_scalars

ROOT = Path(__file__).resolve().parents[2]
BF16 = ml_dtypes.bfloat16
FP8, BF8 = ml_dtypes.float8_e4m3fnuz, ml_dtypes.float8_e5m2fnuz
NAMES = {np.float32: "fp32", np.float16: "fp16", BF16: "bf16", FP8: "fp8e4b8", BF8: "fp8e5b16"}

PRODUCT = "C[m, n] = sum(A[m, k] * B[n, k], k)"
SOFTMAX = "y[m, n] = exp(x[m, n]) / sum(exp(x[m, j]), j)"
_MEAN = "sum(x[m, j], j) / N"
LAYERNORM = (
    f"y[m, n] = (x[m, n] - {_MEAN}) * rsqrt(sum((x[m, k] - {_MEAN}) * (x[m, k] - {_MEAN}), k) / N + eps) * w[n] + b[n]"
)
_SCORE = "exp2(sm * sum(q[h, m, e] * k[h, n, e], e))"
ATTENTION = f"o[h, m, d] = sum({_SCORE} * v[h, n, d], n) / sum({_SCORE}, n)"


VARIANTS: dict[str, tuple[dict[str, Any], ...]] = {
    "attention": ({}, {"causal": True}),
    "attention_lengths": ({"BC": 32},),
    "conv3d": ({"COLS": 32},),
    "binary": ({}, {"OP": "mul", "DTYPE": "f16"}),
    "unary": ({}, {"ACT": "relu"}, {"ACT": "gelu"}, {"DTYPE": "f32"}),
    "rowreduce": ({}, {"OP": "mean"}, {"OP": "max"}),
    "rowreduce_long": ({}, {"OP": "max"}),
}
"""Knobs beside the default ones, by kernel; those of `attention_lengths` fit its example, and `conv3d` does not fit
into registers with a window of three planes and the default tile."""


def _shown(name: str, found: list[AlgebraComparison], seconds: float, tally: Counter[str]) -> None:
    for comparison in found:
        tally[comparison.verdict] += 1
        print(f"{name}: {comparison} ({seconds:.1f} s CPU)", flush=True)


def _finished(what: str, tally: Counter[str]) -> int:
    print(f"{what}: {dict(tally)}")
    return 1 if tally["different"] else 0


def run_library() -> int:
    """Every kernel of the library with a specification, at the sizes of its example."""
    tally: Counter[str] = Counter()
    for path in sorted(Path(argus.kernels.__file__).parent.glob("*.py")):
        tree = ast.parse(path.read_text())
        functions = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.decorator_list]
        for name in [f.name for f in functions if any("kernel" in ast.dump(d) for d in f.decorator_list)]:
            for settings in VARIANTS.get(name, ({},)):
                _library_kernel(path, name, settings, tally)
    return _finished("results of library kernels", tally)


def _library_kernel(path: Path, name: str, settings: dict[str, Any], tally: Counter[str]) -> None:
    kernel = read(path, settings=settings, kernel=name)
    code = compile_kernel(scheduled(kernel)).object
    sizes, started = kernel.example, time.process_time()
    arrays, scalars = make_arrays(kernel, sizes, 0), make_scalars(kernel, 0)
    if name == "attention_lengths":
        starts = np.array([0, 150, 300], np.int32), np.array([0, 120, 300], np.int32)
        arrays.update(numbers_of(*starts, causal=False))
    label = f"{path.name}:{name}" + "".join(f" {knob}={value}" for knob, value in settings.items())
    try:
        found = compare_kernel(kernel, code, sizes, arrays, scalars)
    except SpecError as error:  # a constant that no field has, such as the infinity that an empty maximum begins with
        tally["not followed"] += len(kernel.computes.results) if kernel.computes is not None else 1
        print(f"{label}: not followed: {error}", flush=True)
        return
    _shown(label, found, time.process_time() - started, tally)


@dataclass(frozen=True)
class TritonCase:
    """An object, its arguments by name in order, and what it computes."""

    name: str
    compiled: Callable[[], Any]
    grid: tuple[int, ...]
    arguments: dict[str, Any]
    computes: str

    def compare(self) -> list[AlgebraComparison]:
        made = self.compiled()
        arrays = {n: a for n, a in self.arguments.items() if isinstance(a, np.ndarray)}
        symbols = {n: a for n, a in self.arguments.items() if not isinstance(a, np.ndarray)}
        spec = read_specification(self.computes, of_arrays(arrays, symbols))

        def launch(passed: Sequence[Any], options: machine.Options) -> object:
            kernel = machine.load(made.hsaco).kernel(made.name)
            given = iter(passed)
            values = [next(given) if isinstance(a, np.ndarray) else a for a in self.arguments.values()]
            visible = sum(1 for a in kernel.info.args if not a.hidden)
            values += [None] * (visible - len(values))
            return kernel(self.grid, 64 * made.warps, *values, lds=made.lds, options=options)

        return compare_specified(launch, spec, arrays, symbols)


def triton_cases() -> list[TritonCase]:
    """10 softmaxes, 6 norms, 6 attentions and 20 matrix products: 42."""
    sys.path.insert(0, str(ROOT / "tests" / "machine"))
    import triton_kernels as kernels

    rng = np.random.default_rng(0)
    cases: list[TritonCase] = []
    for n, warps in product((64, 200, 500, 777, 1000), (1, 4)):
        x = rng.standard_normal((2, n), np.float32) * 3
        block = 1 << (n - 1).bit_length()
        arguments = {"x": x, "y": np.zeros_like(x), "N": n}
        cases.append(
            TritonCase(
                f"softmax {n} {warps} warps",
                lambda block=block, warps=warps: kernels.compiled_softmax(block, warps),  # type: ignore[misc]
                (2,),
                arguments,
                SOFTMAX,
            )
        )
    for dtype, n in product((np.float32, np.float16, BF16), (300, 1000)):
        x, w, b = (rng.standard_normal(s).astype(dtype) for s in ((3, n), n, n))
        block = 1 << (n - 1).bit_length()
        arguments = {"x": x, "w": w, "b": b, "y": np.zeros_like(x), "N": n, "eps": float(np.float32(1e-5))}
        cases.append(
            TritonCase(
                f"layernorm {n} {NAMES[dtype]}",
                lambda block=block, dtype=dtype: kernels.compiled_layernorm(block, NAMES[dtype]),  # type: ignore[misc]
                (3,),
                arguments,
                LAYERNORM,
            )
        )
    for (bm, bn), d in product(((32, 32), (64, 32), (64, 64)), (32, 64)):
        n = 128
        q, k, v = (rng.standard_normal((1, n, d)).astype(BF16) for _ in range(3))
        sm = float(np.float32(1.4426950408889634 / np.sqrt(d)))
        arguments = {"q": q, "k": k, "v": v, "o": np.zeros_like(q), "N": n, "sm": sm}
        cases.append(
            TritonCase(
                f"attention {bm}x{bn} d {d}",
                lambda bm=bm, bn=bn, d=d: kernels.compiled_attention(bm, bn, d),  # type: ignore[misc]
                (n // bm, 1),
                arguments,
                ATTENTION,
            )
        )
    return cases + _products(kernels, rng)


def _products(kernels: Any, rng: np.random.Generator) -> list[TritonCase]:
    cases = []
    kinds = ((BF16, BF16), (np.float16, np.float32), (FP8, np.float32), (BF8, np.float32), (np.float32, np.float32))
    for (element, result), (tile, how) in product(
        kinds,
        (
            ((32, 32, 32), {}),
            ((64, 32, 32), {"kdim": 32}),
            ((32, 64, 64), {"warps": 2}),
            ((64, 64, 32), {"stages": 1}),
        ),
    ):
        bm, bn, bk = tile
        k = 2 * bk
        a, b = rng.standard_normal((bm, k)).astype(element), rng.standard_normal((2 * bn, k)).astype(element)
        c = np.zeros((bm, 2 * bn), result)
        sizes = {"M": bm, "N": 2 * bn, "K": k, "sam": k, "sbk": k, "scm": 2 * bn}
        cases.append(
            TritonCase(
                f"matmul {NAMES[element]} to {NAMES[result]} {bm}x{bn}x{bk} {how}",
                lambda tile=tile, e=NAMES[element], r=NAMES[result], how=how: kernels.compiled_matmul(  # type: ignore[misc]
                    *tile, dtype=e, out=r, **how
                ),
                (1, 2),
                {"A": a, "B": b, "C": c, **sizes},
                PRODUCT,
            )
        )
    return cases


def run_triton() -> int:
    """Objects of Triton's compiler against specifications of their arguments."""
    tally: Counter[str] = Counter()
    cases = triton_cases()
    for case in cases:
        started = time.process_time()
        _shown(case.name, case.compare(), time.process_time() - started, tally)
    print(f"{tally['equal']} of {len(cases)} objects equal")
    return _finished("results of Triton's kernels", tally)
