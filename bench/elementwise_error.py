"""How far the composite elementwise functions are off, and whether the object computes the interpreter's bits.

    python -m bench.elementwise_error                 errors over 2^24 inputs of each function, against float64
    python -m bench.elementwise_error --machine 65536 also: compiled, run on the simulated machine, compared bit by bit

Inputs of a function of one operand are 2^24 bit patterns, one at a random place in each run of 256, so every exponent,
sign and special value is met. Inputs of `pow` are 2^24 pairs: bases of all sizes with small exponents, bases near 1
with large ones, and whole exponents of negative bases. The reference is numpy's (for erf: Python's) function of float64
numbers, which is good to about 2^-52. An error is counted in units in the last place of the right result in f32; where
the right result is infinite or NaN, or rounds to infinity, the function must give just that.

Exit code 1 if an error is larger than the function's row in `argus.ir.maps` states, or a bit differs.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from argus.compile import compile_kernel
from argus.ir.build import IrBuilder
from argus.ir.kernel import BLOCK_X, LANE, Kernel
from argus.ir.maps import MAPS, MapFn
from argus.ir.ops import Access, Tensor
from argus.ir.passes.schedule import scheduled
from argus.ir.types import f32
from argus.layout.expr import const
from argus.machine import Options, load

INPUTS = 1 << 24
CHUNK = 1 << 20
PER_LANE, WAVE = 4, 64
LARGEST = float(np.finfo(np.float32).max)
OVERFLOW = LARGEST + 2.0**103
"""What is not below this rounds to infinity."""


def _sigmoid(x: Any) -> Any:
    e = np.exp(-np.abs(x))
    return np.where(x < 0, e, 1.0) / (1.0 + e)


REFERENCE: dict[str, Callable[..., Any]] = {
    "exp": np.exp,
    "log": np.log,
    "tanh": np.tanh,
    "erf": lambda x: np.array([math.erf(v) for v in x.tolist()]),
    "sigmoid": _sigmoid,
    "pow": np.power,
}


def inputs(row: MapFn, count: int, seed: int) -> Iterator[tuple[Any, ...]]:
    """Operands, a chunk at a time."""
    rng = np.random.default_rng(seed)
    chunk = min(CHUNK, count)
    for n in range(count // chunk):
        if row.arity == 1:
            step = (1 << 32) // count
            start = (np.arange(chunk, dtype=np.uint64) + np.uint64(n * chunk)) * np.uint64(step)
            yield ((start + rng.integers(0, step, chunk, dtype=np.uint64)).astype(np.uint32).view(np.float32),)
        else:
            yield _pairs(rng, chunk, n % 4)


def _pairs(rng: np.random.Generator, count: int, kind: int) -> tuple[Any, Any]:
    spread = (-1.0, 1.0) if kind == 1 else (-126.0, 127.0) if kind == 0 else (-20.0, 20.0)
    x = np.exp2(rng.uniform(*spread, count))
    y = rng.standard_normal(count) * np.exp2(rng.uniform(-8.0, 8.0 if kind == 1 else 3.0, count))
    if kind == 2:
        x, y = x * rng.choice([-1.0, 1.0], count), np.rint(y)
    if kind == 3:  # the largest and the smallest results, where an error of the logarithm counts most
        y = rng.choice([-1.0, 1.0], count) * rng.uniform(120.0, 128.0, count) / np.maximum(np.abs(np.log2(x)), 1e-3)
    return x.astype(np.float32), y.astype(np.float32)


def errors(got: Any, right: Any) -> tuple[Any, Any]:
    """Units in the last place, and where a special result is wrong."""
    finite = np.isfinite(right) & (np.abs(right) < OVERFLOW)
    exponent = np.floor(np.log2(np.maximum(np.abs(np.where(finite, right, 1.0)), 2.0**-126)))
    off = np.abs(got.astype(np.float64) - right) / np.exp2(exponent - 23)
    special = np.where(np.isnan(right), np.isnan(got), got == right.astype(np.float32))
    return np.where(finite, off, 0.0), ~finite & ~special


def measure(row: MapFn, count: int = INPUTS, seed: int = 1) -> tuple[float, tuple[float, ...], int]:
    """The largest error, where it is, and how many special results are wrong."""
    worst, where, wrong = 0.0, (math.nan,) * row.arity, 0
    with np.errstate(all="ignore"):
        for args in inputs(row, count, seed):
            right = np.asarray(REFERENCE[row.name](*(a.astype(np.float64) for a in args)))
            off, special = errors(row.numpy(*args), right)
            at = int(np.nanargmax(off))
            wrong += int(special.sum()) + int(np.isnan(off).sum())
            if off[at] > worst:
                worst, where = float(off[at]), tuple(float(a[at]) for a in args)
    return worst, where, wrong


def kernel(row: MapFn, blocks: int) -> Kernel:
    """One wave a workgroup, PER_LANE elements a lane."""
    b = IrBuilder()
    place = BLOCK_X * (WAVE * PER_LANE) + LANE * PER_LANE

    def tensor(name: str, written: bool) -> Tensor:
        return Tensor(name, f32, ("N",), (const(blocks * WAVE * PER_LANE),), (const(1),), not written, written)

    def access(t: Tensor) -> Access:
        return Access(t, place * 4, PER_LANE, (place,), 0)

    operands = [tensor(f"x{n}", False) for n in range(row.arity)]
    out = tensor("out", True)
    b.store(access(out), b.map(row.name, *(b.load(access(t)) for t in operands)))
    return Kernel(
        name=f"map_{row.name}",
        file="",
        source="",
        tensors=(*operands, out),
        scalars=(),
        shapes=(),
        knobs=(),
        settings={},
        requires=(),
        waves=1,
        grid=(const(blocks), const(1), const(1)),
        shared=(),
        body=b.body,
    )


def differing(row: MapFn, count: int, seed: int = 2) -> int:
    """Elements whose bits differ between interpreter and object; NaNs are alike."""
    blocks = min(count, CHUNK) // (WAVE * PER_LANE)
    program = load(compile_kernel(scheduled(kernel(row, blocks))).object).kernel(f"map_{row.name}")
    different = 0
    for args in inputs(row, count, seed):
        out = np.zeros(len(args[0]), np.float32)
        program((blocks, 1, 1), (WAVE, 1, 1), *args, out, options=Options())
        with np.errstate(all="ignore"):
            want = row.numpy(*args)
        same = (out.view(np.uint32) == want.view(np.uint32)) | (np.isnan(out) & np.isnan(want))
        different += int((~same).sum())
    return different


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="functions (default: all composites)")
    parser.add_argument("--inputs", type=int, default=INPUTS, help="inputs of each function (a power of two)")
    parser.add_argument(
        "--machine", type=int, default=0, metavar="N", help="compare N inputs on the machine, a power of two"
    )
    given = parser.parse_args()
    bad = False
    print(f"{given.inputs} inputs each, against float64")
    for row in MAPS.values():
        if row.program is None or (given.names and row.name not in given.names):
            continue
        worst, where, wrong = measure(row, given.inputs)
        line = (
            f"{row.name:8} {worst:.3f} ulp (row: {row.ulps}) at {where}, {given.inputs} inputs, {wrong} wrong specials"
        )
        bad |= worst > row.ulps or wrong > 0
        if given.machine:
            different = differing(row, given.machine)
            line += f"; {different} of {given.machine} results differ from the object's bits"
            bad |= different > 0
        print(line, flush=True)
    return int(bad)


if __name__ == "__main__":
    sys.exit(main())
