"""The chosen kernel with one idea taken away at a time: us at the sustained clock, or why it cannot be built.

    list(gemm_ablations(4096, 4096, 4096))      -> [("as chosen", 204.0), ("swizzle off", 409.7), ...]
    list(row_ablations("softmax", 16384, 4096))

A change that changes nothing is left out. Two changes need registers that four waves with 256 x 256 tiles do not have;
they stand beside the same kernel with eight waves or smaller tiles.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from argus.bench.contestant import from_choice
from argus.bench.kept import Timed
from argus.clock.protocol import Protocol
from argus.ir.compile_error import CompileError
from argus.ir.kernel import KnobValue
from argus.lang.errors import ProgramError
from argus.ops.choice import BYTES, Choice, choose_matmul, choose_rows
from argus.pipeline import Unproved

EIGHT = {"WM": 2, "WN": 4}
GEMM: Mapping[str, Mapping[str, Any]] = {
    "swizzle off": {"SWIZZLE": False},
    "memory and matrix instructions not interleaved": {"INTERLEAVE": False},
    "XCD map off": {"XM": 0, "GROUP": 1},
    "XCD map along N only": {"XM": 1},
    "starts staggered over the XCDs": {"STAGGER": 2},
    "256 x 128 tiles": {"BM": 256, "BN": 128},
    "8 waves": EIGHT,
    "8 waves, nothing fetched ahead": {**EIGHT, "DEPTH": 0},
    "256 x 128 tiles, 16x16x16 instead of 32x32x8": {"BM": 256, "BN": 128, "INST": 16},
}
DIRECT: Mapping[str, Mapping[str, Any]] = {
    "XCD map off": {"XM": 0, "BAND": 0},
    "one k-step ahead": {"DEPTH": 1},
    "32x32x8 instead of 16x16x16": {"INST": 32},
    "waves not kept together": {"TOGETHER": False},
    "four groups of one wave": {"WK": 4, "WM": 1, "WN": 1, "TOGETHER": False},
}
TILES: Mapping[str, Mapping[str, Any]] = {
    "map off": {"XM": 0, "BAND": 0},
    "chiplets along M": {"XM": 8, "BAND": 0},
    "swizzle off": {"SWIZZLE": False},
    "accesses closer together: they queue": {"READ": 2, "WRITE": 3},
    "accesses further apart: waits before the barriers": {"READ": 6, "WRITE": 8},
    "accesses and products in blocks": {"READ": 0, "WRITE": 0},
    "256 x 256 tiles": {"BM": 256, "BN": 256},
    "256 x 256 tiles, 32x32x8 instead of 16x16x16": {"BM": 256, "BN": 256, "INST": 32},
    "128 x 224 tiles": {"BM": 128, "BN": 224},
}
CHANGES: Mapping[str, Mapping[str, Mapping[str, Any]]] = {"matmul_direct": DIRECT, "matmul_tiles": TILES}


def gemm_ablations(m: int, n: int, k: int, protocol: Protocol = "stream") -> Iterator[tuple[str, Timed]]:
    choice = choose_matmul(m, n, k, "bf16")
    yield from _timed(choice, CHANGES.get(choice.kernel, GEMM), {"M": m, "N": n, "K": k}, protocol)
    if choice.kernel in CHANGES:
        staged = choose_matmul(m, n, k, "bf16", able=lambda row: row["kernel"] == "matmul")
        yield f"what is chosen of matmul.py: {staged.text()}", _time(staged, {"M": m, "N": n, "K": k}, protocol)


def row_ablations(
    family: str, m: int, n: int, dtype: str = "bf16", protocol: Protocol = "stream"
) -> Iterator[tuple[str, Timed]]:
    choice = choose_rows(family, n, dtype, "sum")
    waves, chunks = int(choice.knobs["WAVES"]), int(choice.knobs["CHUNKS"])
    changes: dict[str, Mapping[str, KnobValue]] = {
        "masked, as rows that do not fill the registers": {**({"EXACT": False} if "EXACT" in choice.knobs else {})},
        "one element per access": {"EXACT": False, "WIDTH": BYTES[dtype]},
        "row held by four times as many waves": {"WAVES": 4 * waves, "CHUNKS": max(1, chunks // 4)},
        "row held by twice as many waves": {"WAVES": 2 * waves, "CHUNKS": max(1, chunks // 2)},
    }
    yield from _timed(choice, changes, {"M": m, "N": n}, protocol)
    walked = Choice(choice.file, f"{choice.kernel}_long", {**choice.knobs, "CHUNKS": 1})
    yield "row walked twice instead of held in registers", _time(walked, {"M": m, "N": n}, protocol)


def _timed(
    choice: Choice, changes: Mapping[str, Mapping[str, Any]], sizes: Mapping[str, int], protocol: Protocol
) -> Iterator[tuple[str, Timed]]:
    yield f"as chosen: {choice.text()}", _time(choice, sizes, protocol)
    for name, change in changes.items():
        knobs = {**choice.knobs, **change}
        if knobs != dict(choice.knobs):
            yield name, _time(Choice(choice.file, choice.kernel, knobs), sizes, protocol)


def _time(choice: Choice, sizes: Mapping[str, int], protocol: Protocol) -> Timed:
    try:
        return Timed.of(from_choice(choice.kernel, choice, sizes, proved=False).launches(protocol=protocol))
    except (CompileError, ProgramError, Unproved) as error:
        return Timed(0.0, 0.0, str(error).splitlines()[0])
