"""Streams: RRZE's gpu-stream by mix of reads and writes, BabelStream, and reads by depth.

The programs are ours, thread for thread like the public ones: one f64 per thread and array (RRZE), 16 bytes per lane
(BabelStream 5), a grid of one workgroup per compute unit that keeps DEPTH float4 loads in flight (fleet-mi300x). Where
the source does not state a size, `SIZE` bytes per array are taken, which leave the Infinity Cache no chance.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np

from argus.clock.sampled import Work
from argus.clock.staged import Operand
from bench.clock import opencl
from bench.clock.rows import Folders, LeftOut, Task, given, number, rated, read

SIZE = 1 << 30
CUS = 304

RRZE = """
#define AT size_t i = (size_t)BLOCK * THREADS + THREAD
#define ARRAYS global double *a, global const double *b, global const double *c, global const double *d, double no
KERNEL init(ARRAYS) { AT; a[i] = 0.23; }
KERNEL sum(ARRAYS) { AT; double x = b[i]; if (x == no) a[i] = x; }
KERNEL scale(ARRAYS) { AT; a[i] = b[i] * 1.2; }
KERNEL triad(ARRAYS) { AT; a[i] = b[i] + d[i] * c[i]; }
KERNEL star3(ARRAYS) { AT + 1; a[i] = 0.5 * b[i - 1] - 1.0 * b[i] + 0.5 * b[i + 1]; }
KERNEL star5(ARRAYS) {
    AT + 2;
    a[i] = 0.25 * b[i - 2] + 0.25 * b[i - 1] - 1.0 * b[i] + 0.5 * b[i + 1] + 0.5 * b[i + 2];
}
"""
RRZE_KERNELS = {
    "init(write)": ("init", 1),
    "read": ("sum", 1),
    "scale": ("scale", 2),
    "triad": ("triad", 4),
    "3pt": ("star3", 2),
    "5pt": ("star5", 2),
}
"""Function, and arrays that move."""

BABEL = """
typedef double d2 __attribute__((ext_vector_type(2)));
#define AT size_t i = (size_t)BLOCK * THREADS + THREAD
#define ARRAYS global d2 *a, global d2 *b, global d2 *c
KERNEL copy(ARRAYS) { AT; __builtin_nontemporal_store(a[i], c + i); }
KERNEL mul(ARRAYS) { AT; __builtin_nontemporal_store(0.4 * c[i], b + i); }
KERNEL add(ARRAYS) { AT; __builtin_nontemporal_store(a[i] + b[i], c + i); }
KERNEL triad(ARRAYS) { AT; __builtin_nontemporal_store(b[i] + 0.4 * c[i], a + i); }
KERNEL dot(ARRAYS, int n) {
    local double part[THREADS];
    d2 sum = 0;
    for (size_t i = (size_t)BLOCK * THREADS + THREAD; i < n; i += (size_t)THREADS * GRID) sum += a[i] * b[i];
    part[THREAD] = sum.x + sum.y;
    for (int step = THREADS / 2; step > 0; step /= 2) {
        BARRIER;
        if (THREAD < step) part[THREAD] += part[THREAD + step];
    }
    if (THREAD == 0) ((global double *)c)[BLOCK] = part[0];
}
"""
BABEL_ARRAYS = {"copy": 2, "mul": 2, "add": 3, "triad": 3, "dot": 2}
BABEL_COUNT = 1 << 25
"""Elements of an array when nothing else is said."""

DEPTHS = """
KERNEL stream(global const f4 *w, global float *sink, int trips) {
    size_t i = (size_t)BLOCK * THREADS + THREAD;
    size_t stride = (size_t)GRID * THREADS;
    float sum = 0;
    for (int trip = 0; trip < trips; trip++) {
        f4 held[DEPTH];
        for (int d = 0; d < DEPTH; d++) held[d] = w[i + d * stride];
        for (int d = 0; d < DEPTH; d++) sum += held[d].x + held[d].y + held[d].z + held[d].w;
        i += DEPTH * stride;
    }
    if (sum == 1234.5678f) sink[BLOCK] = sum;
}
"""


def rrze_works(function: str, arrays: int, threads: int) -> list[Work]:
    count = SIZE // 8
    tensors = [Operand((count + 8,), np.float64, seed, blank=not seed) for seed in range(4)]
    args = (*tensors, np.float64(123.0))
    grid = count // threads
    return [opencl.work(function, RRZE, grid=grid, threads=threads, args=args, bytes=float(arrays) * count * 8)]


def babel_works(function: str) -> list[Work]:
    threads, count = 1024, BABEL_COUNT // 2
    tensors = tuple(Operand((2 * count,), np.float64, seed) for seed in range(3))
    moved = 8.0 * BABEL_COUNT * BABEL_ARRAYS[function]
    if function == "dot":
        grid = CUS * 4
        args = (*tensors, np.int32(count))
        return [opencl.work("dot", BABEL, grid=grid, threads=256, args=args, bytes=moved, GRID=grid)]
    return [opencl.work(function, BABEL, grid=count // threads, threads=threads, args=tensors, bytes=moved, GRID=1)]


def depth_works(depth: int) -> list[Work]:
    size, threads = 2 << 30, 256
    trips = size // (16 * CUS * threads * depth)
    args = (Operand((size // 4,), np.float32), Operand((CUS,), np.float32, blank=True), np.int32(trips))
    moved = 16.0 * CUS * threads * depth * trips
    return [opencl.work("stream", DEPTHS, grid=CUS, threads=threads, args=args, bytes=moved, GRID=CUS, DEPTH=depth)]


def rrze(facts: Path) -> Iterator[Task]:
    for row in read(facts / "calibration.csv"):
        if "gpu-stream/" not in row["source"]:
            continue
        rate, source = 1e9 * float(row["value"]), row["source"]
        name = row["kernel"].removeprefix("HBM stream ")
        if name == "read vs occupancy":
            continue
        function, arrays = RRZE_KERNELS[name]
        role = "validate" if name in ("3pt", "5pt", "triad") else "fit"
        found = rated("streams, RRZE", name, "f64, 1 GiB arrays", role, float(arrays * SIZE), rate, source)
        yield Task(found, partial(rrze_works, function, arrays, 1024))


def more(facts: Path) -> Iterator[Task]:
    depths: dict[int, list[dict[str, str]]] = {}
    for row in read(facts / "measured_more.csv"):
        rate = 1e12 * float(row["value"]) if row["unit"] == "TB/s" else 0.0
        if row["kernel"].startswith("BabelStream"):
            function = row["kernel"].split(" ")[1].lower()
            moved = 8.0 * BABEL_COUNT * BABEL_ARRAYS[function]
            role = "fit" if function in ("triad", "dot") else "validate"
            note = ("the source does not state the size: BabelStream's own 2^25 elements",)
            found = rated("streams, BabelStream", function, "f64, 2^25", role, moved, rate, row["source"], notes=note)
            yield Task(found, partial(babel_works, function))
        elif "gemv_stream" in row["kernel"]:
            depths.setdefault(number(r"DEPTH=(\d+)", row["config"]), []).append(row)
    for depth, found_rows in sorted(depths.items()):
        moved = 16.0 * CUS * 256 * depth * ((2 << 30) // (16 * CUS * 256 * depth))
        times = sorted(moved / float(row["value"]) * 1e-6 for row in found_rows)
        rate = moved / times[len(times) // 2] * 1e6
        found = rated(
            "streams, register depth", f"depth {depth}", "2 GiB", "fit" if depth in (1, 8, 16) else "validate",
            moved, rate, found_rows[0]["source"], runs=tuple(times) if len(times) > 1 else (),
            timing="5 back-to-back launches between two events after one",
        )  # fmt: skip
        yield Task(found, partial(depth_works, depth))


def rows(folders: Folders) -> Iterator[Task | LeftOut]:
    facts = given(folders.facts)
    yield LeftOut("streams, RRZE", 4, "rates by occupancy are checked as single numbers (tests/clock)")
    yield from rrze(facts)
    yield from more(facts)
