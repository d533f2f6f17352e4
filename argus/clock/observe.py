"""Executes a sample of a launch and records it: on the interpreter when it is short, else on the JIT.

    seen = observe(machine.load("gemm.co").kernel(), grid, block, args, workgroups=[0, 8, 16])
    timing, launch = time_launch(seen.record, seen.insts, seen.kernel, dynamic_lds=seen.lds)

Translating a kernel takes a second, interpreting a very short one less, so the interpreter starts and gives up after
`SHORT` wave instructions. A kernel that the JIT does not translate goes back to the interpreter, without a limit;
`seen.note` then says so. A launch whose sampled workgroups do not end by themselves (they wait for others, or loop on
data) is refused with that reason (`CannotSampleError`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from argus.clock.fold import Folded, whole
from argus.clock.staged import Staged
from argus.gfx942.decoder import decode_all
from argus.gfx942.inst import Inst
from argus.machine.errors import MachineError, MachineReport
from argus.machine.jit.errors import JitError
from argus.machine.launch import Executor, LoadedKernel
from argus.machine.loader import KernelInfo
from argus.machine.record import ExecutionRecord

SHORT = 8_000
LONGEST = 20_000_000
"""Wave instructions of one execution after which a launch is said not to end by itself."""


class CannotSampleError(MachineError):
    """These workgroups do not end: the clock says so and guesses nothing."""

    def __init__(self, workgroups: Sequence[int] | None) -> None:
        which = "all workgroups" if workgroups is None else f"workgroups {', '.join(map(str, workgroups[:4]))}"
        if workgroups is not None and len(workgroups) > 4:
            which += f" and {len(workgroups) - 4} more"
        super().__init__(
            MachineReport(
                "ARG-M111",
                f"the clock cannot sample this launch: {which} did not end within {LONGEST} wave instructions. Either "
                "they wait for workgroups that were not executed (a barrier over the grid, a lock), or a loop counts "
                "on data that the drawn inputs do not bound: pass the real tensors with --arg @file.npy",
            )
        )


@dataclass(frozen=True, slots=True)
class Observed:
    """A recorded sample of a launch, its long loops shortened or not, and what the clock needs beside it."""

    folded: Folded
    insts: tuple[Inst, ...]
    kernel: KernelInfo
    lds: int
    executor: Executor
    note: str = ""

    @property
    def record(self) -> ExecutionRecord:
        return self.folded.record


class Observer:
    """One launch, of which workgroups can be executed in several steps on the executor that suits it."""

    def __init__(
        self,
        kernel: LoadedKernel,
        grid: int | Sequence[int],
        block: int | Sequence[int],
        args: Sequence[Any],
        *,
        lds: int = 0,
        offsets: Sequence[int] | None = None,
        executor: Literal["auto", "jit", "checking"] = "auto",
    ) -> None:
        self.insts = tuple(decode_all(kernel.code.text, kernel.info.start, kernel.info.end))
        self.kernel = kernel.info
        self.lds = lds
        self.note = ""
        self._launch = (kernel, grid, block, args, lds, offsets)
        self._staged: Staged | None = None
        self._wanted = executor
        self.executor: Executor | None = None if executor == "auto" else executor

    def record(self, workgroups: Sequence[int] | None) -> ExecutionRecord:
        """Executes these workgroups (None: all) and returns what they did."""
        if self.executor is None:
            try:
                return self._run(workgroups, "checking", max_steps=SHORT)
            except MachineError as error:
                if "without ending" not in error.report.message:
                    raise
            self._staged = None
        try:
            return self._chosen(workgroups)
        except MachineError as error:
            if "without ending" in error.report.message:
                raise CannotSampleError(workgroups) from error
            raise

    def _chosen(self, workgroups: Sequence[int] | None) -> ExecutionRecord:
        if self.executor == "checking":
            return self._run(workgroups, "checking", max_steps=LONGEST)
        try:
            return self._run(workgroups, "jit", max_steps=LONGEST)
        except JitError as error:
            if self._wanted == "jit" or "without ending" in error.report.message:
                raise
            self.note = f"executed on the interpreter: {error.report.message}"
        return self._run(workgroups, "checking", max_steps=LONGEST)

    def leave_interpreter(self) -> None:
        """What follows is long: let the JIT have it, if the executor was not given and can be chosen."""
        if self._wanted == "auto" and not self.note:
            self.executor = "jit"

    def _run(self, workgroups: Sequence[int] | None, how: Executor, **limits: Any) -> ExecutionRecord:
        self._staged = self._staged or Staged(*self._launch)
        result = self._staged.run(workgroups, how, **limits)
        if result.record is None:
            raise ValueError("the launch left no record")
        self.executor = how
        return result.record

    def observed(self, folded: Folded) -> Observed:
        return Observed(folded, self.insts, self.kernel, self.lds, self.executor or "checking", self.note)


def observe(
    kernel: LoadedKernel,
    grid: int | Sequence[int],
    block: int | Sequence[int],
    args: Sequence[Any],
    *,
    workgroups: Sequence[int] | None = None,
    lds: int = 0,
    offsets: Sequence[int] | None = None,
    executor: Literal["auto", "jit", "checking"] = "auto",
) -> Observed:
    """Runs the `workgroups` (default: all) and keeps what they did. The arrays in `args` are not changed."""
    observer = Observer(kernel, grid, block, args, lds=lds, offsets=offsets, executor=executor)
    return observer.observed(whole(observer.record(workgroups)))
