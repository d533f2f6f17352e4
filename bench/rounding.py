"""Is the static error bound ever exceeded, and how far above the observed error is it?

    python -m bench.rounding                        the library on the simulated machine, and 200 generated kernels
    python -m bench.rounding --generated 0          the library only
    python -m bench.rounding --only gemm            kernels of the library whose name has this
    python -m bench.rounding --seed 3 --generated 50

Of every kernel: sizes as proofs are executed at, each with several kinds of inputs; the error of every element against
the specification in float64; `bound / error`, the least over all elements and inputs (an element without error does not
count). Library kernels run as code objects on the simulated machine, whose exp2, log2 and rcp are not rounded
correctly; generated ones (right ones of `bench.verdict_fuzz` that are proved) on the interpreter of the IR.

Exit code 1 if an element is off by more than its bound.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from random import Random
from statistics import median
from time import process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from argus.check.engine import check
from argus.check.executed.inputs import arrays, scalars
from argus.check.executed.launches import launches
from argus.check.executed.outcome import Kind, SmallLaunch
from argus.check.rounding import ErrorBound, rounding
from argus.compile.cache import compile_cached
from argus.device.simulated import JitDevice
from argus.ir import interp
from argus.ir.passes.insert_waits import insert_waits
from argus.ir.stages import Scheduled
from argus.layout.expr import ExprError
from argus.pipeline import program_of
from argus.spec import SpecError, evaluate
from argus.tasks.inputs import in_memory
from bench.verdict_fuzz.judge import limited, program_of_text
from bench.verdict_fuzz.sources import FAMILIES, GIVEN, WEIGHTS

KINDS: tuple[Kind, ...] = ("normal", "positive", "negative", "wide", "special")
Settings = Mapping[str, Any]
LIBRARY: tuple[tuple[str, str, Settings], ...] = (
    ("vadd", "vadd", {}),
    *(("elementwise", "binary", {"DTYPE": t, "OP": op}) for t in ("f32", "bf16", "f16") for op in ("add", "mul")),
    *(("elementwise", "unary", {"DTYPE": t, "ACT": a}) for t in ("f32", "bf16") for a in ("relu", "silu", "gelu")),
    *(("elementwise", "combine", {"ACT": a, "BIAS": b}) for a, b in (("none", False), ("relu", True), ("silu", True))),
    *(("softmax", "softmax", {"DTYPE": t, "WAVES": w}) for t, w in (("f32", 1), ("bf16", 4), ("f16", 1))),
    *(("softmax", "softmax_long", {"DTYPE": t}) for t in ("f32", "bf16")),
    *(("rmsnorm", "rmsnorm", {"DTYPE": t, "WAVES": w}) for t, w in (("f32", 1), ("bf16", 4), ("f16", 1))),
    *(("rmsnorm", "rmsnorm_long", {"DTYPE": t}) for t in ("f32", "bf16")),
    *(("layernorm", "layernorm", {"DTYPE": t}) for t in ("f32", "bf16")),
    ("layernorm", "layernorm_long", {}),
    *(("rowreduce", "rowreduce", {"DTYPE": t, "OP": op}) for t in ("f32", "bf16") for op in ("sum", "mean", "max")),
    *(("rowreduce", "rowreduce_long", {"OP": op}) for op in ("sum", "mean", "max")),
    ("transpose", "transpose", {}),
    ("gemm", "gemm", {}),
    ("gemm_pipelined", "gemm", {}),
    ("gemm_opposite", "gemm", {}),
    *(("matmul", name, {"DTYPE": t}) for name in ("matmul", "linear", "split") for t in ("bf16", "f16")),
    *(("matmul_narrow", name, {}) for name in ("matmul_narrow", "linear_narrow")),
    *(("matmul_direct", name, {}) for name in ("matmul_direct", "split_direct")),
    ("matmul_tiles", "matmul_tiles", {}),
    ("fp8_gemm", "fp8_matmul", {}),
    ("fp8_gemm", "moe_gate_up", {}),
    ("fp8_gemm", "moe_down", {}),
    ("moe", "quantise", {}),
    ("moe", "combine", {}),
    ("attention", "attention", {}),
    ("attention", "attention", {"causal": True, "RAGGED": True}),
    ("attention", "attention", {"causal": True, "LAZY": 8}),
)
"""File, kernel and knobs."""


@dataclass
class Observed:
    """`least`: bound / error; `seconds`: CPU time of the analysis; `over`: elements whose error is above their bound,
    and the first of them."""

    name: str
    least: float = np.inf
    elements: int = 0
    seconds: float = 0.0
    bounded: bool = True
    over: int = 0
    first: str = ""
    reasons: list[str] = field(default_factory=list)


def library(only: str) -> Iterator[tuple[str, Scheduled]]:
    for file, kernel, settings in LIBRARY:
        name = f"{kernel} {' '.join(f'{k}={v}' for k, v in settings.items())}".strip()
        if only in name:
            yield name, program_of(f"argus/kernels/{file}.py", settings, kernel)


def generated(count: int, seed: int) -> Iterator[tuple[str, Scheduled]]:
    """Generated kernels with a float output that are proved."""
    n = found = 0
    families = [name for name in sorted(FAMILIES) if name not in GIVEN]
    weights = [WEIGHTS["families"][name] for name in families]
    while found < count:
        dice = Random(f"{seed}:{n}")
        n += 1
        made = FAMILIES[dice.choices(families, weights)[0]](dice)
        try:
            with limited(60.0):
                program = program_of_text(made, made.source)
                outputs = [t for t in program.kernel.tensors if t.written and t.dtype.kind == "float"]
                if not outputs or program.kernel.computes is None or not check(program).proved:
                    continue
        except Exception as error:
            print(f"generated {n - 1}: not checked: {error}", file=sys.stderr)
            continue
        found += 1
        yield f"{made.family} {n - 1}", program


def observe(name: str, program: Scheduled, on_machine: bool) -> Observed:
    """Run the launches of one kernel and compare errors with bounds."""
    kernel, seen = program.kernel, Observed(name)
    start = process_time()
    found = rounding(kernel)
    seen.seconds = process_time() - start
    bounds = [b for b in found.bounds if isinstance(b, ErrorBound) and b.dtype != "f64"]
    seen.reasons = [b.text() for b in found.bounds if not isinstance(b, ErrorBound)]
    seen.bounded = bool(bounds)
    if not bounds:
        return seen
    waited = insert_waits(kernel)
    code = compile_cached(program).object if on_machine else b""
    tried = {tuple(sorted(one.sizes.items())): one for one in launches(kernel)}
    if on_machine and kernel.example:
        tried.setdefault(tuple(sorted(kernel.example.items())), SmallLaunch(kernel.example, "normal", 99))
    for launch in tried.values():
        for kind in KINDS:
            given = arrays(kernel, launch.sizes, kind, launch.seed)
            numbers = scalars(kernel, kind, launch.seed)
            if on_machine:
                memory = in_memory(kernel, launch.sizes, given)
                JitDevice().launch(kernel, code, launch.sizes, memory, numbers)
                results = {t.name: np.asarray(memory[t.name]) for t in kernel.tensors if t.written}
            else:
                try:
                    outcome = interp.run(waited, given, launch.sizes, scalars=numbers)
                except (interp.InterpError, ExprError):
                    continue
                if outcome.hazards:
                    continue
                results = dict(outcome.arrays)
            for bound in bounds:
                compare(
                    seen, bound, given, {**launch.sizes, **numbers}, results[bound.result], f"{launch.sizes} {kind}"
                )
    return seen


def compare(
    seen: Observed,
    bound: ErrorBound,
    given: Mapping[str, NDArray[Any]],
    symbols: Mapping[str, float],
    got: NDArray[Any],
    where: str,
) -> None:
    try:
        with np.errstate(all="ignore"):
            want = evaluate(bound.spec, {bound.result: got, **given}, symbols).value
    except SpecError:
        return
    if want.shape != got.shape:
        return
    allowed = bound.at(bound.spec, {bound.result: got, **given}, symbols, want)
    values = got.astype(np.float64)
    counted = np.isfinite(want) & np.isfinite(values) & np.isfinite(allowed)
    error = np.abs(np.where(counted, values, 0.0) - np.where(counted, want, 0.0))
    exact = np.where(counted, 2.0**-50 * np.abs(want), 0.0)
    seen.elements += int(counted.sum())
    wrong = counted & (error > allowed + exact)
    if wrong.any():
        at = tuple(int(i) for i in np.argwhere(wrong)[0])
        seen.first = seen.first or f"{where}: {bound.result}{list(at)} off by {error[at]:.3g}, bound {allowed[at]:.3g}"
        seen.over += int(wrong.sum())
    some = counted & (error > 2 * exact)
    if some.any():
        with np.errstate(over="ignore"):
            seen.least = min(seen.least, float((allowed[some] / error[some]).min()))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--generated", type=int, default=200, help="how many generated kernels")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="kernels of the library whose name has this")
    parser.add_argument(
        "--interpreter", action="store_true", help="library kernels on the IR interpreter, not on the machine"
    )
    args = parser.parse_args()
    failed = False
    for title, programs, machine in (
        ("library", library(args.only), not args.interpreter),
        ("generated", generated(args.generated, args.seed), False),
    ):
        rows: list[Observed] = []
        for name, program in programs:
            row = observe(name, program, machine)
            rows.append(row)
            if title == "library" or row.over:
                print(_line(row), flush=True)
        failed |= any(row.over for row in rows)
        _summary(title, rows)
    return int(failed)


def _line(row: Observed) -> str:
    if not row.bounded:
        return f"{row.name:48s} no bound: {'; '.join(row.reasons)}"
    ratio = f"{row.least:10.3g}" if np.isfinite(row.least) else "     exact"
    return f"{row.name:48s} {ratio} {row.elements:9d} elements {row.seconds:6.3f} s" + (
        f"  ABOVE: {row.over}, {row.first}" if row.over else ""
    )


def _summary(title: str, rows: list[Observed]) -> None:
    ratios = [row.least for row in rows if np.isfinite(row.least)]
    none = [row for row in rows if not row.bounded]
    print(
        f"{title}: {len(rows)} kernels, {len(none)} without a bound, {sum(row.over for row in rows)} of "
        f"{sum(row.elements for row in rows)} elements above their bound; least bound / error: median "
        f"{median(ratios) if ratios else float('nan'):.3g}, {len(rows) - len(none) - len(ratios)} without error"
    )
    reasons: dict[str, int] = {}
    for row in none:
        for reason in row.reasons:
            key = reason.partition(": ")[2].partition(" (line")[0]
            reasons[key] = reasons.get(key, 0) + 1
    for reason, count in sorted(reasons.items(), key=lambda r: -r[1]):
        print(f"  {count:4d}  {reason}")


if __name__ == "__main__":
    sys.exit(main())
