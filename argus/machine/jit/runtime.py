"""The runtime module: every function that translated kernels call, as one LLVM text.

    text, names = runtime()        # about 100 functions: matrix, memory, LDS, lanes, scheduler

It does not depend on the kernel, so it is compiled once per installation (`objects.py`) and linked once per process.
"""

from __future__ import annotations

from argus.machine.jit.access import define_access_functions
from argus.machine.jit.addresses import define_address_functions
from argus.machine.jit.irtext import Module
from argus.machine.jit.lanes import define_lane_functions
from argus.machine.jit.matrix import define_matrix_functions
from argus.machine.jit.scalar_memory import define_scalar_memory
from argus.machine.jit.scheduler import define_scheduler
from argus.machine.jit.tracing import define_trace_functions
from argus.machine.jit.updates import define_update_functions

PARTS = (
    define_matrix_functions,
    define_access_functions,
    define_address_functions,
    define_update_functions,
    define_scalar_memory,
    define_lane_functions,
    define_trace_functions,
    define_scheduler,
)


def runtime() -> tuple[str, list[str]]:
    """The module's text and the names of its functions."""
    module = Module()
    for define in PARTS:
        define(module)
    return str(module), list(module.functions)
