"""The device of a launch by its name.

checking    the simulated gfx942 under the interpreter that watches for faults
jit         the same chip, compiled to this computer's code: results only
hip         a GPU
auto        `hip` if a gfx942 is there, else the simulated chip as the caller prefers it, which is said once

A program that believes it runs on a GPU must learn that it does not. `auto` therefore says why it simulates, the first
time it does so in a process: as a `SimulatedWarning`, or through `tell`. Naming `jit` or `checking` is silent.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache

from argus.device.guards import LaunchRefused
from argus.device.hip import HipDevice, find_gfx942
from argus.device.hip_calls import HipError, load
from argus.device.launch import Device
from argus.device.simulated import CheckingDevice, JitDevice

DEVICES = ("auto", "checking", "jit", "hip")


class SimulatedWarning(UserWarning):
    """`device="auto"` found no gfx942 and simulates one."""


def _warn(text: str) -> None:
    warnings.warn(text, SimulatedWarning, stacklevel=4)


def choose(name: str, simulated: str = "jit", tell: Callable[[str], None] = _warn) -> Device:
    """The device of that name; `auto` without a GPU is `simulated`. `hip` without one is an error, no fall-back."""
    if name != "auto":
        return _made(name)
    why = _missing()
    if why is None:
        return _made("hip")
    _say_once(f"no GPU is used, kernels run on the simulated gfx942: {why}", tell)
    return _made(simulated)


@cache
def _made(name: str) -> Device:
    match name:
        case "checking":
            return CheckingDevice()
        case "jit":
            return JitDevice()
        case "hip":
            return HipDevice()
        case _:
            raise LaunchRefused(f"there is no device {name!r}; there are {', '.join(DEVICES)}", "ARG-D108")


@cache
def _missing() -> str | None:
    """Why there is no gfx942 to launch on; None if there is one."""
    try:
        find_gfx942(load())
    except HipError as error:
        return str(error)
    return None


_said: set[str] = set()


def _say_once(text: str, tell: Callable[[str], None]) -> None:
    if text not in _said:
        _said.add(text)
        tell(text)
