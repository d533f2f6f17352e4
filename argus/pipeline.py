"""The way of a kernel from its file to a code object, each step once: read, schedule, prove, compile.

    program = program_of("gemm.py", {"BM": 128}, "gemm")     Scheduled
    proof = prove(program)                                   Proved; raises Unproved with the report
    built = build(proof)                                     Compiled

Command line, operations, judge and tests all go this way, so they speak of the same program. `report_of` gives the
report whatever it says, for those who show it. An object of an unproved program is made only by who calls
`compile_cached(program)` on purpose (`--force`, tests of the machine).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from argus.check.engine import check
from argus.check.executed.after_proof import after_proof
from argus.check.proof_cache import check_cached, directory
from argus.check.report import Report
from argus.compile.cache import compile_cached
from argus.compile.compiler import Compiled
from argus.gfx942.target import GFX942, Target
from argus.ir.kernel import KnobValue
from argus.ir.passes.schedule import scheduled
from argus.ir.stages import Scheduled
from argus.lang.reader import read


class Unproved(RuntimeError):
    """The checker does not prove the kernel; the message is its report."""

    def __init__(self, message: str, report: Report) -> None:
        super().__init__(message)
        self.report = report


@dataclass(frozen=True, slots=True)
class Proved:
    """A program and the report that proves it."""

    program: Scheduled
    report: Report


def program_of(
    file: str | Path, settings: Mapping[str, KnobValue], kernel: str | None = None, target: Target = GFX942
) -> Scheduled:
    """The kernel of a file, in its final order, for a target."""
    return scheduled(read(file, settings=settings, kernel=kernel, target=target))


def report_of(program: Scheduled, kept: bool = True, run: bool = True) -> Report:
    """What the checker says; `kept` verdicts of this very program are taken from disk. A proof is executed (`run`)."""
    return check_cached(program, run) if kept else after_proof(program, check(program), directory().parent, run)


def prove(program: Scheduled, kept: bool = True) -> Proved:
    """The program with its proof; raises `Unproved` if anything is refuted or unknown."""
    report = report_of(program, kept)
    if not report.proved:
        settings = dict(program.kernel.settings)
        raise Unproved(f"{program.name} is not proved with {settings}\n{report.render()}", report)
    return Proved(program, report)


def build(proof: Proved) -> Compiled:
    """The code object of a proved program, from disk where it is kept."""
    return compile_cached(proof.program)
