"""How fast the JIT executes machine code, as ratios to NumPy and to the interpreter in the same run.

    python bench/machine_speed.py            all rows; about a minute
    python bench/machine_speed.py gemm fa    some rows

| row      | ratio                                                             | goal   |
|----------|-------------------------------------------------------------------|--------|
| gemm     | FLOP rate of Triton's bf16 256x256x64 GEMM / NumPy's sgemm         | 0.45   |
| fa       | FLOP rate of Triton's flash attention, D = 128 / NumPy's sgemm     | 0.40   |
| memory   | bytes moved by a vector addition / by np.copyto, per second        | 0.30   |
| interp   | time of the interpreter / time of the JIT, same GEMM               | 300    |
| threads  | CPU time per workgroup with two threads / with one                 | <= 1.1 |
| record   | time with an execution record / without                            | <= 3   |
| first    | seconds of the first launch, empty cache                           | <= 3   |
| later    | milliseconds of a later launch of a one-workgroup kernel           | <= 50  |

Times are CPU times of this process, the least of several runs, NumPy and JIT alternating; a busy machine slows both.
The row `threads` is the median over pairs of neighbouring runs, and beside it stands the same ratio of NumPy's sgemm in
one thread and in two, which is what the host's shared caches and its other work cost.
Kernels are compiled by Triton (a test dependency), which needs no GPU for that.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("ARGUS_THREADS", "1")

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "machine"))

import jit_triton_kernels as kernels

from argus.machine import load
from argus.machine.jit.executor import execute, translate
from argus.machine.launch import LoadedKernel, Options

SIZE = 1024
ELEMENTS = 1 << 24


def least(run: Callable[[], object], repeats: int = 5) -> float:
    """CPU seconds of the fastest of several runs."""
    best = float("inf")
    for _ in range(repeats):
        start = time.process_time()
        run()
        best = min(best, time.process_time() - start)
    return best


def paired(run: Callable[[], object], other: Callable[[], object], rounds: int = 4) -> tuple[float, float]:
    """Least CPU seconds of two things measured in turn."""
    times = [(least(run, 2), least(other, 3)) for _ in range(rounds)]
    return min(t for t, _ in times), min(t for _, t in times)


def sgemm() -> tuple[Callable[[], object], float]:
    a = np.random.default_rng(0).standard_normal((SIZE, SIZE), dtype=np.float32)
    out = np.empty_like(a)
    return lambda: np.matmul(a, a, out=out), 2.0 * SIZE**3


def prepared_runner(
    kernel: LoadedKernel, launch: kernels.Launch, options: Options | None = None
) -> Callable[[], object]:
    """The launch without copying arguments: only what the executor does."""
    prepared = kernel.prepare(launch.grid, launch.block, launch.args, launch.lds, None, options or Options())
    return lambda: execute(prepared)


def row(name: str, value: float, goal: str, detail: str) -> None:
    print(f"{name:8s} {value:10.3f}   goal {goal:8s} {detail}", flush=True)


def rate_row(name: str, launch: kernels.Launch, goal: str) -> None:
    kernel = load(launch.code).kernel()
    run = prepared_runner(kernel, launch)
    run()
    reference, flops = sgemm()
    reference()
    mine, theirs = paired(run, reference)
    ratio = launch.flops / mine / (flops / theirs)
    row(name, ratio, goal, f"{launch.flops / mine / 1e9:.1f} GFLOP/s of {flops / theirs / 1e9:.1f} (sgemm)")


def memory_row() -> None:
    launch = kernels.vector_add(ELEMENTS)
    run = prepared_runner(load(launch.code).kernel(), launch)
    run()
    source = np.ones(ELEMENTS, np.float32)
    target = np.empty_like(source)
    mine, theirs = paired(run, lambda: np.copyto(target, source))
    moved, copied = 12 * ELEMENTS / mine, 8 * ELEMENTS / theirs
    row("memory", moved / copied, ">= 0.3", f"{moved / 1e9:.2f} GB/s of {copied / 1e9:.2f} (copy)")


def interpreter_row() -> None:
    small = kernels.gemm(256, 256, 512)
    kernel = load(small.code).kernel()
    jit = prepared_runner(kernel, small)
    jit()
    start = time.process_time()
    kernel(small.grid, small.block, *small.args, lds=small.lds, executor="checking")
    slow = time.process_time() - start
    fast = least(lambda: [jit() for _ in range(20)], 3) / 20
    row("checking", slow / fast, ">= 300", f"{slow:.2f} s of the interpreter, {fast * 1e3:.2f} ms of the JIT")


def growth(run: Callable[[int], object], pairs: int = 25) -> tuple[float, float, float]:
    """CPU time with two threads / with one: median and quartiles over neighbouring runs, either going first in turn."""
    ratios = []
    for number in range(pairs):
        seconds = {}
        for count in (1, 2) if number % 2 else (2, 1):
            start = time.process_time()
            run(count)
            seconds[count] = time.process_time() - start
        ratios.append(seconds[2] / seconds[1])
    low, median, high = statistics.quantiles(ratios, n=4)
    return median, low, high


def matrix_products() -> Callable[[int], None]:
    """Eight products by NumPy, all in this thread or half of them in each of two: what the host loses by sharing."""
    rng = np.random.default_rng(0)
    sources = [rng.standard_normal((768, 768), dtype=np.float32) for _ in range(2)]
    targets = [np.empty_like(source) for source in sources]

    def four(of: int) -> None:
        for _ in range(4):
            np.matmul(sources[of], sources[of], out=targets[of])

    def run(count: int) -> None:
        threads = [threading.Thread(target=four, args=(k,)) for k in range(1, count)]
        for thread in threads:
            thread.start()
        for of in range(3 - count):
            four(of)
        for thread in threads:
            thread.join()

    return run


def threads_row() -> None:
    launch = kernels.gemm(1024, 1024, 1024)
    execute_once = prepared_runner(load(launch.code).kernel(), launch)

    def run(count: int) -> None:
        os.environ["ARGUS_THREADS"] = str(count)
        execute_once()

    products = matrix_products()
    for warm in (run, products):
        warm(2)
    median, low, high = growth(run)
    os.environ["ARGUS_THREADS"] = "1"
    control, *quartiles = growth(products)
    detail = f"quartiles {low:.3f} and {high:.3f}; NumPy's sgemm alone {control:.3f} "
    row("threads", median, "<= 1.1", detail + f"({quartiles[0]:.3f} and {quartiles[1]:.3f})")


def record_row() -> None:
    launch = kernels.gemm(512, 512, 1024)
    kernel = load(launch.code).kernel()
    plain, traced = prepared_runner(kernel, launch), prepared_runner(kernel, launch, Options(record=True))
    plain(), traced()
    with_record, without = paired(traced, plain, 3)
    row("record", with_record / without, "<= 3", f"{with_record * 1e3:.1f} and {without * 1e3:.1f} ms")


def first_row(objects: Sequence[Path] = ()) -> None:
    """First launches: two kernels of Triton, and of each object given its first kernel."""
    found: list[tuple[str, bytes]] = [("gemm", kernels.gemm(256, 256, 64).code), ("fa", kernels.attention(128).code)]
    found += [(path.stem, path.read_bytes()) for path in objects]
    for name, code in found:
        folder = tempfile.mkdtemp()
        before = os.environ.get("ARGUS_CACHE")
        os.environ["ARGUS_CACHE"] = folder
        try:
            module = load(code)
            start, used = time.perf_counter(), sum(os.times()[:4])
            translated = translate(module.code, module.names[0])
            wall, used = time.perf_counter() - start, sum(os.times()[:4]) - used
        finally:
            shutil.rmtree(folder)
            os.environ.pop("ARGUS_CACHE") if before is None else os.environ.update(ARGUS_CACHE=before)
        row(
            "first",
            wall,
            "<= 3",
            f"{name}: {translated.facts['instructions']} static instructions; {used:.1f} s CPU time, two processes",
        )


def later_row() -> None:
    launch = kernels.vector_add(1024)
    kernel = load(launch.code).kernel()

    def again() -> None:
        kernel(launch.grid, launch.block, *launch.args, lds=launch.lds, executor="jit")

    again()
    row("later", least(again) * 1e3, "<= 50", "whole call, arguments copied, translation in memory")


ROWS: dict[str, Callable[[], Any]] = {
    "first": first_row,
    "gemm": lambda: rate_row("gemm", kernels.gemm(1024, 1024, 1024), ">= 0.45"),
    "fa": lambda: rate_row("fa", kernels.attention(1024), ">= 0.40"),
    "memory": memory_row,
    "checking": interpreter_row,
    "threads": threads_row,
    "record": record_row,
    "later": later_row,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("rows", nargs="*", choices=[*ROWS, []], help="which rows (default: all)")
    parser.add_argument("--object", action="append", default=[], type=Path, help="row first: also these code objects")
    args = parser.parse_args()
    for name in args.rows or list(ROWS):
        if name == "first":
            first_row(args.object)
        else:
            ROWS[name]()
    return 0


if __name__ == "__main__":
    sys.exit(main())
