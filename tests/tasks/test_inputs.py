"""Index tensors hold any number the kernel allows, both ends among them."""

from __future__ import annotations

import numpy as np
import pytest

from argus.agent.judge.data import KINDS, inputs, scalars
from argus.ir import ops
from argus.ir.index_ranges import legal_range, whole_numbers
from argus.ir.origins import Origins
from argus.lang import read
from argus.tasks.inputs import make_arrays
from argus.tasks.task import load_task
from tests.cheats.table import GATHER, SCALED

SIZES = {"P": 50_000, "B": 64}


def test_the_whole_range_is_drawn() -> None:
    kernel = read(GATHER)
    page = next(t for t in kernel.tensors if t.name == "page")
    assert legal_range(kernel, page, SIZES) == (0, 49_999)
    for drawn in (make_arrays(kernel, SIZES, 0), inputs(kernel, SIZES, "normal", 0)):
        assert (drawn["page"].min(), drawn["page"].max()) == (0, 49_999)
        assert len(np.unique(drawn["page"])) > 50


@pytest.mark.parametrize("count", [0, 1, 2, 9])
def test_both_ends_where_there_is_room(count: int) -> None:
    drawn = whole_numbers(np.random.default_rng(0), (count,), (-3, 1 << 40))
    assert drawn.shape == (count,)
    assert {-3, 1 << 40}.issubset(drawn) == (count >= 2)


def test_numbers_are_followed_through_loops_and_selections() -> None:
    moved = GATHER.replace("    e = ", "    held = page[0].load(ONE, width=4)\n    for i in ag.range(B):\n"
                           "        held = ag.where(held > 3, page[i].load(ONE, width=4), held)\n    e = ").replace(
        "as_index(page[b].load(ONE, width=4)", "as_index(held"
    )  # fmt: skip
    kernel = read(moved)
    symbol = next(op for op in ops.walk(kernel.body) if isinstance(op, ops.Symbol))
    assert {t.name for t in Origins(kernel).tensors(symbol.value)} == {"page"}


def test_scalars_have_every_sign_that_the_task_allows() -> None:
    free, bound = read(SCALED), load_task("attention").kernel
    assert {np.sign(scalars(free, kind, 3)["scale"]) for kind in KINDS} == {-1, 0, 1}
    assert {np.sign(scalars(bound, kind, 3)["scale"]) for kind in KINDS} == {1}


def test_specials_leave_rows_without() -> None:
    task = load_task("softmax")
    assert task.specials
    x = inputs(task.kernel, task.small[0], "specials", 5)["X"].astype(np.float32)
    rows = np.isfinite(x).all(axis=1)
    assert rows.any()
    assert not rows.all()
    assert np.isnan(x).any()
    assert np.isinf(x).any()
