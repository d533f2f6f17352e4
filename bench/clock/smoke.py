"""A few tiny launches of our own kernels as rows: they show that simulating, keeping and going on work, nothing else.

Their "measured" times are made up (1 us), so their file is good for nothing but showing that.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from argus.bench.contestant import compiled
from argus.clock.sampled import Work
from argus.ops.choice import choose_elementwise
from argus.tasks.work import work_of
from bench.clock.rows import Folders, Measured, Task

SIZES = (1 << 12, 1 << 14)


def works(op: str, count: int) -> list[Work]:
    ready = compiled(choose_elementwise("binary", op, count, "f32"))
    return [work_of(ready.kernel, ready.code, {"N": count}, seed=0)]


def rows(folders: Folders) -> Iterator[Task]:
    for op in ("add", "mul"):
        for count in SIZES:
            row = Measured(
                role="fit",
                regime="small or latency-bound",
                family="smoke",
                program=f"elementwise {op}",
                shape=f"f32 {count}",
                flops=float(count),
                bytes=12.0 * count,
                element="",
                microseconds=1.0,
                source="made up",
                protocol="stream",
                exact=True,
                warm=True,
            )
            yield Task(row, partial(works, op, count))
