"""From a choice to a launch: read, prove, compile, run. Each step is done once per choice and kept.

    ready = prepared(choose_matmul(64, 64, 64, "bf16"))      # ProvedKernel(kernel, object)
    run(ready, {"A": a, "B": b, "C": c}, {"M": 64, "N": 64, "K": 64}, device="auto")

A kernel that the checker refutes or cannot prove is not launched. Devices: `machine` (the simulated gfx942, compiled to
this computer's code), `checking` (the same under the checking interpreter, slow, every fault is an error), `hip` (a
GPU), and `auto`: HIP if a gfx942 is there, else the machine. There is no other fall-back.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from argus import machine
from argus.device.guards import LaunchRefused, check_arrays, check_sizes, launch_grid
from argus.device.hip import HipDevice, available
from argus.device.launch import Device, LaunchOutcome, MachineDevice, scalar_values
from argus.ir.kernel import Kernel
from argus.ops.choice import Choice
from argus.pipeline import build, program_of, prove

DEVICES = ("auto", "machine", "checking", "hip")


@dataclass(frozen=True, slots=True)
class ProvedKernel:
    """A proved kernel and its code object."""

    kernel: Kernel
    code: bytes


class JitDevice:
    """The simulated gfx942 with compiled workgroups: results without the checks of the interpreter."""

    name = "simulated gfx942, JIT"

    def launch(
        self,
        kernel: Kernel,
        code: bytes,
        sizes: Mapping[str, int],
        arrays: Mapping[str, Any],
        scalars: Mapping[str, float] | None = None,
    ) -> LaunchOutcome:
        check_sizes(kernel, sizes)
        check_arrays(kernel, sizes, arrays)
        grid = launch_grid(kernel, sizes)
        started = time.perf_counter()
        values = [*(arrays[t.name] for t in kernel.tensors), *scalar_values(kernel, sizes, scalars or {})]
        result = machine.load(code).kernel(kernel.name)(grid, kernel.threads, *values, executor="jit")
        seconds = time.perf_counter() - started
        return LaunchOutcome(self.name, seconds, grid, result.workgroups, result.instructions, result.reports, None)


@cache
def device_of(name: str) -> Device:
    """The device of that name."""
    if name not in DEVICES:
        raise LaunchRefused(f"there is no device {name!r}; there are {', '.join(DEVICES)}")
    if name == "checking":
        return MachineDevice(checks=True)
    if name == "hip" or (name == "auto" and available()):
        return HipDevice()
    return JitDevice()


def prepared(choice: Choice) -> ProvedKernel:
    """The proved kernel and its code object, from memory or disk where they are."""
    return proved(choice.path, choice.kernel, choice.knobs)


def proved(path: Path, name: str, knobs: Mapping[str, Any]) -> ProvedKernel:
    """The kernel `name` of the file `path` with these knobs, proved and compiled."""
    return _prepared(path, name, tuple(sorted(knobs.items())))


@cache
def _prepared(path: Path, name: str, knobs: tuple[tuple[str, Any], ...]) -> ProvedKernel:
    proof = prove(program_of(path, dict(knobs), name))
    return ProvedKernel(proof.program.read, build(proof).object)


def run(
    choice: Choice,
    arrays: Mapping[str, Any],
    sizes: Mapping[str, int],
    scalars: Mapping[str, float] | None = None,
    device: str = "auto",
) -> LaunchOutcome:
    """One launch; outputs are written in place. A fault the device reports is an error."""
    ready = prepared(choice)
    outcome = device_of(device).launch(ready.kernel, ready.code, sizes, arrays, scalars)
    for report in outcome.reports:
        if report.level == "error":
            raise LaunchRefused(f"{ready.kernel.name} on {outcome.device}: {report}")
    return outcome
