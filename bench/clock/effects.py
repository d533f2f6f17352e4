"""Effects that are known from real chips and must appear by themselves: `python -m bench.clock.effects AITER_DIR`.

XCD mapping      a large Triton GEMM with its tiles placed XCD by XCD, and in plain order
KernelFalcon     the 128x64x32 Triton GEMM, measured near 22 % of peak
assembly GEMM    the 96x64 kernel from 2048 to 16384: TFLOPS rise, then fall when the panels leave the caches
swizzle          our GEMM with its LDS swizzle taken out of the source: conflicts by bank arithmetic, and time
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import re
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from argus.cli.main import main as argus
from bench.clock import gemm, triton_gemm

GEMM = Path(__file__).parents[2] / "argus" / "kernels" / "gemm.py"


def xcd_mapping(size: int = 8192) -> list[str]:
    config = next(c for c in triton_gemm.CONFIGS if c.xcds > 1 and size in c.only)
    code, lds = triton_gemm.compiled(config)
    out = []
    for name, placed in (("XCD by XCD", config), ("plain order", replace(config, xcds=1))):
        launch = triton_gemm.launch_of(config, size, code, lds, placed)
        share = triton_gemm.sharers(placed, size, 1)
        found = launch.sustained
        out.append(
            f"{config.name}, {size}, {name}: {share:.1f} workgroups share a line, {found.microseconds:.0f} us, "
            f"{found.tflops:.0f} TFLOPS, bound by {launch.bound}"
        )
    return out


def falcon(size: int = 4096) -> list[str]:
    config = next(c for c in triton_gemm.CONFIGS if c.key == triton_gemm.FALCON and size in c.only)
    launch = triton_gemm.launch_of(config, size, *triton_gemm.compiled(config))
    share = launch.sustained.matrix_peak_share or 0.0
    return [f"{config.name}, {size}: {100 * share:.1f} % of peak (published 22 %)"]


def assembly(root: Path, facts: Path) -> list[str]:
    rows = sorted(gemm.bf16(root, facts), key=lambda row: float(row["flops"]))
    return [f"{row['program']}, {row['shape']}: bound by {row['bound']}, {row['parts']}" for row in rows]


def swizzle() -> list[str]:
    """Our GEMM as it is and with every swizzle removed from its layouts."""
    source = GEMM.read_text(encoding="utf-8")
    plain = re.sub(r"\.xor\([^)]*\)", "", source)
    out = []
    with tempfile.TemporaryDirectory() as folder:
        for name, text in (("swizzled", source), ("swizzle off", plain)):
            path = Path(folder) / "gemm.py"
            path.write_text(text, encoding="utf-8")
            unit = _timed([str(path), "--shape", "M=256,N=256,K=512", "--force"])["unit"]
            out.append(f"our GEMM, {name}: {unit['cycles']} clk, bank conflicts {unit['bank_conflict_clocks']} clk")
    return out


def _timed(words: list[str]) -> dict[str, Any]:
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        code = argus(["time", *words, "--json"])
    if code:
        raise SystemExit(f"argus time {' '.join(words)} ended with {code}")
    found: dict[str, Any] = json.loads(text.getvalue())
    return found


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.clock.effects", description=__doc__)
    parser.add_argument("aiter", type=Path, help="the hsa/gfx942 folder of ROCm/aiter")
    parser.add_argument("facts", type=Path, help="folder with calibration.csv")
    parser.add_argument("--only", choices=("xcd", "falcon", "assembly", "swizzle"))
    options = parser.parse_args()
    effects: dict[str, Callable[[], list[str]]] = {
        "swizzle": swizzle,
        "falcon": falcon,
        "xcd": xcd_mapping,
        "assembly": lambda: assembly(options.aiter, options.facts),
    }
    for name, effect in effects.items():
        if options.only in (None, name):
            print("\n".join(effect()), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
