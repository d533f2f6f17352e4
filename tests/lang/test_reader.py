"""The reader against hand-written IR and against plain arithmetic on every thread."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from argus.ir import ops
from argus.ir.kernel import Kernel
from argus.lang import read, read_value
from argus.layout.expr import evaluate
from argus.layout.layout import Layout
from argus.layout.owner import Owner
from tests.ir import samples

KERNELS = Path(__file__).parents[2] / "argus" / "kernels"
THREAD = np.arange(256)
POINT = {"lane": THREAD % 64, "wave": THREAD // 64, "block_x": 3, "block_y": 2, "block_z": 0, "kt": 5}


def accesses(kernel: Kernel, sizes: dict[str, int]) -> list[tuple[str, str, int, tuple[int, ...]]]:
    """(kind, memory, count, addresses of all threads) of every access, in program order."""
    found = []
    for op in ops.walk(kernel.body):
        if isinstance(op, (ops.Load, ops.Store)):
            addresses = np.broadcast_to(evaluate(op.access.address, {**POINT, **sizes}), THREAD.shape)
            found.append((type(op).__name__, op.access.memory.name, op.access.count, tuple(int(a) for a in addresses)))
    return found


def test_gemm_is_the_hand_written_one() -> None:
    mine, wanted = read(KERNELS / "gemm.py"), samples.gemm()
    sizes = {"M": 1024, "N": 1536, "K": 640}
    assert accesses(mine, sizes) == accesses(wanted, sizes)
    kinds = [type(op).__name__ for op in ops.walk(mine.body) if not isinstance(op, ops.Registers)]
    assert sorted(kinds) == sorted(
        type(op).__name__ for op in ops.walk(wanted.body) if not isinstance(op, ops.Registers)
    )
    assert [evaluate(e, sizes) for e in mine.grid] == [evaluate(e, sizes) for e in wanted.grid]
    assert (mine.waves, mine.lds_bytes, mine.computes) == (wanted.waves, wanted.lds_bytes, wanted.computes)


@pytest.mark.parametrize(("bm", "bn"), [(64, 64), (64, 128), (128, 64), (128, 128)])
def test_gemm_tiles_cover_their_block(bm: int, bn: int) -> None:
    """With every knob: stores of all threads write each element of the block once, loads read each element once."""
    kernel = read(KERNELS / "gemm.py", settings={"BM": bm, "BN": bn})
    sizes = {"M": 4 * bm, "N": 4 * bn, "K": 640}
    written: list[tuple[int, int]] = []
    read_a: list[tuple[int, int]] = []
    for op in ops.walk(kernel.body):
        if isinstance(op, (ops.Load, ops.Store)) and isinstance(op.access.memory, ops.Tensor):
            m, n = (np.broadcast_to(evaluate(c, {**POINT, **sizes}), THREAD.shape) for c in op.access.coords)
            target = {"A": read_a, "C": written}.get(op.access.memory.name)
            if target is not None:
                target += [(int(i), int(j) + e) for i, j in zip(m, n, strict=True) for e in range(op.access.count)]
    assert sorted(written) == [(2 * bm + i, 3 * bn + j) for i in range(bm) for j in range(bn)]
    assert sorted(read_a) == [(2 * bm + i, 5 * 64 + k) for i in range(bm) for k in range(64)]


def test_vadd() -> None:
    kernel = read(KERNELS / "vadd.py")
    (n,) = kernel.shapes
    assert accesses(kernel, {"N": 8192}) == accesses(samples.vadd(), {"N": 8192})
    assert n.bounds()[0] == 4
    assert n.bounds()[1] is not None
    assert n.bounds()[1] * 4 < 2**31


def test_spans_point_at_the_source() -> None:
    kernel = read(KERNELS / "gemm.py")
    lines = kernel.source.splitlines()
    for op in ops.walk(kernel.body):
        text = lines[op.span.line - 1][op.span.col :]
        word = {"Load": ".load(", "Store": ".store(", "Mfma": "ag.mfma(", "Barrier": "ag.barrier()"}.get(
            type(op).__name__
        )
        if word is not None:
            assert word in text, (op.span, text)
    sites = {op.site for op in ops.walk(kernel.body) if isinstance(op, ops.Mfma)}
    assert len(sites) == 32
    assert (("ks", 3), ("i", 1), ("j", 0), ("h", 1)) in sites


def test_importing_a_kernel_gives_a_handle() -> None:
    from argus.kernels.gemm import BM, LDS_A, gemm

    assert BM == 128
    assert LDS_A.size_bytes == 16384
    assert gemm.name == "gemm"
    assert gemm.read(BM=64).settings["BM"] == 64


def test_values_of_a_file() -> None:
    layout, fragment = read_value(KERNELS / "gemm.py", "LDS_A", {"BM": 64}), read_value(KERNELS / "gemm.py", "FRAG")
    assert isinstance(layout, Layout)
    assert layout.size_bytes == 64 * 128
    assert isinstance(fragment, Owner)
    assert read_value(KERNELS / "gemm.py", "nothing") is None


def test_names_outside_kernels() -> None:
    import argus as ag

    assert ag.inf == float("inf")
    assert isinstance(ag.Layout(row=(4, 16)), Layout)
    with pytest.raises(TypeError, match="inside a kernel"):
        ag.barrier()
    with pytest.raises(AttributeError):
        _ = ag.barier


@pytest.mark.parametrize("axis", ["place", "interp", "layout"])
def test_an_axis_may_have_any_name(axis: str) -> None:
    text = f"""import argus as ag
from argus import f32
PART = ag.Owner(lane=64, {axis}="lane")
TILE = ag.Layout({axis}=(64, 4))
@ag.kernel(threads=64, requires="N % 64 == 0", example=dict(N=64))
def copy(x: ag.In["N", f32], y: ag.Out["N", f32]):
    b = ag.grid(N // 64)
    tile = ag.shared(TILE, f32)
    tile.store(x[64 * b].load(PART, width=4), {axis}=0, width=4)
    ag.barrier()
    y[64 * b].store(tile.load(PART, {axis}=0, width=4), width=4)
"""
    assert read(text).shared[0].bytes == 256
