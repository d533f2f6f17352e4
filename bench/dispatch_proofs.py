"""Kernels as the dispatcher derives them, checked: `python bench/dispatch_proofs.py [--all] [KERNEL ...]`.

Rows of the tables are made to fit operands before they are launched: layouts, element types, tails of K, access widths,
bias, activations. Without a flag, every row as it stands, and these forms with one row of each kernel, tails and widths
only at their ends; `--all`: every form of every row (hours). With names of kernels, only these.

Prints CPU seconds and, last, their sum; exit 1 if something is not proved, or is proved without its `value` though it
has a specification.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from argus.check import check
from argus.ir.passes.schedule import scheduled
from argus.lang import read
from argus.ops.attention import choose_attention
from argus.ops.choice import (
    ACTIVATIONS,
    DIRECT,
    MATMUL_TYPES,
    ROW_FAMILIES,
    ROW_TYPES,
    TURNED,
    Choice,
    choose_elementwise,
    choose_rows,
    choose_transpose,
    matmul_with,
    table,
)
from argus.ops.fp8 import steps
from argus.ops.moe import choose_moe

STORED = tuple(product((False, True), repeat=2))
TAILS = (0, 8, 4, 2, 1)
"""How far K is past a multiple of 64: no tail, and tails that leave accesses of 16, 8, 4 and 2 bytes."""
COUNTS = (8, 4, 2, 1)
"""Elements that rows are multiples of: the access width follows."""


SIZES = ((1024, 1024, 1024), (1408, 1408, 1408))
"""Sizes at which candidates of the products' table stand: tiles dealt out to XCDs by rows and columns, and in bands."""


def products() -> list[Mapping[str, Any]]:
    """Rows of the products' table, with sizes: those that were timed, and every candidate."""
    candidates = product(table("matmul")["candidates"], SIZES)
    return [*table("matmul")["rows"], *({"M": m, "N": n, "K": k, **row} for row, (m, n, k) in candidates)]


def as_they_stand() -> Iterator[Choice]:
    """The rows of the tables at their own sizes."""
    for row in products():
        yield matmul_with(row, row["M"], row["N"], row["K"], "bf16")
    for row in products():
        yield matmul_with(row, row["M"], row["N"], row["K"], "fp8")
    for family in ROW_FAMILIES:
        yield from (choose_rows(family, n, "bf16", "sum") for n in _lengths())
    experts = table("moe")
    yield from (Choice("fp8_gemm", "fp8_matmul", row["knobs"]) for row in experts["fp8_matmul"])
    for row in experts["moe"]:
        common = {"BM": row["BM"], "TURN": row.get("TURN", 4)}
        yield from (Choice("fp8_gemm", f"moe_{part}", {**common, **row[part]}) for part in ("gate_up", "down"))
    yield from (Choice("moe", name, {}) for name in ("quantise", "combine"))
    yield from (choose_attention(row["S"], row["S"], 128, "bf16", True) for row in table("attention")["rows"])


def _lengths() -> list[int]:
    """Rows that fill the registers of an entry, that do not, and one that is walked."""
    held = [64 * entry["WAVES"] * entry["CHUNKS"] * 8 for entry in table("rows")["rows"]]
    return [n for most in held for n in (most, most - 8)] + [held[-1] + 8]


def derived(every: bool) -> Iterator[Choice]:
    """What the rows become for other operands."""
    for row in products() if every else _one_of_each(products()):
        yield from _products(row, TAILS if every else TAILS[::4] + TAILS[1:2])
    for row, past in product(_one_of_each(products()), TAILS[:-1] if every else TAILS[1:2]):
        yield matmul_with(row, row["M"] + past, row["N"] + past, row["K"] + past, "fp8")
    rows = [n for n in _lengths() if n % 64] if every else [1000, 100_000]
    counts = COUNTS if every else COUNTS[::3]
    for family, n, dtype, past in product(ROW_FAMILIES, rows, ROW_TYPES, counts):
        for operation in ("sum", "mean", "max") if family == "rowreduce" else ("",):
            yield choose_rows(family, n // 8 * 8 + past % 8, dtype, operation)
    for dtype, count in product(ROW_TYPES, counts):
        yield from (choose_elementwise("unary", act, 4096 + count, dtype) for act in ACTIVATIONS[1:])
        yield from (choose_elementwise("binary", operation, 4096 + count, dtype) for operation in ("add", "mul"))
        yield choose_transpose(64 + count, 128, dtype)
    for k in (128, 256, 512):
        yield Choice("fp8_gemm", "fp8_matmul", {**table("moe")["fp8_matmul"][0]["knobs"], **steps(k)})
    for dim, inter in ((384, 128), (512, 256), (7168, 2048)):
        plan = choose_moe(64, 8, 2, dim, inter)
        yield from (plan.gate_up, plan.down, plan.combine)
    for s, d, causal in product((4096, 1000), (64, 128), (False, True)):
        yield choose_attention(s, s, d, "bf16", causal)
    for d, causal in product((64, 128), (False, True)):
        yield Choice("attention", "attention_lengths", {"D": d, "causal": causal, "BC": 32 if d == 128 else 64})


def _one_of_each(rows: list[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The row of each kernel with the fewest rows of C per tile, which is proved fastest."""
    return [
        min((r for r in rows if r["kernel"] == kernel), key=lambda r: int(r["knobs"]["BM"]))
        for kernel in dict.fromkeys(r["kernel"] for r in rows)
    ]


def _products(row: Mapping[str, Any], tails: Sequence[int]) -> Iterator[Choice]:
    """A row of the products' table with each thing a caller may ask for."""
    m, n, k = row["M"], row["N"], row["K"]
    for dtype, past in product(MATMUL_TYPES, tails):
        yield matmul_with(row, m + past, n + past, k + past, dtype)
    if row["kernel"] == "matmul_direct":
        return
    whole = row["kernel"] not in DIRECT and row["knobs"]["BM"] in TURNED and row["knobs"]["BN"] in TURNED
    for (a_by_k, b_by_k), past in product(STORED[1:] if whole else (), tails):
        yield matmul_with(row, m + past, n + past, k + past, "bf16", a_by_k=a_by_k, b_by_k=b_by_k)
    for activation, bias in product(ACTIVATIONS, (False, True)):
        yield matmul_with(row, m, n, k, "bf16", bias=bias, activation=activation)


def choices(every: bool) -> Iterator[Choice]:
    """Each kernel with its knobs once, and what finishes it."""
    seen = set()
    for choice in (*as_they_stand(), *derived(every)):
        for one in (choice, choice.then):
            if one is not None and (key := (one.kernel, one.file, tuple(sorted(one.knobs.items())))) not in seen:
                seen.add(key)
                yield one


def main() -> int:
    names = [word for word in sys.argv[1:] if word != "--all"]
    wrong, total = 0, 0.0
    for choice in choices("--all" in sys.argv[1:]):
        if names and choice.kernel not in names:
            continue
        started = time.process_time()
        kernel = read(choice.path, settings=dict(choice.knobs), kernel=choice.kernel)
        report = check(scheduled(kernel))
        unspecified = bool(kernel.computes) and "value" not in {v.rule for v in report.verdicts}
        wrong += report.status != "proved" or unspecified
        seconds = time.process_time() - started
        total += seconds
        print(choice.kernel, dict(choice.knobs), dict(report.count()), f"{seconds:.1f} s", flush=True)
    print(f"{total:.1f} s in all")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
