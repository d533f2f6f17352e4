"""What is timed: indices as the kernel states them, and of tensors that data chooses from only what is read."""

from __future__ import annotations

import numpy as np

from argus.clock.sampled import sample, time_observed
from argus.clock.staged import Operand
from argus.compile.cache import compile_cached
from argus.ir.passes.schedule import scheduled
from argus.lang import read
from argus.tasks.work import work_of

GATHER = """import argus as ag
from argus import f32, i32

ONE = ag.Owner(lane=64, x="lane*0")
ROW = ag.Owner(lane=64, e=4, d="lane*4 + e")


@ag.kernel(threads=64, requires="P >= 1 and B >= 1", computes="y[b, d] = table[page[b], d]")
def gather(table: ag.In["P d=256", f32], page: ag.In["B", i32], y: ag.Out["B d=256", f32]):
    b = ag.grid(B)
    here = ag.as_index(page[b].load(ONE, width=4), 0, P - 1, name="page")
    y[b].store(table[here].load(ROW, width=16).held_as(ROW), width=16)
"""
PAGES, ROWS = 1 << 20, 2048


def test_a_gather_is_timed_by_what_it_reads() -> None:
    program = scheduled(read(GATHER))
    work = work_of(program.kernel, compile_cached(program).object, {"P": PAGES, "B": ROWS}, 0)
    table, page = work.args[0], work.args[1]
    assert isinstance(table, Operand)
    assert isinstance(page, np.ndarray)
    assert page.min() == 0
    assert page.max() == PAGES - 1
    launch = time_observed(work, sample(work))[1]
    assert launch.hbm_bytes < 3 * 2 * ROWS * 1024 < 1024 * PAGES
    assert any("are read or written" in note for note in launch.notes)
