"""Executes a sample of a launch and records it: on the interpreter when it is short, else on the JIT.

    seen = observe(machine.load("gemm.co").kernel(), grid, block, args, workgroups=[0, 8, 16])
    timing, launch = time_launch(seen.record, seen.insts, seen.kernel, dynamic_lds=seen.lds)

Translating a kernel takes seconds, interpreting a short one less, so the interpreter starts (on copies of the arrays)
and gives up after `SHORT` wave instructions. A kernel that the JIT does not translate goes back to the interpreter,
without a limit; `seen.note` then says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from argus.gfx942.decoder import decode_all
from argus.gfx942.inst import Inst
from argus.machine import Options
from argus.machine.errors import MachineError
from argus.machine.jit.errors import JitError
from argus.machine.launch import Executor, Kernel, LaunchResult
from argus.machine.loader import KernelInfo
from argus.machine.record import ExecutionRecord

SHORT = 60_000


@dataclass(frozen=True, slots=True)
class Observed:
    """A recorded sample of a launch and what the clock needs beside it."""

    record: ExecutionRecord
    insts: tuple[Inst, ...]
    kernel: KernelInfo
    lds: int
    executor: Executor
    note: str = ""


def observe(
    kernel: Kernel,
    grid: int | Sequence[int],
    block: int | Sequence[int],
    args: Sequence[Any],
    *,
    workgroups: Sequence[int] | None = None,
    lds: int = 0,
    offsets: Sequence[int] | None = None,
    executor: Literal["auto", "jit", "interp"] = "auto",
) -> Observed:
    """Runs the `workgroups` (default: all) and keeps what they did. The arrays in `args` are not changed."""
    insts = tuple(decode_all(kernel.code.text, kernel.info.start, kernel.info.end))

    def run(how: Executor, **limits: Any) -> LaunchResult:
        options = Options(record=True, workgroups=workgroups, **limits)
        fresh = [value.copy() if isinstance(value, np.ndarray) else value for value in args]
        return kernel(grid, block, *fresh, lds=lds, offsets=offsets, options=options, executor=how)

    def done(result: LaunchResult, how: Executor, note: str = "") -> Observed:
        if result.record is None:
            raise ValueError("the launch left no record")
        return Observed(result.record, insts, kernel.info, lds, how, note)

    if executor == "interp":
        return done(run("interp"), "interp")
    if executor == "auto":
        try:
            return done(run("interp", max_steps=SHORT), "interp")
        except MachineError as error:
            if "without ending" not in error.report.message:
                raise
    try:
        return done(run("jit"), "jit")
    except JitError as error:
        if executor == "jit":
            raise
        return done(run("interp"), "interp", f"executed on the interpreter: {error.report.message}")
