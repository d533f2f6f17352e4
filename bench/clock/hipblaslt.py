"""hipBLASLt rows: sizes whose speed its tuner measured and left in the library's tables, with the very solution.

The library's tuning tool launches back to back, the mean of 100, and rotates 512 MB of tensors, but no more than 100
sets of them (utilities/find_exact.py, testing_matmul.hpp; the tables themselves state neither that nor the chip beyond
gfx942): the floor of a graph, nothing warm unless 100 sets fit into the Infinity Cache. A row counts if its time
belongs to the program that is simulated. These do not:

    copied        the speed stands, to all its digits, in a table of another chip or of other data types too: 9 of the
                  23 f16 speeds are those of the MI200's table, the others those of f16 to f32 or 8-bit to f16
    not named     products timed through PyTorch or the library's own choice: nobody wrote down which solution ran
    split K       the parts of a tile are added up by whoever comes last, which a sample of workgroups does not show
    contradicted  another size of the table, at least as large along every axis, is stated to be faster
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np

from argus.bench.hipblaslt import TYPES, Table, work
from argus.clock.launch import kept_by_mall
from argus.clock.sampled import Work
from bench.clock.rows import Folders, LeftOut, Measured, Regime, Task, given

PREFIX = "aquavanjaram_"
COPIED = "Cijk_Ailk_Bljk_HHS_BH_UserArgs"
"""The table all of whose speeds are copies (ROCm/hipBLASLt 7d9fb683)."""
NOT_NAMED = ("gemm", "hipBLASLt")
SMALL_US = 25.0
"""Up to here a product counts as latency-bound: it fills the chip for one round or less."""
MUCH, SLIGHTLY = 1.5, 0.9
LAUNCHES = 100
"""Launches of the tuner per time, and sets of tensors at most."""
Fact = dict[str, str]


def stays_warm(moved: float) -> bool:
    """Whether a product that moves so many bytes finds its tensors in the Infinity Cache when the tuner times it."""
    return LAUNCHES * moved <= kept_by_mall()


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


def unlisted(root: Path, facts: list[Fact]) -> Iterator[Fact | None]:
    """Speeds of the same tables that hipblaslt_rows.csv does not list: programs to validate on; None: not made."""
    known = {(row["logic"], sizes(row)) for row in facts}
    for logic in sorted({row["logic"] for row in facts}):
        table = Table(root / logic.removeprefix(PREFIX).removesuffix(".yaml"))
        for entry in table.entries:
            size = (entry.m, entry.n, entry.k)
            if entry.gflops <= 0 or (logic, size) in known:
                continue
            if entry.index not in table.solutions:
                yield None
                continue
            solution = table.solution(entry.index)
            yield {
                "role": "validate",
                "logic": logic,
                "solution": str(entry.index),
                **dict(zip("MNK", map(str, size), strict=True)),
                "us": f"{2e-3 * math.prod(size) / entry.gflops:.2f}",
                "macro_tile": "x".join(map(str, solution.tile)),
                "split_k": str(solution.split),
            }


def rows(folders: Folders) -> Iterator[Task | LeftOut]:
    with (given(folders.facts) / "agents_times.csv").open(newline="", encoding="utf-8") as file:
        unknown = sum((row["problem"], row["system"]) == NOT_NAMED for row in csv.DictReader(file))
    yield LeftOut("hipBLASLt", unknown, "the source does not name the solution that ran")
    root = given(folders.hipblaslt)
    with (given(folders.facts) / "hipblaslt_rows.csv").open(newline="", encoding="utf-8") as file:
        every = list(csv.DictReader(file))
    facts = [row for row in every if COPIED not in row["logic"]]
    yield LeftOut("hipBLASLt f16", len(every) - len(facts), "speeds are copies from tables of other chips and types")
    more = list(unlisted(root, facts))
    yield LeftOut("hipBLASLt", sum(row is None for row in more), "the solution was not made")
    facts += [row for row in more if row is not None]
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
        moved = float(item * (m * k + n * k) + item_out * m * n)
        regime: Regime = "small or latency-bound" if float(row["us"]) <= SMALL_US else "dense GEMM"
        found = Measured(
            role=row["role"],
            regime=regime,
            family=f"GEMM {kind}, hipBLASLt{' (small)' if regime != 'dense GEMM' else ''}",
            program=f"{name} solution {row['solution']}, {row['macro_tile']}",
            shape=f"{kind} {m}x{n}x{k}",
            flops=2.0 * m * n * k,
            bytes=moved,
            element=kind,
            microseconds=float(row["us"]),
            source=f"ROCm/hipBLASLt {row['logic']}",
            protocol="graph",
            exact=True,
            warm=stays_warm(moved),
            timing="the library's tuner, back-to-back launches, up to 512 MB of tensors rotated",
        )
        yield Task(found, partial(works, root / name, int(row["solution"]), m, n, k))
