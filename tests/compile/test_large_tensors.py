"""Tensors of 2 GiB and more: what is launched touches the right bytes, and the rest is refused.

Memory of a launch is mapped, not filled, so a tensor of ten GiB costs the pages that are touched. Kernels run on the
simulated machine, some workgroups of the grid; whole numbers of Python say which bytes each should touch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from argus import machine
from argus.check import check
from argus.clock.staged import Operand, Staged
from argus.compile import compile_kernel
from argus.compile.decoded import decode
from argus.compile.large_tensors import obstacle
from argus.compile.matching import match
from argus.compile.object.agreement import agree
from argus.device.guards import LaunchRefused, buffer_elements, check_sizes, element_strides, launch_grid, tensor_shapes
from argus.device.launch import scalar_values
from argus.ir import interp
from argus.ir.passes.schedule import scheduled
from argus.ir.semantics import base_limits
from argus.ir.stages import Scheduled
from argus.lang import read
from argus.layout.expr import evaluate

HEAD = "import argus as ag\nfrom argus import bf16, f32, i32\n\n"
PIECE = """P = ag.Owner(t=256, e=4, n="t*4 + e")
R = ag.Owner(lane=64, e=4, n="lane*4 + e")
ONE = ag.Owner(t=256, z="t*0")


"""

STRIDED = """@ag.kernel(threads=256, requires="N % 4 == 0", computes="Y[m, n] = X[m, n] * 2")
def strided(X: ag.In["M N", f32, "sX 1"], Y: ag.Out["M N", f32, "sY 1"]):
    m, b = ag.grid(M, ag.cdiv(N, 1024))
    Y[m, 1024 * b].store(X[m, 1024 * b].load(P, width=16, guard="shape") * 2.0, width=16, guard="shape")
"""
DENSE = """@ag.kernel(threads=256, requires="N % 256 == 0", computes="Y[m, n] = X[m, n] * 2")
def dense(X: ag.In["M N", f32], Y: ag.Out["M N", f32]):
    bm, bn = ag.grid(ag.cdiv(M, 4), N // 256)
    row = 4 * bm + ag.wave()                             # past the last row nothing remains of the buffer
    Y[row, 256 * bn].store(X[row, 256 * bn].load(R, width=16) * 2.0, width=16)
"""
WALKED = """@ag.kernel(threads=256, requires="N % 4 == 0", computes="Y[n] = sum(X[m, n], m)")
def walked(X: ag.In["M N", f32], Y: ag.Out["N", f32]):
    b = ag.grid(ag.cdiv(N, 1024))
    total = ag.zeros(P, f32)
    for m in ag.range(M):
        total = total + X[m, 1024 * b].load(P, width=16, guard="shape")
    Y[1024 * b].store(total, width=16, guard="shape")
"""
WHOLE = WALKED.replace("N % 4 == 0", "N % 1024 == 0").replace("ag.cdiv(N, 1024)", "N // 1024").replace(
    ', guard="shape"', ""
).replace("def walked", "def whole")  # fmt: skip
ADDED = """@ag.kernel(threads=256, requires="N % 4 == 0")
def added(X: ag.In["M N", f32], Y: ag.InOut["M N", f32]):
    m, b = ag.grid(M, ag.cdiv(N, 256))
    x = X[m, 256 * b].load(ag.Owner(t=256, n="t"), width=4, guard="shape")
    Y[m, 256 * b].atomic_add(x, guard="shape")
"""
BEFORE = """@ag.kernel(threads=256, requires="N % 4 == 0", computes="Y[m, n] = X[m, n - 1]")
def before(X: ag.In["M N", f32], Y: ag.Out["M N", f32]):
    m, b = ag.grid(M, ag.cdiv(N, 256))
    x = X[m, 256 * b - 1].load(ag.Owner(t=256, n="t"), width=4, guard="shape")
    Y[m, 256 * b].store(x, width=4, guard="shape")
"""
TABLE = """@ag.kernel(threads=256, computes="Y[b, n] = T[I[b], n]")
def table(T: ag.In["R n=1024", f32], I: ag.In["B", i32], Y: ag.Out["B n=1024", f32]):
    b = ag.grid(B)
    at = ag.as_index(I[b].load(ONE, width=4), 0, R - 1, name="at")
    Y[b].store(T[at].load(P, width=16), width=16)
"""
NARROW = """@ag.kernel(threads=256, requires="N % 8 == 0", computes="Y[m, n] = X[m, n]")
def narrow(X: ag.In["M N", bf16], Y: ag.Out["M N", bf16]):
    m, b = ag.grid(M, ag.cdiv(N, 2048))
    W = ag.Owner(t=256, e=8, n="t*8 + e")
    Y[m, 2048 * b].store(X[m, 2048 * b].load(W, width=16, guard="shape"), width=16, guard="shape")
"""
COUNTED = """@ag.kernel(threads=256, requires="N % 1024 == 0", computes="Y[m, n] = X[m, n]")
def counted(X: ag.In["M N", f32], Y: ag.Out["M N", f32]):
    b = ag.grid(M * N // 1024)
    m, n = 1024 * b // N, 1024 * b % N                  # the numerator must fit
    Y[m, n].store(X[m, n].load(P, width=16), width=16)
"""


def program(text: str, folder: Path) -> Scheduled:
    file = folder / "large.py"
    file.write_text(HEAD + PIECE + text)
    return scheduled(read(file))


class Run:
    """A launch with its tensors in mapped memory; `at(name, element, count)` are elements of a tensor."""

    def __init__(self, made: Scheduled, sizes: Mapping[str, int], code: bytes | None = None) -> None:
        kernel, scalars = made.kernel, {scalar.name: 0.0 for scalar in made.kernel.scalars}
        check_sizes(kernel, sizes)
        shapes, strides = tensor_shapes(kernel, sizes), element_strides(kernel, sizes)
        counts = {t.name: buffer_elements(shapes[t.name], strides[t.name]) for t in kernel.tensors}
        operands = [
            Operand((counts[t.name],), np.uint16 if t.dtype.bytes == 2 else np.float32, blank=True)
            for t in kernel.tensors
        ]
        self.grid = launch_grid(kernel, sizes)
        loaded = machine.load(code or compile_kernel(made).object).kernel(kernel.name)
        self.staged = Staged(loaded, self.grid, (kernel.threads,), [*operands, *scalar_values(kernel, sizes, scalars)])
        prepared = self.staged._prepared
        self.buffer = prepared.arena.buffer
        places = np.frombuffer(prepared.dispatch.kernarg[: 8 * len(operands)], np.uint64)
        self.starts = {
            t.name: int(place) - prepared.arena.base for t, place in zip(kernel.tensors, places, strict=True)
        }
        self.types = {t.name: o.dtype for t, o in zip(kernel.tensors, operands, strict=True)}

    def at(self, name: str, element: int, count: int) -> npt.NDArray[Any]:
        dtype = np.dtype(self.types[name])
        start = self.starts[name] + element * dtype.itemsize
        return self.buffer[start : start + count * dtype.itemsize].view(dtype)

    def run(self, blocks: Sequence[tuple[int, ...]], executor: str = "jit") -> None:
        """Some workgroups, by their numbers in x, y, z."""
        x, y, _ = self.grid
        flat = [b[0] + x * ((b[1] if len(b) > 1 else 0) + y * (b[2] if len(b) > 2 else 0)) for b in blocks]
        self.staged.run(flat, executor)  # type: ignore[arg-type]


GIB = 1 << 30
FAR = [GIB // 2 + 4, GIB // 2 - 4, GIB + 4, 3 * GIB // 4, 2 * GIB - 8]
"""Elements of f32 from one row to the next: rows beside multiples of 2 GiB and of 4 GiB."""


@pytest.mark.parametrize("executor", ["jit", "checking"])
@pytest.mark.parametrize("step", FAR)
def test_rows_beyond_2_and_4_gib(step: int, executor: str, tmp_path: Path) -> None:
    """Y = 2 X for rows far apart; what lies 2 or 4 GiB before or behind a row stays as it is."""
    m, n = 3, 1000
    run = Run(program(STRIDED, tmp_path), {"M": m, "N": n, "sX": step, "sY": step + 4})
    dice = np.random.default_rng(step)
    rows = dice.standard_normal((m, n)).astype(np.float32)
    for row in range(m):
        run.at("X", row * step, n)[:] = rows[row]
    run.run([(0, row) for row in range(m)], executor)
    for row in range(m):
        start = row * (step + 4)
        assert (run.at("Y", start, n) == 2 * rows[row]).all()
        own = [(other * (step + 4), other * (step + 4) + n) for other in range(m)]
        for shift in (n, *(sign * size for size in (GIB // 2, GIB) for sign in (-1, 1))):
            first, last = start + shift, start + shift + n
            if first < 0 or last > (m - 1) * (step + 4) + n or any(a < last and first < b for a, b in own):
                continue
            assert not run.at("Y", first, n).any()


def test_rows_past_the_end_of_a_large_tensor_are_not_there(tmp_path: Path) -> None:
    """37 rows of 256 MiB; the last workgroup has rows 36 to 39. Nothing is read or written past row 36."""
    m, n = 37, GIB // 16
    run = Run(program(DENSE, tmp_path), {"M": m, "N": n})
    last = n // 256 - 1
    places = {(row, column): row * n + column * 256 for row in (0, 3, 8, 31, 32, 36) for column in (0, last)}
    for number, place in enumerate(places.values()):
        run.at("X", place, 256)[:] = number + 1
    run.run([(column, block) for column in (0, last) for block in (0, 2, 7, 8, 9)])
    for number, place in enumerate(places.values()):
        assert (run.at("Y", place, 256) == 2 * (number + 1)).all()
    assert not run.at("Y", 35 * n, 256).any()
    end = run.starts["Y"] + 4 * m * n
    assert not run.buffer[end : end + 4096].any()


def test_a_base_that_a_loop_moves(tmp_path: Path) -> None:
    """The sum over nine rows of 1 GiB: the loop moves the base in 64 bits."""
    m, n = 9, GIB // 4
    run = Run(program(WALKED, tmp_path), {"M": m, "N": n})
    for row in range(m):
        run.at("X", row * n, 1024)[:] = 1 << row
        run.at("X", row * n + n - 1024, 1024)[:] = 3 << row
    run.run([(0,), (n // 1024 - 1,)])
    assert (run.at("Y", 0, 1024) == 511).all()
    assert (run.at("Y", n - 1024, 1024) == 3 * 511).all()


def test_updates_of_a_large_tensor(tmp_path: Path) -> None:
    m, n = 5, GIB // 2 - 4
    run = Run(program(ADDED, tmp_path), {"M": m, "N": n})
    last = -(-n // 256) - 1
    for row in range(m):
        run.at("X", row * n + last * 256, n - last * 256)[:] = row + 1
        run.at("Y", row * n + last * 256, n - last * 256)[:] = 10
    run.run([(last, row) for row in range(m)])
    for row in range(m):
        assert (run.at("Y", row * n + last * 256, n - last * 256) == 11 + row).all()
    assert not run.at("Y", n, 256).any()


def test_narrow_elements(tmp_path: Path) -> None:
    m, n = 7, GIB // 2 + 8
    run = Run(program(NARROW, tmp_path), {"M": m, "N": n})
    last = -(-n // 2048) - 1
    for row in range(m):
        run.at("X", row * n + last * 2048, n - last * 2048)[:] = 0x3F80 + row
    run.run([(last, row) for row in range(m)], "checking")
    for row in range(m):
        assert (run.at("Y", row * n + last * 2048, n - last * 2048) == 0x3F80 + row).all()


REFUSED = {
    "one workgroup spans 3 GiB": (DENSE, {"M": 9, "N": GIB // 4}),
    "a scalar offset would span 9 GiB": (WHOLE, {"M": 9, "N": GIB // 4}),
    "a negative start in a row of 4 GiB": (BEFORE, {"M": 3, "N": GIB}),
    "a place in a large table": (TABLE, {"R": GIB // 1024, "B": 4}),
    "a number beyond 32 bits": (COUNTED, {"M": 5, "N": GIB // 2}),
}


@pytest.mark.parametrize(
    ("text", "rows", "piece", "span"),
    [
        (DENSE, 40, 256, lambda m, n: 3 * 4 * n + 1024),  # four rows of a workgroup
        (WHOLE, 40, 1024, lambda m, n: (m - 1) * 4 * n + 4096),  # all rows, as a scalar offset
        (STRIDED, 3, 4, lambda m, n: 4096),
    ],
    ids=["dense", "whole", "strided"],
)
def test_the_limit_is_where_it_is_said_to_be(
    text: str, rows: int, piece: int, span: Callable[[int, int], int], tmp_path: Path
) -> None:
    """Sizes on both sides of the limit, by what whole numbers say that a workgroup spans."""
    kernel = program(text, tmp_path).kernel
    seen = set()
    for n in range(piece, GIB // 2, max(piece, (GIB // 64) // piece * piece)):
        for m in (rows, rows + 1, 3 * rows):
            sizes = {"M": m, "N": n}
            if text is STRIDED:
                sizes |= {"sX": n + 4, "sY": n}
            if 4 * m * n < 2 * GIB:
                continue
            fits = span(m, n) <= 2 * GIB
            seen.add(fits)
            assert (obstacle(kernel, sizes) is None) == fits, sizes
    assert seen == ({True} if text is STRIDED else {True, False}) or text is WHOLE


@pytest.mark.parametrize("name", REFUSED)
def test_what_32_bits_do_not_hold_is_refused(name: str, tmp_path: Path) -> None:
    text, sizes = REFUSED[name]
    kernel = program(text, tmp_path).kernel
    assert obstacle(kernel, sizes) is not None
    with pytest.raises(LaunchRefused) as refused:
        check_sizes(kernel, sizes)
    assert refused.value.code in ("ARG-D102", "ARG-D103")
    small = {**sizes, **{k: 1024 for k in sizes if k == "N"}, **{k: 64 for k in sizes if k == "R"}}
    assert obstacle(kernel, small) is None
    check_sizes(kernel, small)


@pytest.mark.parametrize("text", [STRIDED, DENSE, WALKED, WHOLE, BEFORE, TABLE, NARROW], ids=lambda t: t.split()[-1])
def test_they_are_proved_and_the_object_agrees(text: str, tmp_path: Path) -> None:
    made = program(text, tmp_path)
    report = check(made)
    assert report.proved, report.render()
    compiled = compile_kernel(made)
    code = decode(compiled.object, made.kernel.name)
    matched = match(made.kernel, code, [(pc, op) for pc, op in compiled.sidecar["pcs"]])
    found = agree(made.kernel, compiled.object, code, matched)
    assert not found.different
    assert not found.unknown
    assert sum(found.equal.values()) == found.accesses


@pytest.mark.parametrize("step", [GIB // 2 + 8, GIB + 8])
def test_the_interpreter_goes_there_too(step: int, tmp_path: Path) -> None:
    """Two rows, the second 2 or 4 GiB behind the first: no hazard, each element written once."""
    m, n = 2, 64
    kernel = program(STRIDED, tmp_path).kernel
    sizes = {"M": m, "N": n, "sX": step, "sY": step + 4}
    rows = np.arange(m * n, dtype=np.float32).reshape(m, n)
    found = interp.run(kernel, {"X": rows}, sizes)
    assert not found.hazards
    assert (found.arrays["Y"] == 2 * rows).all()
    assert [int(found.writes["Y"][row * (step + 4) : row * (step + 4) + n].sum()) for row in range(m)] == [n, n]


BACKWARDS = """@ag.kernel(threads=256, requires="R >= 1")
def backwards(X: ag.In["R", f32], Y: ag.Out["N", f32]):
    b = ag.grid(R)
    x = X[b + ag.thread() * 0].load(ONE, width=4).without()
    Y[256 * b + 255 - ag.thread()].store(x, width=4)
"""


@pytest.mark.parametrize("block", [3, 4, 1 << 21, 1 << 22, (1 << 22) + 3])
def test_blocks_far_past_the_end_write_nothing(block: int, tmp_path: Path) -> None:
    """An offset that counts down inside its piece: 2 and 4 GiB past the end of Y it must not come back into Y."""
    run = Run(program(BACKWARDS, tmp_path), {"R": (1 << 22) + 4, "N": 1024})
    run.at("X", block, 1)[:] = 7
    run.run([(block,)])
    written = np.flatnonzero(run.at("Y", 0, 1024))
    assert written.tolist() == (list(range(768, 1024)) if block == 3 else [])


VOLUME = """@ag.kernel(threads=256, requires="C >= 1", computes="Y[a, b, c] = X[a, b, c] * 2")
def volume(X: ag.In["A B C", f32, "sA sB 1"], Y: ag.Out["A B C", f32, "tA tB 1"]):
    a, bb = ag.grid(A, ag.cdiv(B, 4))
    b = 4 * bb + ag.wave()
    for i in ag.range(ag.cdiv(C, 64)):
        x = X[a, b, 64 * i].load(ag.Owner(lane=64, c="lane"), width=4, guard="shape")
        Y[a, b, 64 * i].store(x * 2.0, width=4, guard="shape")
"""


def test_random_strides_against_whole_numbers(tmp_path: Path) -> None:
    """Places of elements are sums of products of Python's integers; tensors of up to 20 GiB."""
    made, dice, large = program(VOLUME, tmp_path), np.random.default_rng(11), 0
    code = compile_kernel(made).object
    for _ in range(24):
        a, b, c = (int(n) for n in dice.integers(1, (5, 7, 150)))
        inner = c + int(dice.choice([0, 1, 5, GIB // 16, GIB // 8 - 1]))
        outer = (b - 1) * inner + c + int(dice.choice([0, 3, GIB // 4 - 1, GIB // 2, GIB + 1]))
        sizes = {"A": a, "B": b, "C": c, "sA": outer + int(dice.integers(0, 9)), "sB": inner, "tA": outer, "tB": inner}
        if obstacle(made.kernel, sizes) is not None:
            assert 4 * (3 * inner + c) > 2 * GIB  # a workgroup has four rows
            continue
        run = Run(made, sizes, code)
        large += 4 * ((a - 1) * outer + (b - 1) * inner + c) >= 2 * GIB
        values = dice.standard_normal((a, b, c)).astype(np.float32)
        for i in range(a):
            for j in range(b):
                run.at("X", i * sizes["sA"] + j * inner, c)[:] = values[i, j]
        run.run([(j, i) for i in range(a) for j in range(-(-b // 4))])
        for i in range(a):
            for j in range(b):
                assert (run.at("Y", i * outer + j * inner, c) == 2 * values[i, j]).all(), sizes
                if outer > (b - 1) * inner + c + 64 and i < a - 1:  # nothing behind the last row of a slice
                    assert not run.at("Y", i * outer + (b - 1) * inner + c, 64).any(), sizes
    assert large >= 8


WRAPPING = """import argus as ag
from argus import f32

R = ag.Owner(t=64, n="t")


@ag.kernel(threads=64, requires="N >= 64")
def k(X: ag.In["G", f32], Y: ag.Out["M N", f32]):
    b = ag.grid(G)
    x = X[b].load(ag.Owner(t=64, z="t*0"), width=4).without()
    Y[1024 * b].store(x + ag.zeros(R, f32), width=4)
"""


def test_a_base_that_would_wrap_is_refused(tmp_path: Path) -> None:
    """Block 2**24 begins at byte 2**64: modulo 2**64 that is the start of Y, also where Y is small."""
    file = tmp_path / "k.py"
    file.write_text(WRAPPING)
    kernel = read(str(file))
    for sizes in ({"G": 2**25, "M": 2, "N": 2**28}, {"G": 2**25 + 1, "M": 1, "N": 2**25 + 1}):
        with pytest.raises(LaunchRefused, match="bases of k leave 64 bits"):
            check_sizes(kernel, sizes)
    check_sizes(kernel, {"G": 2**25, "M": 1, "N": 2**24})
    limits = base_limits(kernel)
    for sizes in ({"G": g, "M": 1, "N": n} for g in (1, 2**20, 2**25, 2**31 - 1) for n in (64, 2**20, 2**29)):
        farthest = 4 * 1024 * (sizes["G"] - 1) * sizes["N"]
        assert all(evaluate(limit, sizes) for limit in limits) == (farthest <= 2**62)
