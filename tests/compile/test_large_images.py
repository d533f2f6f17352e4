"""Padded images of 2 GiB and more: the base has images and channels, the guard keeps rows and columns from being
negative, and what lies before and behind an image is never touched."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from argus.check import check
from argus.compile import compile_kernel
from argus.compile.decoded import decode
from argus.compile.large_tensors import obstacle
from argus.compile.matching import match
from argus.compile.object.agreement import Agreement, agree
from argus.device.guards import LaunchRefused, check_sizes
from argus.ir.ops import Access
from argus.ir.passes.schedule import scheduled
from argus.ir.semantics.addresses import AddressSplit, split_access, split_address, varying
from argus.ir.semantics.parts import global_access, visits
from argus.ir.stages import Scheduled
from argus.lang import read
from argus.layout import expr as E
from argus.layout.expr import evaluate
from tests.compile.test_large_tensors import GIB, Run, program

PADDED = """T = ag.Owner(t=256, h="t//64", w="t%64")


@ag.kernel(threads=256, requires="C >= 1", computes="Y[n, h, w] = sum(X[n, c, h - 1, w - 1], c)")
def padded(X: ag.In["N C H W", f32], Y: ag.Out["N H W", f32]):
    n, bh, bw = ag.grid(N, ag.cdiv(H, 4), ag.cdiv(W, 64))
    total = ag.zeros(T, f32)
    for c in ag.range(C):
        total = total + X[n, c, 4 * bh - 1, 64 * bw - 1].load(T, width=4, guard="shape")
    Y[n, 4 * bh, 64 * bw].store(total, width=4, guard="shape")
"""
BEFORE = """@ag.kernel(threads=256, computes="Y[m, n] = X[m, n - 1]")
def before(X: ag.In["M N", f32], Y: ag.Out["M N", f32]):
    m, b = ag.grid(M, ag.cdiv(N, 256))
    x = X[m, 256 * b - 1].load(ag.Owner(t=256, n="t"), width=4, guard="shape")
    Y[m, 256 * b].store(x, width=4, guard="shape")
"""
ROWS = PADDED.replace("w - 1]", "w]").replace("64 * bw - 1", "64 * bw").replace("def padded", "def rows")
LOUD = 1e30
"""What surrounds the elements that count: any of it in a sum is seen."""


@pytest.mark.parametrize("executor", ["jit", "checking"])
def test_images_of_three_channels_of_one_gib(executor: str, tmp_path: Path) -> None:
    """X has 9 GiB. The first and the last pieces of every image; rows and images around them are not zero."""
    n, c, h, w = 3, 3, 1 << 12, (1 << 16) - 4
    run = Run(program(PADDED, tmp_path), {"N": n, "C": c, "H": h, "W": w})
    dice = np.random.default_rng(3)
    values = dice.integers(1, 100, (n, c, 6, 128)).astype(np.float32)  # rows 0 to 3 and the last two, both ends of them

    def rows(image: int, channel: int, row: int) -> tuple[np.ndarray, np.ndarray]:
        start = ((image * c + channel) * h + row) * w
        return run.at("X", start, 64), run.at("X", start + w - 64, 64)

    places = [0, 1, 2, 3, h - 2, h - 1]
    for image in range(n):
        for channel in range(c):
            for number, row in enumerate(places):
                left, right = rows(image, channel, row)
                left[:], right[:] = values[image, channel, number, :64], values[image, channel, number, 64:]
    for image in range(n):
        run.run(
            [(bw + -(-w // 64) * (bh + h // 4 * image),) for bh in (0, h // 4 - 1) for bw in (0, -(-w // 64) - 1)],
            executor,
        )
    total = values.sum(axis=1)
    for image in range(n):
        for row in (0, 1, 2, 3, h - 1):
            start = (image * h + row) * w
            got = run.at("Y", start, 64), run.at("Y", start + w - 60, 60)
            above = np.zeros(128, np.float32) if row == 0 else total[image, places.index(row - 1)]
            assert (got[0] == np.concatenate([[0], above[:63]])).all(), (image, row)
            assert (got[1] == above[67:127]).all(), (image, row)


@pytest.mark.parametrize("step", [GIB // 2 - 4, GIB // 2 + 4, GIB - 4])
def test_what_lies_before_a_row_is_not_its_first_element(step: int, tmp_path: Path) -> None:
    """Rows beside 2 GiB and 4 GiB: element n - 1 of the first element is zero, not the end of the row before."""
    text = BEFORE.replace('"M N", f32]', '"M N", f32, "sM 1"]')
    run = Run(program(text, tmp_path), {"M": 4, "N": 300, "sM": step})
    for row in range(4):
        start = row * step
        run.at("X", start, 300)[:] = np.arange(1, 301)
        for shift in (-1, 300):
            if 0 <= start + shift < 3 * step + 300:
                run.at("X", start + shift, 1)[:] = LOUD
    run.run([(block, row) for row in range(4) for block in range(2)])
    for row in range(4):
        assert (run.at("Y", row * step, 300) == np.arange(300)).all()


def test_a_row_of_2_gib_is_refused(tmp_path: Path) -> None:
    """Its columns are in the offset of a lane: 32 bits hold them below 2 GiB."""
    kernel = program(BEFORE, tmp_path).kernel
    for n in (GIB // 2 - 512, GIB // 2 + 256):
        sizes = {"M": 4, "N": n}
        assert (obstacle(kernel, sizes) is None) == (n < GIB // 2)
        if n > GIB // 2:
            with pytest.raises(LaunchRefused):
                check_sizes(kernel, sizes)
        else:
            check_sizes(kernel, sizes)


def _agreement(made: Scheduled) -> Agreement:
    compiled = compile_kernel(made)
    code = decode(compiled.object, made.kernel.name)
    return agree(made.kernel, compiled.object, code, match(made.kernel, code, list(compiled.sidecar["pcs"])))


@pytest.mark.parametrize("text", [ROWS, BEFORE], ids=["rows", "before"])
def test_they_are_proved_and_the_object_agrees(text: str, tmp_path: Path) -> None:
    made = program(text, tmp_path)
    assert check(made).proved
    found = _agreement(made)
    assert not found.different
    assert sum(found.equal.values()) == found.accesses, found.unknown


def _nothing_in_the_base(access: Access, per_lane: frozenset[str], loops: Iterable[str]) -> AddressSplit:
    terms = access.address - E.linear(access.address)[1]
    return AddressSplit(E.const(0), E.const(0), terms, E.linear(access.address)[1])


def _rows_in_the_base(access: Access, per_lane: frozenset[str], loops: Iterable[str]) -> AddressSplit:
    return split_address(access.address, per_lane, loops)


@pytest.mark.parametrize("split", [_nothing_in_the_base, _rows_in_the_base])
@pytest.mark.parametrize("text", [ROWS, BEFORE], ids=["rows", "before"])
def test_an_object_with_another_base_does_not_agree(
    text: str, split: Callable[..., AddressSplit], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of the address in the register leaves 32 bits in a large tensor; with rows in the base a register may be
    negative, which is out of range."""
    monkeypatch.setattr("argus.compile.address.split_access", split)
    found = _agreement(program(text, tmp_path))
    assert {finding.op.access.memory.name for finding in found.unknown + found.different} >= {"X"}  # type: ignore[attr-defined]


@pytest.mark.parametrize("text", [PADDED, BEFORE], ids=["padded", "before"])
def test_the_law_of_the_split(text: str, tmp_path: Path) -> None:
    """Base and offset add up to the address; the base is never negative, and where the guard holds neither is the
    offset. At random values of blocks, loops, lanes and sizes."""
    kernel, dice = program(text, tmp_path).kernel, np.random.default_rng(7)
    for op, loops in visits(kernel.body):
        access = global_access(op)
        if access is None:
            continue
        parts = split_access(access, varying(kernel), [loop.var.name for loop in loops])
        assert parts.guarded == (access.memory.name == "X")
        names = sorted({v.name for e in (access.address, access.guard) if e is not None for v in e.free()})
        for _ in range(300):
            at = {name: int(dice.integers(0, 64 if name == "lane" else 4 if name == "wave" else 9)) for name in names}
            at |= {size.name: int(dice.integers(1, 40)) for size in kernel.shapes}
            base, offset = (int(evaluate(e, at)) for e in (parts.block + parts.moving, parts.offset))
            assert base + offset == int(evaluate(access.address, at))
            assert base >= 0
            assert access.guard is not None
            assert offset >= 0 or not evaluate(access.guard, at)


def _convolved(x: np.ndarray, k: np.ndarray) -> np.ndarray:
    """Y[o, p, q] of a 3 x 3 window over x[c, p + 2, q + 2]."""
    wide = np.lib.stride_tricks.sliding_window_view(x.astype(np.float64), (3, 3), (1, 2))
    return np.einsum("cpqrs,orsc->opq", wide, k.astype(np.float64))


@pytest.mark.parametrize("image", [0, 15, 16, 39])
def test_a_padded_convolution_of_5_gib(image: int) -> None:
    """`conv2d` of 40 images of 128 MiB, around 2 GiB: the workgroups at two corners of an image. The images before and
    after are not zero there."""
    made = scheduled(read("argus/kernels/conv2d.py", settings={"YW": 4}))
    n, c, o, size = 40, 64, 128, 1024
    sizes = {"N": n, "G": 1, "C": c, "IH": size, "IW": size, "O": o, "OH": size, "OW": size}
    run = Run(made, sizes)
    dice = np.random.default_rng(image)

    def bits(values: np.ndarray) -> np.ndarray:
        return values.astype(ml_dtypes.bfloat16).view(np.uint16)

    def filled(image: int, channel: int, rows: Sequence[int], first: int, values: np.ndarray) -> None:
        for row, line in zip(rows, values, strict=True):
            run.at("X", ((image * c + channel) * size + row) * size + first, len(line))[:] = bits(line)

    k = dice.integers(-2, 3, (o, 3, 3, c)).astype(np.float32)
    run.at("K", 0, k.size)[:] = bits(k).ravel()
    x = dice.integers(-2, 3, (2, c, 5, 72)).astype(np.float32)  # both corners with what their windows meet
    for channel in range(c):
        filled(image, channel, range(5), 0, x[0, channel])
        filled(image, channel, range(size - 5, size), size - 72, x[1, channel])
    for other in (image - 1, image + 1):
        if 0 <= other < n:
            for channel in (0, c - 1):
                filled(other, channel, range(2), 0, np.full((2, size), 64.0))
                filled(other, channel, range(size - 2, size), 0, np.full((2, size), 64.0))
    across, down = size // 64, size // 4
    run.run([(across * down * image,), (across * down * (image + 1) - 1,)])
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    for corner, (row, column) in enumerate(((0, 0), (size - 4, size - 64))):
        first = _convolved(padded[corner], k)
        wanted = first[:, :4, :64] if corner == 0 else first[:, -4:, -64:]
        for channel in range(o):
            for line in range(4):
                at = ((image * o + channel) * size + row + line) * size + column
                got = run.at("Y", at, 64).view(ml_dtypes.bfloat16).astype(np.float64)
                assert np.allclose(got, wanted[channel, line], rtol=2**-8), (corner, channel, line)
