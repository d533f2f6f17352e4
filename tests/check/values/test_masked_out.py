"""What masks leave nothing of: a factor beside an empty sum, a maximum of nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from argus.check import Report, check
from argus.ir.passes.schedule import scheduled
from argus.lang import read

ROWS = """import argus as ag
from argus import f32, i32, inf

ROW = ag.Owner(lane=64, n="lane")
ONE = ag.Owner(lane=64, z="lane*0")


@ag.kernel(
    threads=64, requires="M >= {least} and N >= 1 and N <= 64", example=dict(M={least}, N=50),
    computes="Y[m] = {computes}",
)
def rows(
    LEN: ag.In["M", i32], X: ag.In["M N", f32], Q: ag.In["M N", f32], D: ag.In["M", f32], Y: ag.Out["M", f32]
):
    m = ag.grid(M)
    l = ag.as_index(LEN[m].load(ONE, width=4), {shortest}, N, name="len")
    x = X[m].load(ROW, width=4, guard="shape")
    q = Q[m].load(ROW, width=4, guard="shape")
    d = D[m].load(ONE, width=4).without()
    t = ag.where(x.n < l, x, -inf).max("n")
    Y[m].store({stores}, width=4, guard=ag.lane() == 0)
"""
SUM = "sum(where(k < LEN[m], {}, 0), k)"
MASKED = "ag.where(x.n < l, {}, 0.0).sum('n')"
TOP = "max(where(j < LEN[m], X[m, j], -inf), j)"
WRONG_WHERE_NOTHING_IS_LEFT = {
    "a divisor": (SUM.format("X[m, k] / D[m]"), MASKED.format("x") + " / d"),
    "a root": (SUM.format("X[m, k] * sqrt(D[m])"), MASKED.format("x") + " * ag.sqrt(d)"),
    "a masked sum": (
        SUM.format("X[m, k] * Q[m, k] / sum(where(j < LEN[m], Q[m, j], 0), j)"),
        f"{MASKED.format('x * q')} / {MASKED.format('q')}",
    ),
    "a maximum": (SUM.format(f"X[m, k] * {TOP}"), MASKED.format("x") + " * t"),
    "nothing times a maximum": (SUM.format("X[m, k]"), MASKED.format("x") + " + 0.0 * t"),
    "maxima of opposite signs": (f"exp({TOP})", "ag.exp(2.0 * t - t)"),
    "an exponential": (SUM.format("X[m, k] * exp2(1 / D[m])"), MASKED.format("x") + " * ag.exp2(1.0 / d)"),
    "an exponential of a root": (SUM.format("X[m, k] * exp(sqrt(D[m]))"), MASKED.format("x") + " * ag.exp(ag.sqrt(d))"),
    "a stated range": ("sum(X[m, k] / D[m], k, N // 2)", "ag.where(x.n < N // 2, x, 0.0).sum('n') / d"),
    "a maximum less itself": (SUM.format("X[m, k]"), MASKED.format("x") + " + (t - t)"),
}
RIGHT = {
    "a divisor of each": (SUM.format("X[m, k] / D[m]"), MASKED.format("x / d")),
    "a divisor outside": (SUM.format("X[m, k]") + " / D[m]", MASKED.format("x") + " / d"),
    "a number": (SUM.format("X[m, k] * 3"), MASKED.format("x") + " * 3.0"),
    "what is defined": (SUM.format("X[m, k] * D[m]"), MASKED.format("x") + " * d"),
    "the whole row": ("sum(X[m, k] / D[m], k)", "x.sum('n') / d"),
}
LARGE = 200_000
"""Rows of a launch that is too large to be executed: the proof alone decides."""


def report(folder: Path, name: tuple[str, str], shortest: int = 0) -> Report:
    file = folder / "kernel.py"
    computes, stores = name
    file.write_text(ROWS.format(computes=computes, stores=stores, least=LARGE, shortest=shortest))
    return check(scheduled(read(str(file))))


@pytest.mark.parametrize("name", WRONG_WHERE_NOTHING_IS_LEFT)
def test_what_masks_leave_nothing_of_is_not_proved(name: str, tmp_path: Path) -> None:
    assert report(tmp_path, WRONG_WHERE_NOTHING_IS_LEFT[name]).status != "proved"


@pytest.mark.parametrize("name", RIGHT)
def test_right_ones_are_proved(name: str, tmp_path: Path) -> None:
    found = report(tmp_path, RIGHT[name])
    assert found.status == "proved", found.render()


SCAN = """import argus as ag
from argus import f32

ROW = ag.Owner(lane=64, n="lane")
ONE = ag.Owner(lane=64, z="lane*0")


@ag.kernel(
    threads=64, requires="M >= 200000 and N >= 1 and N <= 64", example=dict(M=200000, N=50),
    computes="Y[m, n] = sum(where(k {before} n, X[m, k] * sqrt(D[m]), 0), k)",
)
def scan(X: ag.In["M N", f32], D: ag.In["M", f32], Y: ag.Out["M N", f32]):
    m = ag.grid(M)
    x = X[m].load(ROW, width=4, guard="shape")
    d = D[m].load(ONE, width=4).without()
    Y[m].store(x.cumsum("n", exclusive={exclusive}) * ag.sqrt(d), width=4, guard="shape")
"""


@pytest.mark.parametrize(("before", "exclusive", "proved"), [("<", True, False), ("<=", False, True)])
def test_of_a_scan_nothing_is_before_the_first(before: str, exclusive: bool, proved: bool, tmp_path: Path) -> None:
    file = tmp_path / "kernel.py"
    file.write_text(SCAN.format(before=before, exclusive=exclusive))
    assert (check(scheduled(read(str(file)))).status == "proved") == proved


HEAD = """import argus as ag
from argus import f32, inf

LANES = ag.Owner(lane=64, n="lane")
WIDE = ag.Owner(t=256, n="t")
BUF = ag.Layout(w=(4, 4))
EACH = ag.Owner(t=256, i=4, w="i")


"""
EMPTY_PIECES = {
    "a tile beyond the end": """@ag.kernel(
    threads=64, requires="M >= 200000 and N >= 1 and P >= 1", example=dict(M=200000, N=50, P=2),
    computes="S[m, t] = exp(max(where(j >= 64 * t and j < 64 * t + 64, X[m, j], -inf), j))",
)
def k(X: ag.In["M N", f32], S: ag.Out["M P", f32]):
    m, t = ag.grid(M, P)
    x = X[m, 64 * t].load(LANES, width=4, guard="shape")
    h = ag.where(64 * t + x.n < N, x, -inf).max("n")
    S[m, t].store(ag.exp(2.0 * h - h), width=4, guard=ag.lane() == 0)
""",
    "a loop of no turns": """@ag.kernel(
    threads=64, requires="M >= 200000 and N >= 1", example=dict(M=200000, N=50),
    computes="Y[m] = exp(max(where(k < 64 * (N // 64), X[m, k], -inf), k))",
)
def k(X: ag.In["M N", f32], Y: ag.Out["M", f32]):
    m = ag.grid(M)
    acc = ag.full(LANES, f32, -inf)
    for i in ag.range(N // 64):
        acc = ag.max(acc, X[m, 64 * i].load(LANES, width=4))
    t = acc.max("n")
    Y[m].store(ag.exp(2.0 * t - t), width=4, guard=ag.lane() == 0)
""",
    "a lane without elements": """@ag.kernel(
    threads=64, requires="M >= 200000 and N >= 1", example=dict(M=200000, N=50), computes="Y[m] = sum(X[m, k], k)"
)
def k(X: ag.In["M N", f32], Y: ag.Out["M", f32]):
    m = ag.grid(M)
    top, s = ag.full(LANES, f32, -inf), ag.zeros(LANES, f32)
    for i in ag.range(ag.cdiv(N, 64)):
        x = X[m, 64 * i].load(LANES, width=4, guard="shape")
        top = ag.max(top, ag.where(64 * i + x.n < N, x, -inf))
        s = s + x
    Y[m].store((s + 0.0 * top).sum("n"), width=4, guard=ag.lane() == 0)
""",
    "a wave without elements": """@ag.kernel(
    threads=256, requires="M >= 200000 and N >= 1 and N <= 256", example=dict(M=200000, N=50),
    computes="Y[m] = sum(X[m, k], k)",
)
def k(X: ag.In["M N", f32], Y: ag.Out["M", f32]):
    m = ag.grid(M)
    x = X[m].load(WIDE, width=4, guard="shape")
    p = ag.where(x.n < N, x, -inf).max("n", within="wave")
    c = ag.shared(BUF, f32)
    c.store(x.sum("n", within="wave") + 0.0 * p, w=ag.wave(), width=4, guard=ag.lane() == 0)
    ag.barrier()
    Y[m].store(c.load(EACH, width=4).sum("w"), width=4, guard=ag.thread() == 0)
""",
}


@pytest.mark.parametrize("name", EMPTY_PIECES)
def test_the_maximum_of_a_piece_without_elements_is_not_finite(name: str, tmp_path: Path) -> None:
    file = tmp_path / "kernel.py"
    file.write_text(HEAD + EMPTY_PIECES[name])
    assert check(scheduled(read(str(file)))).status != "proved"


INNER = "ag.where(x.n < {}, x, -inf).max('n')"
OUTER = "ag.where(x.n < N, {}, -inf).max('n')"
BY_DATA = "ag.where(d > 1000.0, -inf, {})"
INFINITE_AFTER_ALL = {
    "a number that data makes infinite": f"d + ({BY_DATA.format('d')} - {BY_DATA.format('d')})",
    "nothing times it": f"d + 0.0 * {BY_DATA.format('t')}",
    "taken away and added": f"(d - {BY_DATA.format('d')}) + {BY_DATA.format('d')}",
    "a minimum with it": "d + 0.0 * ag.min(d, -inf)",
    "in a maximum": f"d + 0.0 * {OUTER.format('x - ' + INNER.format('N // 2'))}",
    "in a maximum, by a looked-up length": f"d + 0.0 * {OUTER.format('x - t')}",
    "in a maximum, as a factor": f"d + 0.0 * {OUTER.format('x * t')}",
    "in a maximum of two": f"d + 0.0 * ag.max(d, {OUTER.format('x - t')})",
    "in a minimum": "d + 0.0 * ag.where(x.n < N, x + t, inf).min('n')",
}


@pytest.mark.parametrize("name", INFINITE_AFTER_ALL)
def test_what_may_be_infinite_does_not_vanish(name: str, tmp_path: Path) -> None:
    assert report(tmp_path, ("D[m]", INFINITE_AFTER_ALL[name])).status != "proved"


FINITE = {
    "in a maximum, of the whole row": f"d + 0.0 * {OUTER.format('x - ' + INNER.format('N'))}",
    "in a maximum of two, of the whole row": f"d + 0.0 * ag.max(d, {OUTER.format('x - ' + INNER.format('N'))})",
    "chosen by data": "d + 0.0 * ag.where(d > 1000.0, " + INNER.format("N") + ", d)",
}


@pytest.mark.parametrize("name", FINITE)
def test_maxima_of_something_vanish(name: str, tmp_path: Path) -> None:
    found = report(tmp_path, ("D[m]", FINITE[name]))
    assert found.status == "proved", found.render()


SOFTMAX = """import argus as ag
from argus import f32, inf

ROW = ag.Owner(lane=64, e=4, n="lane*4 + e")


@ag.kernel(
    threads=64, requires="M >= 200000 and N >= 1 and N <= 256", example=dict(M=200000, N=50),
    computes="Y[m, n] = exp(X[m, n]) / sum(exp(X[m, k]), k)",
)
def rows(X: ag.In["M N", f32], Y: ag.Out["M N", f32]):
    m = ag.grid(M)
    x = X[m].load(ROW, width=4, guard="shape")
    u = ag.where(x.n < {range}, x, {nothing}).{extreme}("n")
    z = ag.where(x.n < N, x - u, -inf)
    p = ag.exp(z - z.max("n"))
    Y[m].store(p / p.sum("n"), width=4, guard="shape")
"""


@pytest.mark.parametrize(
    ("range_", "extreme", "status"),
    [("N", "max", "proved"), ("N // 2", "max", "unknown"), ("N // 2", "min", "unknown")],
)
def test_a_softmax_of_what_an_empty_extreme_was_taken_from(
    range_: str, extreme: str, status: str, tmp_path: Path
) -> None:
    file = tmp_path / "kernel.py"
    nothing = "-inf" if extreme == "max" else "inf"
    file.write_text(SOFTMAX.format(range=range_, extreme=extreme, nothing=nothing))
    found = check(scheduled(read(str(file))))
    assert found.status == status, found.render()
