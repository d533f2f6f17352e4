"""Kernels as hand-written IR, for tests of rooms that do not want to depend on the language reader."""

from __future__ import annotations

from argus.ir.build import IrBuilder
from argus.ir.kernel import BLOCK_X, BLOCK_Y, LANE, Kernel, wave_variable
from argus.ir.ops import Access, Shared, Tensor
from argus.ir.specified import restated
from argus.ir.types import NOWHERE, Span, bf16, f32
from argus.layout import expr as E
from argus.layout.expr import Expr, const, var


def tensor(name: str, dtype: object, axes: tuple[str, ...], shape: tuple[Expr, ...], *, out: bool = False) -> Tensor:
    strides: list[Expr] = [const(1)]
    for extent in reversed(shape[1:]):
        strides.insert(0, strides[0] * extent)
    return Tensor(name, dtype, axes, shape, tuple(strides), not out, out)  # type: ignore[arg-type]


def at(line: int) -> Span:
    return Span("sample.py", line, 0, line, 10)


def access(t: Tensor, coords: tuple[Expr, ...], count: int, guard: Expr | None = None) -> Access:
    flat: Expr = const(0)
    for c, s in zip(coords, t.strides, strict=True):
        flat = flat + c * s
    return Access(t, flat * t.dtype.bytes, count, coords, len(coords) - 1, guard)


def vadd() -> Kernel:
    """z[i] = x[i] + y[i], 4 elements a thread, 256 threads a workgroup, ragged end left to the buffer range."""
    n = var("N", 0, 2**28)
    x, y = tensor("x", f32, ("N",), (n,)), tensor("y", f32, ("N",), (n,))
    z = tensor("z", f32, ("N",), (n,), out=True)
    wave = wave_variable(4)
    i = BLOCK_X * 1024 + wave * 256 + LANE * 4
    b = IrBuilder()
    with b.at(at(1)):
        a = b.load(access(x, (i,), 4))
    with b.at(at(2)):
        c = b.load(access(y, (i,), 4))
    with b.at(at(3)):
        s = b.map("add", a, c)
        b.store(access(z, (i,), 4), s)
    kernel = Kernel(
        name="vadd", file="sample.py", source="", tensors=(x, y, z), scalars=(), shapes=(n,), knobs=(), settings={},
        requires=((n % 4).eq(0),), waves=4, grid=((n + 1023) // 1024, const(1), const(1)), shared=(), body=b.body,
        example={"N": 4096}, span=NOWHERE,
    )  # fmt: skip
    return restated(kernel, "z[i] = x[i] + y[i]")


def swizzled(row: Expr, chunk: Expr, shift: int = 0) -> Expr:
    """Byte address in 128-byte rows of eight 16-byte chunks, chunk XOR (row >> shift) % 8."""
    return row * 128 + (chunk ^ ((row >> shift) % 8)) * 16


def gemm(reader_shift: int = 0, barriers: tuple[bool, bool] = (True, True)) -> Kernel:
    """C[M,N] = A[M,K] B[N,K]^T in bf16: 128x128x64 tiles, four waves of 64x64, 32x32x8 MFMAs, one LDS stage.

    `reader_shift=1` reads with another swizzle than was written; `barriers` leaves one of the two barriers out.
    """
    m, n, k = (var(s, 1, 2**20) for s in "MNK")
    a = tensor("A", bf16, ("M", "K"), (m, k))
    bt = tensor("B", bf16, ("N", "K"), (n, k))
    c = tensor("C", bf16, ("M", "N"), (m, n), out=True)
    s_a, s_b = Shared("sA", bf16, 16384, 0), Shared("sB", bf16, 16384, 16384)
    wave = wave_variable(4)
    wm, wn = wave // 2, wave % 2
    thread = wave * 64 + LANE
    bm, bn = BLOCK_Y, BLOCK_X
    kt = var("kt", 0, 2**14)
    b = IrBuilder()
    with b.at(at(10)):
        acc = [b.constant(0.0, f32, 16) for _ in range(4)]
    with b.at(at(11)), b.loop(kt, 0, k // 64, tuple(acc)) as loop:
        acc = list(loop.args)
        regs = []
        for line, source, tile in ((12, a, bm), (13, bt, bn)):
            for p in range(4):
                with b.at(at(line)), b.unrolled("p", p):
                    regs.append(
                        b.load(access(source, (tile * 128 + p * 32 + thread // 8, kt * 64 + thread % 8 * 8), 8))
                    )
        with b.at(at(14)):
            if barriers[0]:
                b.barrier()
        for line, buffer, half in ((15, s_a, 0), (16, s_b, 1)):
            for p in range(4):
                with b.at(at(line)), b.unrolled("p", p):
                    row, chunk = p * 32 + thread // 8, thread % 8
                    b.store(Access(buffer, swizzled(row, chunk), 8, (row, chunk * 8), 1), regs[4 * half + p])
        with b.at(at(17)):
            if barriers[1]:
                b.barrier()
        for ks in range(4):
            with b.unrolled("ks", ks):
                frag = {}
                for line, name, buffer, w in ((19, "a", s_a, wm), (20, "b", s_b, wn)):
                    for i in range(2):
                        with b.at(at(line)), b.unrolled("i", i):
                            row, chunk = w * 64 + 32 * i + LANE % 32, 2 * ks + LANE // 32
                            where = Access(
                                buffer, swizzled(row, E.as_expr(chunk), reader_shift), 8, (row, chunk * 8), 1
                            )
                            frag[name, i] = b.load(where)
                for i in range(2):
                    for j in range(2):
                        for h in range(2):
                            with b.at(at(22)), b.unrolled("i", i), b.unrolled("j", j), b.unrolled("h", h):
                                bs, as_ = b.slice(frag["b", j], 4 * h, 4), b.slice(frag["a", i], 4 * h, 4)
                                acc[2 * i + j] = b.mfma("mfma_32x32x8_bf16", bs, as_, acc[2 * i + j])
        loop.yields(*acc)
    with b.at(at(24)):
        for i in range(2):
            for j in range(2):
                out = b.convert(loop.outs[2 * i + j], bf16)
                for q in range(4):
                    row = bm * 128 + wm * 64 + 32 * i + LANE % 32
                    col = bn * 128 + wn * 64 + 32 * j + 8 * q + 4 * (LANE // 32)
                    b.store(access(c, (row, col), 4), b.slice(out, 4 * q, 4))
    with b.at(at(26)):
        b.check("conform", "mfma", axis="K")
        b.check("race_free", s_a, s_b)
    kernel = Kernel(
        name="gemm", file="sample.py", source="", tensors=(a, bt, c), scalars=(), shapes=(m, n, k), knobs=(),
        settings={}, requires=((m % 128).eq(0), (n % 128).eq(0), (k % 64).eq(0)), waves=4,
        grid=(n // 128, m // 128, const(1)), shared=(s_a, s_b), body=b.body,
        example={"M": 256, "N": 256, "K": 128}, span=NOWHERE,
    )  # fmt: skip
    return restated(kernel, "C[m, n] = sum(A[m, k] * B[n, k], k)")
