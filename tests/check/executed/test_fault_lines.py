"""The lines that a counterexample names: one kernel for each sort of fault, and the line of the fault is among them.

Every kernel is right but for one line, marked `# <-`. What is said of the line is checked too, and that a
counterexample stays short.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from argus.check import check
from argus.check.explain.recorded_run import Recording, RegisterPlace, Untraceable
from argus.check.explain.specified_parts import SpecifiedParts
from argus.check.explain.value_origins import ValueOrigins
from argus.check.report import Counterexample
from argus.ir import ops
from argus.ir.kernel import Kernel
from argus.ir.passes.schedule import scheduled
from argus.lang import read
from argus.spec import evaluate

LINES = 6
HEAD = """
import argus as ag
from argus import f32, i32
from argus.gfx942 import mfma_32x32x8_bf16 as MMA
from argus import bf16
T = ag.Owner(t=64, i="t")
ROW = ag.Owner(lane=64, e=2, n="lane*2 + e")
ONE = ag.Owner(lane=64, z="lane*0")
LDS = ag.Layout(i=(64, 4))
FRAG = MMA.operand(row="row", k="k")
"""

FLAT = """
@ag.kernel(threads=64, requires="N % 64 == 0", computes="y[i] = {spec}", example=dict(N=128))
def f(a: ag.In["N", f32], b: ag.In["N", f32], y: ag.Out["N", f32]):
    p = ag.grid(N // 64)
{body}
"""

ROWS = """
@ag.kernel(threads=64, requires="M >= 1 and N >= 1", computes="Y[m] = {spec}", example=dict(M=3, N=128))
def f(X: ag.In["M N", f32], Y: ag.Out["M", f32]):
    row = ag.grid(M)
    acc = {start}
    for i in ag.range({bounds}):
        x = X[row, 128 * i].load(ROW, width=4, guard="shape")
{body}
    Y[row].store(acc, width=4, guard=ag.lane() == 0)
"""

GEMM = """
@ag.kernel(threads=64, requires="M % 32 == 0 and N % 32 == 0 and K % 8 == 0",
           computes="C[m, n] = sum(A[m, k] * B[n, k], k)", example=dict(M=64, N=64, K=64))
def f(A: ag.In["M K", bf16], B: ag.In["N K", bf16], C: ag.Out["M N", bf16]):
    bm, bn = ag.grid(M // 32, N // 32)
    acc = ag.full(MMA.acc(row="m", col="n"), f32, 1.0)  # <-
    for kt in ag.range(K // 8):
        a = A[32 * bm, 8 * kt].load(FRAG, width=8)
        b = B[32 * bn, 8 * kt].load(FRAG, width=8)
        acc = ag.mfma(a, b, acc)
    C[32 * bm, 32 * bn].store(acc.to(bf16), width=2)
"""

ONLINE = """
@ag.kernel(threads=64, requires="M >= 1 and N >= 1", example=dict(M=3, N=128),
           computes="Y[m] = sum(exp(X[m, h] - max(X[m, j], j)) * X[m, h], h) / sum(exp(X[m, i] - max(X[m, j], j)), i)")
def f(X: ag.In["M N", f32], Y: ag.Out["M", f32]):
    row = ag.grid(M)
    top = ag.full(ONE, f32, -ag.inf).without()
    den = ag.zeros(ONE, f32).without()
    num = ag.zeros(ONE, f32).without()
    for i in ag.range(ag.cdiv(N, 128)):
        x = X[row, 128 * i].load(ROW, width=4, guard="shape")
        u = ag.where(128 * i + x.n < N, x, -ag.inf)
        new = ag.max(top, u.max("n"))
        old = ag.exp(top - new)
        e = ag.exp(u - new)
        den = den * old + e.sum("n")
        num = num * old - (e * x).sum("n")  # <-
        top = new
    Y[row].store(num / den, width=4, guard=ag.lane() == 0)
"""

THROUGH_LDS = """
    s = ag.shared(LDS, f32)
    s.store(a[64 * p + 1].load(T, width=4), width=4)  # <-
    ag.barrier()
    y[64 * p].store(s.load(T, width=4), width=4)"""

BRANCH = """
    if ag.lane() % 2 != 0:  # <-
        r = a[64 * p].load(T, width=4)
    else:
        r = b[64 * p].load(T, width=4)
    y[64 * p].store(r, width=4)"""

ARM = """
    if ag.lane() % 2 == 0:
        u = a[64 * p].load(T, width=4)
        r = u - u  # <-
    else:
        r = b[64 * p].load(T, width=4)
    y[64 * p].store(r, width=4)"""

SELECTED = """
    v = a[64 * p].load(T, width=4)
    w = b[64 * p].load(T, width=4)
    r = ag.where(v > 0.0, w, v)  # <-
    y[64 * p].store(r, width=4)"""

INDEX = """
    i = p + ag.thread()  # <-
    v = a[64 * p].load(T, width=4)
    y[i].store(v, width=4)"""

SWAPPED = """
    v = a[64 * p].load(T, width=4)
    w = b[64 * p].load(T, width=4)
    r = w - v  # <-
    y[64 * p].store(r, width=4)"""

UPDATED = """
@ag.kernel(threads=64, requires="M % 2 == 0 and N % 64 == 0", computes="Y[n] = Y[n] + sum(X[m, n], m)",
           example=dict(M=4, N=64))
def f(X: ag.In["M N", i32], Y: ag.InOut["N", i32]):
    q, p = ag.grid(M // 2, N // 64)
    Y[64 * p].atomic_add(X[2 * q, 64 * p].load(T, width=4))
    Y[64 * p].atomic_add(X[2 * q, 64 * p].load(T, width=4))  # <-
    Y[64 * p].atomic_add(X[2 * q + 1, 64 * p].load(T, width=4))
"""

ZEROS, SUM = "ag.zeros(ONE, f32).without()", '        acc = acc + x.sum("n")'
TRIMMED = ROWS.replace("{bounds}):", "{bounds}):  # <-")
CASES = {
    "an element through LDS": (FLAT.format(spec="a[i]", body=THROUGH_LDS), "is loaded, on which y["),
    "a branch": (FLAT.format(spec="where(i % 2 == 0, a[i], b[i])", body=BRANCH), "this branch decides"),
    "an arm": (FLAT.format(spec="where(i % 2 == 0, a[i] + a[i], b[i])", body=ARM), "or the other way round"),
    "a selection": (FLAT.format(spec="where(a[i] > 0, a[i], b[i])", body=SELECTED), "this selection takes it"),
    "an index": (FLAT.format(spec="a[i]", body=INDEX), "i is set at"),
    "a sign": (FLAT.format(spec="a[i] - b[i]", body=SWAPPED), "or the other way round"),
    "a start": (GEMM, "the constant 1 goes into the sum"),
    "an online sum": (ONLINE, "or the other way round"),
    "an update": (UPDATED, "the update by"),
    "a bound": (
        TRIMMED.format(spec="sum(X[m, n], n)", start=ZEROS, bounds="1, ag.cdiv(N, 128)", body=SUM),
        "this loop is not executed once",
    ),
    "no mask": (
        ROWS.format(
            spec="min(X[m, n], n)", start="ag.full(ONE, f32, ag.inf).without()", bounds="ag.cdiv(N, 128)",
            body='        x = x  # <-\n        acc = ag.min(acc, x.min("n"))',
        ),
        "x is set at",
    ),
    "nothing added": (
        ROWS.format(spec="sum(X[m, n], n)", start=ZEROS, bounds="ag.cdiv(N, 128)", body="        acc = acc  # <-"),
        "acc is set at",
    ),
    "another reduction": (
        ROWS.format(
            spec="sum(X[m, n], n)", start=ZEROS, bounds="ag.cdiv(N, 128)",
            body='        acc = x.max("n")  # <-',
        ),
        "a max is made, and the specification has none",
    ),
}  # fmt: skip


def refuted(tmp_path: Path, text: str) -> Counterexample:
    path = tmp_path / "kernel.py"
    path.write_text(HEAD + text)
    found = [v.counterexample for v in check(scheduled(read(path))).verdicts if v.counterexample is not None]
    return found[0]


def named(example: Counterexample) -> dict[int, str]:
    """Lines in the details, and what is said of them."""
    found = [re.fullmatch(r"(.*)kernel\.py:(\d+)(:\d+)?", detail) for detail in example.details]
    return {int(m[2]): m[1] for m in found if m}


@pytest.mark.parametrize("case", CASES)
def test_the_line_at_fault_is_named(case: str, tmp_path: Path) -> None:
    text, said = CASES[case]
    example = refuted(tmp_path, text)
    (fault,) = [n for n, line in enumerate((HEAD + text).splitlines(), 1) if line.endswith("# <-")]
    assert said in named(example).get(fault, "")
    assert len({example.span.line, *named(example)}) <= LINES


def test_a_branch_that_no_launch_takes_is_named(tmp_path: Path) -> None:
    body = """
    r = a[64 * p].load(T, width=4)
    for k in ag.range(2):
        if k + 1 < 64 // (N + 64):
            r = b[64 * p].load(T, width=4)
    y[64 * p].store(r, width=4)"""
    example = refuted(tmp_path, FLAT.format(spec="b[i]", body=body))
    assert "no launch takes the branch at" in " ".join(named(example).values())


def kernel_of(tmp_path: Path, text: str) -> Kernel:
    path = tmp_path / "kernel.py"
    path.write_text(HEAD + text)
    return scheduled(read(path)).kernel


def test_an_execution_read_backwards_gives_the_stored_number(tmp_path: Path) -> None:
    """What is stored, computed again from the elements that its origins name, is what the interpreter stored."""
    kernel = kernel_of(tmp_path, FLAT.format(spec="a[i]", body=THROUGH_LDS))
    given = {name: np.random.default_rng(3).normal(size=128).astype(np.float32) for name in ("a", "b", "y")}
    run = Recording(kernel, given, {"N": 128}, {}, (0, 0, 0))
    store = [op for op in ops.walk(kernel.body) if any(f.writes and f.space == "global" for f in op.footprints)][-1]
    for lane in range(64):
        found = ValueOrigins(run).operand(store.operands[0], RegisterPlace(0, lane, 0, ()))
        assert (found.number.tensor, found.number.coords) == ("a", (lane + 1,))
        assert found.number.value == given["a"][lane + 1]


def test_every_addend_of_a_matrix_product_has_its_elements(tmp_path: Path) -> None:
    kernel = kernel_of(tmp_path, GEMM)
    dice = np.random.default_rng(4)
    given = {name: dice.normal(size=(32, 16)).astype(np.float32) for name in ("A", "B")}
    given["C"] = np.zeros((32, 32), np.float32)
    sizes = {"M": 32, "N": 32, "K": 16}
    run = Recording(kernel, given, sizes, {}, (0, 0, 0))
    store = next(op for op in ops.walk(kernel.body) if any(f.writes for f in op.footprints))
    origins = ValueOrigins(run)
    sums, seen = [origins.operand(store.operands[0], RegisterPlace(0, 0, 0, ())).number], set()
    while sums:
        for part in origins.operands(sums.pop()):
            if part.number.fn == "add":
                sums.append(part.number)
            elif part.number.fn == "mul":
                seen.add(tuple((one.number.tensor, one.number.coords) for one in part.number.parts))
    assert seen == {(("A", (0, k)), ("B", (0, k))) for k in range(16)}


@pytest.mark.parametrize(
    "spec",
    [
        "sum(x[i, k] * w[k], k) / N", "max(x[i, k] - w[k], k)", "where(i % 2 == 0, x[i, 0], -w[1])",
        "exp(x[i, 1]) + sum(sum(x[i, k] * w[j], k), j)", "x[i + 1, 2] - minimum(w[0], 3)",
    ],
)  # fmt: skip
def test_a_specification_at_one_element_is_what_the_evaluator_says(spec: str, tmp_path: Path) -> None:
    head = 'def f(x: ag.In["M N", f32], w: ag.In["N", f32], y: ag.Out["M", f32]):\n    p = ag.grid(1)\n'
    first = f'@ag.kernel(threads=64, requires="M >= 1 and N >= 3", computes="y[i] = {spec}", example=dict(M=4, N=5))\n'
    kernel = kernel_of(tmp_path, first + head)
    dice = np.random.default_rng(5)
    given = {"x": dice.normal(size=(4, 5)), "w": dice.normal(size=5), "y": np.zeros(4)}
    assert kernel.computes is not None
    (stated,) = kernel.computes.results
    wanted = evaluate(stated, given, {"M": 4, "N": 5}).value
    for i in range(4):
        parts = SpecifiedParts(stated, given, {"M": 4, "N": 5}, (i,))
        assert parts.value == pytest.approx(wanted[i], rel=1e-12)
        assert all(len(place) == given[name].ndim for name, place in parts.elements)


def test_too_long_an_execution_says_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("argus.check.explain.value_origins.STEPS", 3)
    kernel = kernel_of(tmp_path, GEMM)
    run = Recording(kernel, {}, {"M": 32, "N": 32, "K": 8}, {}, (0, 0, 0))
    store = next(op for op in ops.walk(kernel.body) if any(f.writes for f in op.footprints))
    with pytest.raises(Untraceable):
        ValueOrigins(run).operand(store.operands[0], RegisterPlace(0, 0, 0, ()))
    assert refuted(tmp_path, GEMM).rule == "reduced"
