"""Effects that are known from real chips and must appear by themselves: `python -m bench.clock.effects AITER_DIR`.

XCD mapping      a large Triton GEMM with its tiles placed XCD by XCD, and in plain order
KernelFalcon     the 128x64x32 Triton GEMM, measured near 22 % of peak
assembly GEMM    the 96x64 kernel from 2048 to 16384: TFLOPS rise, then fall when the panels leave the caches
ping-pong        the compiled 256x256x64 Triton GEMM with and without the skew of its two groups of waves
phases           AITER's attention as it is, and with all waves on the code of one of its two groups of waves
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
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from argus import machine
from argus.bench.foreign import fmha
from argus.cli.main import main as argus
from argus.clock import LABEL, PARAMETERS, Launch, Recorded, time_recorded, time_waves
from argus.clock.observe import observe
from argus.clock.program import Unit, Wave
from argus.clock.sampled import prepared, sample
from bench.clock import gemm, triton_gemm
from bench.clock.rows import Folders, executed

GEMM = Path(__file__).parents[2] / "argus" / "kernels" / "gemm.py"


def xcd_mapping(size: int = 8192) -> list[str]:
    """The same tiles, numbered XCD by XCD or in plain order."""
    config = next(c for c in triton_gemm.CONFIGS if c.xcds > 1 and size in c.only)
    out = []
    for name, used in (("XCD by XCD", config), ("plain order", replace(config, xcds=1))):
        launch = _triton(used, size)
        found = launch.sustained
        out.append(
            f"{config.name}, {size}, {name}: {launch.profile.fabric_bytes / 1e9:.1f} GB beyond the L2s, "
            f"{found.microseconds:.0f} us, {found.tflops or 0:.0f} TFLOPS, bound by {launch.bound}"
        )
    return out


def _triton(config: triton_gemm.Config, size: int) -> Launch:
    work = triton_gemm.work_of(config, size, *triton_gemm.compiled(config))
    recorded = prepared(sample(work))
    return time_recorded(recorded, flops=2.0 * size**3, hbm_bytes=6.0 * size**2, element="bf16", warm=True)[1]


def falcon(size: int = 4096) -> list[str]:
    config = next(c for c in triton_gemm.CONFIGS if c.key == triton_gemm.FALCON and size in c.only)
    share = _triton(config, size).sustained.matrix_peak_share or 0.0
    return [f"{config.name}, {size}: {100 * share:.1f} % of peak (published 22 %)"]


def pingpong(size: int = 2048) -> list[str]:
    """A compiled kernel whose two groups of waves alternate, as it is and without the barrier that sets them apart."""
    config = next(c for c in triton_gemm.CONFIGS if c.key == triton_gemm.AITER and size in c.only)
    recorded = prepared(sample(triton_gemm.work_of(config, size, *triton_gemm.compiled(config))))
    ops, waves = recorded.waves(PARAMETERS)
    out = []
    for name, groups in (("as compiled", waves), ("without the skew", {n: without_skew(w) for n, w in waves.items()})):
        timing = time_waves(ops, groups, recorded.resources, resident=1, active_cus=recorded.active_cus, l2_sharers=4.0)
        out.append(
            f"{config.name}, {size}, {name}: {timing.cycles} clk, matrix cores busy "
            f"{100 * timing.utilisation['matrix']:.0f} %"
        )
    return out


def without_skew(waves: Sequence[Wave]) -> list[Wave]:
    """The waves without the barriers that only one half of them executes, before and after the loop."""
    counts = [[op.index for op in wave.ops if op.unit is Unit.BARRIER] for wave in waves]
    common = set(counts[0]).intersection(*counts[1:])
    out = []
    for wave in waves:
        kept = [at for at, op in enumerate(wave.ops) if op.unit is not Unit.BARRIER or op.index in common]
        out.append(
            replace(
                wave,
                ops=[wave.ops[at] for at in kept],
                accesses=[wave.accesses[at] for at in kept],
                marks=tuple(bisect_left(kept, mark) for mark in wave.marks),
            )
        )
    return out


def phases(root: Path, length: int = 2048) -> list[str]:
    """AITER's attention: its two groups of waves run different code, one multiplies while the other does softmax.

    With the second four waves on the code of the first (same work, same barriers) all of them do the same at a time.
    """
    case = fmha.case("plain", length, length, 8, k_heads=1, lse=False)
    kernel = machine.load(root / case.path).kernel()
    seen = observe(kernel, case.grid, case.block, case.args, offsets=case.offsets, workgroups=[0], executor="jit")
    recorded = Recorded(seen.record, seen.insts, seen.kernel)
    ops, waves = recorded.waves(PARAMETERS)
    first = waves[0][: len(waves[0]) // 2]
    out = []
    for name, group in (("as it is", waves[0]), ("both groups in one phase", [*first, *first])):
        timing = time_waves(ops, {0: group}, recorded.resources, warm=True)
        out.append(
            f"AITER attention, {length}, {name}: {timing.cycles} clk, matrix cores busy "
            f"{100 * timing.utilisation['matrix']:.0f} %"
        )
    return out


def assembly(root: Path, facts: Path) -> list[str]:
    tasks = sorted(gemm.bf16(Folders(facts=facts, aiter=root)), key=lambda task: task.row.flops)
    out = []
    for task in tasks:
        row, (launch,) = task.row, executed(task)(PARAMETERS)
        found = launch.sustained
        out.append(
            f"{row.program}, {row.shape}: {found.tflops or 0:.0f} TFLOPS "
            f"(published {row.flops / row.microseconds * 1e-6:.0f}), bound by {launch.bound}"
        )
    return out


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
    parser.add_argument("--only", choices=("xcd", "falcon", "pingpong", "phases", "assembly", "swizzle"))
    options = parser.parse_args()
    effects: dict[str, Callable[[], list[str]]] = {
        "swizzle": swizzle,
        "falcon": falcon,
        "xcd": xcd_mapping,
        "pingpong": pingpong,
        "phases": lambda: phases(options.aiter),
        "assembly": lambda: assembly(options.aiter, options.facts),
    }
    print(LABEL)
    for name, effect in effects.items():
        if options.only in (None, name):
            print("\n".join(effect()), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
