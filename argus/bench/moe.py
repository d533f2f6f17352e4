"""The rows of `argus bench moe`: a fused MoE layer in fp8 with block scales; ours, Triton, AITER, and as published.

    row = moe_row(4096, Others("full", Path("aiter/hsa/gfx942")), clocks=20, kept=Kept())
    print(table([row]))

dim 7168, inter 2048, 32 experts, top 4. Times are at the predicted sustained clock, the sum of the launches; sorting of
tokens is not counted for anybody, nor the quantisation of x. Routing is uniform, drawn with seed 0, the same for all.
Ours is proved before it is timed. AITER's column is the fastest of its fused block-scale objects (`FUSED`); those
with slices of 256 columns have an LDS race (docs/foreign.md), which costs no time. `full` tries all configurations of
Triton up to SWEPT tokens, and beyond the TOP that are fastest there. Published times were measured by their authors on
a real MI300X.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

from argus import machine
from argus.bench import aiter_objects, triton_compile, triton_moe
from argus.bench.aiter_objects import AiterError
from argus.bench.contestant import Contestant, Part, compiled, executed
from argus.bench.foreign.case import SLOT, packed
from argus.bench.kept import Kept, Timed, time_cell
from argus.bench.others import Best, Others, best_triton, fastest, swept, to_ours
from argus.bench.triton_compile import TritonError
from argus.bench.verdict import HEADER, cell, verdict
from argus.clock.paired import Paired
from argus.clock.protocol import Protocol
from argus.clock.sampled import Work
from argus.clock.staged import Operand
from argus.clock.uncertainty import Interval
from argus.device.guards import launch_grid, numpy_dtype, tensor_shapes
from argus.device.launch import scalar_values
from argus.gfx942 import chip
from argus.ir.compile_error import CompileError
from argus.ops.choice import Choice
from argus.ops.fp8 import steps
from argus.ops.launch import ProvedKernel, prepared
from argus.ops.moe import LayerPlan, choose_moe, routed
from argus.ops.moe_reference import routing

DIM, INTER, EXPERTS, TOPK = 7168, 2048, 32, 4
TOKENS = (1024, 2048, 4096, 8192, 16384)
PUBLISHED = dict(zip(TOKENS, (866, 1550, 2732, 5268, 10169), strict=True))
FP8, BF16 = ml_dtypes.float8_e4m3fnuz, ml_dtypes.bfloat16
FUSED = {
    "novs_32x128": (32, 128), "novs_32x256": (32, 256), "vs_32x256": (32, 256), "vs_64x256": (64, 256),
    "vs_32x128": (32, 128), "vs_ps_32x128": (32, 128),
    "novs_ps_32x128": (32, 128), "novs_ps_32x256": (32, 256), "vs_ps_32x256": (32, 256), "vs_psx_64x256": (64, 256),
}  # fmt: skip
"""AITER's objects: rows of a block, columns of a slice. From MANY tokens on only the larger block is timed (at 4096 and
16384 the smaller was, and it was slower). Those called `ps` are persistent, a workgroup per compute unit; they are
timed up to SWEPT tokens, where they are slower than the others."""
MANY = 4096
SWEPT, TOP = 1024, 40
CONFIGURATIONS: Mapping[str, Sequence[triton_moe.MoeConfig]] = {
    "none": (), "quick": triton_moe.QUICK, "full": triton_moe.FULL,
}  # fmt: skip
TILES = {32: 4, 64: 4, 96: 4, 128: 4, 160: 2}
"""Rows of a tile to search, and steps of a turn whose operands fit beside their sums."""
ABLATIONS: Mapping[str, Mapping[str, Any]] = {
    "swizzle off": {"SWIZZLE": False},
    "schedule off": {"SCHEDULE": False},
    "fetched at the end of a step": {"PIPELINE": False},
    "XCD groups off": {"GROUP": 0},
    "scales one block at a time": {"TURN": 2, "WIDE": False},
}


@dataclass(frozen=True, slots=True)
class MoeRow:
    """One number of tokens; times in us at the sustained clock, ours by launch."""

    tokens: int
    ours: tuple[Timed, ...]
    others: Mapping[str, Best] = field(default_factory=dict)
    verdict: Paired | None = None

    @property
    def us(self) -> float:
        return sum(part.us for part in self.ours)

    @property
    def interval(self) -> Interval | None:
        """Those of the launches added, in the regime of the longest."""
        parts = [part.interval for part in self.ours]
        longest = max(self.ours, key=lambda part: part.us).interval
        if longest is None or any(part is None for part in parts):
            return None
        low, high = (sum(getattr(part, side) for part in parts) for side in ("low", "high"))
        return Interval(low, high, longest.regime)

    def ratio(self) -> float | None:
        return to_ours(self.others, self.us)

    def to_json(self) -> dict[str, Any]:
        others = {name: best.to_json() for name, best in self.others.items()}
        return {
            "tokens": self.tokens, "us": self.us, "launches_us": [part.us for part in self.ours], "others": others,
            "interval": None if self.interval is None else self.interval.to_json(),
            "verdict": None if self.verdict is None else self.verdict.to_json(),
            "published_us": PUBLISHED.get(self.tokens),
        }  # fmt: skip


def work(ready: ProvedKernel, sizes: Mapping[str, int], known: Mapping[str, Any]) -> Work:
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


def stages(tokens: int, plan: LayerPlan) -> Iterator[tuple[str, Choice, dict[str, int], dict[str, Any]]]:
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


def stage(number: int, tokens: int, plan: LayerPlan, proved: bool = True) -> Part:
    """One launch of a layer, a sample of it executed."""
    _, choice, sizes, known = list(stages(tokens, plan))[number]
    return executed(work((prepared if proved else compiled)(choice), sizes, known))


def launch_time(number: int, tokens: int, plan: LayerPlan, kept: Kept) -> Timed:
    """One proved launch of a layer, kept by its code."""
    name, choice, sizes, _ = list(stages(tokens, plan))[number]
    ready = prepared(choice)
    words = f"moe {name} {tokens} {sorted(sizes.items())} {hashlib.sha256(ready.code).hexdigest()}"
    return kept.time(words, lambda: Contestant(name, "", (stage(number, tokens, plan),)), OSError)


def ours(tokens: int) -> Contestant:
    plan = choose_moe(tokens, EXPERTS, TOPK, DIM, INTER)
    return Contestant("ours", plan.gate_up.text(), tuple(stage(n, tokens, plan) for n in range(4)))


def fused(root: Path, layer: triton_moe.Layer, name: str) -> Work:
    """The launch of one of AITER's fused kernels; its arguments are those of foreign/moe_fp8.py."""
    tokens, dim, inter, experts, topk = layer.tokens, layer.dim, layer.inter, layer.experts, layer.topk
    rows, width = FUSED[name]
    ids = routing("uniform", tokens, experts, topk)
    numbers: list[int] = []
    of_block: list[int] = []
    for expert in range(experts):
        token, slot = np.nonzero(ids == expert)
        padding = -len(token) % rows
        numbers += (slot << 24 | token).tolist() + [topk << 24 | tokens] * padding
        of_block += [expert] * ((len(token) + padding) // rows)
    kb, ib, slices = dim // 128, inter // 128, inter // width
    walking = chip.CUS // slices * slices if "_ps" in name else 0
    scales = [((kb, tokens), 4), ((experts, 2 * ib, kb), 5), ((experts, kb, ib), 6)]
    args = packed(
        Operand((tokens, dim), BF16, blank=True), Operand((tokens, dim), FP8, 1),
        Operand((experts, 2 * inter, dim), FP8, 2), np.array([len(numbers), tokens], np.int32),
        Operand((experts, dim, inter), FP8, 3), *(Operand(shape, np.float32, seed) for shape, seed in scales), None,
        np.array(numbers, np.uint32), np.ones(len(numbers), np.float32), np.array(of_block, np.int32),
        dim, inter, tokens, experts, dim, dim, inter, 2 * dim, 2 * inter * dim, dim * inter,
        8 * ib * kb, 4 * kb * ib, 4 * inter, topk, walking, slices,
    )  # fmt: skip
    loaded = aiter_objects.kernel(root, object_path(name))
    offsets = [SLOT * n for n in range(len(args))]
    grid = (walking, 1, 1) if walking else (slices, len(of_block), 1)
    return Work(name, loaded, grid, (256,), args, offsets=offsets)


def theirs(root: Path, tokens: int, name: str) -> Contestant:
    """One of AITER's fused kernels at the layer of this page."""
    launch = fused(root, triton_moe.Layer(tokens, DIM, INTER, EXPERTS, TOPK), name)
    return Contestant(f"AITER {name}", name, (executed(launch),))


def object_path(name: str) -> str:
    kind, rest = name.split("_", 1)
    return f"fmoe/silu/fmoe_bf16_blockscaleFp8_g1u1_{kind}_silu_1tg_{rest}.co"


def tritons(tokens: int, config: triton_moe.MoeConfig) -> Contestant:
    layer = triton_moe.Layer(tokens, DIM, INTER, EXPERTS, TOPK)
    ids = routing("uniform", tokens, EXPERTS, TOPK)
    return triton_moe.contestant(config, layer, routed(ids, EXPERTS, config.bm, dealt=False))


def _triton_time(tokens: int, config: triton_moe.MoeConfig, kept: Kept) -> Timed:
    words = f"moe {triton_compile.identity(triton_moe.SOURCE)} {config.text()} at {tokens} tokens, blocks sorted"
    return kept.time(words, partial(tritons, tokens, config), TritonError)


def _configurations(tokens: int, which: str, kept: Kept) -> Sequence[triton_moe.MoeConfig]:
    every = CONFIGURATIONS[which]
    if which == "full" and tokens > SWEPT:
        every = swept(every, partial(_triton_time, SWEPT, kept=kept), TOP)
    return every


def _aiter_time(root: Path, tokens: int, name: str, kept: Kept) -> Timed:
    words = f"aiter {name} {aiter_objects.named(root, object_path(name))} at {tokens} tokens"
    return kept.time(words, partial(theirs, root, tokens, name), AiterError)


def moe_row(tokens: int, others: Others, clocks: int = 0, kept: Kept | None = None) -> MoeRow:
    """Ours, proved, and the fastest of the others at so many tokens."""
    store = Kept(None) if kept is None else kept
    plan = choose_moe(tokens, EXPERTS, TOPK, DIM, INTER)
    mine = tuple(launch_time(n, tokens, plan, store) for n in range(4))
    found: dict[str, Best] = {}
    if others.triton != "none":
        found |= best_triton(
            lambda: _configurations(tokens, others.triton, store), lambda config: _triton_time(tokens, config, store)
        )
    root = others.aiter
    if root is not None:
        objects = [n for n in FUSED if (tokens < MANY or FUSED[n][0] > 32) and (tokens <= SWEPT or "_ps" not in n)]
        found |= fastest("AITER", {name: _aiter_time(root, tokens, name, store) for name in objects})
    row = MoeRow(tokens, mine, found)
    if not found:
        return row
    name = min(found, key=lambda name: found[name].us)

    def contestants() -> tuple[Contestant, Contestant]:
        detail = found[name].detail
        if name == "AITER" and root is not None:
            return ours(tokens), theirs(root, tokens, detail)
        return ours(tokens), tritons(tokens, next(c for c in triton_moe.FULL if c.text() == detail))

    whole = Timed(row.us, mine[0].mhz, interval=row.interval)
    return replace(row, verdict=verdict(whole, found[name], contestants, clocks, store.protocol))


def ablations(tokens: int, protocol: Protocol = "stream") -> Iterator[tuple[str, Timed]]:
    """Both products with one idea taken away at a time."""
    plan = choose_moe(tokens, EXPERTS, TOPK, DIM, INTER)
    for name, change in {"as chosen": {}, **ABLATIONS}.items():
        for number, choice, what in ((0, plan.gate_up, "gate and up"), (2, plan.down, "down")):
            changed = Choice(choice.file, choice.kernel, {**choice.knobs, **change})
            other = LayerPlan(plan.block, changed, changed, plan.combine)
            yield f"{what}, {name}", _unproved(number, tokens, other, protocol)


def searched(tokens: int, protocol: Protocol = "stream") -> Iterator[tuple[str, Timed]]:
    """Times of both products for candidate knobs, not proved."""
    for rows, most in TILES.items():
        for group in (1, 2, 4, 8):
            for number, name, k in ((0, "moe_gate_up", DIM), (2, "moe_down", INTER)):
                choice = Choice("fp8_gemm", name, {**steps(k, most), "BM": rows, "GROUP": group})
                plan = LayerPlan(rows, choice, choice, Choice("moe", "combine", {"TOPK": TOPK}))
                yield f"{name}, BM={rows} GROUP={group}", _unproved(number, tokens, plan, protocol)


def _unproved(number: int, tokens: int, plan: LayerPlan, protocol: Protocol) -> Timed:
    try:
        return Timed.of([stage(number, tokens, plan, proved=False).launch(protocol=protocol)])
    except CompileError as error:
        return Timed(0.0, 0.0, f"{error.code}: {str(error).splitlines()[0].split(': ')[-1]}")


def table(rows: Sequence[MoeRow]) -> str:
    """A Markdown table."""
    lines = [
        "| tokens | ours us (simulated) | gate+up, quantise, down, combine us | MHz of the products | TFLOPS | "
        "Triton best us (simulated) | AITER best us (simulated) | best other / ours | "
        f"{HEADER} | AITER us (published) |",
        "|" + "---|" * 10,
    ]
    for row in rows:
        cells = [
            str(row.tokens), time_cell(row.us, row.interval, 0), ", ".join(f"{part.us:.0f}" for part in row.ours),
            f"{row.ours[0].mhz:.0f}, {row.ours[2].mhz:.0f}", f"{6e-6 * row.tokens * TOPK * DIM * INTER / row.us:.0f}",
        ]  # fmt: skip
        for name in ("Triton", "AITER"):
            best = row.others.get(name)
            cells.append("-" if best is None else f"{best.text(0)} ({best.detail}; {best.tried} tried)")
        ratio = row.ratio()
        cells += ["-" if ratio is None else f"{ratio:.2f}", cell(row.verdict)]
        lines.append("| " + " | ".join([*cells, str(PUBLISHED.get(row.tokens, "-"))]) + " |")
    return "\n".join(lines)


def summary(ratios: Sequence[float]) -> str:
    """Geometric mean and worst."""
    if not ratios:
        return "no other was simulated"
    whole = math.exp(sum(map(math.log, ratios)) / len(ratios))
    return f"best simulated other / ours: geometric mean {whole:.2f}, least {min(ratios):.2f}"
