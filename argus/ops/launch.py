"""From a choice to a launch: read, prove, compile, run. Each step is done once per choice and kept.

    ready = prepared(choose_matmul(64, 64, 64, "bf16"))      # ProvedKernel(kernel, object)
    run(ready, {"A": a, "B": b, "C": c}, {"M": 64, "N": 64, "K": 64}, device="auto")

A kernel that the checker refutes or cannot prove is not launched. Devices are those of `argus.device.choose`; `auto` is
a GPU if a gfx942 is there, else the simulated chip compiled to this computer's code.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from argus.device.choose import choose
from argus.device.guards import LaunchRefused
from argus.device.launch import LaunchOutcome
from argus.ir.kernel import Kernel
from argus.ops.choice import Choice
from argus.pipeline import build, program_of, prove


@dataclass(frozen=True, slots=True)
class ProvedKernel:
    """A proved kernel and its code object."""

    kernel: Kernel
    code: bytes


def prepared(choice: Choice) -> ProvedKernel:
    """The proved kernel and its code object, from memory or disk where they are."""
    return proved(choice.path, choice.kernel, choice.knobs)


def proved(path: Path, name: str | None, knobs: Mapping[str, Any]) -> ProvedKernel:
    """The kernel `name` of the file `path`, or its only one, with these knobs, proved and compiled."""
    return _prepared(path, name, tuple(sorted(knobs.items())))


@cache
def _prepared(path: Path, name: str | None, knobs: tuple[tuple[str, Any], ...]) -> ProvedKernel:
    proof = prove(program_of(path, dict(knobs), name))
    return ProvedKernel(proof.program.read, build(proof).object)


def run(
    choice: Choice,
    arrays: Mapping[str, Any],
    sizes: Mapping[str, int],
    scalars: Mapping[str, float] | None = None,
    device: str = "auto",
) -> LaunchOutcome:
    """One launch of the kernel chosen."""
    return launched(prepared(choice), arrays, sizes, scalars, device)


def launched(
    ready: ProvedKernel,
    arrays: Mapping[str, Any],
    sizes: Mapping[str, int],
    scalars: Mapping[str, float] | None = None,
    device: str = "auto",
) -> LaunchOutcome:
    """One launch of a proved kernel; outputs are written in place. A fault the device reports is an error."""
    outcome = choose(device).launch(ready.kernel, ready.code, sizes, arrays, scalars)
    for report in outcome.reports:
        if report.level == "error":
            raise LaunchRefused(f"{ready.kernel.name} on {outcome.device}: {report}", "ARG-O104")
    return outcome
