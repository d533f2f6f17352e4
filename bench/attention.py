"""Flash attention forward beside AITER's on the simulated MI300X: one row per length, all figures simulated.

    python -m bench.attention [--aiter DIR] [--lengths 1024,2048] [--full] [--clocks 20]

Batch 16, 8 query heads, 1 KV head, head dimension 128, bf16. Each kernel is executed (a sample of its workgroups) and
timed by `argus.clock`; ours with probabilities rounded to nearest even and truncated, AITER's `rtne` and `rtz` objects
beside them. TFLOPS count the products a mask leaves. `wins` is the share of perturbed clocks in which ours is faster
than AITER's kernel with the same rounding.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import ml_dtypes
import numpy as np

from argus import machine
from argus.clock.parameters import Parameters
from argus.clock.sampled import Work, sample, time_observed
from argus.clock.sensitivity import compare
from argus.compile.cache import compile_cached
from argus.device.guards import launch_grid
from argus.lang import read
from bench.foreign import fmha

BATCH, HEADS, KV_HEADS, D = 16, 8, 1, 128
ROUNDINGS = {"rne": "rtne", "rtz": "rtz"}
KERNEL = Path(__file__).parents[1] / "argus/kernels/attention.py"


def ours(length: int, causal: bool, rounding: str) -> Work:
    kernel = read(str(KERNEL), {"causal": causal, "ROUND": rounding}, None, None)
    sizes = {"Z": BATCH * KV_HEADS, "G": HEADS // KV_HEADS, "Sq": length, "Sk": length}
    rng = np.random.default_rng(length)
    rows = BATCH * KV_HEADS
    q = rng.standard_normal((rows, HEADS // KV_HEADS, length, D), np.float32).astype(ml_dtypes.bfloat16)
    k, v = (rng.standard_normal((rows, length, D), np.float32).astype(ml_dtypes.bfloat16) for _ in range(2))
    lse = np.zeros(q.shape[:-1], np.float32)
    args = [q, k, v, np.zeros_like(q), lse, np.float32(D**-0.5), *(np.int32(sizes[s.name]) for s in kernel.shapes)]
    code = machine.load(compile_cached(kernel).object).kernel(kernel.name)
    return Work("argus", code, launch_grid(kernel, sizes), (kernel.threads,), args)


def theirs(root: Path, length: int, causal: bool, rounding: str) -> tuple[Work, float]:
    case = fmha.case(
        "causal" if causal else "plain", length, length, HEADS, k_heads=KV_HEADS, batch=BATCH, rounding=rounding
    )
    code = machine.load(root / case.path).kernel()
    return Work("aiter", code, case.grid, (case.block,), case.args, offsets=case.offsets), case.flops


def row(root: Path | None, length: int, causal: bool, rounding: str, clocks: int) -> str:
    works = {"argus": ours(length, causal, rounding)}
    pairs = length * (length + 1) // 2 if causal else length * length
    flops = 4.0 * BATCH * HEADS * pairs * D
    if root is not None:
        works["aiter"], _ = theirs(root, length, causal, ROUNDINGS[rounding])
    seen = {name: sample(work) for name, work in works.items()}
    times = {name: time_observed(work, seen[name])[1] for name, work in works.items()}
    cells = [str(length), "causal" if causal else "full", rounding]
    for name in ("argus", "aiter"):
        if name not in times:
            cells += ["-"] * 3
            continue
        held = times[name].sustained
        cells += [f"{held.microseconds:.0f}", f"{flops / held.microseconds / 1e6:.0f}", f"{held.clock_mhz:.0f}"]
    if len(works) == 1:
        return "| " + " | ".join([*cells, "-", "-"]) + " |"
    ratio = times["aiter"].sustained.microseconds / times["argus"].sustained.microseconds
    won = "-"
    if clocks:

        def timer(name: str, parameters: Parameters) -> float:
            return time_observed(works[name], seen[name], parameters=parameters)[1].sustained.microseconds

        found = compare({n: lambda p, n=n: timer(n, p) for n in works}, seed=0, count=clocks)  # type: ignore[misc]
        won = f"{100 * found.wins['argus']:.0f} %"
    return "| " + " | ".join([*cells, f"{ratio:.2f}", won]) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.attention", description=__doc__)
    parser.add_argument("--aiter", type=Path, help="checkout of ROCm/aiter, or its hsa/gfx942 folder")
    parser.add_argument("--lengths", default="1024,2048,4096,8192,16384")
    parser.add_argument("--full", action="store_true", help="without the causal mask")
    parser.add_argument("--rounding", default="rne,rtz")
    parser.add_argument("--clocks", type=int, default=20, help="perturbed clocks")
    options = parser.parse_args()
    root = options.aiter
    if root is not None and (root / "hsa/gfx942").is_dir():
        root = root / "hsa/gfx942"
    print("simulated MI300X; batch 16, 8 heads, 1 KV head, d 128, bf16; us, TFLOPS and MHz at the sustained clock")
    print("| S | mask | P to bf16 | argus us | TFLOPS | MHz | AITER us | TFLOPS | MHz | ratio | wins |")
    print("|" + "---|" * 11)
    for length in map(int, options.lengths.split(",")):
        for rounding in options.rounding.split(","):
            print(row(root, length, not options.full, rounding, options.clocks), flush=True)


if __name__ == "__main__":
    main()
