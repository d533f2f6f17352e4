"""Small and latency-bound programs: products of one row, chains of wave reductions, atomics on one line, tiny launches.

All are programs of ours after public HIP. The product of one row: 304 workgroups of 16 waves; a wave takes a row of
weights at a time, 16 bytes per lane, the vector lies in LDS (vLLM's wvSplitK, hipBLASLt's wvSpltK_hf_m1). The chains
(jpcpol): 1024 waves, each 4096 dependent reductions by DPP, or scans by ds_bpermute. The histogram (kernel-grader): one
global atomic per key, 12.5 % of all keys in one bin. AXPY (navatala): launches back to back.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np

from argus.clock.sampled import Work
from argus.clock.staged import Operand
from bench.clock import opencl
from bench.clock.rows import Folders, LeftOut, Task, given, number, read, timed

CUS = 304
KEYS, BINS = 1 << 26, 4096
REPEATS, WAVES = 4096, 1024

GEMV = """
KERNEL gemv(global const h8 *restrict w, global const h8 *restrict x, global half *restrict y, int rows, int steps) {
    local h8 held[STEPS];
    for (int j = THREAD; j < steps; j += THREADS) held[j] = x[j];
    BARRIER;
    int lane = THREAD & 63;
    for (int row = BLOCK * (THREADS / 64) + THREAD / 64; row < rows; row += GRID * (THREADS / 64)) {
        global const h8 *at = w + (size_t)row * steps;
        float sum = 0;
        _Pragma("unroll 4") for (int j = lane; j < steps; j += 64) {
            h8 a = at[j], b = held[j];
            sum = __builtin_amdgcn_fdot2(a.s01, b.s01, sum, 0);
            sum = __builtin_amdgcn_fdot2(a.s23, b.s23, sum, 0);
            sum = __builtin_amdgcn_fdot2(a.s45, b.s45, sum, 0);
            sum = __builtin_amdgcn_fdot2(a.s67, b.s67, sum, 0);
        }
        for (int step = 32; step > 0; step /= 2)
            sum += as_float(__builtin_amdgcn_ds_bpermute((lane ^ step) * 4, as_int(sum)));
        if (lane == 0) y[row] = (half)sum;
    }
}
"""
CHAINS = """
#define MOVED(x, how) as_float(__builtin_amdgcn_update_dpp(0, as_int(x), how, 0xf, 0xf, 0))
KERNEL reduce(global const float *restrict in, global float *restrict out, int repeats) {
    float x = in[BLOCK * THREADS + THREAD], total = 0;
    _Pragma("unroll 1") for (int r = 0; r < repeats; r++) {
        float s = x;
        s += MOVED(s, 0x111); s += MOVED(s, 0x112); s += MOVED(s, 0x114); s += MOVED(s, 0x118);
        s += MOVED(s, 0x142); s += MOVED(s, 0x143);
        s = as_float(__builtin_amdgcn_readlane(as_int(s), 63));
        total += s;
        x = s * 1.0000001f + (float)THREAD;
    }
    if (THREAD == 0) out[BLOCK] = total;
}
KERNEL scan(global const float *restrict in, global float *restrict out, int repeats) {
    float x = in[BLOCK * THREADS + THREAD], total = 0;
    int lane = THREAD;
    _Pragma("unroll 1") for (int r = 0; r < repeats; r++) {
        float s = x;
        for (int step = 1; step < 64; step *= 2) {
            float y = as_float(__builtin_amdgcn_ds_bpermute((lane - step) * 4, as_int(s)));
            s += lane >= step ? y : 0;
        }
        total += s;
        x = s * 1.0000001f + (float)lane;
    }
    if (THREAD == 63) out[BLOCK] = total;
}
"""
ATOMICS = """
#define COUNT(bin) __scoped_atomic_fetch_add(bins + ((bin) & 4095), 1u, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE)
KERNEL histogram(global const u4 *restrict keys, global uint *bins, int count) {
    for (int i = BLOCK * THREADS + THREAD; i < count; i += GRID * THREADS) {
        u4 v = keys[i];
        COUNT(v.x); COUNT(v.y); COUNT(v.z); COUNT(v.w);
    }
}
"""
AXPY = """
KERNEL axpy(global const float *restrict x, global float *restrict y, float a, int count) {
    int i = BLOCK * THREADS + THREAD;
    if (i < count) y[i] += a * x[i];
}
"""


def gemv_works(n: int, k: int) -> list[Work]:
    w, x = Operand((n, k), np.float16), Operand((k,), np.float16, 1)
    args = (w, x, Operand((n,), np.float16, blank=True), np.int32(n), np.int32(k // 8))
    moved = float(w.nbytes + x.nbytes + 2 * n)
    return [opencl.work("gemv", GEMV, grid=CUS, threads=1024, args=args, bytes=moved, GRID=CUS, STEPS=k // 8)]


def chain_works(function: str) -> list[Work]:
    args = (Operand((WAVES * 64,), np.float32), Operand((WAVES,), np.float32, blank=True), np.int32(REPEATS))
    return [opencl.work(function, CHAINS, grid=WAVES, threads=64, args=args, bytes=4.0 * 65 * WAVES)]


def histogram_works() -> list[Work]:
    dice = np.random.default_rng(0)
    keys = (BINS * dice.random(KEYS, np.float32) ** 4).astype(np.uint32)
    grid = 8 * CUS
    args = (keys, np.zeros(BINS, np.uint32), np.int32(KEYS // 4))
    return [opencl.work("histogram", ATOMICS, grid=grid, threads=1024, args=args, bytes=4.0 * KEYS, GRID=grid)]


def axpy_works(count: int) -> list[Work]:
    args = (Operand((count,), np.float32), Operand((count,), np.float32, 1), np.float32(2.0), np.int32(count))
    return [opencl.work("axpy", AXPY, grid=-(-count // 256), threads=256, args=args, bytes=12.0 * count)]


def gemv(facts: Path) -> Iterator[Task | LeftOut]:
    skipped = 0
    for row in read(facts / "measured_more.csv"):
        if "wvSpltK_hf_m1" in row["library_or_object"]:
            n, k = number(r"N(\d+)", row["shape"]), number(r"K(\d+)", row["shape"])
            family, microseconds = "row times matrix, hipBLASLt wvSpltK", float(row["value"])
        elif "wvSplitK" in row["library_or_object"]:
            if "New4" not in row["library_or_object"] or "tokens 1" not in row["shape"]:
                skipped += 1
                continue
            n, k = number(r"W (\d+)x", row["shape"]), number(r"x(\d+),", row["shape"])
            family, microseconds = "row times matrix, vLLM wvSplitK", 1e3 * float(row["value"])
        else:
            continue
        moved = 2.0 * (n * k + n + k)
        found = timed(
            family, "gemv f16", f"f16 1x{n}x{k}", row["role"], moved, microseconds, row["source"], warm=True,
            regime="memory-bound", timing="not stated",
        )  # fmt: skip
        yield Task(found, partial(gemv_works, n, k))
    yield LeftOut("row times matrix, vLLM wvSplitK", skipped, "variants and several tokens: details are not at hand")


def chains(facts: Path) -> Iterator[Task | LeftOut]:
    known = {"wave64 DPP reduce f32 sum": "reduce", "wave64 inclusive scan portable (shfl_up -> ds_bpermute)": "scan"}
    other = 0
    for row in read(facts / "measured_more.csv"):
        if row["kernel"].startswith("wave64") and row["kernel"] not in known:
            other += 1
        elif row["kernel"] in known:
            function = known[row["kernel"]]
            found = timed(
                "chains of one wave, jpcpol", function, "1024 waves, 4096 times", row["role"], 4.0 * 65 * WAVES,
                float(row["value"]), row["source"], regime="small or latency-bound", warm=True,
                protocol="event", timing="events, median",
            )  # fmt: skip
            yield Task(found, partial(chain_works, function))
    yield LeftOut("chains of one wave, jpcpol", other, "other types and hipCUB: the same loop with other arithmetic")


def rest(facts: Path) -> Iterator[Task | LeftOut]:
    vendor = 0
    for row in read(facts / "measured_more.csv"):
        if row["kernel"].startswith("histogram, naive with 1024-thread"):
            found = timed(
                "atomics, kernel-grader", "histogram, one global atomic per key", "64 Mi keys, 4096 bins", "fit",
                4.0 * KEYS, 1e3 * float(row["value"]), row["source"], regime="small or latency-bound",
                timing="host timer around launch and synchronization",
            )  # fmt: skip
            yield Task(found, histogram_works)
        elif row["kernel"].startswith("AXPY_F32") and "vendor" in row["kernel"]:
            vendor += 1
        elif row["kernel"].startswith("AXPY_F32"):
            count = number(r"n=(\d+)", row["shape"])
            found = timed(
                "axpy, navatala", row["kernel"].replace("AXPY_F32", "axpy"), f"f32 {count}", row["role"],
                12.0 * count, float(row["value"]), row["source"], regime="small or latency-bound", warm=True,
                timing="back-to-back launches, mean of 50",
            )  # fmt: skip
            yield Task(found, partial(axpy_works, count))
    yield LeftOut("axpy, navatala", vendor, "rocBLAS: the source does not name the kernel that ran")
    yield LeftOut("histogram, other variants", 2, "wave-aggregated and LDS: host overhead or data-dependent loops")


def rows(folders: Folders) -> Iterator[Task | LeftOut]:
    facts = given(folders.facts)
    yield from gemv(facts)
    yield from chains(facts)
    yield from rest(facts)
