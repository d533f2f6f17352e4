"""Cycles, bottlenecks and timelines of gfx942 code objects on a simulated MI300X.

    timing = time_record(record, insts, kernel)       # one compute unit: clocks, utilisation, stalls per instruction
    timing, launch = time_launch(record, insts, kernel, flops=...)    # the whole launch: time, TFLOPS, what bounds it

docs/clock.md says what is modelled, from which sources, and what nobody knows.
"""

from argus.clock.launch import Launch, estimate, resident_workgroups
from argus.clock.model import Resources, time_waves
from argus.clock.parameters import MODEL_VERSION, PARAMETERS, Parameters
from argus.clock.perfetto import write_trace
from argus.clock.recorded import Recorded, kernel_resources, workgroups_to_record
from argus.clock.timer import time_launch, time_record, time_recorded
from argus.clock.timing import LABEL, Timing

__all__ = [
    "LABEL",
    "MODEL_VERSION",
    "PARAMETERS",
    "Launch",
    "Parameters",
    "Recorded",
    "Resources",
    "Timing",
    "estimate",
    "kernel_resources",
    "resident_workgroups",
    "time_launch",
    "time_record",
    "time_recorded",
    "time_waves",
    "workgroups_to_record",
    "write_trace",
]
