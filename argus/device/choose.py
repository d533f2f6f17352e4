"""Which device a launch goes to: `machine`, `hip`, or `auto` (HIP if a gfx942 is there, else the machine)."""

from __future__ import annotations

from argus.device.hip import HipDevice, available
from argus.device.launch import Device, MachineDevice

DEVICES = ("auto", "machine", "hip")


def choose(name: str) -> Device:
    """The device of that name; `hip` without a GPU is an error, never a silent fall-back."""
    if name == "hip" or (name == "auto" and available()):
        return HipDevice()
    return MachineDevice()
