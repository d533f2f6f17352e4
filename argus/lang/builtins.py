"""Every name of `ag.…` that is a function or a constant, in one table each.

A function is an ordinary Python function whose first parameter is the interpreter. Methods of tiles, tensors and
buffers are in `members`.
"""

from __future__ import annotations

import math

from argus.ir.maps import MAPS
from argus.ir.types import DTYPES
from argus.lang import compute, flow, launch, storage
from argus.lang.invoke import Call
from argus.lang.values import Annotation

CONSTANTS: dict[str, object] = {
    **DTYPES,
    "inf": math.inf,
    "LOG2E": math.log2(math.e),
    "In": Annotation("in"),
    "Out": Annotation("out"),
    "InOut": Annotation("inout"),
    "const": Annotation("const"),
}

FUNCTIONS: dict[str, Call] = {
    "grid": launch.grid,
    "wave": launch.wave,
    "lane": launch.lane,
    "thread": launch.thread,
    "row_major": launch.row_major,
    "grouped": launch.grouped,
    "xcd": launch.xcd,
    "shared": storage.shared,
    "ring": storage.ring,
    "zeros": storage.zeros,
    "full": storage.full,
    "range": flow.loop_range,
    "unroll": flow.unroll,
    "barrier": flow.barrier,
    "wait": flow.wait,
    "setprio": flow.setprio,
    "mfma": compute.mfma,
    "where": compute.where,
    "stack": compute.stack,
    "cdiv": compute.cdiv,
    "schedule": flow.schedule,
    "opposite": flow.opposite,
    **{row.name: compute.function(row) for row in MAPS.values() if row.exposed},
}
