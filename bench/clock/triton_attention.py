"""Triton attention rows: AITER's `flash_attn_func` through Triton, and HipKittens' Triton baseline, causal, one K head.

Both were published with tiles of 128 queries and 64 keys, 4 waves, one stage and two waves per SIMD
(gfx942-MHA-DEFAULT.json; HipKittens' README). The program is our own in the published form
(`argus.bench.triton_attention`). Workgroups differ in length by the mask: all get theirs by arithmetic, a sample would
guess. In ours the longest tiles come first; theirs come in plain order, which `order` gives back.
"""

from __future__ import annotations

import csv
import statistics
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from argus.bench.attention import BATCH, HEADS, triton_work
from argus.bench.triton_attention import HEAD, AttentionConfig
from argus.clock.sampled import Work
from bench.clock.rows import Folders, Measured, Task, given

CONFIG = AttentionConfig(128, 64, 4, 1, 32, 2)
SYSTEMS = {"AITER": "AITER Triton mha", "HipKittens (Triton v02)": "HipKittens attn_fwd"}


def works(length: int) -> list[Work]:
    return [triton_work(length, CONFIG)]


def steps(length: int, workgroup: int) -> float:
    """Blocks of keys a workgroup visits; the heads run fastest, the longest tiles first."""
    tiles = length // CONFIG.bm
    return (tiles - workgroup // (BATCH * HEADS)) * CONFIG.bm / CONFIG.bn


def order(length: int, workgroup: int) -> int:
    """Theirs: the tiles of a head one after the other, the short ones first."""
    tiles = length // CONFIG.bm
    return (tiles - 1 - workgroup % tiles) * BATCH * HEADS


def published(facts: Path) -> dict[tuple[str, int], list[float]]:
    """Times in us by system and length, from all tables."""
    found: dict[tuple[str, int], list[float]] = {}
    with (facts / "agents_times.csv").open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["problem"] == "attention" and row["system"] in SYSTEMS:
                found.setdefault((row["system"], int(row["size"])), []).append(1e3 * float(row["mean_ms"]))
    return found


def rows(folders: Folders) -> Iterator[Task]:
    for (system, length), times in published(given(folders.facts)).items():
        found = Measured(
            role="fit" if system == "AITER" else "validate",
            regime="attention",
            family=f"attention, Triton of {system.split(' ')[0]}",
            program=f"{SYSTEMS[system]} {CONFIG.bm}x{CONFIG.bn}, {CONFIG.warps} waves",
            shape=f"B{BATCH} Hq{HEADS} Hkv1 D{HEAD} causal S={length}",
            flops=2.0 * BATCH * HEADS * length**2 * HEAD,
            bytes=4.0 * BATCH * length * HEAD * (HEADS + 1),
            element="bf16",
            microseconds=statistics.median(times),
            source="haohui/lumen-sosp26-ae: data/benchmarks/retime.md",
            protocol="graph",
            exact=False,
            warm=True,
            timing="graphs of at least 10 calls, 1 s of warm-up, same tensors",
            runs=tuple(sorted(times)) if len(times) > 1 else (),
        )
        yield Task(found, partial(works, length), partial(steps, length), partial(order, length))
