"""hipBLASLt rows: sizes whose speed its tuner measured and left in the library's tables, with the very solution.

The tuner's client launches back to back between two events and takes the mean (Tensile's client; the files state
neither that nor the chip beyond gfx942): the protocol of a graph, tensors warm. Rows that split K are left out: the
parts of a tile are added up by whoever comes last, which a sample of workgroups does not show. So are rows that
contradict the rest of their file: another size, at least as large along every axis, is stated to be faster.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np

from argus.bench.hipblaslt import TYPES, Table, work
from argus.clock.sampled import Work
from bench.clock.rows import Folders, LeftOut, Measured, Regime, Task, given

PREFIX = "aquavanjaram_"
SMALL_US = 25.0
"""Up to here a product counts as latency-bound: it fills the chip for one round or less."""
Fact = dict[str, str]


def works(folder: Path, index: int, m: int, n: int, k: int) -> list[Work]:
    return [work(Table(folder).solution(index), m, n, k)]


def sizes(row: Fact) -> tuple[int, int, int]:
    return int(row["M"]), int(row["N"]), int(row["K"])


def contradicted(row: Fact, others: list[Fact]) -> bool:
    """Whether a product of the same table, no smaller along any axis, is stated to take less time."""
    mine = sizes(row)
    return any(
        other["logic"] == row["logic"]
        and sizes(other) != mine
        and all(theirs >= size for theirs, size in zip(sizes(other), mine, strict=True))
        and float(other["us"]) < float(row["us"])
        for other in others
    )


def rows(folders: Folders) -> Iterator[Task | LeftOut]:
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
