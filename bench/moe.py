"""Fused MoE and fp8 block-scale GEMM on one clock: ours, AITER's objects as shipped, AITER as published.

    python -m bench.moe --aiter DIR                     the five MoE shapes (dim 7168, inter 2048, 32 experts, top 4)
    python -m bench.moe --aiter DIR --gemm              fp8 block-scale GEMM at shapes of DeepSeek V3
    python -m bench.moe --ablate 4096                   one idea taken away at a time
    python -m bench.moe --search 1024                   candidate tiles at one number of tokens
    python -m bench.moe --right --tokens 1024,16384     sampled workgroups of these shapes against float64

Every kernel of ours is proved before it is timed (not with --search). Times are at the predicted sustained clock, the
sum of the launches; sorting of tokens is not counted for anybody, nor the quantisation of x. Routing is uniform, drawn
with seed 0, the same for all. AITER's column is the faster of two of its fused block-scale objects (`FUSED`); those
called `vs` have an LDS race (docs/foreign.md), which costs no time. Published times were measured by their authors on a
real MI300X.
"""

from __future__ import annotations

import argparse
import hashlib
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

from argus import machine
from argus.bench.contestant import Contestant, Part, compiled, executed, shares
from argus.bench.kept import Kept
from argus.clock.sampled import Work
from argus.clock.staged import Operand
from argus.clock.timing import LABEL
from argus.compile.errors import CompileError
from argus.device.guards import launch_grid, numpy_dtype, tensor_shapes
from argus.device.launch import scalar_values
from argus.ops.choice import Choice
from argus.ops.fp8 import choose_fp8, steps
from argus.ops.launch import Prepared, prepared
from argus.ops.moe import Plan, choose_moe, routed
from argus.ops.moe_reference import ROUND, UNIT, activated, product, routing
from bench.foreign.case import SLOT, packed

DIM, INTER, EXPERTS, TOPK = 7168, 2048, 32, 4
TOKENS = (1024, 2048, 4096, 8192, 16384)
PUBLISHED = dict(zip(TOKENS, (866, 1550, 2732, 5268, 10169), strict=True))
FP8, BF16 = ml_dtypes.float8_e4m3fnuz, ml_dtypes.bfloat16
FUSED = {"novs_32x256": (32, 256), "vs_64x256": (64, 256)}
"""AITER's objects: rows of a block, columns of a slice. Not timed: slices of 128, `vs_32x256`, persistent ones. From
MANY tokens on only the larger block is timed (at 4096 and 16384 both were, and it was the faster)."""
MANY = 2048
GEMMS = ((64, 7168, 2048), (128, 7168, 2048), (1024, 4608, 7168), (4096, 7168, 2048), (8192, 4096, 7168))
TILES = (32, 64, 96, 128)
ABLATIONS: Mapping[str, Mapping[str, Any]] = {
    "swizzle off": {"SWIZZLE": False},
    "schedule off": {"SCHEDULE": False},
    "fetched at the end of a step": {"PIPELINE": False},
    "XCD groups off": {"GROUP": 0},
    "scales one block at a time": {"TURN": 2, "WIDE": False},
}


def work(ready: Prepared, sizes: Mapping[str, int], known: Mapping[str, Any]) -> Work:
    """A launch; tensors that are not known stand for random ones."""
    kernel = ready.kernel
    shapes = tensor_shapes(kernel, sizes)
    tensors = [
        known[t.name] if t.name in known else Operand(shapes[t.name], numpy_dtype(t.dtype), n, blank=not t.read)
        for n, t in enumerate(kernel.tensors)
    ]
    loaded = machine.load(ready.code).kernel(kernel.name)
    scalars = scalar_values(kernel, sizes, {})
    return Work(kernel.name, loaded, launch_grid(kernel, sizes), (kernel.threads,), [*tensors, *scalars])


def stages(tokens: int, plan: Plan) -> Iterator[tuple[str, Choice, dict[str, int], dict[str, Any]]]:
    """The launches of a layer: name, kernel, sizes, and the arrays that decide what it does."""
    route = routed(routing("uniform", tokens, EXPERTS, TOPK), EXPERTS, plan.block)
    rows, blocks = len(route.tokens), len(route.experts)
    kb, ib = DIM // 128, INTER // 128
    common = {"R": rows, "P": blocks, "E": EXPERTS}
    yield (
        "gate and up", plan.gate_up,
        {**common, "T": tokens, "K": DIM, "Kb": kb, "I": INTER, "Ib": ib, "It": INTER // 32, "Kc": DIM // 16},
        {"token": route.tokens, "expert": route.experts},
    )  # fmt: skip
    yield "quantise", Choice("moe", "quantise", {}), {"B": rows * ib}, {}
    yield (
        "down", plan.down,
        {**common, "K": INTER, "Kb": ib, "N": DIM, "Nb": kb, "Nt": DIM // 32, "Kc": INTER // 16},
        {"expert": route.experts},
    )  # fmt: skip
    yield "combine", plan.combine, {"T": tokens, "R": rows, "N": DIM}, {"slot": route.slots}


def stage(number: int, tokens: int, plan: Plan, proved: bool = True) -> Part:
    """One launch of a layer, a sample of it executed."""
    _, choice, sizes, known = list(stages(tokens, plan))[number]
    return executed(work((prepared if proved else compiled)(choice), sizes, known))


def timed(number: int, tokens: int, plan: Plan) -> tuple[float, float]:
    """us and MHz of one proved launch of a layer, kept on disk by its code."""
    name, choice, sizes, _ = list(stages(tokens, plan))[number]
    ready = prepared(choice)
    words = f"moe {name} {tokens} {sorted(sizes.items())} {hashlib.sha256(ready.code).hexdigest()}"
    found = Kept().time(words, lambda: Contestant(name, "", (stage(number, tokens, plan),)), OSError)
    return found.us, found.mhz


def ours(tokens: int) -> Contestant:
    plan = choose_moe(tokens, EXPERTS, TOPK, DIM, INTER)
    return Contestant("ours", plan.gate_up.text(), tuple(stage(n, tokens, plan) for n in range(4)))


def theirs(root: Path, tokens: int, name: str) -> Contestant:
    """One of AITER's fused kernels; its arguments are those of bench/foreign/moe_fp8.py."""
    rows, width = FUSED[name]
    ids = routing("uniform", tokens, EXPERTS, TOPK)
    numbers: list[int] = []
    of_block: list[int] = []
    for expert in range(EXPERTS):
        token, slot = np.nonzero(ids == expert)
        padding = -len(token) % rows
        numbers += (slot << 24 | token).tolist() + [TOPK << 24 | tokens] * padding
        of_block += [expert] * ((len(token) + padding) // rows)
    kb, ib = DIM // 128, INTER // 128
    scales = [((kb, tokens), 4), ((EXPERTS, 2 * ib, kb), 5), ((EXPERTS, kb, ib), 6)]
    args = packed(
        Operand((tokens, DIM), BF16, blank=True), Operand((tokens, DIM), FP8, 1),
        Operand((EXPERTS, 2 * INTER, DIM), FP8, 2), np.array([len(numbers), tokens], np.int32),
        Operand((EXPERTS, DIM, INTER), FP8, 3), *(Operand(shape, np.float32, seed) for shape, seed in scales), None,
        np.array(numbers, np.uint32), np.ones(len(numbers), np.float32), np.array(of_block, np.int32),
        DIM, INTER, tokens, EXPERTS, DIM, DIM, INTER, 2 * DIM, 2 * INTER * DIM, DIM * INTER,
        8 * ib * kb, 4 * kb * ib, 4 * INTER, TOPK, 0, INTER // width,
    )  # fmt: skip
    kind, tile = name.split("_")
    loaded = machine.load(root / f"fmoe/silu/fmoe_bf16_blockscaleFp8_g1u1_{kind}_silu_1tg_{tile}.co").kernel()
    offsets = [SLOT * n for n in range(len(args))]
    launch = Work(name, loaded, (INTER // width, len(of_block), 1), (256,), args, offsets=offsets)
    return Contestant(f"AITER {name}", name, (executed(launch),))


def gemm_ours(m: int, n: int, k: int) -> Contestant:
    choice = choose_fp8(m, n, k)
    sizes = {"M": m, "N": n, "K": k, "Kb": k // 128, "Nb": n // 128, "Nt": n // 32, "Kc": k // 16}
    return Contestant("ours", choice.text(), (executed(work(prepared(choice), sizes, {})),))


def gemm_theirs(root: Path, m: int, n: int, k: int, tile: int) -> Contestant:
    """AITER's fp8 block-scale GEMM (csrc/py_itfs_cu/asm_a8w8_blockscale_bpreshuffle.cu): C, A, B, scales of A and B,
    bias, M, N, K, row lengths of A and B, of C in bytes, splits, numbers of scales along m, n, k; 16 bytes each."""
    args = packed(
        Operand((m, n), BF16, blank=True), Operand((m, k), FP8, 1), Operand((n, k), FP8, 2),
        Operand((k // 128, m), np.float32, 3), Operand((n // 128, k // 128), np.float32, 4), np.zeros(n, np.float32),
        m, n, k, k, k, 2 * n, 1, m, n // 128, k // 128,
    )  # fmt: skip
    name = f"fp8gemm_bf16_blockscale_BpreShuffle_{tile}x128"
    loaded = machine.load(root / f"fp8gemm_blockscale/{name}.co").kernel()
    offsets = [SLOT * n for n in range(len(args))]
    launch = Work(name, loaded, (n // 128, -(-m // tile), 1), (256,), args, offsets=offsets)
    return Contestant(f"AITER {tile}x128", name, (executed(launch),))


def mean(ratios: Sequence[float]) -> str:
    """Geometric mean and worst."""
    whole = math.exp(sum(map(math.log, ratios)) / len(ratios))
    return f"geometric mean of AITER / ours (simulated) {whole:.2f}, worst {min(ratios):.2f}"


def moe_table(root: Path | None, tokens: Sequence[int], clocks: int) -> None:
    print(
        "| tokens | ours us (simulated) | gate+up, quantise, down, combine us | MHz of the products | TFLOPS | "
        "AITER us (simulated) | object | AITER / ours | wins | AITER us (published) |"
    )
    print("|" + "---|" * 10)
    ratios = []
    for count in tokens:
        plan = choose_moe(count, EXPERTS, TOPK, DIM, INTER)
        parts = [timed(n, count, plan) for n in range(4)]
        us = sum(part[0] for part in parts)
        cells = [
            str(count), f"{us:.0f}", ", ".join(f"{part[0]:.0f}" for part in parts),
            f"{parts[0][1]:.0f}, {parts[2][1]:.0f}", f"{6e-6 * count * TOPK * DIM * INTER / us:.0f}",
        ]  # fmt: skip
        if root is None:
            cells += ["-"] * 4
        else:
            store = Kept()
            objects = [name for name in FUSED if count < MANY or FUSED[name][0] > 32]
            times = {n: store.time(f"{n} at {count} tokens", partial(theirs, root, count, n), OSError) for n in objects}
            best = min((n for n in times if not times[n].why), key=lambda n: times[n].us)
            ratios.append(times[best].us / us)
            won = shares([ours(count), theirs(root, count, best)], clocks)["ours"] if clocks else None
            cells += [f"{times[best].us:.0f}", best, f"{ratios[-1]:.2f}", "-" if won is None else f"{100 * won:.0f} %"]
        print("| " + " | ".join([*cells, str(PUBLISHED.get(count, "-"))]) + " |", flush=True)
    if ratios:
        print(mean(ratios))


def gemm_table(root: Path | None) -> None:
    print("| M x N x K | ours us (simulated) | TFLOPS | MHz | kernel | AITER us (simulated) | tile | AITER / ours |")
    print("|" + "---|" * 8)
    ratios = []
    for m, n, k in GEMMS:
        store = Kept()
        choice = choose_fp8(m, n, k)
        code = hashlib.sha256(prepared(choice).code).hexdigest()
        held = store.time(f"fp8 {m} {n} {k} {code}", partial(gemm_ours, m, n, k), OSError)
        cells = [f"{m} x {n} x {k}", f"{held.us:.1f}", f"{2e-6 * m * n * k / held.us:.0f}", f"{held.mhz:.0f}"]
        cells.append(" ".join(f"{name}={value}" for name, value in choice.knobs.items()))
        if root is not None:
            times = {
                t: store.time(f"aiter fp8 {m} {n} {k} {t}", partial(gemm_theirs, root, m, n, k, t), OSError).us
                for t in ((128, 64) if m > 96 else (32, 64))
            }
            best = min(times, key=lambda t: times[t])
            ratios.append(times[best] / held.us)
            cells += [f"{times[best]:.1f}", f"{best}x128", f"{ratios[-1]:.2f}"]
        print("| " + " | ".join(cells) + " |", flush=True)
    if ratios:
        print(mean(ratios))


def ablations(tokens: int) -> None:
    plan = choose_moe(tokens, EXPERTS, TOPK, DIM, INTER)
    print(f"| {tokens} tokens | gate and up us (simulated) | down us (simulated) |")
    print("|---|---|---|")
    for name, change in {"as chosen": {}, **ABLATIONS}.items():
        cells = []
        for number in (0, 2):
            choice = (plan.gate_up, plan.down)[number // 2]
            changed = Choice(choice.file, choice.kernel, {**choice.knobs, **change})
            other = Plan(plan.block, changed, changed, plan.combine)
            try:
                cells.append(f"{stage(number, tokens, other).launch().sustained.microseconds:.0f}")
            except CompileError as error:
                cells.append(f"{error.code}: {str(error).splitlines()[0].split(': ')[-1]}")
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


def search(tokens: int, candidates: Sequence[Mapping[str, Any]]) -> None:
    """Times of both products for candidate knobs, not proved."""
    for knobs in candidates:
        for number, name, k in ((0, "moe_gate_up", DIM), (2, "moe_down", INTER)):
            choice = Choice("fp8_gemm", name, {**steps(k), **knobs})
            plan = Plan(int(knobs.get("BM", 128)), choice, choice, Choice("moe", "combine", {"TOPK": TOPK}))
            try:
                held = stage(number, tokens, plan, proved=False).launch().sustained
                print(
                    f"{tokens} {name} {dict(knobs)}: {held.microseconds:.1f} us, {held.clock_mhz:.0f} MHz", flush=True
                )
            except CompileError as error:
                print(f"{tokens} {name} {dict(knobs)}: {str(error).splitlines()[0]}", flush=True)


def written(number: int, tokens: int, plan: Plan, sample: int) -> tuple[str, int, float]:
    """Runs `sample` workgroups of a product on random operands; elements written, and the worst share of its bound."""
    name, choice, sizes, known = list(stages(tokens, plan))[number]
    ready = prepared(choice)
    dice = np.random.default_rng(tokens)
    arrays: dict[str, Any] = {}
    for tensor in ready.kernel.tensors:
        shape = tensor_shapes(ready.kernel, sizes)[tensor.name]
        if tensor.name in known:
            arrays[tensor.name] = known[tensor.name]
        elif not tensor.read:
            arrays[tensor.name] = np.full(shape, np.nan, BF16)
        elif tensor.dtype.name == "fp8":
            drawn = np.tile(dice.integers(-60, 60, 1 << 20, np.int8), -(-math.prod(shape) >> 20))
            arrays[tensor.name] = (drawn[: math.prod(shape)].view(np.uint8) & np.uint8(0xBF)).view(FP8).reshape(shape)
            arrays[tensor.name].view(np.uint8)[arrays[tensor.name].view(np.uint8) == 0x80] = 0
        else:
            arrays[tensor.name] = dice.uniform(0.5, 2.0, shape).astype(np.float32) / 64
    grid = launch_grid(ready.kernel, sizes)
    chosen = sorted(dice.choice(math.prod(grid), sample, replace=False).tolist())
    values = [*(arrays[t.name] for t in ready.kernel.tensors), *scalar_values(ready.kernel, sizes, {})]
    code = machine.load(ready.code).kernel(ready.kernel.name)
    code(grid, ready.kernel.threads, *values, executor="jit", workgroups=chosen)
    got = arrays["H" if number == 0 else "Y"].astype(np.float32)
    row_blocks = np.flatnonzero(~np.isnan(got).all(axis=1)[:: plan.block])
    count, worst = 0, 0.0
    for block in row_blocks.tolist():
        rows = slice(block * plan.block, (block + 1) * plan.block)
        columns = np.flatnonzero(~np.isnan(got[rows][0]))
        want, bound = expected(number, arrays, rows, columns, int(arrays["expert"][block]))
        count += want.size
        worst = max(worst, float((np.abs(got[rows][:, columns] - want) / bound).max()))
    return name, count, worst


def expected(number: int, arrays: Mapping[str, Any], rows: slice, columns: Any, expert: int) -> tuple[Any, Any]:
    """float64 values of a block's rows and some columns, and their bound."""

    def weights(which: tuple[int, ...]) -> Any:
        stored = arrays["W"][which][np.unique(columns // 32)].astype(np.float64)
        plain = stored.swapaxes(-3, -2).reshape(len(stored) * 32, -1)
        scales = arrays["sw"][which][np.unique(columns // 32) * 32 // 128].astype(np.float64)
        return plain * np.repeat(np.repeat(scales, 32, axis=0), 128, axis=1)

    if number == 0:
        token = arrays["token"][rows]
        x = np.zeros((len(token), arrays["X"].shape[1]))
        real = token < len(arrays["X"])
        x[real] = arrays["X"][token[real]].astype(np.float64) * np.repeat(arrays["sx"][token[real]], 128, axis=1)
        gate, gate_error = product(x, weights((expert, 0)))
        up, up_error = product(x, weights((expert, 1)))
        want = activated(gate, up)
        off = 1.1 * gate_error * np.abs(up) + np.abs(activated(gate, np.ones_like(up))) * up_error
        return want, off + gate_error * up_error + (ROUND + 16 * UNIT) * np.abs(want) + np.finfo(np.float32).tiny
    q = arrays["Q"][rows].astype(np.float64) * np.repeat(arrays["sq"][rows], 128, axis=1)
    want, error = product(q, weights((expert,)))
    return want, error + ROUND * np.abs(want) + np.finfo(np.float32).tiny


def right(tokens: Sequence[int], sample: int = 4) -> None:
    print("| tokens | launch | workgroups | elements | largest error of its bound |")
    print("|---|---|---|---|---|")
    for count in tokens:
        plan = choose_moe(count, EXPERTS, TOPK, DIM, INTER)
        for number in (0, 2):
            name, elements, worst = written(number, count, plan, sample)
            print(f"| {count} | {name} | {sample} | {elements} | {worst:.2f} |", flush=True)
            if not (elements and worst <= 1.0):
                sys.exit(1)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.moe", description=__doc__)
    parser.add_argument("--aiter", type=Path, help="checkout of ROCm/aiter, or its hsa/gfx942 folder")
    parser.add_argument("--tokens", default=",".join(map(str, TOKENS)))
    parser.add_argument("--gemm", action="store_true", help="fp8 block-scale GEMM instead")
    parser.add_argument("--ablate", type=int, help="one idea taken away at a time, at so many tokens")
    parser.add_argument("--search", type=int, help="candidate tiles at so many tokens")
    parser.add_argument("--right", action="store_true", help="sampled workgroups against float64")
    parser.add_argument("--clocks", type=int, default=0, help="perturbed clocks")
    options = parser.parse_args()
    root = options.aiter
    if root is not None and (root / "hsa/gfx942").is_dir():
        root = root / "hsa/gfx942"
    print(LABEL, file=sys.stderr)
    tokens = [int(t) for t in options.tokens.split(",")]
    if options.right:
        right(tokens)
    elif options.ablate:
        ablations(options.ablate)
    elif options.search:
        search(options.search, [{"BM": m, "GROUP": g} for m in TILES for g in (1, 2, 4)])
    elif options.gemm:
        gemm_table(root)
    else:
        moe_table(root, tokens, options.clocks)


if __name__ == "__main__":
    main()
