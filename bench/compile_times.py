"""CPU seconds from a kernel file to its audited object, LLVM's process included, and again from the cache.

    python -m bench.compile_times

Goals: GEMM 2 s, attention 3 s, kept ones 50 ms. Each kernel is read and compiled in a process of its own, into an empty
cache. `kept` is a second look-up of the kernel that has been read, in the same process.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from time import process_time

from argus.ir.passes.schedule import scheduled

KERNELS = Path(__file__).parents[1] / "argus/kernels"
CASES: tuple[tuple[str, str, dict[str, int | bool], float], ...] = (
    ("gemm.py", "gemm", {}, 2.0),
    ("gemm_pipelined.py", "gemm", {}, 2.0),
    ("gemm_opposite.py", "gemm", {}, 2.0),
    ("matmul.py", "matmul", {}, 2.0),
    ("attention.py", "attention", {"causal": False}, 3.0),
    ("attention.py", "attention", {"causal": True}, 3.0),
    ("attention.py", "attention", {"causal": True, "WAVES": 4, "BC": 32}, 3.0),
    ("attention.py", "attention_lengths", {"causal": True, "BC": 32}, 3.0),
)


def measure(file: str, kernel: str, knobs: dict[str, int | bool]) -> None:
    """What the process of one kernel does: prints its two times; LLVM's process is added by who started this one."""
    from argus.compile.cache import compile_cached
    from argus.lang import read

    start = process_time()
    made = read(str(KERNELS / file), settings=dict(knobs), kernel=kernel)
    compile_cached(scheduled(made))
    middle = process_time()
    compile_cached(scheduled(made))
    print(json.dumps([middle - start, process_time() - middle, start]))


def children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    print("| kernel | CPU s | goal | kept, CPU ms |\n|---|---|---|---|")
    for file, kernel, knobs, goal in CASES:
        with tempfile.TemporaryDirectory() as empty:
            words = json.dumps([file, kernel, knobs])
            command = [sys.executable, "-m", "bench.compile_times", words]
            env = {**os.environ, "ARGUS_CACHE": empty}
            before = children()
            done = subprocess.run(command, capture_output=True, text=True, check=True, env=env)
        own, kept, imports = json.loads(done.stdout.splitlines()[-1])
        first = children() - before - imports - kept
        named = " ".join(f"{name}={value}" for name, value in knobs.items())
        print(
            f"| {file} {kernel} {named} | {first:.1f} ({own:.1f} without LLVM) | {goal:.0f} | {1000 * kept:.0f} |",
            flush=True,
        )


if __name__ == "__main__":
    if len(sys.argv) > 1:
        measure(*json.loads(sys.argv[1]))
    else:
        main()
