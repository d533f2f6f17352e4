"""`argus bench FAMILY`: the library's kernels beside others on the same clock, one table.

    argus bench gemm --hipblaslt DIR       `argus bench --help` has an example of every option

Ours, Triton and AITER are simulated, published figures were measured by their authors. Every time has the interval of
its regime. The verdict (faster, tie, slower) is that of the paired difference: of what the clock gets wrong about one
family and not about another, and with `--clocks N` of N perturbed clocks too, which move all that is fitted or assumed.
`--protocol` says how the times would be taken. Times are kept in `--keep` (out/bench) until the clock changes; rows of
gemm are kept as lines of `--out`, too (`bench_gemm.py`).
"""

from __future__ import annotations

import argparse

from argus.bench import memory
from argus.bench.kept import Timed
from argus.bench.table_work import rows
from argus.cli import bench_agents, bench_gemm, bench_kernelbench, bench_layers
from argus.cli.answers import BenchAnswer, emit
from argus.cli.bench_layers import LAYERS, list_all, table_work
from argus.cli.many_machines import workplace
from argus.cli.options import pairs
from argus.cli.parser import near
from argus.cli.usage import GOOD, UsageError
from argus.clock import LABEL
from argus.ops.choice import ROW_FAMILIES


def handle(args: argparse.Namespace) -> int:
    if args.family[0] == "kernelbench":
        return bench_kernelbench.handle(args)
    if args.family[0] == "agents":
        return bench_agents.handle(args)
    known = ("gemm", *LAYERS, *memory.FAMILIES)
    for family in args.family:
        if family not in known:
            told = near(family, known) or f"; there are {', '.join(known)}"
            raise UsageError(f"there is no family {family!r}{told}")
    if args.family != ["gemm"] and (args.print or args.out is not None):
        raise UsageError("--out and --print are for gemm alone")
    if args.clocks < 0:
        raise UsageError(f"--clocks takes 0 or more, not {args.clocks}")
    if args.ray is not None and (args.write or args.holdout or args.right):
        raise UsageError("--ray goes with tables, --ablate and --search; --write, --holdout and --right work here")
    with workplace(args) as args.pool:
        return _tables(args)


def _tables(args: argparse.Namespace) -> int:
    args.results = []
    if not args.json:
        print(LABEL)
    for family in args.family:
        args.at_work = family
        if family in LAYERS:
            given = [_given(text, LAYERS[family]) for text in args.shape]
            bench_layers.handle(args, family, given, _list)
            continue
        shapes = [_sizes(text) for text in args.shape]
        if family == "gemm":
            bench_gemm.handle(args, shapes, _list)
        elif args.ablate:
            _row_ablations(args, family, shapes)
        else:
            _memory(args, family, shapes)
    if args.json:
        emit(BenchAnswer, {"label": LABEL, "results": args.results})
    return GOOD


def _given(text: str, names: str) -> dict[str, int]:
    try:
        given = {name: int(value) for name, value in pairs([text], "--shape").items()}
    except ValueError as error:
        raise UsageError(f"--shape {text}: a size is a whole number") from error
    if set(given) != set(names) or min(given.values()) < 1:
        raise UsageError(f"--shape takes {','.join(f'{name}=…' for name in names)} here, not {text!r}")
    return given


def _sizes(text: str) -> tuple[int, int, int]:
    given = _given(text, "MNK" if "K" in text else "MN")
    return given["M"], given["N"], given.get("K", 0)


def _row_ablations(args: argparse.Namespace, family: str, shapes: list[tuple[int, int, int]]) -> None:
    if family not in ROW_FAMILIES:
        raise UsageError(f"--ablate is for gemm, {', '.join(ROW_FAMILIES)}, not {family}")
    sizes = [(m, n) for m, n, _ in shapes] or [memory.ROWS]
    list_all(args, family, {f"{family} {m} x {n}": (m, n) for m, n in sizes}, _list)


def _list(args: argparse.Namespace, shape: str, found: list[tuple[str, Timed]]) -> None:
    if args.json:
        times = {name: time.to_json() for name, time in found}
        args.results.append({"family": args.at_work, "shape": shape, "times": times})
        return
    fastest = min((time.us for _, time in found if not time.why), default=0.0)
    print(f"| {shape} | us (simulated) | to the fastest |\n|---|---|---|")
    for name, time in found:
        print(f"| {name} | - | {time.why} |" if time.why else f"| {name} | {time.text()} | {time.us / fastest:.2f} |")


def _memory(args: argparse.Namespace, family: str, shapes: list[tuple[int, int, int]]) -> None:
    sizes = [(m, n) for m, n, _ in shapes] or [memory.DEFAULT.get(family, memory.ROWS)]
    done = rows(args.pool, memory.MemoryRow, [table_work(args, family, shape) for shape in sizes])
    if args.json:
        args.results.append({"family": family, "rows": [row.to_json() for row in done]})
    else:
        print(memory.table(done))
