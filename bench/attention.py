"""Flash attention forward beside Triton's and AITER's on the simulated MI300X: one table, all figures simulated.

    python -m bench.attention [--aiter DIR] [--triton none|best|all] [--lengths 1024,2048] [--clocks 20]
    python -m bench.attention --ablate --lengths 4096         one idea taken away (or added) at a time
    python -m bench.attention --sweep --lengths 1024          knobs of ours that are candidates for the dispatch table

Causal, batch 16, 8 query heads, 1 KV head, head dimension 128, bf16; times at the predicted sustained clock. A kernel
is executed (a sample of its workgroups) and timed by `argus.clock`. How long a workgroup of ours and of Triton's is
follows from its tile: instead of guessing from the sampled ones, all workgroups get their length (`lengths`), a line
through the sampled ones. TFLOPS count the products that the mask leaves. `wins` is the share of perturbed clocks in
which ours is faster than the fastest of the others.

Ours rounds probabilities to nearest even; AITER's object does the same (`rtne`; with `--rtz` both truncate), Triton's
kernel rounds to nearest. `--triton all` times every configuration (52), `best` four strong ones (`TRITON_BEST`).
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

from argus import machine
from argus.bench.triton_compile import TritonError
from argus.clock.launch import Launch
from argus.clock.parameters import PARAMETERS, Parameters
from argus.clock.sampled import Work, matrix_element, prepared, sample, time_prepared
from argus.clock.sensitivity import compare
from argus.clock.staged import Operand
from argus.compile.cache import compile_cached
from argus.compile.errors import CompileError
from argus.device.guards import launch_grid
from argus.lang import read
from argus.ops.attention import choose_attention
from bench.attention_triton import CONFIGS, Config, compiled
from bench.foreign import fmha

BATCH, HEADS, KV_HEADS, D = 16, 8, 1, 128
KERNEL = Path(__file__).parents[1] / "argus/kernels/attention.py"
BF16 = np.dtype(ml_dtypes.bfloat16)
Knobs = dict[str, Any]
ABLATIONS: Mapping[str, Knobs] = {
    "as it is": {},
    "swizzle off": {"SWIZZLE": False},
    "no prefetch": {"PREFETCH": False},
    "schedule off (matrix instructions, then arithmetic)": {"INTERLEAVE": False},
    "XCD map off (tiles of a head next to each other)": {"XCD": False},
    "lazy rescale on": {"LAZY": 8},
    "opposite phases on": {"OPPOSITE": True},
    "opposite phases on, schedule off": {"OPPOSITE": True, "INTERLEAVE": False},
    "mirrored tiles on": {"MIRROR": True},
    "probabilities truncated": {"ROUND": "rtz"},
}
SWEEP: tuple[Knobs, ...] = (
    {},
    {"LAZY": 8},
    {"OPPOSITE": True},
    {"MIRROR": True},
    {"AHEAD": 4},
    {"BC": 32},
    {"WAVES": 4, "BC": 32},
)
TRITON_BEST = (
    Config(128, 32, 4, 2, 32),
    Config(128, 32, 4, 2, 32, 2),
    Config(128, 64, 4, 2, 32),
    Config(256, 32, 8, 2, 32),
)


@dataclass(frozen=True)
class Timed:
    """A launch whose sample has been executed, to be timed under any clock."""

    name: str
    again: Callable[[Parameters], Launch]

    def microseconds(self, parameters: Parameters = PARAMETERS) -> float:
        return self.again(parameters).sustained.microseconds


def timed(name: str, work: Work, steps: Callable[[int], float] | None) -> Timed:
    """`steps` of each workgroup, None where all do the same."""
    seen = sample(work)
    recorded, element = prepared(seen), matrix_element(seen)
    if steps is not None and recorded.work is not None:
        recorded.work = lengths(recorded.work, steps, work.workgroups)
    return Timed(name, lambda parameters: time_prepared(work, recorded, element, parameters=parameters)[1])


def lengths(sampled: Mapping[int, float], steps: Callable[[int], float], grid: int) -> dict[int, float]:
    """The work of every workgroup: a line in its number of steps through the sampled ones."""
    x = np.array([steps(n) for n in sampled])
    y = np.array(list(sampled.values()))
    slope, start = np.polyfit(x, y, 1) if np.ptp(x) else (0.0, float(y.mean()))
    return {n: float(start + slope * steps(n)) for n in range(grid)}


def tensors(length: int) -> list[Operand]:
    q = (BATCH * KV_HEADS, HEADS // KV_HEADS, length, D)
    k = (BATCH * KV_HEADS, length, D)
    blank = Operand(q, BF16, blank=True), Operand(q[:3], np.dtype(np.float32), blank=True)
    return [Operand(q, BF16, 0), Operand(k, BF16, 1), Operand(k, BF16, 2), *blank]


def ours(length: int, causal: bool, knobs: Knobs) -> Timed:
    kernel = read(str(KERNEL), settings={"causal": causal, **knobs}, kernel="attention")
    sizes = {"Z": BATCH * KV_HEADS, "G": HEADS // KV_HEADS, "Sq": length, "Sk": length}
    args = [*tensors(length), np.float32(D**-0.5), *(np.int32(sizes[s.name]) for s in kernel.shapes)]
    code = machine.load(compile_cached(kernel).object).kernel(kernel.name)
    work = Work("argus", code, launch_grid(kernel, sizes), (kernel.threads,), args)
    rows, keys = kernel.threads // 2, 2 * int(kernel.settings["BC"])
    tiles = length // rows

    def pairs(tile: int) -> int:
        return -(-rows * (tile + 1) // keys)

    def steps(n: int) -> float:
        place = (
            n // (BATCH * HEADS) if kernel.settings["XCD"] else n % (tiles // (2 if kernel.settings["MIRROR"] else 1))
        )
        return pairs(tiles - 1 - place) + (pairs(place) if kernel.settings["MIRROR"] else 0)

    return timed("argus", work, steps if causal else None)


def tritons(length: int, config: Config) -> Timed:
    code, lds = compiled(config)
    kernel = machine.load(code).kernel("attention")
    heads, tiles = BATCH * HEADS, length // config.bm
    numbers = (np.float32(D**-0.5), np.int32(BATCH * KV_HEADS), np.int32(length), None, None)
    more = lds - kernel.info.group_segment_fixed_size
    work = Work("triton", kernel, (heads, tiles, 1), (64 * config.warps,), (*tensors(length), *numbers), lds=more)
    return timed(config.text(), work, lambda n: (tiles - n // heads) * config.bm / config.bn)


def aiters(root: Path, length: int, causal: bool, rounding: str) -> Timed:
    mask = "causal" if causal else "plain"
    case = fmha.case(mask, length, length, HEADS, k_heads=KV_HEADS, batch=BATCH, rounding=rounding)
    code = machine.load(root / case.path).kernel()
    return timed("aiter", Work("aiter", code, case.grid, (case.block,), case.args, offsets=case.offsets), None)


def flops(length: int, causal: bool) -> float:
    pairs = length * (length + 1) // 2 if causal else length * length
    return 4.0 * BATCH * HEADS * pairs * D


def cells(found: Timed | None, length: int, causal: bool) -> list[str]:
    if found is None:
        return ["-"] * 3
    held = found.again(PARAMETERS).sustained
    speed = flops(length, causal) / held.microseconds / 1e6
    return [f"{held.microseconds:.0f}", f"{speed:.0f}", f"{held.clock_mhz:.0f}"]


def fastest_triton(length: int, configs: tuple[Config, ...], verbose: bool) -> Timed | None:
    best: Timed | None = None
    for config in configs:
        try:
            found = tritons(length, config)
        except (TritonError, machine.MachineError) as error:
            print(f"  {config.text()}: {str(error).splitlines()[0]}", flush=True)
            continue
        if verbose:
            print(f"  {found.name}: {found.microseconds():.0f} us", flush=True)
        if best is None or found.microseconds() < best.microseconds():
            best = found
    return best


def row(length: int, options: argparse.Namespace, root: Path | None) -> str:
    causal = not options.full
    knobs: Knobs = dict(choose_attention(length, length, D, "bf16", causal).knobs) | (
        {"ROUND": "rtz"} if options.rtz else {}
    )
    knobs.pop("causal")
    mine = ours(length, causal, knobs)
    triton = None
    if options.triton != "none" and causal:
        configs = CONFIGS if options.triton == "all" else TRITON_BEST
        triton = fastest_triton(length, configs, options.triton == "all")
    aiter = None if root is None else aiters(root, length, causal, "rtz" if options.rtz else "rtne")
    line = [str(length)]
    for found in (mine, triton, aiter):
        line += cells(found, length, causal)
    others = [found for found in (triton, aiter) if found is not None]
    if not others:
        return "| " + " | ".join([*line, "-", "-", "-"]) + " |"
    best = min(others, key=lambda found: found.microseconds())
    line += [f"{best.microseconds() / mine.microseconds():.2f}", _wins(mine, best, options.clocks)]
    return "| " + " | ".join([*line, "-" if triton is None else triton.name]) + " |"


def _wins(mine: Timed, best: Timed, clocks: int) -> str:
    if not clocks:
        return "-"
    found = compare({"mine": mine.microseconds, "best": best.microseconds}, seed=0, count=clocks)
    return f"{100 * found.wins['mine']:.0f} % of {clocks}"


def variants(length: int, causal: bool, rows: Mapping[str, Knobs]) -> None:
    print(f"| S = {length} | us | TFLOPS | MHz |\n|---|---|---|---|")
    for name, knobs in rows.items():
        try:
            print("| " + " | ".join([name, *cells(ours(length, causal, knobs), length, causal)]) + " |", flush=True)
        except CompileError as error:
            print(f"| {name} | {error.code}: {error.message} | | |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.attention", description=__doc__)
    parser.add_argument("--aiter", type=Path, help="checkout of ROCm/aiter, or its hsa/gfx942 folder")
    parser.add_argument("--triton", choices=("none", "best", "all"), default="best")
    parser.add_argument("--lengths", default="1024,2048,4096,8192,16384")
    parser.add_argument("--full", action="store_true", help="without the causal mask (no Triton)")
    parser.add_argument("--rtz", action="store_true", help="probabilities truncated")
    parser.add_argument("--clocks", type=int, default=0, help="perturbed clocks")
    parser.add_argument("--ablate", action="store_true")
    parser.add_argument("--sweep", action="store_true")
    options = parser.parse_args()
    root = options.aiter
    if root is not None and (root / "hsa/gfx942").is_dir():
        root = root / "hsa/gfx942"
    print("simulated MI300X; batch 16, 8 heads, 1 KV head, d 128, bf16; us, TFLOPS and MHz at the sustained clock")
    if not (options.ablate or options.sweep):
        print(
            "| S | argus us | TFLOPS | MHz | Triton us | TFLOPS | MHz | AITER us | TFLOPS | MHz | ratio | wins "
            "| Triton's |"
        )
        print("|" + "---|" * 13)
    for length in map(int, options.lengths.split(",")):
        if options.ablate:
            variants(length, not options.full, ABLATIONS)
        elif options.sweep:
            variants(length, not options.full, {str(knobs): knobs for knobs in SWEEP})
        else:
            print(row(length, options, root), flush=True)


if __name__ == "__main__":
    main()
