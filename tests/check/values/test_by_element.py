"""Values compared at the stored element: each kernel is proved, and every change of one of its lines is not.

Neighbors at a stride, sums over a stated range through rings, places computed from the index or loaded, branches,
updates by many blocks, running maxima that are part of the result.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from argus.check.engine import check
from argus.ir.passes.schedule import scheduled
from argus.lang.reader import read

HEAD = """import argus as ag
from argus import f16, f32, i16, i32

"""


@dataclass(frozen=True)
class Changed:
    """A kernel, and replacements that make it wrong."""

    text: str
    wrong: tuple[tuple[str, str], ...]


KERNELS = {
    "neighbors at a stride": Changed(
        """
PART = ag.Owner(t=64, e=2, n="(t*2 + e)*2")
KEEP = ag.Owner(t=64, e=2, i="t*2 + e")
@ag.kernel(threads=64, requires="N >= 1", computes="y[i] = x[2 * i - 2] * 0.5 + x[2 * i - 1] * 2 + x[2 * i + 1] * 2",
           example=dict(N=256))
def k(x: ag.In["N", f32], y: ag.Out["N", f32]):
    b = ag.grid(ag.cdiv(N, 128))
    u = x[256 * b - 2].load(PART, width=4)
    v = x[256 * b - 1].load(PART, width=4)
    w = x[256 * b + 1].load(PART, width=4)
    y[128 * b].store((u * 0.5 + v * 2.0 + w * 2.0).held_as(KEEP), width=4)
""",
        (
            ("x[256 * b - 1]", "x[256 * b]"),
            ("u * 0.5 + v * 2.0", "v * 0.5 + u * 2.0"),
            ("w * 2.0", "v * 2.0"),
            ("x[2 * i - 1] * 2", "x[2 * i - 1] * 3"),
            ("(t*2 + e)*2", "(t*2 + e)*3"),
        ),
    ),
    "columns of tiles through a ring": Changed(
        """
LDS = ag.Layout(row=(8, 144), col=(32, 4))
IN = ag.Owner(t=128, e=2, row="t//16", col="t%16*2 + e")
OUT = ag.Owner(t=128, i=2, row="t%8", col="t//8 + 16*i")
@ag.kernel(threads=128, requires="M % 8 == 0 and K % 32 == 0",
           computes="Y[m, c] = sum(X[m, 32 * t + c] * 2, t, K // 32)", example=dict(M=8, K=64))
def k(X: ag.In["M K", f32], Y: ag.Out["M c=32", f32]):
    bm = ag.grid(M // 8)
    r = ag.ring(2, x=(LDS, f32))
    acc = ag.zeros(OUT, f32)
    nxt = X[8 * bm, 0].load(IN, width=8)
    for kt in ag.range(K // 32):
        s = r[kt].x
        s.store(nxt, width=8)
        if kt + 1 < K // 32:
            nxt = X[8 * bm, 32 * (kt + 1)].load(IN, width=8)
        ag.barrier()
        acc = acc + s.load(OUT, width=4) * 2.0
    Y[8 * bm].store(acc, width=4)
""",
        (
            ("32 * t + c", "32 * t + 31 - c"),
            ("t, K // 32)", "t, K // 32 - 1)"),
            ("X[m, 32 * t + c] * 2", "X[m, 16 * t + c] * 2"),
            ("acc + s.load", "acc + acc + s.load"),
            ("32 * (kt + 1)", "32 * kt"),
            ("ag.range(K // 32):", "ag.range(1, K // 32):"),
        ),
    ),
    "a place computed from the index": Changed(
        """
ONE = ag.Owner(t=64, z="t*0")
@ag.kernel(threads=64, requires="N >= 1 and N <= 100000", computes="y[i] = x[(i - 3) // 5 % 16]",
           example=dict(N=64, S=100))
def k(x: ag.In["S", f32], y: ag.Out["N", f32]):
    i = 64 * ag.grid(ag.cdiv(N, 64)) + ag.thread()
    v = x[((i - 3) // 5) & 15].load(ONE, width=4)
    y[i].store(v.without(), width=4, guard=i < N)
""",
        (("& 15", "& 7"), ("(i - 3) // 5)", "(i - 2) // 5)"), ("y[i].store", "y[i + 1].store")),
    ),
    "an index as data": Changed(
        """
@ag.kernel(threads=64, requires="N >= 1 and N <= 100000", computes="y[i] = (i - 100) // 3 * 4", example=dict(N=64))
def k(y: ag.Out["N", i32]):
    i = 64 * ag.grid(ag.cdiv(N, 64)) + ag.thread()
    y[i].store(i32((i - 100) // 3 * 4), width=4, guard=i < N)
""",
        (("i32((i - 100)", "i32((i - 99)"), ("// 3 * 4),", "// 3 * 5),"), ("i32((i - 100) // 3", "i32(i // 3")),
    ),
    "a loaded row and one further": Changed(
        """
ROW = ag.Owner(lane=64, e=2, d="lane*2 + e")
ONE = ag.Owner(lane=64, z="lane*0")
@ag.kernel(threads=64, requires="B >= 1 and P >= 2", computes="Y[b, d] = T[I[b] + 1, d] * W[b]", example=dict(B=4, P=7))
def k(T: ag.In["P d=128", f32], I: ag.In["B", i32], W: ag.In["B", f32], Y: ag.Out["B d=128", f32]):
    b = ag.grid(B)
    q = ag.as_index(I[b].load(ONE, width=4), 0, P - 2, name="q")
    v = T[q + 1].load(ROW, width=8)
    Y[b].store(v * W[b].load(ONE, width=4).without(), width=8)
""",
        (("T[q + 1]", "T[q]"), ("W[b].load", "W[0].load"), ("I[b].load", "I[0].load")),
    ),
    "lanes in two arms": Changed(
        """
PART = ag.Owner(t=128, i="t")
@ag.kernel(threads=128, requires="N >= 1", computes="y[i] = where(i % 2 == 0, a[i] + 7, b[i])", example=dict(N=256))
def k(a: ag.In["N", f32], b: ag.In["N", f32], y: ag.Out["N", f32]):
    n = ag.grid(ag.cdiv(N, 128))
    r = b[128 * n].load(PART, width=4)
    if ag.lane() % 2 == 0:
        r = a[128 * n].load(PART, width=4) + 7.0
    y[128 * n].store(r, width=4)
""",
        (("lane() % 2 == 0", "lane() % 2 == 1"), ("lane() % 2", "lane() % 4"), ("+ 7.0", "+ 6.0")),
    ),
    "threads in two arms by a size": Changed(
        """
PART = ag.Owner(t=128, i="t")
@ag.kernel(threads=128, requires="N >= 1", computes="y[i] = where(i < N // 2, a[i] + 7, b[i])", example=dict(N=256))
def k(a: ag.In["N", f32], b: ag.In["N", f32], y: ag.Out["N", f32]):
    n = ag.grid(ag.cdiv(N, 128))
    r = b[128 * n].load(PART, width=4)
    if 128 * n + ag.thread() < N // 2:
        r = a[128 * n].load(PART, width=4) + 7.0
    y[128 * n].store(r, width=4)
""",
        (("thread() < N // 2", "thread() < N // 2 + 1"), ("thread() < N // 2", "thread() <= N // 2")),
    ),
    "sums of columns by updates": Changed(
        """
PART = ag.Owner(lane=64, n="lane")
@ag.kernel(threads=64, requires="M >= 1 and N >= 1", computes="Y[n] = Y[n] + sum(X[m, n] * 3, m)",
           example=dict(M=4, N=64))
def k(X: ag.In["M N", f32], Y: ag.InOut["N", f32]):
    bm, bn = ag.grid(ag.cdiv(M, 2), ag.cdiv(N, 64))
    Y[64 * bn].atomic_add(X[2 * bm, 64 * bn].load(PART, width=4, guard="shape") * 3.0)
    Y[64 * bn].atomic_add(X[2 * bm + 1, 64 * bn].load(PART, width=4, guard="shape") * 3.0, guard=2 * bm + 1 < M)
""",
        (
            ("X[2 * bm + 1, 64 * bn]", "X[2 * bm, 64 * bn]"),
            ("ag.cdiv(M, 2)", "M // 2"),
            ("Y[64 * bn].atomic_add(X[2 * bm, 64", "Y[64 * bn].atomic_max(X[2 * bm, 64"),
            ("Y[n] + sum", "Y[n] - sum"),
            ("Y[64 * bn].atomic_add(X[2 * bm, 64 * bn]", "Y[0].atomic_add(X[2 * bm, 64 * bn]"),
            ("guard=2 * bm + 1 < M", "guard=2 * bm + 2 < M"),
        ),
    ),
    "maxima of columns by updates": Changed(
        """
PART = ag.Owner(lane=64, n="lane")
@ag.kernel(threads=64, requires="M >= 1 and N >= 1", computes="Y[n] = maximum(Y[n], max(X[m, n], m))",
           example=dict(M=4, N=64))
def k(X: ag.In["M N", f32], Y: ag.InOut["N", f32]):
    bm, bn = ag.grid(ag.cdiv(M, 2), ag.cdiv(N, 64))
    Y[64 * bn].atomic_max(X[2 * bm, 64 * bn].load(PART, width=4, guard="shape"))
    Y[64 * bn].atomic_max(X[2 * bm + 1, 64 * bn].load(PART, width=4, guard="shape"), guard=2 * bm + 1 < M)
""",
        ((", guard=2 * bm + 1 < M", ""), ("max(X[m, n], m)", "max(X[m, n] * 2, m)"), ("atomic_max", "atomic_add")),
    ),
    "a running maximum in the result": Changed(
        """
ROW = ag.Owner(lane=64, e=2, n="lane*2 + e")
ONE = ag.Owner(lane=64, z="lane*0")
@ag.kernel(threads=64, requires="M >= 1 and N >= 1 and N % 2 == 0",
           computes="Y[m] = sum(exp(X[m, i] - max(X[m, j], j)), i)", example=dict(M=3, N=256))
def k(X: ag.In["M N", f32], Y: ag.Out["M", f32]):
    row = ag.grid(M)
    top = ag.full(ONE, f32, -ag.inf).without()
    den = ag.zeros(ONE, f32).without()
    for i in ag.range(ag.cdiv(N, 128)):
        x = X[row, 128 * i].load(ROW, width=8, guard="shape")
        u = ag.where(128 * i + x.n < N, x, -ag.inf)
        new = ag.max(top, u.max("n"))
        den = den * ag.exp(top - new) + ag.exp(u - new).sum("n")
        top = new
    Y[row].store(den, width=4, guard=ag.lane() == 0)
""",
        (
            ("ag.full(ONE, f32, -ag.inf)", "ag.zeros(ONE, f32)"),
            ("ag.range(ag.cdiv(N, 128))", "ag.range(N // 128)"),
            ("ag.exp(top - new) +", "ag.exp(new - top) +"),
            ("max(X[m, j], j)", "min(X[m, j], j)"),
        ),
    ),
    "shifts and masks of whole numbers": Changed(
        """
PART = ag.Owner(t=64, i="t")
@ag.kernel(threads=64, requires="N >= 1", computes="y[i] = where(a[i] // 4 > 3, a[i] % 8, a[i] * 4 - 1)",
           example=dict(N=128))
def k(a: ag.In["N", i16], y: ag.Out["N", i32]):
    b = ag.grid(ag.cdiv(N, 64))
    v = a[64 * b].load(PART, width=2).to(i32)
    y[64 * b].store(ag.where(3 < (v >> 2), v & 7, (v << 2) - 1), width=4)
""",
        (("v >> 2", "v >> 1"), ("v & 7", "v & 6"), ("v << 2", "v << 3"), ("3 < (v", "4 < (v"), ("% 8", "% 16")),
    ),
}  # fmt: skip


SELECTED = Changed(
    """
P = ag.Owner(t=64, i="t")
@ag.kernel(threads=64, requires="N >= 1", computes="y[i] = x[i] + x[i + 1]", example=dict(N=128))
def k(x: ag.In["N", f32], a: ag.In["N", f32], y: ag.Out["N", f32]):
    b = ag.grid(ag.cdiv(N, 64))
    u = x[64 * b].load(P, width=4)
    w = x[64 * b + 1].load(P, width=4)
    c = a[64 * b].load(P, width=4)
    v = ag.where(c > 0.0, u, w)
    y[64 * b].store(v + w, width=4)
""",
    (("c > 0.0", "u.i + 64 * b < 100000"), ("c > 0.0", "u > w"), ("c > 0.0, u, w", "c > 0.0, w, u")),
)
"""Sides of a selection at different places look the same by their own coordinates."""


@pytest.mark.parametrize(("before", "after"), [("", ""), *SELECTED.wrong])
def test_a_selection_between_neighbors_is_neither(before: str, after: str, tmp_path: Path) -> None:
    assert _status(tmp_path, SELECTED.text.replace(before, after, 1)) in ("refuted", "unknown")


def _status(folder: Path, text: str) -> str:
    file = folder / "kernel.py"
    file.write_text(HEAD + text)
    return check(scheduled(read(str(file)))).status


@pytest.mark.parametrize("name", KERNELS)
def test_the_kernel_is_proved(name: str, tmp_path: Path) -> None:
    assert _status(tmp_path, KERNELS[name].text) == "proved"


@pytest.mark.parametrize(("name", "n"), [(name, n) for name, k in KERNELS.items() for n in range(len(k.wrong))])
def test_a_changed_one_is_not(name: str, n: int, tmp_path: Path) -> None:
    before, after = KERNELS[name].wrong[n]
    assert before in KERNELS[name].text
    assert _status(tmp_path, KERNELS[name].text.replace(before, after, 1)) in ("refuted", "unknown")


WRAPPED = """
import argus as ag
from argus import i32, i64
PART = ag.Owner(t=64, n="t")
@ag.kernel(threads=64, requires="M >= 1 and N >= 1", example=dict(M=3, N=70),
    computes="Y[n] = {fn}imum(Y[n], {fn}({stated}, m))")
def k(X: ag.In["M N", {dtype}], Y: ag.InOut["N", i32]):
    m, bn = ag.grid(M, ag.cdiv(N, 64))
    u = X[m, 64 * bn].load(PART, width={width}, guard="shape")
    Y[64 * bn].atomic_{fn}({amount})
"""


@pytest.mark.parametrize("fn", ["max", "min"])
@pytest.mark.parametrize(
    ("dtype", "stated", "amount", "right"),
    [
        ("i32", "X[m, n]", "u", True),
        ("i32", "X[m, n] + 1", "u + 1", False),
        ("i32", "X[m, n] * X[m, n]", "u * u", False),
        ("i32", "-X[m, n]", "-u", False),
        ("i64", "X[m, n]", "u.to(i32)", False),
    ],
)
def test_extremes_are_of_numbers_that_have_not_wrapped(
    fn: str, dtype: str, stated: str, amount: str, right: bool, tmp_path: Path
) -> None:
    file = tmp_path / "k.py"
    width = int(dtype[1:]) // 8
    file.write_text(WRAPPED.format(fn=fn, dtype=dtype, stated=stated, amount=amount, width=width))
    assert (check(scheduled(read(str(file)))).status == "proved") == right


TELESCOPE = """
import argus as ag
from argus import f32
ROW = ag.Owner(lane=64, n="lane")
ONE = ag.Owner(t=64, z="t*0")
@ag.kernel(threads=64, requires="M >= 1 and N >= 1 and N <= 64", example=dict(M=3, N=40), computes="Z[m] = X[m, 0]")
def k(X: ag.In["M N", f32], Z: ag.Out["M", f32]):
    m = ag.grid(M)
    x = X[m].load(ROW, width=4, guard="shape")
    w = X[m, 1].load(ROW, width=4, guard="shape")
    Z[m].store((x - w).sum("n").without(), width=4, guard=ag.thread() == 0)
"""


def test_what_remains_of_numbers_that_cancel_refutes_nothing(tmp_path: Path) -> None:
    file = tmp_path / "k.py"
    file.write_text(TELESCOPE)
    assert {v.status for v in check(scheduled(read(str(file)))).verdicts if v.rule == "value"} == {"unknown"}
