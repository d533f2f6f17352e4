"""`argus check --run`: the launches that executed a proof, and the launch that refutes a value, on the machine.

    executed 6 launches on simulated gfx942, checking interpreter
    on the machine, too: C[0, 3] is 1.5 instead of 3

The code object is made for this program whatever the verdict is, and run with all checks of the machine. A proved
kernel that disagrees there is no longer proved (ARG-K101). A refuted value that the machine does not confirm is said.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from argus.check.executed.after_proof import disagreeing
from argus.check.executed.execute import attempts, compared
from argus.check.executed.inputs import data_of
from argus.check.executed.launches import launches
from argus.check.executed.outcome import Disagreement, SmallLaunch
from argus.check.executed.premises import outside
from argus.check.explain.value_witness import launch_of
from argus.check.proof_cache import directory
from argus.check.report import Counterexample, Report
from argus.compile.cache import compile_cached
from argus.device.simulated import CheckingDevice
from argus.ir.compile_error import CompileError
from argus.ir.kernel import Kernel
from argus.ir.stages import Scheduled
from argus.tasks.inputs import in_memory


@dataclass(frozen=True, slots=True)
class OnMachine:
    """The report, changed if the machine disagrees, and what to say about the run."""

    report: Report
    sentences: list[str]


def executed_on_machine(program: Scheduled, report: Report) -> OnMachine:
    """Execute what the report speaks of."""
    refuted = [v.counterexample for v in report.verdicts if v.rule == "value" and v.counterexample is not None]
    if not report.proved and not refuted:
        return OnMachine(report, ["nothing was executed on the machine: nothing about values is proved or refuted"])
    try:
        code = compile_cached(program).object
    except CompileError as error:
        return OnMachine(report, [f"nothing was executed on the machine: {error}"])
    return _confirmed(program, report, refuted[0], code) if refuted else _proof(program, report, code)


def _proof(program: Scheduled, report: Report, code: bytes) -> OnMachine:
    kernel, name, done = program.kernel, CheckingDevice.name, 0
    if kernel.computes is None:
        return OnMachine(report, ["nothing was executed on the machine: the kernel states no specification"])
    without: set[str] = set()
    for launch in launches(kernel):
        found, counted = None, 0
        for one in attempts(launch):
            found, counted, missing = _launched(kernel, code, one)
            if found is None:
                without |= {f"not compared: {result}: {why}" for result, why in missing.items()}
                break
            if found.hazard or not outside(kernel, one):
                found = replace(found, device=name)
                changed = disagreeing(report, found, directory().parent)
                return OnMachine(changed, [f"WRONG on the machine: {found.sentence()}"])
        done += found is None and counted > 0
    if not done:
        why = sorted(without) or ["nothing was executed on the machine: no launch is small enough"]
        return OnMachine(report, why)
    return OnMachine(report, [f"executed {done} launch{'es' if done != 1 else ''} on {name}", *sorted(without)])


def _launched(kernel: Kernel, code: bytes, launch: SmallLaunch) -> tuple[Disagreement | None, int, dict[str, str]]:
    """A report of the machine, or the first wrong element; elements compared; results that were not."""
    made, given = data_of(kernel, launch)
    memory = in_memory(kernel, launch.sizes, made)
    outcome = CheckingDevice().launch(kernel, code, launch.sizes, memory, given)
    errors = [r for r in outcome.reports if r.level == "error"]
    if errors:
        return Disagreement(launch, "", (), 0.0, 0.0, str(errors[0]).splitlines()[0]), 0, {}
    results = {t.name: np.asarray(memory[t.name]) for t in kernel.tensors if t.written}
    counted, found, without = compared(kernel, launch, made, given, results)
    return found, counted, without


def _confirmed(program: Scheduled, report: Report, shown: Counterexample, code: bytes) -> OnMachine:
    """The refuting launch again: does the machine hold the same wrong value?"""
    kernel, party = program.kernel, shown.operands[0]
    made, given = data_of(kernel, launch_of(shown))
    memory = in_memory(kernel, shown.sizes, made)
    CheckingDevice().launch(kernel, code, shown.sizes, memory, given)
    at = tuple(party.coords.values())
    held = float(np.asarray(memory[party.tensor])[at].astype(np.float64))
    place = f"{party.tensor}[{', '.join(f'{axis}={n}' for axis, n in party.coords.items())}]"
    return OnMachine(report, [f"replayed on {CheckingDevice.name}: {place} is {held:.6g} there"])
