"""Tiles of the bf16 products of plans, chosen by the clock: `argus/kernels/matmul_chain.json`.

    python -m bench.product_tiles                       all shapes below; writes the table
    python -m bench.product_tiles 1024x8192x8192        one of them: its candidates, nothing written

A shape is M x N x K, with `a` behind it where A is stored by k, `b` where B is. Every candidate is timed at every shape
(`matmul_chain` without a chain, graph protocol, simulated) and the fastest one that is proved gets the row. Times are
kept in out/launches. A plan takes a row for its very sizes; others are chosen as in `argus.ops` (`matmul.json`).
"""

from __future__ import annotations

import json
import sys
from typing import Any

from argus.bench.contestant import from_choice
from argus.bench.kept import Kept
from argus.bench.kernelbench.timing import LAUNCHES
from argus.clock import LABEL
from argus.compile.cache import key
from argus.ir.compile_error import CompileError
from argus.lang.errors import ProgramError
from argus.ops.choice import KERNELS, Choice, matmul_with
from argus.pipeline import program_of, report_of
from argus.plan.planner import kernel_of

TABLE = KERNELS / "matmul_chain.json"
SHAPES = ("1024x8192x8192", "128x16384x16384", "128x16384x32768")
"""Products of KernelBench's tasks whose tile is not that of the nearest row of matmul.json."""


def _tile(bm: int, bn: int, depth: int, stages: int, xm: int, inst: int = 32) -> dict[str, Any]:
    return {
        "BM": bm, "BN": bn, "WM": 2, "WN": 2, "INST": inst, "DEPTH": depth, "STAGES": stages, "XM": xm, "GROUP": 1,
    }  # fmt: skip


CANDIDATES = (
    _tile(256, 256, 1, 1, 2),
    _tile(256, 128, 1, 1, 1),
    _tile(256, 128, 1, 1, 2),
    _tile(128, 128, 2, 1, 4),
    _tile(64, 128, 2, 1, 0),
    _tile(64, 128, 2, 2, 0),
    _tile(128, 64, 4, 2, 0),
    _tile(64, 64, 4, 2, 2, inst=16),
)


def parsed(text: str) -> tuple[int, int, int, bool, bool]:
    m, n, k = (int(part) for part in text.rstrip("ab").split("x"))
    return m, n, k, "a" in text, "b" in text


def sensible(tile: dict[str, Any], m: int, n: int) -> bool:
    """No tile larger than the product, and none that makes many rounds of small workgroups."""
    tiles = -(-m // tile["BM"]) * -(-n // tile["BN"])
    return tile["BM"] <= max(64, m) and 96 <= tiles <= 1024


def timed(text: str) -> list[tuple[float, dict[str, Any], Choice]]:
    """The candidates at a shape, fastest first."""
    m, n, k, a_by_k, b_by_k = parsed(text)
    sizes, kept, found = {"M": m, "N": n, "K": k}, Kept(LAUNCHES, "graph"), []
    for tile in (tile for tile in CANDIDATES if sensible(tile, m, n)):
        made = matmul_with({"kernel": "matmul", "knobs": tile}, m, n, k, "bf16", a_by_k=a_by_k, b_by_k=b_by_k)
        choice = Choice("matmul_chain", "matmul_chain", made.knobs)
        try:
            kernel = kernel_of(choice.file, choice.kernel, tuple(sorted(choice.knobs.items())))
            words = f"matmul_chain:matmul_chain M={m} N={n} K={k} {key(kernel)}"
            us = kept.time(words, lambda choice=choice: from_choice("", choice, sizes, False), ()).us  # type: ignore[misc]
        except (CompileError, ProgramError) as error:
            print(f"# {text} {tile}: {str(error).splitlines()[0]}", file=sys.stderr)
            continue
        print(f"{text:18} {us:8.1f} us (simulated)  {choice.text()}", flush=True)
        found.append((us, tile, choice))
    return sorted(found, key=lambda one: one[0])


def row(text: str) -> dict[str, Any]:
    m, n, k, a_by_k, b_by_k = parsed(text)
    for us, tile, choice in timed(text):
        if report_of(program_of(choice.path, choice.knobs, choice.kernel)).proved:
            shape = {"M": m, "N": n, "K": k, "a_by_k": a_by_k, "b_by_k": b_by_k}
            return {**shape, "kernel": "matmul", "knobs": tile, "us": round(us, 2)}
    raise SystemExit(f"no candidate is proved at {text}")


def main() -> None:
    if sys.argv[1:]:
        for text in sys.argv[1:]:
            timed(text)
        return
    rows = [row(text) for text in SHAPES]
    lines = ",\n".join(f"  {json.dumps(one)}" for one in rows)
    rule = "a product of these very sizes and layouts takes the row; others: matmul.json"
    made = f'{{\n "rule": "{rule}",\n "made": "python -m bench.product_tiles; {LABEL}",\n "rows": [\n{lines}\n ]\n}}\n'
    TABLE.write_text(made, encoding="utf-8")


if __name__ == "__main__":
    main()
