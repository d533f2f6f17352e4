"""`argus bench attention`, `moe` and `fp8`: what `argus bench` does for whole layers.

argus bench attention --triton full --aiter DIR --clocks 20 --shape S=4096
argus bench attention --ablate | --search
argus bench moe --aiter DIR --shape T=1024         --ablate | --search | --right
argus bench fp8 --aiter DIR
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from argus.bench import attention, fp8, moe, moe_sampled
from argus.bench.kept import Timed
from argus.bench.table_work import TableWork, lists, rows
from argus.cli.usage import UsageError, WrongResult
from argus.ops.moe import choose_moe

LAYERS = {"attention": "S", "moe": "T", "fp8": "MNK"}
"""Families and the sizes of a shape."""
List = Callable[[argparse.Namespace, str, list[tuple[str, Timed]]], None]
Sizes = Sequence[Mapping[str, int]]


def handle(args: argparse.Namespace, family: str, shapes: Sizes, show: List) -> None:
    """One family; `show` prints a list of times."""
    args.aiter = _objects(args.aiter)
    {"attention": _attention, "moe": _moe, "fp8": _fp8}[family](args, shapes, show)


def _objects(root: Path | None) -> Path | None:
    if root is None:
        return None
    inside = root / "hsa/gfx942"
    found = inside if inside.is_dir() else root
    if not any((found / name).is_dir() for name in ("fmha_v3_fwd", "fmoe", "fp8gemm_blockscale")):
        raise UsageError(f"--aiter {root}: there are no objects of AITER; take its hsa/gfx942")
    return found


def _attention(args: argparse.Namespace, shapes: Sizes, show: List) -> None:
    lengths = [shape["S"] for shape in shapes]
    if any(length % 256 for length in lengths):
        raise UsageError("attention is compared at lengths that are multiples of 256")
    if args.ablate or args.search:
        list_all(args, "attention", {f"S = {length}": (length,) for length in lengths or [2048]}, show)
        return
    works = [table_work(args, "attention", (length,)) for length in lengths or attention.LENGTHS]
    done = rows(args.pool, attention.AttentionRow, works)
    _print(args, "attention", done, attention.table(done), [row.ratio() for row in done])


def _moe(args: argparse.Namespace, shapes: Sizes, show: List) -> None:
    tokens = [shape["T"] for shape in shapes]
    if args.right:
        _right(args, tokens or list(moe.TOKENS))
    elif args.ablate or args.search:
        list_all(args, "moe", {f"{count} tokens": (count,) for count in tokens or [4096]}, show)
    else:
        done = rows(args.pool, moe.MoeRow, [table_work(args, "moe", (count,)) for count in tokens or moe.TOKENS])
        _print(args, "moe", done, moe.table(done), [row.ratio() for row in done])


def _right(args: argparse.Namespace, tokens: Sequence[int]) -> None:
    found: list[dict[str, Any]] = []
    if args.json:
        args.results.append({"family": "moe", "rows": found})
    else:
        print("| tokens | launch | workgroups | elements | largest error of its bound |\n|---|---|---|---|---|")
    for count in tokens:
        plan = choose_moe(count, moe.EXPERTS, moe.TOPK, moe.DIM, moe.INTER)
        for number in (0, 2):
            name, elements, worst = moe_sampled.written(number, count, plan, moe_sampled.SAMPLE)
            found.append({"tokens": count, "launch": name, "elements": elements, "worst_error_over_bound": worst})
            if not args.json:
                print(f"| {count} | {name} | {moe_sampled.SAMPLE} | {elements} | {worst:.2f} |", flush=True)
            if not (elements and worst <= 1.0):
                raise WrongResult(f"{name} at {count} tokens is wrong")


def _fp8(args: argparse.Namespace, shapes: Sizes, show: List) -> None:
    if args.ablate or args.search:
        raise UsageError("--ablate and --search are for attention and moe, not fp8")
    sizes = [(shape["M"], shape["N"], shape["K"]) for shape in shapes] or list(fp8.SHAPES)
    done = rows(args.pool, fp8.Fp8Row, [table_work(args, "fp8", shape) for shape in sizes])
    _print(args, "fp8", done, fp8.table(done), [row.ratio() for row in done])


def table_work(args: argparse.Namespace, family: str, shape: tuple[int, ...]) -> TableWork:
    """One entry of a table, with what the command line says; folders by their full names."""
    folders = [None if path is None else str(path.absolute()) for path in (args.aiter, args.hipblaslt, args.keep)]
    what: Literal["row", "ablate", "search"] = "ablate" if args.ablate else "search" if args.search else "row"
    return TableWork(
        family, shape, what, args.triton, folders[0], folders[1], args.clocks, str(folders[2]), args.protocol,
        args.dtype, args.layout, args.nearest,
    )  # fmt: skip


def list_all(args: argparse.Namespace, family: str, shapes: Mapping[str, tuple[int, ...]], show: List) -> None:
    """A list of variants per shape, each printed when it is there."""
    found = lists(args.pool, [table_work(args, family, shape) for shape in shapes.values()])
    for name, listed in zip(shapes, found, strict=True):
        show(args, name, listed)


def _print(
    args: argparse.Namespace, family: str, done: Sequence[Any], text: str, ratios: Sequence[float | None]
) -> None:
    if args.json:
        args.results.append({"family": family, "rows": [row.to_json() for row in done]})
        return
    print(text)
    print(moe.summary([ratio for ratio in ratios if ratio is not None]))
