"""The simulated gfx942: load a code object and run its kernels on the CPU.

    from argus import machine
    machine.load("gemm.hsaco").kernel("gemm")(grid, block, *args, lds=bytes)

See `launch.py` for the interface, `semantics/` for what instructions mean, `checks/` for what is watched.
"""

from __future__ import annotations

from argus.machine.checks import Watch
from argus.machine.errors import LaunchError, MachineError, MachineReport
from argus.machine.launch import LaunchResult, LoadedKernel, LoadedModule, Options, load
from argus.machine.loader import LoadError

__all__ = [
    "LaunchError",
    "LaunchResult",
    "LoadError",
    "LoadedKernel",
    "LoadedModule",
    "MachineError",
    "MachineReport",
    "Options",
    "Watch",
    "load",
]
