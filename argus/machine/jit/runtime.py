"""Runtime functions: what translated kernels call, added to a kernel's module as far as it needs them.

    add_runtime(module)       defines every missing function, and what those call in turn

A kernel uses a dozen of about 250. Each is a separate function of the module, called and never inlined: that keeps the
compile time of a kernel with thousands of memory instructions linear.
"""

from __future__ import annotations

import functools

from argus.machine.jit.access import access_functions
from argus.machine.jit.addresses import address_functions
from argus.machine.jit.irtext import Definers, JitModule
from argus.machine.jit.lanes import lane_functions
from argus.machine.jit.matrix import matrix_functions
from argus.machine.jit.scalar_memory import scalar_memory_functions
from argus.machine.jit.scheduler import scheduler_functions
from argus.machine.jit.tracing import trace_functions
from argus.machine.jit.updates import update_functions

PARTS = (
    access_functions,
    address_functions,
    lane_functions,
    matrix_functions,
    scalar_memory_functions,
    scheduler_functions,
    trace_functions,
    update_functions,
)


@functools.cache
def runtime_functions() -> Definers:
    """Every runtime function by name."""
    made: Definers = {}
    for part in PARTS:
        made.update(part())
    return made


def add_runtime(module: JitModule) -> None:
    """Define what the module calls."""
    known = runtime_functions()
    while missing := module.missing():
        for name in missing:
            known[name](module)
