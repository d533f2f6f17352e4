"""Entries of the tables of `argus bench` as work: one family at one shape, made here or by a worker of a cluster.

    with pool_of("auto") as pool:
        rows(pool, GemmRow, [TableWork("gemm", (4096, 4096, 4096), clocks=20)])
        lists(pool, [TableWork("softmax", (16384, 4096), what="ablate")])       -> [[("as chosen", Timed(...)), …]]

Rows are dataclasses and travel as JSON (`msgspec`). Folders named in a piece of work, with other people's objects and
with kept times, are folders of the machine that does it.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec

from argus.bench import ablate, attention, fp8, gemm, memory, moe, search
from argus.bench.kept import DIRECTORY, Kept, Timed
from argus.bench.others import Others
from argus.clock.protocol import Protocol
from argus.cluster import Pool, answers

WORK = "argus.bench.table_work:answer"
R = TypeVar("R")
Listed = list[tuple[str, Timed]]


@dataclass(frozen=True, slots=True)
class TableWork:
    """`what`: a row beside the others (`line`: with the seconds it took), or a list of variants of ours."""

    family: str
    shape: tuple[int, ...]
    what: Literal["row", "line", "ablate", "search"] = "row"
    triton: str = "quick"
    aiter: str | None = None
    hipblaslt: str | None = None
    clocks: int = 0
    keep: str = str(DIRECTORY)
    protocol: Protocol = "stream"
    dtype: str = "bf16"
    layout: str = "TN"
    nearest: int = 0

    @property
    def others(self) -> Others:
        aiter, hipblaslt = (None if path is None else Path(path) for path in (self.aiter, self.hipblaslt))
        return Others(self.triton, aiter, hipblaslt, self.nearest)

    @property
    def kept(self) -> Kept:
        return Kept(Path(self.keep), self.protocol)


def rows(pool: Pool, kind: type[R], works: Sequence[TableWork]) -> list[R]:
    """The rows of a table, in order."""
    return [msgspec.convert(value, kind) for value in _values(pool, works)]


def lists(pool: Pool, works: Sequence[TableWork]) -> Iterable[Listed]:
    """Lists of variants with their times, in order."""
    return (msgspec.convert(value, Listed) for value in _values(pool, works))


def _values(pool: Pool, works: Sequence[TableWork]) -> Iterable[Any]:
    return (found.value for found in answers(pool, WORK, map(msgspec.to_builtins, works)))


def answer(item: Any) -> Any:
    """What a worker is asked for."""
    work = msgspec.convert(item, TableWork)
    start = time.process_time()
    found = _row(work) if work.what in ("row", "line") else _listed(work)
    if work.what == "line":
        found = {"row": found, "seconds": round(time.process_time() - start, 2)}
    return msgspec.to_builtins(found, enc_hook=float)


def _row(work: TableWork) -> Any:
    match work.family, work.shape:
        case "gemm", (m, n, k):
            return gemm.gemm_row((m, n, k), work.others, work.clocks, work.kept, work.dtype, work.layout)
        case "attention", (length,):
            return attention.attention_row(length, work.others, work.clocks, work.kept)
        case "moe", (tokens,):
            return moe.moe_row(tokens, work.others, work.clocks, work.kept)
        case "fp8", (m, n, k):
            return fp8.fp8_row((m, n, k), work.others.aiter, work.clocks, work.kept)
        case family, (m, n):
            return memory.memory_row(family, m, n, protocol=work.protocol)
    raise ValueError(f"{work.family} has no row at {work.shape}")


def _listed(work: TableWork) -> Listed:
    match work.family, work.what, work.shape:
        case "gemm", "ablate", (m, n, k):
            return list(ablate.gemm_ablations(m, n, k, work.protocol))
        case "gemm", "search", (m, n, k):
            return [(found.choice.text(), found.time) for found in search.searched((m, n, k), work.kept)]
        case "attention", what, (length,):
            return list((attention.ablations if what == "ablate" else attention.searched)(length, work.kept))
        case "moe", what, (tokens,):
            return list((moe.ablations if what == "ablate" else moe.searched)(tokens, work.protocol))
        case family, "ablate", (m, n):
            return list(ablate.row_ablations(family, m, n, protocol=work.protocol))
    raise ValueError(f"{work.family} has no list {work.what} at {work.shape}")
