"""Norms, softmax and the reduction of split attention, a row per wave or workgroup: our programs after public HIP.

QuixiCore's norms read a row two or three times, lane by lane (4 bytes each), in one block of 32 or 64 threads per row,
whose number the compiler does not know: with a fixed number it would take two steps of the loop at a time. jpcpol's
keep a row in registers, one wave each. AITER's reduction of split decode attention weighs partial results of 128 heads
by 512 f32 and writes bf16, 128 threads per head; which partial results belong together it reads from three tables, one
after the other, and 4864 workgroups take the heads in turn. QuixiCore and jpcpol time each launch alone
between two events and wait for it (their bench.cu and bench_common.hpp): the protocol `event`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np

from argus.clock.sampled import Work
from argus.clock.staged import Operand
from bench.clock import opencl
from bench.clock.rows import Folders, LeftOut, Task, given, number, rated, read, timed

HEADS, WIDTH = 128, 512

REDUCE = """
float lane_sum(float x) {
    for (int step = 32; step > 0; step /= 2)
        x += as_float(__builtin_amdgcn_ds_bpermute((int)((THREAD & 63) ^ step) * 4, as_int(x)));
    return x;
}
float lane_max(float x) {
    for (int step = 32; step > 0; step /= 2) {
        float y = as_float(__builtin_amdgcn_ds_bpermute((int)((THREAD & 63) ^ step) * 4, as_int(x)));
        x = x > y ? x : y;
    }
    return x;
}
"""
NORMS = (
    REDUCE
    + """
KERNEL rmsnorm(global const float *restrict x, global const float *restrict w, global float *restrict o, int width,
               int step) {
    size_t base = (size_t)BLOCK * width;
    float sum = 0;
    for (int j = THREAD; j < width; j += step) sum += x[base + j] * x[base + j];
    float scale = __builtin_amdgcn_rsqf(lane_sum(sum) / width + 1e-6f);
    for (int j = THREAD; j < width; j += step) o[base + j] = x[base + j] * scale * w[j];
}
KERNEL layernorm(global const float *restrict x, global const float *restrict w, global const float *restrict b,
                 global float *restrict o, int width, int step) {
    size_t base = (size_t)BLOCK * width;
    float sum = 0, squares = 0;
    for (int j = THREAD; j < width; j += step) sum += x[base + j];
    float mean = lane_sum(sum) / width;
    for (int j = THREAD; j < width; j += step) {
        float off = x[base + j] - mean;
        squares += off * off;
    }
    float scale = __builtin_amdgcn_rsqf(lane_sum(squares) / width + 1e-6f);
    for (int j = THREAD; j < width; j += step) o[base + j] = (x[base + j] - mean) * scale * w[j] + b[j];
}
"""
)
HELD = (
    REDUCE
    + """
KERNEL softmax(global const float *restrict x, global float *restrict o) {
    size_t at = (size_t)BLOCK * THREADS * EACH + THREAD * EACH;
    float held[EACH], top = -1e30f, sum = 0;
    for (int e = 0; e < EACH; e++) { held[e] = x[at + e]; top = held[e] > top ? held[e] : top; }
    top = lane_max(top);
    for (int e = 0; e < EACH; e++) { held[e] = __builtin_amdgcn_exp2f((held[e] - top) * 1.442695f); sum += held[e]; }
    sum = lane_sum(sum);
    for (int e = 0; e < EACH; e++) o[at + e] = held[e] / sum;
}
KERNEL layernorm(global const float *restrict x, global const float *restrict w, global const float *restrict b,
                 global float *restrict o) {
    size_t at = (size_t)BLOCK * THREADS * EACH + THREAD * EACH;
    float held[EACH], sum = 0, squares = 0;
    for (int e = 0; e < EACH; e++) { held[e] = x[at + e]; sum += held[e]; }
    float mean = lane_sum(sum) / (THREADS * EACH);
    for (int e = 0; e < EACH; e++) { float off = held[e] - mean; squares += off * off; }
    float scale = __builtin_amdgcn_rsqf(lane_sum(squares) / (THREADS * EACH) + 1e-5f);
    for (int e = 0; e < EACH; e++)
        o[at + e] = (held[e] - mean) * scale * w[THREAD * EACH + e] + b[THREAD * EACH + e];
}
"""
)
SPLIT = (
    REDUCE
    + """
#define AT(row) ((OFFSET)(row) * (128 * 2048) + (OFFSET)head * 2048 + (OFFSET)THREAD * 16)
#define PART(row) (*(global const f4 *)((global const char *)part + AT(row)))
#define LSE(row) (*(global const float *)((global const char *)lse + (uint)(((row) * 128 + head) * 4)))
KERNEL combine(global const f4 *restrict part, global const float *restrict lse, global const int *restrict first,
               global const int *restrict place, global const int2 *restrict goal, global ushort4 *restrict o,
               global float *restrict total, int tiles) {
    local int places[304];
    local float weights[384];
    int last = __builtin_amdgcn_readfirstlane(first[tiles]);
    for (int task = BLOCK; task < 128 * tiles; task += GRID) {
        int head = task % 128, tile = task / 128;
        int from = __builtin_amdgcn_readfirstlane(first[tile]), to = __builtin_amdgcn_readfirstlane(first[tile + 1]);
        int splits = to - from;
        if (PERSISTENT && from == last) break;
        for (int s = THREAD; s < splits; s += THREADS) places[s] = place[from + s];
        BARRIER;
        int2 rows = goal[tile];
        for (int row = rows.x; row < rows.y; row++) {
            int ahead = row - rows.x;
            f4 sum = 0;
            float top = -__builtin_inff(), of_all = 0;
            if (splits < 4) {
                sum = PART(places[0] + ahead);
                top = LSE(places[0] + ahead);
                of_all = 1;
                for (int s = 1; s < splits; s++) {
                    f4 now = PART(places[s] + ahead);
                    float x = LSE(places[s] + ahead), higher = x > top ? x : top;
                    float old = __builtin_elementwise_exp(top - higher), fresh = __builtin_elementwise_exp(x - higher);
                    sum = old * sum + fresh * now;
                    of_all = of_all * old + fresh;
                    top = higher;
                }
                sum /= of_all;
                total[row * 128 + head] = of_all == 0 ? __builtin_inff() : __builtin_elementwise_log(of_all) + top;
            } else {
                if (THREAD < 64) {
                    float held[EACH];
                    for (int e = 0; e < EACH; e++) {
                        int s = e * 64 + THREAD;
                        held[e] = s < splits ? LSE(places[s] + ahead) : -__builtin_inff();
                        top = held[e] > top ? held[e] : top;
                    }
                    top = lane_max(top);
                    for (int e = 0; e < EACH; e++) of_all += __builtin_elementwise_exp(held[e] - top);
                    of_all = lane_sum(of_all);
                    float whole = of_all == 0 ? __builtin_inff() : __builtin_elementwise_log(of_all) + top;
                    if (THREAD == 0) total[row * 128 + head] = whole;
                    for (int e = 0; e < EACH; e++)
                        weights[e * 64 + THREAD] = __builtin_elementwise_exp(held[e] - whole);
                }
                BARRIER;
                f4 even = PART(places[0] + ahead), odd;
                float of_even = weights[0], of_odd;
                int s = 0, next = places[1], after;
                for (; s < splits - splits % 2 - 2; s += 2) {
                    after = places[s + 2];
                    odd = PART(next + ahead);
                    of_odd = weights[s + 1];
                    sum += of_even * even;
                    next = places[s + 3];
                    even = PART(after + ahead);
                    of_even = weights[s + 2];
                    sum += of_odd * odd;
                }
                if (s + 1 < splits) {
                    if (s + 2 < splits) after = places[s + 2];
                    odd = PART(next + ahead);
                    of_odd = weights[s + 1];
                    sum += of_even * even;
                    if (s + 2 < splits) {
                        even = PART(after + ahead);
                        of_even = weights[s + 2];
                    }
                    sum += of_odd * odd;
                    s += 2;
                }
                if (s < splits) sum += of_even * even;
            }
            uint4 bits = as_uint4(sum) >> 16;
            o[((size_t)row * 128 + head) * THREADS + THREAD] = (ushort4)(bits.x, bits.y, bits.z, bits.w);
        }
        BARRIER;
    }
}
"""
)
PERSISTENT = 2 * 8 * 304
"""Workgroups of AITER's reduction: more tasks than this are handed out in turn."""


def _f32(*shape: int, blank: bool = False) -> Operand:
    return Operand(shape, np.float32, len(shape), blank)


def norm_works(function: str, threads: int, count: int, width: int) -> list[Work]:
    vectors = [_f32(width)] if function == "rmsnorm" else [_f32(width), _f32(width)]
    args = (_f32(count, width), *vectors, _f32(count, width, blank=True), np.int32(width), np.int32(threads))
    return [opencl.work(function, NORMS, grid=count, threads=threads, args=args, bytes=8.0 * count * width)]


def held_works(function: str, count: int, width: int) -> list[Work]:
    vectors = [] if function == "softmax" else [_f32(width), _f32(width)]
    args = (_f32(count, width), *vectors, _f32(count, width, blank=True))
    moved = 8.0 * count * width
    return [opencl.work(function, HELD, grid=count, threads=64, args=args, bytes=moved, EACH=width // 64)]


def split_works(tiles: int, splits: int) -> list[Work]:
    part, lse = _f32(tiles, splits, HEADS, WIDTH), _f32(tiles, splits, HEADS)
    first = np.arange(tiles + 1, dtype=np.int32) * splits
    place = np.arange(tiles * splits, dtype=np.int32)
    goal = np.stack([np.arange(tiles), np.arange(1, tiles + 1)], axis=1).astype(np.int32)
    out, total = Operand((tiles, HEADS, WIDTH), np.uint16, blank=True), _f32(tiles, HEADS, blank=True)
    grid = min(tiles * HEADS, PERSISTENT)
    return [
        opencl.work(
            "combine",
            SPLIT,
            grid=grid,
            threads=128,
            args=(part, lse, first, place, goal, out, total, np.int32(tiles)),
            bytes=float(part.nbytes + lse.nbytes + out.nbytes),
            GRID=grid,
            EACH=1 if splits <= 64 else 4,
            PERSISTENT=int(tiles * HEADS > PERSISTENT),
            OFFSET="uint" if part.nbytes < 2**32 else "ulong",
        )
    ]


def quixi(facts: Path) -> Iterator[Task]:
    found: dict[tuple[str, int, int, int], list[dict[str, str]]] = {}
    for row in read(facts / "measured_more.csv"):
        threads = re.search(r"(\d+)[- ]threads? ?(block|per)?", row["config"])
        if not row["kernel"].endswith("Norm fwd") or threads is None:
            continue
        size = re.search(r"(\d+)x(\d+)$", row["shape"])
        if size is not None:
            key = (row["kernel"].split(" ")[0].lower(), int(threads[1]), int(size[1]), int(size[2]))
            found.setdefault(key, []).append(row)
    for (function, wide, count, width), same in found.items():
        moved = 8.0 * count * width
        times = sorted(moved / float(row["value"]) * 1e-3 for row in same)
        fact = timed(
            "norms, QuixiCore", f"{function}, {wide} threads per row", f"f32 {count}x{width}",
            "fit" if function == "rmsnorm" else "validate", moved, times[len(times) // 2], same[0]["source"],
            warm=True, protocol="event", timing="events, median of 100", runs=tuple(times) if len(times) > 1 else (),
        )  # fmt: skip
        yield Task(fact, partial(norm_works, function, wide, count, width))


def held(facts: Path) -> Iterator[Task]:
    for row in read(facts / "measured_more.csv"):
        if row["kernel"] in ("LayerNorm DPP", "softmax DPP"):
            function = row["kernel"].split(" ")[0].lower()
            count, width = number(r"(\d+)x", row["shape"]), number(r"x(\d+)$", row["shape"])
            found = timed(
                "rows in registers, jpcpol", function, f"f32 {count}x{width}", row["role"], 8.0 * count * width,
                float(row["value"]), row["source"], warm=True, protocol="event", timing="events, median",
            )  # fmt: skip
            yield Task(found, partial(held_works, function, count, width))


def split(facts: Path) -> Iterator[Task | LeftOut]:
    other = 0
    for row in read(facts / "measured_more.csv"):
        if row["kernel"] != "MLA split-KV decode reduce":
            continue
        if "reduce.cu" not in row["library_or_object"]:
            other += 1
            continue
        splits, tiles = number(r"splits (\d+)", row["shape"]), number(r"tiles (\d+)", row["shape"])
        moved = float(tiles * HEADS * (WIDTH * (4 * splits + 2) + 4 * splits))
        found = rated(
            "split attention reduce, AITER", "kn_mla_reduce_v1", f"splits {splits}, tiles {tiles}", "validate", moved,
            moved / float(row["value"]) * 1e6, row["source"], protocol="graph", warm=True,
            regime="memory-bound" if tiles > 16 else "small or latency-bound",
            timing="profiler's device time and graph replay, the same tensors at each launch",
        )  # fmt: skip
        yield Task(found, partial(split_works, tiles, splits))
    yield LeftOut("split attention reduce, FlyDSL", other, "the generated program is not at hand")


def rows(folders: Folders) -> Iterator[Task | LeftOut]:
    facts = given(folders.facts)
    yield from quixi(facts)
    yield from held(facts)
    yield from split(facts)
