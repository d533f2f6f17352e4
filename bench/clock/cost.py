"""What a large attention launch costs to time: `python -m bench.clock.cost HSA_DIR [--length 16384]`.

AITER's forward attention, 16 batches of 8 heads, full: sampled, prepared and timed as `argus time` does, with the CPU
time and the most memory the process needed. Tensors are 0.5 GB each and exist as addresses only where nobody reads.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from pathlib import Path

import numpy as np

from argus import machine
from argus.bench.foreign.case import BF16, SLOT, packed
from argus.bench.foreign.fmha import HEAD, TILE_Q
from argus.clock.sampled import Work, matrix_element, prepared, sample, time_prepared
from argus.clock.staged import Operand

BATCH, HEADS = 16, 8


def work(root: Path, length: int) -> Work:
    """The launch, its arguments in the order of `argus.bench.foreign.fmha`."""
    shape = (BATCH, length, HEADS, HEAD)
    q, k, v = (Operand(shape, BF16, seed) for seed in range(3))
    o, rows = Operand(shape, BF16, blank=True), Operand((BATCH, HEADS, length), np.float32, blank=True)
    row, head, batch = 2 * HEADS * HEAD, 2 * HEAD, 2 * HEADS * HEAD * length
    args = packed(
        *(o, q, k, v, rows, HEAD**-0.5, length),
        *(row, TILE_Q * row, head, batch, 1, row, head, batch),
        *(5, 0, length, HEAD, HEAD, HEADS),
        *(row, head, batch, row, head, batch),
        *(None, None, 4 * length, None, None, None, None, None, 0, 0, 0, 0, 0, 0),
    )
    kernel = machine.load(root / "fmha_v3_fwd/MI300/fwd_hd128_bf16_rtne.co").kernel()
    grid = (-(-length // TILE_Q), HEADS, BATCH)
    return Work("fmha_v3_fwd", kernel, grid, (512,), args, offsets=[SLOT * at for at in range(len(args))])


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.clock.cost", description=__doc__)
    parser.add_argument("aiter", type=Path, help="the hsa/gfx942 folder of ROCm/aiter")
    parser.add_argument("--length", type=int, default=16384)
    options = parser.parse_args()
    launch_of = work(options.aiter, options.length)
    seen = sample(launch_of)
    _, launch = time_prepared(launch_of, prepared(seen), matrix_element(seen))
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(launch.text())
    print(f"{len({group for group, _ in seen.record.waves})} workgroups executed")
    print(f"{time.process_time():.1f} s of CPU, {most:.2f} GiB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
