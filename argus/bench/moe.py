"""The rows of `argus bench moe`: a fused MoE layer in fp8 with block scales; ours, Triton, AITER, and as published.

    row = moe_row(4096, Others("full", Path("aiter/hsa/gfx942")), clocks=20, kept=Kept())
    print(table([row]))

dim 7168, inter 2048, 32 experts, top 4. Times are at the predicted sustained clock, the sum of the launches; sorting of
tokens is not counted for anybody, nor the quantisation of x. Routing is uniform, drawn with seed 0, the same for all.
Ours is proved before it is timed. AITER's layers are those of `moe_aiter`: the fastest of the objects timed at so many
tokens, and the one whose times were published. `full` tries all configurations of Triton up to SWEPT tokens, and beyond
the TOP that are fastest there. Published times were measured by their authors on a real MI300X.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import ml_dtypes

from argus import machine
from argus.bench import moe_aiter, triton_compile, triton_moe
from argus.bench.contestant import Contestant, Part, compiled, executed
from argus.bench.kept import Kept, Timed, time_cell
from argus.bench.moe_aiter import FUSED, PUBLISHED_OBJECT, LayerTime
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
from argus.ir.compile_error import CompileError
from argus.ops.choice import Choice
from argus.ops.fp8 import steps
from argus.ops.launch import ProvedKernel, prepared
from argus.ops.moe import LayerPlan, choose_moe, routed
from argus.ops.moe_reference import routing

DIM, INTER, EXPERTS, TOPK = 7168, 2048, 32, 4
TOKENS = (1, 16, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384)
PUBLISHED = dict(zip(TOKENS[6:], (866, 1550, 2732, 5268, 10169), strict=True))
FP8, BF16 = ml_dtypes.float8_e4m3fnuz, ml_dtypes.bfloat16
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
    aiter: Mapping[str, LayerTime] = field(default_factory=dict)
    against_published: Paired | None = None

    @property
    def us(self) -> float:
        return sum(part.us for part in self.ours)

    @property
    def interval(self) -> Interval | None:
        return Timed.sum(self.ours).interval

    @property
    def published_object(self) -> Best | None:
        """AITER's layer with the object whose times were published."""
        return fastest("AITER", {n: t.layer for n, t in self.aiter.items() if n == PUBLISHED_OBJECT}).get("AITER")

    def ratio(self) -> float | None:
        return to_ours(self.others, self.us)

    def to_json(self) -> dict[str, Any]:
        others = {name: best.to_json() for name, best in self.others.items()}
        return {
            "tokens": self.tokens, "us": self.us, "launches_us": [part.us for part in self.ours], "others": others,
            "interval": None if self.interval is None else self.interval.to_json(),
            "verdict": None if self.verdict is None else self.verdict.to_json(),
            "aiter": {name: time.to_json() for name, time in self.aiter.items()},
            "verdict_published_object": None if self.against_published is None else self.against_published.to_json(),
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
    layer = triton_moe.Layer(tokens, DIM, INTER, EXPERTS, TOPK)
    timed = {} if root is None else moe_aiter.times(root, layer, store)
    found |= fastest("AITER", {name: time.layer for name, time in timed.items()})
    row = MoeRow(tokens, mine, found, aiter=timed)

    def against(best: Best, library: str) -> Paired | None:
        def contestants() -> tuple[Contestant, Contestant]:
            if library == "AITER" and root is not None:
                return ours(tokens), moe_aiter.contestant(root, layer, best.detail)
            return ours(tokens), tritons(tokens, next(c for c in triton_moe.FULL if c.text() == best.detail))

        return verdict(Timed.sum(mine), best, contestants, clocks, store.protocol)

    if found:
        name = min(found, key=lambda name: found[name].us)
        row = replace(row, verdict=against(found[name], name))
    published = row.published_object
    return row if published is None else replace(row, against_published=against(published, "AITER"))


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
        f"{HEADER} | AITER {PUBLISHED_OBJECT} us (simulated) | it / ours | verdict | AITER us (published) |",
        "|" + "---|" * 13,
    ]
    for row in rows:
        cells = [
            str(row.tokens), time_cell(row.us, row.interval, 0), ", ".join(f"{part.us:.0f}" for part in row.ours),
            f"{row.ours[0].mhz:.0f}, {row.ours[2].mhz:.0f}", f"{6e-6 * row.tokens * TOPK * DIM * INTER / row.us:.0f}",
        ]  # fmt: skip
        for name in ("Triton", "AITER"):
            best = row.others.get(name)
            cells.append("-" if best is None else f"{best.text(0)} ({_named(best)}; {best.tried} tried)")
        ratio, known = row.ratio(), row.published_object
        cells += ["-" if ratio is None else f"{ratio:.2f}", cell(row.verdict)]
        cells += ["-", "-"] if known is None else [known.text(0), f"{known.us / row.us:.2f}"]
        cells.append(cell(row.against_published))
        lines.append("| " + " | ".join([*cells, str(PUBLISHED.get(row.tokens, "-"))]) + " |")
    return "\n".join(lines)


def _named(best: Best) -> str:
    """The object or configuration, with what is wrong with it."""
    flaw = FUSED[best.detail].flaw if best.detail in FUSED else ""
    return f"{best.detail}, {flaw}" if flaw else best.detail


def summary(ratios: Sequence[float]) -> str:
    """Geometric mean and worst."""
    if not ratios:
        return "no other was simulated"
    whole = math.exp(sum(map(math.log, ratios)) / len(ratios))
    return f"best simulated other / ours: geometric mean {whole:.2f}, least {min(ratios):.2f}"
