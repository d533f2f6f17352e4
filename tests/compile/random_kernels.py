"""Random small kernels: elementwise chains, lane exchanges, LDS round trips, loops, branches, guards, matrix products.

Everything is drawn from one seed. Values are small integers where sums are reordered by the hardware (matrix
instructions), so every executor must agree to the bit.
"""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np

from argus.gfx942.mfma import mfma
from argus.ir.build import IrBuilder
from argus.ir.kernel import BLOCK_X, LANE, Kernel, wave_variable
from argus.ir.ops import Access, Op, Shared, Tensor
from argus.ir.types import DTYPES, Value
from argus.layout import expr as E
from argus.layout.expr import Expr, const, var
from tests.compile.harness import NUMPY, WAVE, kernel

MATRIX = ("mfma_32x32x8_bf16", "mfma_16x16x16_bf16", "mfma_16x16x16_f16", "mfma_16x16x32_i8", "mfma_32x32x16_fp8_fp8")


class RandomKernel:
    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.waves = self.rng.choice([1, 2, 4])
        self.blocks = self.rng.choice([1, 2])
        self.b = IrBuilder()
        self.size = var("N", 1, 4096)
        self.wave = wave_variable(self.waves)
        self.thread = self.wave * WAVE + LANE
        self.threads = self.waves * WAVE
        self.tensors: list[Tensor] = []
        self.arrays: dict[str, np.ndarray] = {}
        self.shared: list[Shared] = []
        self.lds = 0
        self.seed = seed

    def tensor(self, dtype: str, count: int, written: bool = False) -> Tensor:
        """One row of `count` elements per thread of the grid."""
        name = f"t{len(self.tensors)}"
        total = self.blocks * self.threads * count
        made = Tensor(name, DTYPES[dtype], ("i",), (const(total),), (const(1),), not written, written)
        values = np.random.default_rng(self.seed + len(self.tensors)).integers(-6, 7, total)
        data = np.abs(values) if dtype.startswith("u") else values
        self.arrays[name] = np.zeros(total, NUMPY[dtype]) if written else data.astype(NUMPY[dtype])
        self.tensors.append(made)
        return made

    def row(self, t: Tensor, count: int, guard: Expr | None = None) -> Access:
        at = (BLOCK_X * self.threads + self.thread) * count
        return Access(t, at * t.dtype.bytes, count, (at,), 0, guard)

    def guard(self) -> Expr | None:
        rng = self.rng
        return rng.choice([None, None, LANE.lt(rng.randint(0, 64)), (self.thread % 3).ne(1), self.thread.lt(self.size)])

    def elementwise(self, value: Value, other: Value) -> Value:
        rng, b = self.rng, self.b
        kind = value.dtype.kind
        if kind == "float":
            fn = rng.choice(["add", "sub", "mul", "max", "min", "neg", "abs", "select", "floor"])
        else:
            fn = rng.choice(["add", "sub", "mul", "max", "min", "and", "or", "xor", "select"])
        if fn == "select":
            return b.map("select", b.map(rng.choice(["lt", "le", "eq", "ne"]), value, other), value, other)
        return b.map(fn, value, *([other] if fn not in ("neg", "abs", "floor") else []))

    def lanes(self, value: Value) -> Value:
        rng = self.rng
        source = rng.choice(
            [LANE ^ rng.randint(1, 63), (LANE + rng.randint(1, 63)) % 64, E.const(rng.randint(0, 63)), 63 - LANE,
             LANE // 8 + LANE % 8 * 8]
        )  # fmt: skip
        return self.b.lanes(value, source)

    def registers(self, value: Value) -> Value:
        picks = [(0, self.rng.randrange(value.count)) for _ in range(value.count)]
        return self.b.registers((value,), tuple(picks))

    def through_lds(self, value: Value) -> Value:
        """Write rows under a random swizzle, meet, read the rows of another thread."""
        rng, b = self.rng, self.b
        width = value.count * value.dtype.bytes
        pitch = max(4, width)
        buffer = Shared(f"s{len(self.shared)}", value.dtype, self.threads * pitch, self.lds)
        self.lds += -(-buffer.bytes // 16) * 16
        self.shared.append(buffer)
        mask = rng.choice([0, 1, 7, 31])

        def place(t: Expr) -> Expr:
            return (t ^ (t // 32 % 2 * mask)) * pitch

        b.store(Access(buffer, place(self.thread), value.count), value)
        b.barrier()
        step = rng.randrange(self.threads)
        return b.load(Access(buffer, place((self.thread + step) % self.threads), value.count, guard=self.guard()))

    def loop(self, value: Value, depth: int) -> Value:
        rng, b = self.rng, self.b
        index = var(f"i{depth}", 0, 8)
        hi = rng.choice([const(rng.randint(0, 4)), self.size % 4])
        with b.loop(index, 0, hi, (value,)) as loop:
            number = b.convert(b.index(index * rng.randint(1, 5) + LANE % 3), value.dtype)
            spread = b.registers((number,), ((0, 0),) * value.count)
            loop.yields(b.map("add", loop.args[0], spread))
        return loop.outs[0]

    def branch(self, value: Value, other: Value) -> Value:
        rng, b = self.rng, self.b
        uniform = rng.random() < 0.5
        condition = (self.size % 2).eq(rng.randint(0, 1)) if uniform else (LANE % 4).lt(rng.randint(0, 4))
        arms: list[list[Op]] = [[], []]
        made: list[Value] = []
        for arm in arms:
            with b.into(arm):
                made.append(self.elementwise(value, other))
        return b.branch(condition, uniform, arms[0], arms[1], (made[0],), (made[1],))[0]

    def matrix(self) -> Value:
        rng, b = self.rng, self.b
        name = rng.choice(MATRIX)
        row = mfma(name)
        a = b.load(self.row(self.tensor(row.a, row.a_elements), row.a_elements))
        c = b.load(self.row(self.tensor(row.b, row.a_elements), row.a_elements))
        total = b.constant(rng.choice([0, 3]), DTYPES[row.c], row.d_elements)
        for _ in range(rng.randint(1, 3)):
            total = b.mfma(name, a, c, total)
        return total

    def build(self) -> tuple[Kernel, dict[str, np.ndarray], int, tuple[int, int, int]]:
        """(kernel, arrays, N, grid)"""
        rng, b = self.rng, self.b
        if rng.random() < 0.3:
            value = self.matrix()
        else:
            dtype = rng.choice(["f32", "i32", "bf16", "f16", "u32", "i8", "f64"])
            count = rng.choice([1, 2, 4, 8])
            value = b.load(self.row(self.tensor(dtype, count), count, self.guard()))
        other = b.load(self.row(self.tensor(value.dtype.name, value.count), value.count))
        steps: list[Callable[[], Value]] = [
            lambda: self.elementwise(value, other),
            lambda: self.lanes(value),
            lambda: self.registers(value),
            lambda: self.branch(value, other),
        ]
        for depth in range(rng.randint(1, 6)):
            if value.dtype.name in ("f32", "i32") and rng.random() < 0.3:
                value = self.loop(value, depth)
            elif value.count * value.dtype.bytes in (1, 2, 4, 8, 16) and rng.random() < 0.3 and len(self.shared) < 2:
                value = self.through_lds(value)
            elif value.dtype.kind == "float" and rng.random() < 0.3:
                value = b.convert(value, DTYPES[rng.choice(["f32", "bf16", "f16"])])
                other = b.convert(other, value.dtype)
            else:
                value = rng.choice(steps)()
        out = self.tensor(value.dtype.name, value.count, written=True)
        b.store(self.row(out, value.count, self.guard()), value)
        made = kernel(
            "random", self.tensors, b, self.waves, shared=tuple(self.shared), shapes=(self.size,),
            grid=(const(self.blocks), const(1), const(1)),
        )  # fmt: skip
        return made, self.arrays, rng.randint(1, 300), (self.blocks, 1, 1)
