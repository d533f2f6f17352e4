"""`python -m bench.miopen_convolutions`: MIOpen's published times of forward convolutions beside ours, simulated.

    python -m bench.miopen_convolutions --draw FILE.csv --seed 7      draws 20 rows of a larger table and stores them

The published times are those of a performance database of MIOpen (ROCm 6.0, a gfx942 with 304 compute units; columns as
in the stored rows). They were measured by others, with solvers and a protocol that are not known in detail; ours are
simulated, for a launch into a stream, caches cold. So the two stand side by side, and no ratio is made of them. Rows
that the library has no kernel for are listed with the reason. Exit code 1 if a kernel is not proved.
"""

from __future__ import annotations

import argparse
import csv
import random
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from argus.check import check
from argus.clock.sampled import sample, time_observed
from argus.clock.uncertainty import interval_of
from argus.compile.cache import compile_cached
from argus.ir.compile_error import CompileError
from argus.ir.kernel import KnobValue
from argus.lang.errors import ProgramError
from argus.pipeline import program_of
from argus.tasks.work import work_of

ROWS = Path(__file__).parent / "miopen_convolutions.csv"
KERNEL = Path(__file__).parents[1] / "argus" / "kernels" / "conv2d.py"
COUNT = 20
HEAD = (
    "| configuration | MIOpen's solver | µs (published) | µs (simulated, conv2d) | TFLOPS (simulated) |",
    "|---|---|---|---|---|",
)


@dataclass(frozen=True)
class Convolution:
    """One row: sizes as torch has them, C and K of all groups together."""

    dtype: str
    n: int
    c: int
    h: int
    w: int
    k: int
    window: tuple[int, int]
    padding: tuple[int, int]
    stride: tuple[int, int]
    groups: int
    solver: str
    microseconds: float

    @staticmethod
    def of(row: dict[str, str]) -> Convolution:
        def pair(text: str) -> tuple[int, int]:
            first, second = text.split("x")
            return int(first), int(second)

        n, c, h, w, k, r, s, groups = (int(row[name]) for name in ("N", "C", "H", "W", "K", "R", "S", "groups"))
        padding, stride = pair(row["pad"]), pair(row["stride"])
        dtype = {"FP16": "f16", "FP32": "f32"}[row["dtype"]]
        return Convolution(dtype, n, c, h, w, k, (r, s), padding, stride, groups, row["solver"], 1e3 * float(row["ms"]))

    @property
    def results(self) -> tuple[int, int]:
        sides = zip((self.h, self.w), self.padding, self.window, self.stride, strict=True)
        high, wide = ((size + 2 * p - r) // s + 1 for size, p, r, s in sides)
        return high, wide

    @property
    def flops(self) -> float:
        high, wide = self.results
        return 2.0 * self.n * self.k * high * wide * (self.c // self.groups) * self.window[0] * self.window[1]

    def text(self) -> str:
        r, s = self.window
        shape = f"{self.dtype} N={self.n} C={self.c} {self.h}x{self.w} K={self.k} {r}x{s}"
        return f"{shape} stride {self.stride[0]} pad {self.padding[0]} groups {self.groups}"

    def sizes(self) -> dict[str, int]:
        """Of `conv2d`; pixels of a 1 x 1 window with stride 1 are one long row."""
        high, wide = self.results
        shared = {"N": self.n, "G": self.groups, "C": self.c // self.groups, "O": self.k // self.groups}
        if self.window == (1, 1) and self.stride == (1, 1) and self.padding == (0, 0):
            return {**shared, "IH": 1, "IW": self.h * self.w, "OH": 1, "OW": high * wide}
        return {**shared, "IH": self.h, "IW": self.w, "OH": high, "OW": wide}

    def settings(self) -> Iterator[dict[str, KnobValue]]:
        """Knobs for these sizes, larger tiles first."""
        sizes, size = self.sizes(), 4 if self.dtype == "f32" else 2
        lane = 16 // size
        fixed: dict[str, KnobValue] = {
            "DTYPE": self.dtype,
            "KH": self.window[0], "KW": self.window[1], "SH": self.stride[0], "SW": self.stride[1],
            "PH": self.padding[0], "PW": self.padding[1],
            "VEC": lane, "XW": _divisor(sizes["IW"], lane), "YW": _divisor(sizes["OW"], 4),
            "CW": _divisor(sizes["C"], lane),
            "WO": 4 if sizes["O"] > 64 else 2 if sizes["O"] > 32 else 1,
        }  # fmt: skip
        across = 16 if sizes["OW"] <= 16 else 32 if sizes["OW"] <= 32 else 64
        tiles = [(1, 256), (1, 128)] if sizes["OH"] == 1 else [(256 // across, across), (128 // across, across)]
        for rows, columns in tiles:
            for waves in (2, 1):
                yield {**fixed, "ROWS": rows, "COLS": columns, "WAVES": waves}


def _divisor(size: int, most: int) -> int:
    """The largest power of two that divides the size, up to `most`."""
    return min(size & -size, most)


def simulated(one: Convolution) -> tuple[str, str, bool]:
    """Time with its interval and TFLOPS as text, and whether the kernel is proved."""
    reason = "no setting"
    for knobs in one.settings():
        try:
            program = program_of(KERNEL, knobs, "conv2d")
            made = compile_cached(program)
        except (ProgramError, CompileError) as error:
            reason = str(error).splitlines()[0].partition("error")[2].strip(" :[]")[:90]
            continue
        work = work_of(program.kernel, made.object, one.sizes(), seed=0)
        launch = time_observed(work, sample(work))[1]
        us = launch.sustained.microseconds
        return interval_of(launch).text(us), f"{one.flops / us / 1e6:.1f}", check(program).proved
    return f"not here: {reason}", "", True


def drawn(path: Path, seed: int) -> list[dict[str, str]]:
    with path.open() as file:
        return random.Random(seed).sample(list(csv.DictReader(file)), COUNT)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.miopen_convolutions", description=__doc__)
    parser.add_argument("--draw", type=Path, metavar="CSV", help="draw rows of this table and store them")
    parser.add_argument("--seed", type=int, default=7, help="of the draw")
    args = parser.parse_args()
    if args.draw is not None:
        rows = drawn(args.draw, args.seed)
        with ROWS.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
    with ROWS.open() as file:
        stored = [Convolution.of(row) for row in csv.DictReader(file)]
    print("\n".join(HEAD), flush=True)
    good = True
    for one in stored:
        time, rate, proved = simulated(one)
        good &= proved
        print(f"| {one.text()} | {one.solver} | {one.microseconds:.0f} | {time} | {rate} |", flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
