"""`python -m argus.bench.foreign AITER_DIR`: the table of all harnesses; exit code 1 if a result is wrong."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

os.environ.setdefault("ARGUS_THREADS", "1")

from argus.bench.foreign import fmha, gemm_bf16, gemm_i8, moe_fp8
from argus.bench.foreign.case import Builder
from argus.bench.foreign.measure import MeasuredRow, measure
from argus.machine.checks import ALL_CHECKS, CheckName

FAMILIES: dict[str, Callable[[bool], Iterator[Builder]]] = {
    "fmha": fmha.cases,
    "gemm_bf16": gemm_bf16.cases,
    "moe_fp8": moe_fp8.cases,
    "gemm_i8": gemm_i8.cases,
}
SUBFOLDER = Path("hsa/gfx942")
HEADINGS = ("kernel", "variant", "shape", "executor", "rel. error", "of bound", "wave-instr/s", "GFLOP/s", "reports")


def arguments(given: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m argus.bench.foreign", description=__doc__)
    parser.add_argument("aiter", type=Path, help="checkout of ROCm/aiter, or its hsa/gfx942 folder")
    parser.add_argument("--executor", choices=("jit", "checking"), default="jit")
    parser.add_argument("--family", choices=tuple(FAMILIES), action="append", help="only this family; may be repeated")
    parser.add_argument("--large", action="store_true", help="larger shapes, for the rates")
    parser.add_argument("--checks", help='"all", "none" or names; default: all on the interpreter, none on the JIT')
    parser.add_argument("--reports", action="store_true", help="print every report in full")
    return parser.parse_args(given)


def chosen_checks(asked: str | None, executor: str) -> tuple[CheckName, ...]:
    if asked is None:
        asked = "all" if executor == "checking" else "none"
    if asked in ("all", "none"):
        return ALL_CHECKS if asked == "all" else ()
    names = tuple(name for name in ALL_CHECKS if name in asked.split(","))
    if len(names) != len(asked.split(",")):
        raise SystemExit(f"--checks: there are {', '.join(ALL_CHECKS)}")
    return names


def cells(row: MeasuredRow) -> tuple[str, ...]:
    case = row.case
    head = (case.kernel, case.variant, case.shape, row.executor)
    if row.judgement is None:
        return (*head, "-", "-", "-", "-", "stopped" if row.stopped else "not run")
    rate, work = row.instructions / row.seconds, case.flops / row.seconds / 1e9
    share = f"{row.judgement.share:.2f}" if not row.left_out else "not judged"
    measured = (f"{row.judgement.error:.1e}", share, f"{rate:.2e}", f"{work:.3g}")
    return (*head, *measured, row.found)


def main(given: list[str] | None = None) -> int:
    options = arguments(given)
    root = options.aiter / SUBFOLDER if (options.aiter / SUBFOLDER).is_dir() else options.aiter
    if not root.is_dir():
        raise SystemExit(f"{root} is not a folder; docs/foreign.md tells how to get the objects")
    checks = chosen_checks(options.checks, options.executor)
    print("| " + " | ".join(HEADINGS) + " |")
    print("|" + "---|" * len(HEADINGS))
    rows = []
    for family in options.family or FAMILIES:
        for build in FAMILIES[family](options.large):
            row = measure(root, build, options.executor, checks)
            print("| " + " | ".join(cells(row)) + " |", flush=True)
            rows.append(row)
    if options.reports:
        for row in rows:
            for report in row.reports:
                print(f"\n{row.case.kernel}, {row.case.variant}\n{report}")
    failed = [row for row in rows if row.failure]
    for row in failed:
        print(f"\nFAILED {row.case.kernel}, {row.case.variant}, {row.case.shape}: {row.failure}")
    left_out = [row for row in rows if row.left_out]
    for row in left_out:
        print(f"\nnot judged: {row.case.kernel}, {row.case.shape}: {row.left_out}")
    print(f"\n{len(rows) - len(failed) - len(left_out)} of {len(rows)} within their bounds, {len(left_out)} not judged")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
