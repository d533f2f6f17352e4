"""What opposite phases are worth on a matrix product of 8 waves, on the simulated MI300X.

    python -m bench.opposite [--size 4096]

`argus/kernels/gemm_opposite.py` three times: all waves in phase; halves one part apart; the same without priority for
matrix instructions. The library's own kernel, which interleaves instead, is in the last row. For attention see
`argus bench attention --ablate`.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import ml_dtypes
import numpy as np

from argus import machine
from argus.clock.sampled import Work, sample, time_observed
from argus.clock.staged import Operand
from argus.compile.cache import compile_cached
from argus.device.guards import launch_grid
from argus.ir.kernel import KnobValue
from argus.ir.passes.schedule import scheduled
from argus.lang import read
from argus.ops.choice import choose_matmul

FILE = Path(__file__).parents[1] / "argus/kernels/gemm_opposite.py"
BF16 = np.dtype(ml_dtypes.bfloat16)
FORMS: dict[str, dict[str, KnobValue]] = {
    "in phase": {"OPPOSITE": False},
    "opposite phases": {"OPPOSITE": True},
    "opposite phases, one priority": {"OPPOSITE": True, "PRIORITY": False},
}


def row(name: str, path: Path, kernel_name: str, knobs: dict[str, KnobValue], n: int) -> str:
    kernel = read(str(path), settings=knobs, kernel=kernel_name)
    sizes = {"M": n, "N": n, "K": n}
    code = machine.load(compile_cached(scheduled(kernel)).object).kernel(kernel.name)
    tensors = (Operand((n, n), BF16, 0), Operand((n, n), BF16, 1), Operand((n, n), BF16, blank=True))
    args = (*tensors, *(np.int32(sizes[s.name]) for s in kernel.shapes))
    work = Work(name, code, launch_grid(kernel, sizes), (kernel.threads,), args)
    timing, launch = time_observed(work, sample(work))
    held = launch.sustained
    matrix = 100 * timing.utilisation["matrix"]
    speed = 2.0 * n**3 / held.microseconds * 1e-6
    return f"| {name} | {held.microseconds:.0f} | {speed:.0f} | {held.clock_mhz:.0f} | {matrix:.0f} % |"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.opposite", description=__doc__)
    parser.add_argument("--size", type=int, default=4096)
    n = parser.parse_args().size
    print(f"simulated MI300X; M = N = K = {n}, bf16, 256 x 256 x 32, 8 waves; at the sustained clock")
    print("| form | us | TFLOPS | MHz | matrix units busy |\n|---|---|---|---|---|")
    for name, knobs in FORMS.items():
        print(row(name, FILE, "gemm", knobs, n), flush=True)
    choice = choose_matmul(n, n, n, "bf16")
    print(row(f"library: {choice.text()}", choice.path, choice.kernel, dict(choice.knobs), n), flush=True)


if __name__ == "__main__":
    main()
