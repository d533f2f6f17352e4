"""`argus bench FAMILY`: the library's kernels beside others on the same clock, one table.

    argus bench gemm --hipblaslt DIR       `argus bench --help` has an example of every option

Ours, Triton and AITER are simulated, published figures were measured by their authors. Every time has the interval of
its regime. The verdict (faster, tie, slower) is that of the paired difference: of what the clock gets wrong about one
family and not about another, and with `--clocks N` of N perturbed clocks too, which move all that is fitted or assumed.
`--protocol` says how the times would be taken. Times of Triton, AITER and of the search are kept in `--keep`
(out/bench) until the clock changes.
"""

from __future__ import annotations

import argparse
import math

from argus.bench import gemm, holdout, memory, search
from argus.bench.aiter_objects import AiterError
from argus.bench.hipblaslt import HipblasltError
from argus.bench.kept import Kept, Timed
from argus.bench.product_shapes import drawn
from argus.bench.table_work import rows
from argus.cli import bench_agents, bench_kernelbench, bench_layers
from argus.cli.answers import BenchAnswer, emit
from argus.cli.bench_layers import LAYERS, list_all, table_work
from argus.cli.many_machines import workplace
from argus.cli.options import pairs
from argus.cli.parser import near
from argus.cli.usage import GOOD, UsageError
from argus.clock import LABEL
from argus.ops.choice import ROW_FAMILIES

ABLATED = (4096, 4096, 4096)


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
            _gemm(args, shapes)
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


def _gemm(args: argparse.Namespace, shapes: list[tuple[int, int, int]]) -> None:
    if any(k < 1 for _, _, k in shapes):
        raise UsageError("gemm needs K: --shape M=…,N=…,K=…")
    if args.write and (shapes or not args.search):
        raise UsageError("--write goes with --search over all shapes of the table, without --shape")
    kept = Kept(args.keep, args.protocol)
    if args.write:
        search.write(search.made(kept))
    elif args.ablate or args.search:
        default = [ABLATED] if args.ablate else list(search.SHAPES)
        list_all(args, "gemm", {" x ".join(map(str, shape)): shape for shape in shapes or default}, _list)
    elif args.holdout:
        _holdout(args, kept)
    else:
        _beside(args, shapes or [(n, n, n) for n in search.SQUARES], kept)


def _beside(args: argparse.Namespace, shapes: list[tuple[int, int, int]], kept: Kept) -> None:
    if (args.dtype, args.layout) != ("bf16", "TN") and args.hipblaslt is None:
        raise UsageError("--dtype and --layout need --hipblaslt: the others are compared in bf16 TN")
    if args.dtype == "fp8":
        _hipblaslt_alone(args, shapes, kept)
        return
    try:
        done = rows(args.pool, gemm.GemmRow, [table_work(args, "gemm", shape) for shape in shapes])
    except AiterError as error:
        raise UsageError(f"--aiter {args.aiter}: {error}") from error
    if args.json:
        args.results.append({"family": "gemm", "rows": [row.to_json() for row in done]})
        return
    print(gemm.table(done))
    print(gemm.summary(done))
    notes = {note for row in done for best in row.others.values() for note in best.left_out}
    notes |= {f"{' x '.join(map(str, row.shape))}: {why}" for row in done for why in row.missing.values()}
    for note in sorted(notes):
        print(f"left out: {note}")


def _hipblaslt_alone(args: argparse.Namespace, shapes: list[tuple[int, int, int]], kept: Kept) -> None:
    """fp8: hipBLASLt scales whole tensors, ours scales blocks; the work differs, so its times stand alone."""
    for shape in shapes:
        name = " x ".join(map(str, shape))
        try:
            best = gemm.hipblaslt_best(shape, args.hipblaslt, kept, args.dtype, args.layout)["hipBLASLt"]
        except HipblasltError as error:
            if args.json:
                args.results.append({"family": "gemm", "shape": name, "left_out": str(error)})
            else:
                print(f"{name}: {error}")
            continue
        speed = 2.0 * math.prod(shape) / best.us * 1e-6
        if args.json:
            row = {"shape": list(shape), **best.to_json(), "tflops": speed}
            args.results.append({"family": "gemm", "shape": name, "rows": [row]})
        else:
            print(f"{name}: {best.text()} us, {speed:.0f} TFLOPS (simulated), {best.detail}")


def _holdout(args: argparse.Namespace, kept: Kept) -> None:
    shapes, field = drawn(args.seed, args.count), search.known_field()
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
