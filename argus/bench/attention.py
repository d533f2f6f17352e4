"""The rows of `argus bench attention`: ours, the best of Triton's configurations and AITER's object on one clock.

    rows = [attention_row(4096, Others("full", Path("aiter/hsa/gfx942")), clocks=20, kept=Kept())]
    print(table(rows))

Causal, batch 16, 8 query heads, 1 KV head, head dimension 128, bf16; times at the predicted sustained clock. A kernel
is executed (a sample of its workgroups) and timed by `argus.clock`. How long a workgroup of ours and of Triton's is
follows from its tile: instead of guessing from the sampled ones, all workgroups get their length (`lengths`), a line
through the sampled ones. TFLOPS count the products that the mask leaves. `verdict` compares
ours with the fastest of the others (`argus.clock.paired`).

Ours rounds probabilities to nearest even, as AITER's object (`rtne`) and Triton's kernel do. `full` times all 52
configurations of Triton up to SWEPT, and beyond the TOP that are fastest there; `quick` four strong ones.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

from argus import machine
from argus.bench import aiter_objects, triton_compile
from argus.bench.aiter_objects import AiterError
from argus.bench.contestant import Contestant, executed
from argus.bench.foreign import fmha
from argus.bench.kept import Kept, Timed
from argus.bench.others import Best, Others, best_triton, fastest, swept, to_ours
from argus.bench.triton_attention import CONFIGS, SOURCE, STRONG, AttentionConfig, compiled
from argus.bench.triton_compile import TritonError
from argus.bench.verdict import HEADER, cell, verdict
from argus.clock.paired import Paired
from argus.clock.sampled import Work
from argus.clock.staged import Operand
from argus.compile.cache import compile_cached
from argus.device.guards import launch_grid
from argus.ir.compile_error import CompileError
from argus.ops.attention import choose_attention
from argus.ops.choice import Choice
from argus.ops.launch import prepared
from argus.pipeline import program_of

BATCH, HEADS, KV_HEADS, D = 16, 8, 1, 128
LENGTHS = (1024, 2048, 4096, 8192, 16384)
SWEPT, TOP = 4096, 40
KERNEL = Path(__file__).parents[1] / "kernels/attention.py"
BF16 = np.dtype(ml_dtypes.bfloat16)
TRITON: Mapping[str, Sequence[AttentionConfig]] = {"none": (), "quick": STRONG, "full": CONFIGS}
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
SEARCHED: tuple[Knobs, ...] = (
    {},
    {"LAZY": 8},
    {"OPPOSITE": True},
    {"MIRROR": True},
    {"AHEAD": 4},
    {"BC": 32},
    {"WAVES": 4, "BC": 32},
    {"WAVES": 4, "BC": 32, "LAZY": 8},
)


class ContestantRefused(Exception):
    """A launch that cannot be made: not compiled, or it does not fit a compute unit."""


@dataclass(frozen=True, slots=True)
class AttentionRow:
    """One length; times in us at the sustained clock."""

    length: int
    ours: Timed
    detail: str
    others: Mapping[str, Best] = field(default_factory=dict)
    verdict: Paired | None = None

    def tflops(self, microseconds: float) -> float:
        return 4e-6 * BATCH * HEADS * (self.length * (self.length + 1) // 2) * D / microseconds

    def ratio(self) -> float | None:
        return to_ours(self.others, self.ours.us)

    def to_json(self) -> dict[str, Any]:
        others = {name: best.to_json(self.tflops) for name, best in self.others.items()}
        return {
            "length": self.length, **self.ours.to_json(), "tflops": self.tflops(self.ours.us), "ours": self.detail,
            "others": others, "verdict": None if self.verdict is None else self.verdict.to_json(),
        }  # fmt: skip


def attention_row(length: int, others: Others, clocks: int = 0, kept: Kept | None = None) -> AttentionRow:
    """Ours, proved, and the fastest of the others at one length."""
    store = Kept(None) if kept is None else kept
    choice = choose_attention(length, length, D, "bf16", True)
    code = prepared(choice).code
    mine = store.time(_words("ours", length, code), partial(ours, length, choice), ContestantRefused)
    found: dict[str, Best] = {}
    if others.triton != "none":
        found |= best_triton(
            lambda: _configurations(length, others.triton, store), lambda config: _triton_time(length, config, store)
        )
    if others.aiter is not None:
        take = partial(aiters, others.aiter, length)
        words = _words(f"aiter fmha {aiter_objects.named(others.aiter, fmha.object_path(True, 'rtne'))}", length, b"")
        found |= fastest("AITER", {"fmha_v3_fwd": store.time(words, take, AiterError)})
    against = None
    if found:
        name = min(found, key=lambda name: found[name].us)
        best = found[name]

        def contestants() -> tuple[Contestant, Contestant]:
            rival = aiters(others.aiter or Path(), length) if name == "AITER" else _again(length, best)
            return ours(length, choice), rival

        against = verdict(mine, best, contestants, clocks, store.protocol)
    return AttentionRow(length, mine, choice.text(), found, against)


def _words(name: str, length: int, code: bytes) -> str:
    return f"attention {name} {BATCH} {HEADS} {KV_HEADS} {D} at {length} {hashlib.sha256(code).hexdigest()[:16]}"


def _configurations(length: int, which: str, store: Kept) -> Sequence[AttentionConfig]:
    every = TRITON[which]
    if which == "full" and length > SWEPT:
        every = swept(every, partial(_triton_time, SWEPT, store=store), TOP)
    return every


def _triton_time(length: int, config: AttentionConfig, store: Kept) -> Timed:
    words = _words(f"{triton_compile.identity(SOURCE)} {config.text()}", length, b"")
    return store.time(words, partial(tritons, length, config), (ContestantRefused, TritonError))


def _again(length: int, best: Best) -> Contestant:
    return tritons(length, next(config for config in CONFIGS if config.text() == best.detail))


def launched(name: str, work: Work, steps: Callable[[int], float] | None) -> Contestant:
    """A launch with a sample of it executed; `steps` of each workgroup, None where all do the same."""
    try:
        part = executed(work)
    except ValueError as error:
        raise ContestantRefused(f"{name}: {error}") from error
    if steps is not None and part.recorded.work is not None:
        part.recorded.work = lengths(part.recorded.work, steps, work.workgroups)
    return Contestant(name, work.name, (part,))


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


def ours(length: int, choice: Choice) -> Contestant:
    program = program_of(choice.path, choice.knobs, choice.kernel)
    kernel = program.kernel
    sizes = {"Z": BATCH * KV_HEADS, "G": HEADS // KV_HEADS, "Sq": length, "Sk": length}
    args = [*tensors(length), np.float32(D**-0.5), *(np.int32(sizes[s.name]) for s in kernel.shapes)]
    code = machine.load(compile_cached(program).object).kernel(kernel.name)
    work = Work("argus", code, launch_grid(kernel, sizes), (kernel.threads,), args)
    rows, keys = kernel.threads // 2, 2 * int(kernel.settings["BC"])
    tiles = length // rows

    def pairs(tile: int) -> int:
        return -(-rows * (tile + 1) // keys)

    def steps(n: int) -> float:
        mirrored = bool(kernel.settings["MIRROR"])
        place = n // (BATCH * HEADS) if kernel.settings["XCD"] else n % (tiles // (2 if mirrored else 1))
        return pairs(tiles - 1 - place) + (pairs(place) if mirrored else 0)

    return launched("ours", work, steps)


def triton_work(length: int, config: AttentionConfig) -> Work:
    """The launch of a configuration of Triton."""
    code, lds = compiled(config)
    try:
        kernel = machine.load(code).kernel("attention")
    except machine.MachineError as error:
        raise ContestantRefused(f"{config.text()}: {str(error).splitlines()[0]}") from error
    heads, tiles = BATCH * HEADS, length // config.bm
    numbers = (np.float32(D**-0.5), np.int32(BATCH * KV_HEADS), np.int32(length), None, None)
    more = lds - kernel.info.group_segment_fixed_size
    return Work("triton", kernel, (heads, tiles, 1), (64 * config.warps,), (*tensors(length), *numbers), lds=more)


def tritons(length: int, config: AttentionConfig) -> Contestant:
    heads, tiles = BATCH * HEADS, length // config.bm
    work = triton_work(length, config)
    return launched(config.text(), work, lambda n: (tiles - n // heads) * config.bm / config.bn)


def aiters(root: Path, length: int) -> Contestant:
    case = fmha.case("causal", length, length, HEADS, k_heads=KV_HEADS, batch=BATCH, rounding="rtne")
    code = aiter_objects.kernel(root, case.path)
    return launched("AITER", Work("aiter", code, case.grid, (case.block,), case.args, offsets=case.offsets), None)


def variants(length: int, rows: Mapping[str, Knobs], kept: Kept) -> Iterator[tuple[str, Timed]]:
    """Times of ours with other knobs, not proved."""
    for name, knobs in rows.items():
        choice = Choice("attention", "attention", {"causal": True, **knobs})
        try:
            code = compile_cached(program_of(choice.path, choice.knobs, "attention")).object
            yield name, kept.time(_words("ours", length, code), partial(ours, length, choice), ContestantRefused)
        except CompileError as error:
            yield name, Timed(0.0, 0.0, f"{error.code}: {error.message}")


def ablations(length: int, kept: Kept) -> Iterator[tuple[str, Timed]]:
    """One idea taken away or added at a time, 8 waves and 64 keys."""
    return variants(length, ABLATIONS, kept)


def searched(length: int, kept: Kept) -> Iterator[tuple[str, Timed]]:
    """Candidates for the dispatch table."""
    return variants(length, {" ".join(f"{k}={v}" for k, v in knobs.items()): knobs for knobs in SEARCHED}, kept)


def table(rows: Sequence[AttentionRow]) -> str:
    """A Markdown table."""
    lines = [
        "| S | ours, TFLOPS (simulated) | us | MHz | Triton best, TFLOPS (simulated) | AITER, TFLOPS (simulated) | "
        f"best other / ours | {HEADER} |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        cells = [str(row.length), f"{row.tflops(row.ours.us):.0f}", row.ours.text(0), f"{row.ours.mhz:.0f}"]
        for name in ("Triton", "AITER"):
            best = row.others.get(name)
            said = f" ({best.text(0)} us; {best.detail}; {best.tried} tried)" if best is not None else ""
            cells.append("-" if best is None else f"{row.tflops(best.us):.0f}{said}")
        ratio = row.ratio()
        cells += ["-" if ratio is None else f"{ratio:.2f}", cell(row.verdict)]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)
