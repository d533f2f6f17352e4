"""`argus bench gemm`: one table of a few shapes, or every size of a kind into a file that a later run goes on with.

argus bench gemm --hipblaslt DIR --sizes table --triton none --out out/gemm.jsonl --workers 2
argus bench gemm --out out/gemm.jsonl --print             the table and what it says in all; nothing is run
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from contextlib import nullcontext

from argus.bench import gemm, holdout, search
from argus.bench.aiter_objects import AiterError
from argus.bench.gemm_lines import Line, Lines, made
from argus.bench.gemm_sizes import sizes
from argus.bench.gemm_summary import report
from argus.bench.hipblaslt import HipblasltError
from argus.bench.kept import Kept, Timed, time_cell
from argus.bench.product_shapes import drawn
from argus.bench.table_work import TableWork, rows
from argus.cli.bench_layers import list_all, table_work
from argus.cli.usage import UsageError
from argus.cluster.process_pool import ProcessPool

ABLATED = (4096, 4096, 4096)
DRAWN, HELD_OUT = 20, 60
"""Shapes of `--sizes drawn` and of `--holdout`."""
Shape = tuple[int, int, int]
List = Callable[[argparse.Namespace, str, list[tuple[str, Timed]]], None]


def handle(args: argparse.Namespace, shapes: list[Shape], show: List) -> None:
    """The family `gemm`; `show` prints a list of times."""
    if any(k < 1 for _, _, k in shapes):
        raise UsageError("gemm needs K: --shape M=…,N=…,K=…")
    if args.write and (shapes or not args.search):
        raise UsageError("--write goes with --search over all shapes of the table, without --shape")
    if args.search and args.dtype != "bf16":
        raise UsageError("--search is of bf16: f16 has its times, fp8 those of half the k")
    if args.print and args.out is None:
        raise UsageError("--print shows a file of rows: --out FILE --print")
    if args.nearest < 0 or (args.count is not None and args.count < 1):
        raise UsageError("--nearest takes 0 or more, --count 1 or more")
    kept = Kept(args.keep, args.protocol)
    if args.print:
        _show(args, Lines(args.out))
    elif args.write:
        search.write(search.made(kept))
    elif args.ablate or args.search:
        default = [ABLATED] if args.ablate else list(search.SHAPES)
        list_all(args, "gemm", {" x ".join(map(str, shape)): shape for shape in shapes or default}, show)
    elif args.holdout:
        _holdout(args, kept)
    else:
        _beside(args, shapes)


def _beside(args: argparse.Namespace, shapes: list[Shape]) -> None:
    if (args.dtype, args.layout) != ("bf16", "TN") and args.hipblaslt is None:
        raise UsageError("--dtype and --layout need --hipblaslt: the others are compared in bf16 TN")
    try:
        named = sizes(args.sizes, args.hipblaslt, args.dtype, args.layout, args.count or DRAWN, args.seed)
        works = [table_work(args, "gemm", shape) for shape in shapes or named.shapes]
        if args.out is not None:
            _into_file(args, works)
        else:
            _table(args, rows(args.pool, gemm.GemmRow, works))
    except AiterError as error:
        raise UsageError(f"--aiter {args.aiter}: {error}") from error
    except HipblasltError as error:
        raise UsageError(f"--hipblaslt {args.hipblaslt}: {error}") from error
    if not (args.json or shapes):
        for why in named.left_out:
            print(f"no size: {why}")


def _table(args: argparse.Namespace, done: Sequence[gemm.GemmRow]) -> None:
    if args.json:
        args.results.append({"family": "gemm", "rows": [row.to_json() for row in done]})
        return
    print(gemm.table(done))
    print(gemm.summary(done))
    notes = {note for row in done for best in row.others.values() for note in best.left_out}
    notes |= {f"{' x '.join(map(str, row.shape))}: {why}" for row in done for why in row.missing.values()}
    for note in sorted(notes):
        print(f"left out: {note}")


def _into_file(args: argparse.Namespace, works: Sequence[TableWork]) -> None:
    held = Lines(args.out)
    local = ProcessPool(args.workers) if args.ray is None and args.workers > 1 else None
    with local or nullcontext(args.pool) as pool:
        for line in made(held, pool, works):
            if not args.json:
                print(_progress(line), flush=True)
    _show(args, held)


def _progress(line: Line) -> str:
    row = line.row
    name = " x ".join(map(str, row.shape))
    if row.missing:
        return f"{name}: left out: {'; '.join(row.missing.values())} ({line.seconds:.0f} s)"
    others = ", ".join(f"{name} {time_cell(best.us, None)} us" for name, best in row.others.items())
    verdict = "" if row.verdict is None else f"; {row.verdict.text()}"
    return f"{name}: ours {time_cell(row.ours.us, None)} us, {others} (simulated){verdict} ({line.seconds:.0f} s)"


def _show(args: argparse.Namespace, held: Lines) -> None:
    if args.json:
        rows_ = [{"how": line.how, "present": line.present, **line.row.to_json()} for line in held.latest()]
        args.results.append({"family": "gemm", "rows": rows_})
        return
    print(report(held))


def _holdout(args: argparse.Namespace, kept: Kept) -> None:
    shapes, field = drawn(args.seed, args.count or HELD_OUT), search.known_field()
    judged = list(holdout.regrets(shapes, kept, field))
    decision = holdout.decision_us(shapes)
    if args.json:
        regrets = {" x ".join(map(str, one.shape)): one.regret for one in judged}
        mean = holdout.geometric_mean(judged)
        found = {"family": "gemm", "regret": regrets, "geometric_mean": mean, "decision_us": list(decision)}
        args.results.append(found)
        return
    print(holdout.table(judged))
    print(holdout.summary(judged, holdout.BAND, decision))
