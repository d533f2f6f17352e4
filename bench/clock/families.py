"""The families of rows, in the order of the rows file: which module makes them and which folders that needs.

A family is a small module with a function `rows(folders)`. It reads the facts it knows and yields a `Task` for every
time whose program can be simulated, and a `LeftOut` with the reason for those that cannot.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from bench.clock import (
    fmha,
    gemm,
    hipblaslt,
    moe,
    primus,
    rowwise,
    small,
    smoke,
    streams,
    triton_attention,
    triton_gemm,
)
from bench.clock.rows import Folders, LeftOut, Task

Found = Iterator[Task | LeftOut]


@dataclass(frozen=True, slots=True)
class Family:
    """`module`: the file under bench/clock whose text belongs to the provenance of its rows."""

    module: str
    rows: Callable[[Folders], Found]
    needs: tuple[str, ...] = ("facts",)


FAMILIES: Mapping[str, Family] = {
    "gemm_bf16": Family("gemm", gemm.bf16, ("facts", "aiter")),
    "gemm_i8": Family("gemm", gemm.i8, ("facts", "aiter")),
    "gemm_triton": Family("triton_gemm", triton_gemm.rows),
    "hipblaslt": Family("hipblaslt", hipblaslt.rows, ("facts", "hipblaslt")),
    "fmha": Family("fmha", fmha.rows, ("facts", "aiter")),
    "attention_triton": Family("triton_attention", triton_attention.rows),
    "primus": Family("primus", primus.rows, ("facts", "aiter")),
    "moe": Family("moe", moe.rows, ("facts", "aiter")),
    "streams": Family("streams", streams.rows),
    "rowwise": Family("rowwise", rowwise.rows),
    "small": Family("small", small.rows),
}
SMOKE: Mapping[str, Family] = {"smoke": Family("smoke", smoke.rows, ())}


def tasks_of(name: str, family: Family, folders: Folders) -> Found:
    """The rows of a family, or one word that its folders are missing."""
    missing = [need for need in family.needs if getattr(folders, need) is None]
    if missing:
        return iter([LeftOut(name, 0, f"no folder given for {', '.join(missing)}")])
    return family.rows(folders)
