"""Small kernels as hand-written IR, one per way of moving data: the material of the mutation suite.

All GEMMs: C[M, N] = A[M, K] B[N, K]^T in bf16, tiles of 64 x 32 x 16, two waves of 32 x 32, 32x32x8 MFMAs.

    single      one LDS stage, two barriers
    prefetch    one LDS stage, the next tile waits in registers during the MFMAs
    ring        two LDS stages, one barrier per step
    direct      direct-to-LDS copies, waited for before the barrier
    tail        K need not be a multiple of the tile: guarded loads
    transpose   f32 transpose through padded LDS
    rows        C[m, n] = A[m, n] * s[m], a two-dimensional elementwise kernel with ragged columns
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import ml_dtypes
import numpy as np

from argus.ir.build import IrBuilder
from argus.ir.kernel import BLOCK_X, BLOCK_Y, LANE, Kernel, wave_variable
from argus.ir.ops import Access, Shared, Tensor
from argus.ir.specified import restated
from argus.ir.types import NOWHERE, Value, bf16, f32
from argus.layout import expr as E
from argus.layout.expr import Expr, const, var
from tests.ir.samples import access, at, tensor

BM, BN, BK = 64, 32, 16
WAVE = wave_variable(2)
THREAD = WAVE * 64 + LANE
MMA = "mfma_32x32x8_bf16"


@dataclass(frozen=True)
class Program:
    """A kernel, sizes to execute it at, and what it should compute."""

    kernel: Kernel
    sizes: tuple[dict[str, int], ...]
    reference: Callable[[dict[str, np.ndarray]], np.ndarray]
    output: str = "C"
    inputs: Callable[[Kernel, Mapping[str, int]], dict[str, np.ndarray]] | None = None
    """Inputs at these sizes; small whole numbers unless given."""
    scalars: Mapping[str, float] = field(default_factory=dict)
    tolerance: float = 0.0
    atomic: bool = False
    """Elements of the output may be written more than once."""


def product(arrays: dict[str, np.ndarray]) -> np.ndarray:
    exact = arrays["A"].astype(np.float32) @ arrays["B"].astype(np.float32).T
    return exact.astype(ml_dtypes.bfloat16).astype(np.float32)


def place(row: Expr, chunk: Expr | int, slot: Expr | int = 0, rows: int = BM) -> Expr:
    """Byte address in rows of 32 bytes, two 16-byte chunks, chunk XOR row % 2."""
    return E.as_expr(slot) * (rows * 32) + row * 32 + (E.as_expr(chunk) ^ (row % 2)) * 16


class Gemm:
    """Pieces the GEMM variants are put together from."""

    def __init__(self, stages: int = 1, k_multiple: int = BK) -> None:
        self.m, self.n, self.k = (var(s, 1, 2**16) for s in "MNK")
        self.a = tensor("A", bf16, ("M", "K"), (self.m, self.k))
        self.b = tensor("B", bf16, ("N", "K"), (self.n, self.k))
        self.c = tensor("C", bf16, ("M", "N"), (self.m, self.n), out=True)
        self.s_a = Shared("sA", bf16, stages * BM * 32, 0)
        self.s_b = Shared("sB", bf16, stages * BN * 32, stages * BM * 32)
        self.kt = var("kt", 0, 2**13)
        self.k_multiple = k_multiple
        self.builder = IrBuilder()

    @property
    def steps(self) -> Expr:
        return (self.k + (BK - 1)) // BK if self.k_multiple != BK else self.k // BK

    def fetch(self, kt: Expr | int, guarded: bool = False) -> tuple[Value, Value]:
        made = []
        step = E.as_expr(kt)
        for line, source, row, width in ((2, self.a, THREAD // 2, 8), (3, self.b, THREAD // 4, 4)):
            origin = BLOCK_Y * BM if source is self.a else BLOCK_X * BN
            k = step * BK + (THREAD % (BK // width)) * width
            with self.builder.at(at(line)):
                guard = k.lt(self.k) if guarded else None
                made.append(self.builder.load(access(source, (origin + row, k), width, guard)))
        return made[0], made[1]

    def publish(self, values: tuple[Value, Value], slot: Expr | int = 0) -> None:
        with self.builder.at(at(5)):
            row, chunk = THREAD // 2, THREAD % 2
            self.builder.store(Access(self.s_a, place(row, chunk, slot), 8, (row, chunk * 8), 1), values[0])
        with self.builder.at(at(6)):
            row, part = THREAD // 4, THREAD % 4
            address = place(row, part // 2, slot, BN) + part % 2 * 8
            self.builder.store(Access(self.s_b, address, 4, (row, part * 4), 1), values[1])

    def barrier(self, line: int, bare: bool = False) -> None:
        with self.builder.at(at(line)):
            self.builder.barrier(bare)

    def multiply(self, acc: Value, slot: Expr | int = 0) -> Value:
        row_a, row_b, chunk = WAVE * 32 + LANE % 32, LANE % 32, LANE // 32
        with self.builder.at(at(8)):
            a = self.builder.load(Access(self.s_a, place(row_a, chunk, slot), 8, (row_a, chunk * 8), 1))
        with self.builder.at(at(9)):
            b = self.builder.load(Access(self.s_b, place(row_b, chunk, slot, BN), 8, (row_b, chunk * 8), 1))
        for h in range(2):
            with self.builder.at(at(10)), self.builder.unrolled("h", h):
                bs, as_ = self.builder.slice(b, 4 * h, 4), self.builder.slice(a, 4 * h, 4)
                acc = self.builder.mfma(MMA, bs, as_, acc)
        return acc

    def finish(self, acc: Value) -> None:
        with self.builder.at(at(12)):
            out = self.builder.convert(acc, bf16)
            for q in range(4):
                row = BLOCK_Y * BM + WAVE * 32 + LANE % 32
                col = BLOCK_X * BN + 8 * q + 4 * (LANE // 32)
                self.builder.store(access(self.c, (row, col), 4), self.builder.slice(out, 4 * q, 4))

    def zero(self) -> Value:
        with self.builder.at(at(1)):
            return self.builder.constant(0.0, f32, 16)

    def program(self, name: str, sizes: tuple[tuple[int, int, int], ...]) -> Program:
        kernel = Kernel(
            name=name, file="program.py", source="", tensors=(self.a, self.b, self.c), scalars=(),
            shapes=(self.m, self.n, self.k), knobs=(), settings={},
            requires=((self.m % BM).eq(0), (self.n % BN).eq(0), (self.k % self.k_multiple).eq(0)), waves=2,
            grid=(self.n // BN, self.m // BM, const(1)), shared=(self.s_a, self.s_b), body=self.builder.body,
            example={"M": 64, "N": 32, "K": 32}, span=NOWHERE,
        )  # fmt: skip
        kernel = restated(kernel, "C[m, n] = sum(A[m, k] * B[n, k], k)")
        return Program(kernel, tuple(dict(zip("MNK", s, strict=True)) for s in sizes), product)


def single() -> Program:
    g = Gemm()
    acc = g.zero()
    with g.builder.at(at(1)), g.builder.loop(g.kt, 0, g.steps, (acc,)) as loop:
        values = g.fetch(g.kt)
        g.barrier(4)
        g.publish(values)
        g.barrier(7)
        loop.yields(g.multiply(loop.args[0]))
    g.finish(loop.outs[0])
    return g.program("single", ((64, 32, 16), (128, 64, 48)))


def prefetch() -> Program:
    g = Gemm()
    acc = g.zero()
    first = g.fetch(0)
    with g.builder.at(at(1)), g.builder.loop(g.kt, 0, g.steps, (acc, *first)) as loop:
        g.barrier(4)
        g.publish((loop.args[1], loop.args[2]))
        g.barrier(7)
        then = IrBuilder.into
        block: list = []
        with then(g.builder, block):
            following = g.fetch(g.kt + 1)
        carried = g.builder.branch((g.kt + 1).lt(g.steps), True, block, [], following, loop.args[1:])
        loop.yields(g.multiply(loop.args[0]), *carried)
    g.finish(loop.outs[0])
    return g.program("prefetch", ((64, 32, 16), (128, 32, 48)))


def ring(depth: int = 2) -> Program:
    """Tile kt lives in slot kt % depth; tile kt + 1 is stored while tile kt is read."""
    g = Gemm(stages=depth)
    acc = g.zero()
    g.publish(g.fetch(0))
    with g.builder.at(at(1)), g.builder.loop(g.kt, 0, g.steps, (acc,)) as loop:
        g.barrier(4)
        block: list = []
        with g.builder.into(block):
            g.publish(g.fetch(g.kt + 1), (g.kt + 1) % depth)
        with g.builder.at(at(7)):
            g.builder.branch((g.kt + 1).lt(g.steps), True, block, [])
        loop.yields(g.multiply(loop.args[0], g.kt % depth))
    g.finish(loop.outs[0])
    return g.program(f"ring{depth}", ((64, 32, 16), (64, 64, 32), (128, 32, 80)))


def direct() -> Program:
    g = Gemm()
    acc = g.zero()
    with g.builder.at(at(1)), g.builder.loop(g.kt, 0, g.steps, (acc,)) as loop:
        g.barrier(4)
        for line, source, buffer, passes in ((5, g.a, g.s_a, 4), (6, g.b, g.s_b, 2)):
            origin = BLOCK_Y * BM if source is g.a else BLOCK_X * BN
            for p in range(passes):
                with g.builder.at(at(line)), g.builder.unrolled("p", p):
                    row = WAVE * (8 * passes) + p * 8 + LANE // 8
                    k = g.kt * BK + LANE % 8 * 2
                    base = (WAVE * (8 * passes) + p * 8) * 32
                    g.builder.copy_to_lds(access(source, (origin + row, k), 2), buffer, E.as_expr(base))
        with g.builder.at(at(7)):
            g.builder.wait(vm=0)
        g.barrier(7)
        a_row, b_row, chunk = WAVE * 32 + LANE % 32, LANE % 32, LANE // 32
        with g.builder.at(at(8)):
            a = g.builder.load(Access(g.s_a, a_row * 32 + chunk * 16, 8))
            b = g.builder.load(Access(g.s_b, b_row * 32 + chunk * 16, 8))
        out = loop.args[0]
        for h in range(2):
            with g.builder.at(at(10)), g.builder.unrolled("h", h):
                out = g.builder.mfma(MMA, g.builder.slice(b, 4 * h, 4), g.builder.slice(a, 4 * h, 4), out)
        loop.yields(out)
    g.finish(loop.outs[0])
    return g.program("direct", ((64, 32, 16), (64, 64, 48)))


def tail() -> Program:
    g = Gemm(k_multiple=8)
    acc = g.zero()
    with g.builder.at(at(1)), g.builder.loop(g.kt, 0, g.steps, (acc,)) as loop:
        values = g.fetch(g.kt, guarded=True)
        g.barrier(4)
        g.publish(values)
        g.barrier(7)
        loop.yields(g.multiply(loop.args[0]))
    g.finish(loop.outs[0])
    return g.program("tail", ((64, 32, 8), (128, 64, 40), (64, 32, 32)))


def _simple(
    name: str, tensors: tuple[Tensor, ...], shapes: tuple[Expr, ...], grid: tuple[Expr, Expr], body: IrBuilder,
    computes: str, shared: tuple[Shared, ...] = (), requires: tuple[Expr, ...] = (),
) -> Kernel:  # fmt: skip
    kernel = Kernel(
        name=name, file="program.py", source="", tensors=tensors, scalars=(), shapes=shapes, knobs=(), settings={},
        requires=requires, waves=2, grid=(*grid, const(1)), shared=shared, body=body.body, span=NOWHERE,
    )  # fmt: skip
    return restated(kernel, computes)


def transpose() -> Program:
    """T[n, m] = X[m, n]: 32x32 tiles of f32 through LDS rows padded to 33 elements."""
    m, n = var("M", 1, 2**14), var("N", 1, 2**14)
    x, t = tensor("X", f32, ("M", "N"), (m, n)), tensor("T", f32, ("N", "M"), (n, m), out=True)
    s = Shared("s", f32, 32 * 33 * 4, 0)
    b = IrBuilder()
    for p in range(2):
        with b.at(at(2)), b.unrolled("p", p):
            row, col = p * 16 + THREAD // 8, THREAD % 8 * 4
            value = b.load(access(x, (BLOCK_Y * 32 + row, BLOCK_X * 32 + col), 4))
        for e in range(4):
            with b.at(at(3)), b.unrolled("p", p), b.unrolled("e", e):
                b.store(Access(s, row * 132 + (col + e) * 4, 1, (row, col + e), 1), b.slice(value, e, 1))
    with b.at(at(4)):
        b.barrier()
    for p in range(8):
        with b.at(at(5)), b.unrolled("p", p):
            row, col = p * 4 + THREAD // 32, THREAD % 32
            got = b.load(Access(s, col * 132 + row * 4, 1, (col, row), 1))
        with b.at(at(6)), b.unrolled("p", p):
            b.store(access(t, (BLOCK_X * 32 + row, BLOCK_Y * 32 + col), 1), got)
    grid = (n // 32, m // 32)
    requires = ((m % 32).eq(0), (n % 32).eq(0))
    kernel = _simple("transpose", (x, t), (m, n), grid, b, "T[n, m] = X[m, n]", (s,), requires)
    sizes = ({"M": 32, "N": 32}, {"M": 64, "N": 96})
    return Program(kernel, sizes, lambda arrays: arrays["X"].T, "T")


def rows() -> Program:
    """C[m, n] = A[m, n] * s[m]; columns are ragged, so loads and stores are guarded by their column."""
    m, n = var("M", 1, 2**14), var("N", 1, 2**14)
    a, s = tensor("A", f32, ("M", "N"), (m, n)), tensor("s", f32, ("M",), (m,))
    c = tensor("C", f32, ("M", "N"), (m, n), out=True)
    b = IrBuilder()
    row, col = BLOCK_Y * 2 + WAVE, BLOCK_X * 64 + LANE
    guard = col.lt(n)
    with b.at(at(2)):
        value = b.load(access(a, (row, col), 1, guard))
        scale = b.load(access(s, (row,), 1))
    with b.at(at(3)):
        b.store(access(c, (row, col), 1, guard), b.map("mul", value, scale))
    grid = ((n + 63) // 64, (m + 1) // 2)
    kernel = _simple("rows", (a, s, c), (m, n), grid, b, "C[m, n] = A[m, n] * s[m]")
    sizes = ({"M": 1, "N": 1}, {"M": 5, "N": 70}, {"M": 4, "N": 64})
    return Program(kernel, sizes, lambda arrays: arrays["A"] * arrays["s"][:, None])


PROGRAMS: dict[str, Callable[[], Program]] = {
    "single": single,
    "prefetch": prefetch,
    "ring2": ring,
    "ring3": lambda: ring(3),
    "direct": direct,
    "tail": tail,
    "transpose": transpose,
    "rows": rows,
}
