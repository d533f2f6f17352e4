"""Further transformations of row kernels: several waves on a row, turns written out, walks.

Each is proved by the checker on the program as it is scheduled, and executed beside numpy in float64.
"""

from __future__ import annotations

import numpy as np
import pytest

from argus.agent.lower import NotApplicableError
from tests.agent.executed import Step, lowered, normalises, refuted, rounded, run, simulated, status

VECTOR: Step = ("row-vectors", {"per_lane": 2})
STATISTICS = """
import argus as ag
from argus import bf16, f32

PART = ag.Owner(lane=64, n="lane")


@ag.kernel(
    threads=64,
    requires="N % 64 == 0",
    computes="Y[m, n] = X[m, n] * sum(X[m, k] * X[m, k], k) - sum(X[m, j], j)",
    example=dict(M=4, N=256),
)
def statistics(X: ag.In["M N", bf16], Y: ag.Out["M N", bf16]):
    row = ag.grid(M)
    total = ag.zeros(PART, f32)
    for i in ag.range(N // 64):
        x = X[row, 64 * i].load(PART, width=2).to(f32)
        total = total + x
    added = total.sum("n")
    squares = ag.zeros(PART, f32)
    for j in ag.range(N // 64):
        y = X[row, 64 * j].load(PART, width=2).to(f32)
        squares = squares + y * y
    scale = squares.sum("n")
    for k in ag.range(N // 64):
        z = X[row, 64 * k].load(PART, width=2).to(f32)
        Y[row, 64 * k].store((z * scale - added).to(bf16), width=2)
"""
RESIDENT: Step = ("row-resident", {"widest": 512})


@pytest.mark.parametrize(
    ("steps", "sizes"),
    [
        ((VECTOR, ("waves-per-row", {"waves": 2})), (2, 512)),
        ((VECTOR, RESIDENT, ("waves-per-row", {"waves": 4})), (2, 328)),
        ((VECTOR, ("waves-per-row", {"waves": 2}), RESIDENT), (2, 600)),
        ((VECTOR, ("loop-unrolling", {"turns": 2})), (2, 512)),
        ((VECTOR, RESIDENT, ("persistent-groups", {"turns": 2})), (4, 328)),
        ((VECTOR, RESIDENT, ("rows-per-workgroup", {"rows": 2}), ("persistent-groups", {"turns": 2})), (8, 200)),
        ((VECTOR, RESIDENT, ("waves-per-row", {"waves": 2}), ("persistent-groups", {"turns": 2})), (4, 328)),
    ],
    ids=lambda value: " ".join(name for name, _ in value) if isinstance(value[0], tuple) else str(value),
)
def test_it_is_proved_and_normalises(steps: tuple[Step, ...], sizes: tuple[int, int]) -> None:
    text = lowered("softmax", *steps)
    assert status(text) == "proved"
    assert normalises(text, *sizes)


def test_layernorm_over_waves_is_proved() -> None:
    text = lowered("layernorm", VECTOR, RESIDENT, ("waves-per-row", {"waves": 2}))
    assert text.count("ag.barrier()") == 2
    assert status(text) == "proved"


def test_a_long_row_gains_by_several_waves() -> None:
    sizes = {"M": 8, "N": 16384}
    vector: Step = ("row-vectors", {"per_lane": 8})
    one = lowered("softmax", vector)
    many = lowered("softmax", vector, ("waves-per-row", {"waves": 16}), ("row-resident", {"widest": 1024}))
    assert simulated(many, sizes) < 0.5 * simulated(one, sizes)


def test_two_passes_become_one() -> None:
    text = lowered(STATISTICS, ("fused-stages", {}))
    assert text.count(".load(") == 2
    assert status(text) == "proved"
    x = rounded(np.random.default_rng(9).normal(size=(3, 192)))
    got = run(text, {"M": 3, "N": 192}, {"X": x}, "Y", x.shape)
    want = x * (x * x).sum(1, keepdims=True) - x.sum(1, keepdims=True)
    assert np.allclose(got, want, rtol=1e-2, atol=1e-1)


def test_maximum_and_sum_in_one_pass_are_right_though_undecided() -> None:
    text = lowered("softmax", VECTOR, ("online-softmax", {}))
    assert text.count(".load(") == 2
    assert status(text) == "unknown"
    assert normalises(text, 2, 512)
    wrong = text.replace("ag.exp2((best - new) * LOG2E)", "1.0")
    assert wrong != text
    assert not normalises(wrong, 2, 512)


def test_pairs_are_proved_and_right() -> None:
    text = lowered("softmax", VECTOR, RESIDENT, ("packed-arithmetic", {}))
    assert "ag.v_pk_mul_f32(ag.v_pk_add_f32(x, -best), LOG2E)" in text
    assert status(text) == "proved"
    assert normalises(text, 2, 328)
    assert "ag.v_pk_add_f32" in lowered("layernorm", VECTOR, RESIDENT, ("packed-arithmetic", {}))


FULL: Step = ("full-rows", {})
TWO: Step = ("waves-per-row", {"waves": 2})


@pytest.mark.parametrize(
    "steps",
    [
        (VECTOR, RESIDENT, FULL),
        (VECTOR, RESIDENT, ("reciprocal", {}), TWO, FULL),
        (VECTOR, RESIDENT, FULL, TWO, ("reciprocal", {})),
        (VECTOR, RESIDENT, ("persistent-groups", {"turns": 2}), FULL),
    ],
    ids=lambda steps: " ".join(name for name, _ in steps),
)
def test_full_rows_have_a_path_without_masks_and_short_ones_theirs(steps: tuple[Step, ...]) -> None:
    text = lowered("softmax", *steps)
    full, short = text.split("if N == WIDEST:")[1].split("else:")
    assert 'guard="shape"' not in full
    assert "ag.where" not in full
    assert 'guard="shape"' in short
    assert ("ag.rcp" in full) == ("ag.rcp" in short) == any(name == "reciprocal" for name, _ in steps)
    assert status(text) == "proved"
    assert normalises(text, 2, 512)
    assert normalises(text, 2, 328)


def test_full_rows_are_faster_and_need_a_row_in_registers() -> None:
    sizes = {"M": 8192, "N": 4096}
    masked = lowered("layernorm", ("row-vectors", {"per_lane": 8}), ("row-resident", {"widest": 4096}), TWO)
    full = lowered(masked, FULL)
    assert status(full) == "proved"
    assert simulated(full, sizes) < 0.95 * simulated(masked, sizes)
    for text in ("layernorm", lowered("layernorm", VECTOR), full):
        with pytest.raises(NotApplicableError):
            lowered(text, FULL)


def test_a_path_for_full_rows_under_another_length_is_refuted() -> None:
    text = lowered("softmax", VECTOR, RESIDENT, FULL)
    assert refuted(text.replace("if N == WIDEST:", "if N >= 8:"))


def test_passes_that_need_each_other_stay_apart() -> None:
    needs = STATISTICS.replace("squares + y * y", "squares + y * added")
    for text in ("softmax", "layernorm", needs):
        with pytest.raises(NotApplicableError):
            lowered(text, ("fused-stages", {}))
    with pytest.raises(NotApplicableError):
        lowered("softmax", VECTOR, ("waves-per-row", {"waves": 2}), ("fused-stages", {}))


def test_parts_that_meet_without_a_barrier_are_refuted() -> None:
    text = lowered("softmax", VECTOR, RESIDENT, ("waves-per-row", {"waves": 2}))
    assert refuted(text.replace("ag.barrier()", "pass", 1)) & {"race_free", "fresh"}


@pytest.mark.parametrize(
    ("task", "steps", "name", "params"),
    [
        ("softmax", (), "waves-per-row", {"waves": 4}),
        ("softmax", (VECTOR, ("waves-per-row", {"waves": 4})), "waves-per-row", {"waves": 4}),
        ("softmax", (VECTOR, ("rows-per-workgroup", {"rows": 4})), "waves-per-row", {"waves": 4}),
        ("softmax", (VECTOR, RESIDENT), "loop-unrolling", {"turns": 2}),
        ("gemm", (), "waves-per-row", {"waves": 4}),
        ("softmax", (), "packed-arithmetic", {}),
        ("layernorm", (VECTOR,), "online-softmax", {}),
        ("softmax", (VECTOR, RESIDENT), "online-softmax", {}),
    ],
)
def test_no_place_is_said(task: str, steps: tuple[Step, ...], name: str, params: dict[str, object]) -> None:
    with pytest.raises(NotApplicableError):
        lowered(task, *steps, (name, params))
