"""hipBLASLt rows: sizes whose speed its tuner measured and left in the library's tables, with the very solution.

The tuner's client launches back to back between two events and takes the mean (Tensile's client; the files state
neither that nor the chip beyond gfx942): the protocol of a graph, tensors warm. Rows that split K are left out: the
parts of a tile are added up by whoever comes last, which a sample of workgroups does not show. So are rows that
contradict the rest of their file: another size, at least as large along every axis or of much more work, is stated to
be faster.
"""

from __future__ import annotations

import csv
import math
import statistics
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np

from argus.bench.hipblaslt import TYPES, HipblasltError, Table, work
from argus.clock.sampled import Work
from bench.clock.rows import Folders, LeftOut, Measured, Regime, Task, given

PREFIX = "aquavanjaram_"
SQUARES = "Cijk_Alik_Bljk_BBS_BH_UserArgs"
SMALL_US = 25.0
"""Up to here a product counts as latency-bound: it fills the chip for one round or less."""
MUCH, SLIGHTLY = 1.5, 0.9
Fact = dict[str, str]


def works(folder: Path, index: int, m: int, n: int, k: int) -> list[Work]:
    return [work(Table(folder).solution(index), m, n, k)]


def sizes(row: Fact) -> tuple[int, int, int]:
    return int(row["M"]), int(row["N"]), int(row["K"])


def contradicted(row: Fact, others: list[Fact]) -> bool:
    """Whether a product of the same table, no smaller along any axis, is stated to take less time.

    A side may be a tenth smaller if the work is half as much again.
    """
    mine = sizes(row)

    def larger(theirs: tuple[int, int, int]) -> bool:
        least = SLIGHTLY if math.prod(theirs) >= MUCH * math.prod(mine) else 1.0
        return theirs != mine and all(other >= least * size for other, size in zip(theirs, mine, strict=True))

    return any(
        other["logic"] == row["logic"] and larger(sizes(other)) and float(other["us"]) < float(row["us"])
        for other in others
    )


def squares(folders: Folders) -> Iterator[Task | LeftOut]:
    """Square bf16 products that others timed through PyTorch: the solution is the one that the 2024 tables name."""
    table = Table(given(folders.hipblaslt) / SQUARES)
    times: dict[int, list[float]] = {}
    with (given(folders.facts) / "agents_times.csv").open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if (row["problem"], row["system"]) == ("gemm", "hipBLASLt"):
                times.setdefault(int(row["size"]), []).append(1e3 * float(row["mean_ms"]))
    without = 0
    for size, runs in times.items():
        try:
            choice = table.choice(size, size, 1, size)
        except HipblasltError:
            without += len(runs)
            continue
        found = Measured(
            role="validate",
            regime="dense GEMM" if size > 1024 else "small or latency-bound",
            family="GEMM bf16, hipBLASLt by name",
            program=f"{SQUARES} {choice.solution.text()}",
            shape=f"bf16 M=N=K={size}",
            flops=2.0 * size**3,
            bytes=6.0 * size**2,
            element="bf16",
            microseconds=statistics.median(runs),
            source="haohui/lumen-sosp26-ae: retime.md, reproduce_table2/gemm.jsonl",
            protocol="graph",
            exact=False,
            warm=True,
            timing="graphs of many calls after 1 s of warm-up",
            runs=tuple(sorted(runs)),
            notes=("measured with ROCm 7.1; the solution is what the tables of October 2024 choose",),
        )
        yield Task(found, partial(works, table.folder, choice.solution.index, size, size, size))
    yield LeftOut("GEMM bf16, hipBLASLt by name", without, "the tables have no entry for the size")


def rows(folders: Folders) -> Iterator[Task | LeftOut]:
    yield from squares(folders)
    root = given(folders.hipblaslt)
    with (given(folders.facts) / "hipblaslt_rows.csv").open(newline="", encoding="utf-8") as file:
        facts = list(csv.DictReader(file))
    split = [row for row in facts if row["split_k"] != "1"]
    odd = [row for row in facts if row["split_k"] == "1" and contradicted(row, facts)]
    yield LeftOut("hipBLASLt", len(split), "they split K, and a sample does not show who adds up the parts")
    yield LeftOut(
        "hipBLASLt",
        len(odd),
        "a larger product of the same table is stated to be faster: "
        + ", ".join("x".join(map(str, sizes(row))) for row in odd),
    )
    for row in facts:
        if row in split or row in odd:
            continue
        name = row["logic"].removeprefix(PREFIX).removesuffix(".yaml")
        m, n, k = sizes(row)
        kind, wide, out = TYPES[name.split("_")[3]]
        item, item_out = np.dtype(wide).itemsize, np.dtype(out).itemsize
        regime: Regime = "small or latency-bound" if float(row["us"]) <= SMALL_US else "dense GEMM"
        found = Measured(
            role=row["role"],
            regime=regime,
            family=f"GEMM {kind}, hipBLASLt{' (small)' if regime != 'dense GEMM' else ''}",
            program=f"{name} solution {row['solution']}, {row['macro_tile']}",
            shape=f"{kind} {m}x{n}x{k}",
            flops=2.0 * m * n * k,
            bytes=float(item * (m * k + n * k) + item_out * m * n),
            element=kind,
            microseconds=float(row["us"]),
            source=f"ROCm/hipBLASLt {row['logic']}",
            protocol="graph",
            exact=True,
            warm=True,
            timing="the library's tuner, back-to-back launches",
        )
        yield Task(found, partial(works, root / name, int(row["solution"]), m, n, k))
