"""Transformations: each keeps the kernel proved; where they have no place they say so.

The oracle is the checker, on the program as it is scheduled. That results are right is judged by running candidates
(tests/agent_judge); nothing here compares with texts of kernels.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from argus.agent.lower import NotApplicableError, lower
from argus.check import check
from argus.ir.passes.schedule import scheduled
from argus.lang import read
from argus.tasks.task import load_task, read_task

BLOCK = {"tiles_row": 2, "tiles_col": 2, "waves_row": 2, "waves_col": 2, "tiles_k": 8}
GEMM = (
    ("register-blocking", BLOCK),
    ("wide-fragments", {}),
    ("vector-stores", {}),
    ("lds-staging", {"barriers": "both"}),
    ("lds-swizzle", {"kind": "xor", "amount": 3}),
    ("software-pipelining", {"depth": "fetch"}),
    ("fragment-prefetch", {"depth": "fragments"}),
    ("instruction-scheduling", {"mfma": 2}),
    ("fetch-order", {}),
)
PROVED_AT = {"register-blocking", "lds-staging", "software-pipelining", "fragment-prefetch", "fetch-order"}

LINEAR = (Path(__file__).parents[2] / "examples" / "agent" / "tasks" / "linear.py").read_text(encoding="utf-8")


def status(text: str) -> str:
    return check(scheduled(read(text))).status


def broken(text: str) -> set[str]:
    return {v.rule for v in check(scheduled(read(text))).verdicts if v.status == "refuted"}


def test_every_step_from_the_naive_product_is_proved() -> None:
    text = load_task("gemm").source
    for name, params in GEMM:
        text = lower(text, name, params)
        assert name not in PROVED_AT or status(text) == "proved", name


def test_the_order_of_workgroups_is_one_keyword() -> None:
    text = lower(load_task("gemm").source, "grouped-order", {"order": "ag.grouped(8)"})
    assert "order=ag.grouped(8)" in text
    assert not broken(text)
    assert lower(text, "chiplet-order", {"order": "ag.row_major()"}) == lower_twice(text)


def lower_twice(text: str) -> str:
    there = lower(text, "chiplet-order", {"order": "ag.xcd(8)"})
    return lower(there, "chiplet-order", {"order": "ag.row_major()"})


def test_priority_is_raised_around_multiplications() -> None:
    text = lower(lower(load_task("gemm").source, "register-blocking", BLOCK), "lds-staging", {"barriers": "both"})
    text = lower(text, "wave-priority", {})
    assert text.index("ag.setprio(1)") < text.index("ag.mfma") < text.index("ag.setprio(0)")
    assert status(text) == "proved"


def test_sizes_are_constants_after_blocking() -> None:
    text = lower(load_task("gemm").source, "register-blocking", BLOCK)
    text = lower(text, "lds-staging", {"barriers": "both"})
    text = lower(text, "block-sizes", {"tiles_row": 1, "waves_col": 4})
    assert "TILES_M = 1" in text
    assert "WAVES_N = 4" in text
    assert status(text) == "proved"


@pytest.mark.parametrize("barriers", ["before", "after"])
def test_a_missing_barrier_is_refuted(barriers: str) -> None:
    text = lower(load_task("gemm").source, "register-blocking", BLOCK)
    assert broken(lower(text, "lds-staging", {"barriers": barriers})) == {"race_free"}


def test_an_unseen_kernel_goes_the_same_way() -> None:
    text = read_task("linear", LINEAR).source
    for name, params in (
        ("register-blocking", BLOCK),
        ("wide-fragments", {}),
        ("vector-stores", {}),
        ("lds-staging", {"barriers": "both"}),
        ("fragment-prefetch", {"depth": "fragments"}),
        ("instruction-scheduling", {"mfma": 2}),
    ):
        text = lower(text, name, params)
    assert status(text) == "proved"


def test_chiplets_tile_the_grid() -> None:
    text = lower(load_task("gemm").source, "register-blocking", BLOCK)
    for params in ({"rows": 2, "group": 1}, {"rows": 4, "group": 2}, {"rows": 8}, {"rows": 1}):
        new = lower(text, "chiplet-tiles", params)
        assert status(new) == "proved", params
        with pytest.raises(NotApplicableError):
            lower(new, "chiplet-tiles", params)
    wrong = lower(text, "chiplet-tiles", {"rows": 2}).replace("part % 4", "part % 2")
    assert status(wrong) != "proved"


def test_an_epilogue_tile_by_tile_is_proved_and_moves_with_its_tile() -> None:
    text = read_task("linear", LINEAR).source
    for name, params in (("register-blocking", BLOCK), ("vector-stores", {}), ("epilogue-pieces", {})):
        text = lower(text, name, params)
    assert ".held_as(ACC)" in text
    assert status(text) == "proved"
    wrong = re.sub(r" \+ 32 \* \w+\]\.load\(ACC", "].load(ACC", text)
    assert wrong != text
    assert status(wrong) != "proved"


def test_reading_ahead_brings_its_slices() -> None:
    text = lower(load_task("gemm").source, "register-blocking", {**BLOCK, "tiles_k": 4})
    text = lower(lower(text, "wide-fragments", {}), "lds-staging", {"barriers": "both"})
    assert "TILES_K = 2" in text
    assert "TILES_K = 4" in lower(text, "fragment-prefetch", {"depth": "fragments", "slices": 4})


@pytest.mark.parametrize("task", ["softmax", "layernorm"])
def test_rows_in_registers_are_proved(task: str) -> None:
    text = lower(load_task(task).source, "row-vectors", {"per_lane": 8})
    text = lower(text, "row-resident", {"widest": 1024})
    text = lower(text, "rows-per-workgroup", {"rows": 4})
    if task == "softmax":
        text = lower(text, "reciprocal", {})
    assert "ag.range" not in text
    assert status(text) == "proved"


@pytest.mark.parametrize(
    ("task", "name", "params"),
    [
        ("gemm", "row-vectors", {"per_lane": 8}),
        ("gemm", "lds-swizzle", {"kind": "xor", "amount": 3}),
        ("gemm", "software-pipelining", {"depth": "fetch"}),
        ("gemm", "block-sizes", {"tiles_k": 2}),
        ("gemm", "wide-fragments", {}),
        ("softmax", "register-blocking", BLOCK),
        ("softmax", "lds-staging", {}),
        ("softmax", "row-resident", {"widest": 4096}),
    ],
)
def test_no_place_is_said(task: str, name: str, params: dict[str, object]) -> None:
    with pytest.raises(NotApplicableError):
        lower(load_task(task).source, name, params)


@pytest.mark.parametrize("text", ["", "x = (", "def f(): pass", "import argus as ag\n"])
def test_what_is_no_kernel_file_has_no_place_for_anything(text: str) -> None:
    with pytest.raises(NotApplicableError):
        lower(text, "register-blocking", BLOCK)
