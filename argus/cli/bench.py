"""`argus bench FAMILY`: the library's kernels beside others on the same clock, one table.

    argus bench gemm                                   the five square sizes, three Triton configurations each
    argus bench gemm --shape M=4096,N=4096,K=4096 --triton full --clocks 20
    argus bench softmax add transpose                  bytes per second and share of the memory's rate
    argus bench gemm --ablate --shape M=4096,N=4096,K=4096
    argus bench gemm --search --shape M=2048,N=2048,K=2048      every row of the dispatch table at this shape

Ours and Triton are simulated, published figures were measured by their authors. `--clocks N` repeats the comparison
under N perturbed clocks: the share of wins says whether the ranking survives what is not known about the hardware.
"""

from __future__ import annotations

import argparse
import json
from typing import Any

from argus.bench import gemm, memory
from argus.bench.triton_matmul import FULL, QUICK
from argus.cli.options import GOOD, UsageError, pairs
from argus.clock import LABEL
from argus.ops.choice import table as dispatch

SQUARES = (1024, 2048, 4096, 8192, 16384)
TRITON = {"none": (), "quick": QUICK, "full": FULL}


def register(verbs: Any) -> None:
    parser = verbs.add_parser(
        "bench",
        help="the library's kernels beside others on the simulated MI300X",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=__doc__,
    )
    parser.add_argument("family", nargs="+", help=f"gemm, {', '.join(memory.FAMILIES)}")
    parser.add_argument("--shape", action="append", default=[], metavar="M=4096,…", help="one shape; may be repeated")
    parser.add_argument("--triton", choices=sorted(TRITON), default="quick", help="Triton configurations to compile")
    parser.add_argument("--clocks", type=int, default=0, help="perturbed clocks for the share of wins (0: none)")
    parser.add_argument("--ablate", action="store_true", help="gemm: one idea taken away at a time")
    parser.add_argument("--search", action="store_true", help="gemm: every row of the dispatch table at the shape")
    parser.add_argument("--json", action="store_true", help="machine-readable output")
    parser.set_defaults(handler=handle)


def handle(args: argparse.Namespace) -> int:
    known = ("gemm", *memory.FAMILIES)
    for family in args.family:
        if family not in known:
            raise UsageError(f"there is no family {family!r}; there are {', '.join(known)}")
    if args.clocks < 0:
        raise UsageError(f"--clocks takes 0 or more, not {args.clocks}")
    shapes = [_sizes(text) for text in args.shape]
    if not args.json:
        print(LABEL)
    for family in args.family:
        if family == "gemm":
            _gemm(args, shapes or [(n, n, n) for n in SQUARES])
        else:
            _memory(args, family, shapes)
    return GOOD


def _sizes(text: str) -> tuple[int, int, int]:
    try:
        given = {name: int(value) for name, value in pairs([text], "--shape").items()}
    except ValueError as error:
        raise UsageError(f"--shape {text}: a size is a whole number") from error
    if not {"M", "N"} <= set(given) <= {"M", "N", "K"} or min(given.values()) < 1:
        raise UsageError(f"--shape takes M=…,N=…,K=… (K for gemm only), not {text!r}")
    return given["M"], given["N"], given.get("K", 0)


def _gemm(args: argparse.Namespace, shapes: list[tuple[int, int, int]]) -> None:
    if any(k < 1 for _, _, k in shapes):
        raise UsageError("gemm needs K: --shape M=…,N=…,K=…")
    if args.ablate or args.search:
        for m, n, k in shapes:
            if args.ablate:
                found = [(name, value) for name, value in gemm.ablations(m, n, k)]
            else:
                rows = dispatch("matmul")["rows"]
                found = [(choice.text(), value) for choice, value in gemm.search(m, n, k, rows)]
            _list(args, f"{m} x {n} x {k}", found)
        return
    done = [gemm.gemm_row(m, n, k, TRITON[args.triton], args.clocks) for m, n, k in shapes]
    if args.json:
        print(json.dumps({"label": LABEL, "rows": [row.to_json() for row in done]}))
        return
    print(gemm.table(done))
    for note in sorted({note for row in done for note in row.notes}):
        print(f"Triton, left out: {note}")


def _list(args: argparse.Namespace, shape: str, found: list[tuple[str, float | str]]) -> None:
    if args.json:
        print(json.dumps({"label": LABEL, "shape": shape, "us": dict(found)}))
        return
    times = [value for _, value in found if isinstance(value, float)]
    print(f"| {shape} | us (simulated) | to the fastest |\n|---|---|---|")
    for name, value in found:
        if isinstance(value, float):
            print(f"| {name} | {value:.1f} | {value / min(times):.2f} |")
        else:
            print(f"| {name} | - | {value} |")


def _memory(args: argparse.Namespace, family: str, shapes: list[tuple[int, int, int]]) -> None:
    sizes = [(m, n) for m, n, _ in shapes] or [memory.DEFAULT.get(family, memory.ROWS)]
    rows = [memory.memory_row(family, m, n) for m, n in sizes]
    if args.json:
        print(json.dumps({"label": LABEL, "rows": [row.to_json() for row in rows]}))
    else:
        print(memory.table(rows))
