"""What the transformations reach: naive kernels lowered by a fixed chain, beside the library's on the same clock.

    python -m bench.agent_chains [--tasks gemm,attention,fp8,moe,convolution,linear,…] [--judge] [--library]

Every step is one that the knowledge base proposes; nothing is searched. Without `--judge` a kernel is proved and timed,
with it all stages of the judge are passed. `--library` times the library's kernel for the same computation too. All
times are simulated; those that no judge took have their interval.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, field
from pathlib import Path

from argus.agent.judge import Problem
from argus.agent.judge.court import Court
from argus.agent.lower import lower
from argus.check import check
from argus.clock.sampled import matrix_element, prepared, sample, time_prepared
from argus.clock.uncertainty import interval_of
from argus.compile.cache import compile_cached
from argus.ir.kernel import Kernel
from argus.ir.passes.schedule import scheduled
from argus.lang import read
from argus.tasks.routing import RoutingTensors
from argus.tasks.task import load_task
from argus.tasks.work import work_of

ROOT = Path(__file__).parents[1]
Step = tuple[str, dict[str, object]]


def blocks(rows: int, columns: int, waves_row: int = 2, slices: int = 8) -> Step:
    sizes = {"tiles_row": rows, "tiles_col": columns, "waves_row": waves_row, "waves_col": 2, "tiles_k": slices}
    return "register-blocking", dict(sizes)


def product(layout: str, *after: Step) -> tuple[Step, ...]:
    """The steps of a matrix product after its blocks."""
    return (
        ("wide-fragments", {}),
        ("vector-stores", {}),
        ("lds-staging", {"barriers": "both"}),
        ("lds-swizzle", {"kind": layout, "amount": 3}),
        ("fragment-prefetch", {"depth": "fragments"}),
        ("instruction-scheduling", {"mfma": 2}),
        ("chiplet-tiles", {"rows": 2}),
        *after,
    )


def attention(waves: int, *after: Step) -> tuple[Step, ...]:
    """The steps of attention, `waves` of 32 rows per workgroup."""
    return (
        ("query-waves", {"waves": waves}),
        ("key-tiles", {"tiles": 2}),
        ("causal-skip", {}),
        ("causal-order", {}),
        ("lds-staging", {"barriers": "both"}),
        ("wide-fragments", {}),
        ("lds-swizzle", {"kind": "xor", "amount": 3}),
        ("reciprocal", {}),
        ("diagonal-mask", {}),
        ("fused-scale", {}),
        ("finite-rounding", {}),
        ("wide-values", {}),
        ("single-fragments", {}),
        ("score-pipeline", {"ahead": 2}),
        ("softmax-schedule", {"valu": 6}),
        *after,
    )


@dataclass(frozen=True, slots=True)
class Case:
    """A task, its chain, and the library's kernel: file, name, knobs, sizes other than the task's."""

    task: str
    chain: tuple[Step, ...]
    library: tuple[str, str, dict[str, int | str | bool]]
    sizes: dict[str, int] = field(default_factory=dict)


EPILOGUE: Step = ("epilogue-pieces", {})
OWN = str(ROOT / "examples/agent/tasks")
CASES = {
    "gemm": Case("gemm", (blocks(4, 4), *product("xor")), ("matmul.py", "matmul", {"XM": 2})),
    "attention": Case(
        "attention",
        attention(8),
        ("attention.py", "attention", {"causal": True}),
    ),
    "attention64": Case(
        f"{OWN}/attention64.py",
        attention(4, ("lazy-rescale", {"powers": 8})),
        ("attention.py", "attention", {"causal": True, "D": 64, "WAVES": 4, "LAZY": 8}),
        {"Z": 16, "G": 8, "Sq": 4096, "Sk": 4096},
    ),
    "fp8": Case(
        "fp8",
        (blocks(2, 2, waves_row=4), *product("xor", EPILOGUE)),
        ("fp8_gemm.py", "fp8_matmul", {}),
        {"Kb": 56, "Nb": 32, "Nt": 128, "Kc": 448},
    ),
    "moe": Case(
        "moe",
        (
            ("expert-blocks", {"tiles": 4, "waves": 4}),
            ("gathered-rows", {"swizzle": True}),
            ("chiplet-rows", {"group": 8}),
            ("wide-scales", {"turns": 4}),
            ("expert-ring", {}),
        ),
        ("fp8_gemm.py", "moe_gate_up", {"BM": 128, "GROUP": 8}),
    ),
    "convolution": Case(
        "convolution",
        (
            ("pixel-blocks", {"rows": 4, "cols": 64, "waves": 4}),
            ("channel-blocks", {"slices": 2}),
            ("vector-stores", {}),
            ("halo-staging", {"swizzle": True}),
            ("halo-prefetch", {}),
            ("tap-pipeline", {"weights": 2}),
        ),
        ("conv2d.py", "conv2d", {}),
        {"G": 1},
    ),
    "linear": Case(
        f"{OWN}/linear.py",
        (blocks(4, 4), *product("cross", EPILOGUE)),
        ("matmul.py", "linear", {"B_T": True, "ACT": "relu", "XM": 2}),
    ),
    "transposed": Case(
        f"{OWN}/transposed.py",
        (blocks(4, 4), *product("cross", EPILOGUE)),
        ("matmul.py", "matmul", {"A_T": True, "B_T": True, "XM": 2}),
    ),
    "residual": Case(
        f"{OWN}/residual.py",
        (blocks(8, 8, slices=4), ("matrix-shape", {"shape": "32x32x8"}), *product("cross", EPILOGUE)),
        ("matmul.py", "matmul", {"DTYPE": "f16", "XM": 2}),
    ),
}


def timed(kernel: Kernel, sizes: dict[str, int], routing: RoutingTensors | None = None) -> tuple[float, str]:
    """Microseconds at the sustained clock, and the same with their interval."""
    work = work_of(kernel, compile_cached(scheduled(kernel)).object, sizes, 0, routing)
    seen = sample(work, 0)
    launch = time_prepared(work, prepared(seen, 0), matrix_element(seen))[1]
    took, limits = launch.sustained.microseconds, interval_of(launch)
    return took, f"{took:.1f} us ({limits.low:.1f} to {limits.high:.1f})"


def row(name: str, judged: bool, library: bool) -> str:
    case = CASES[name]
    task = load_task(case.task)
    text = task.source
    for step, params in case.chain:
        text = lower(text, step, params)
    sizes = dict(task.shapes[0])
    if judged:
        found = Court(Problem.of(task)).judge(text, 0)
        status = f"judged: {found.verdict}" + "".join(f", {v.rule} {v.message}" for v in found.violations[:1])
        took = min(found.times.values(), default=float("nan"))
        words = f"{took:.1f} us"
    else:
        status = check(scheduled(read(text))).status
        took, words = timed(read(text), sizes, task.routing)
    line = f"{name}: {words}, {status}"
    if library:
        file, kernel, knobs = case.library
        theirs = read(str(ROOT / "argus/kernels" / file), knobs, kernel=kernel)
        wanted = {s.name: {**sizes, **case.sizes}[s.name] for s in theirs.shapes}
        best, words = timed(theirs, wanted, task.routing)
        line += f"; library {kernel} {knobs} {words}: {100 * best / took:.0f} %"
    return line


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", default=",".join(CASES))
    parser.add_argument("--judge", action="store_true")
    parser.add_argument("--library", action="store_true")
    args = parser.parse_args()
    for name in args.tasks.split(","):
        print(row(name, args.judge, args.library), flush=True)


if __name__ == "__main__":
    main()
