"""`python -m bench.clock AITER_DIR FACTS_DIR --out rows.jsonl`: simulates every row whose program is at hand."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from argus.clock import PARAMETERS
from bench.clock import fmha, gemm, triton_gemm
from bench.clock.rows import Measured, Timer, line

FAMILIES: dict[str, Callable[[Path, Path], Iterator[tuple[Measured, Timer]]]] = {
    "gemm_bf16": gemm.bf16,
    "gemm_i8": gemm.i8,
    "gemm_triton": triton_gemm.simulated,
    "fmha": fmha.simulated,
}
SUBFOLDER = Path("hsa/gfx942")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.clock", description=__doc__)
    parser.add_argument("aiter", type=Path, help="checkout of ROCm/aiter, or its hsa/gfx942 folder")
    parser.add_argument("facts", type=Path, help="folder with calibration.csv and aiter_asm_gemm_times.csv")
    parser.add_argument("--out", type=Path, required=True, help="lines of JSON; appended to")
    parser.add_argument("--family", choices=tuple(FAMILIES), action="append")
    options = parser.parse_args()
    root = options.aiter / SUBFOLDER if (options.aiter / SUBFOLDER).is_dir() else options.aiter
    with options.out.open("a", encoding="utf-8") as file:
        for family in options.family or FAMILIES:
            start = time.perf_counter()
            for row, timed in FAMILIES[family](root, options.facts):
                print(json.dumps(line(row, timed(PARAMETERS))), file=file, flush=True)
                seconds = time.perf_counter() - start
                print(f"{row.family}, {row.program}, {row.shape}: {seconds:.1f} s", flush=True)
                start = time.perf_counter()
    return 0


if __name__ == "__main__":
    sys.exit(main())
