"""The device of a launch by its name.

checking    the simulated gfx942 under the interpreter that watches for faults
jit         the same chip, compiled to this computer's code: results only
hip         a GPU
auto        `hip` if a gfx942 is there, else the simulated chip as the caller prefers it
"""

from __future__ import annotations

from functools import cache

from argus.device.guards import LaunchRefused
from argus.device.hip import HipDevice, available
from argus.device.launch import Device
from argus.device.simulated import CheckingDevice, JitDevice

DEVICES = ("auto", "checking", "jit", "hip")


@cache
def choose(name: str, simulated: str = "jit") -> Device:
    """The device of that name; `auto` without a GPU is `simulated`. `hip` without one is an error, no fall-back."""
    if name == "auto":
        name = "hip" if available() else simulated
    match name:
        case "checking":
            return CheckingDevice()
        case "jit":
            return JitDevice()
        case "hip":
            return HipDevice()
        case _:
            raise LaunchRefused(f"there is no device {name!r}; there are {', '.join(DEVICES)}", "ARG-L107")
