"""Whether a solution is right: launched at a small size on the machine and compared with float64.

    judged(solution, variant, problem, root, compilers)     -> SolutionJudgement(right=False, share=…, reason=…)

An element is right within TOLERANCE of its magnitude plus the root mean square of all: four roundings to bf16, far more
than an honest order of summation costs, far less than a wrong scale or a row that was left out. The publications state
no tolerance of their own with these kernels. What was never written is NaN and wrong.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from argus.bench.agents.launching import Compilers, built
from argus.bench.agents.problem import AgentProblem
from argus.bench.agents.refusal import SolutionRefused
from argus.bench.agents.solutions import AgentSolution, AgentVariant
from argus.machine import MachineError

TOLERANCE = 2.0**-6
NOT_JUDGED = ("ARG-M107", "ARG-M108", "ARG-M109", "ARG-M110", "ARG-M111")
"""What stops a launch and is no wrong result: it is too long, too large, not translated, no code, or no launch."""


@dataclass(frozen=True, slots=True)
class SolutionJudgement:
    """`share`: the largest error as a part of its tolerance; infinite where something is not finite."""

    right: bool
    share: float
    reason: str = ""


def judged(
    solution: AgentSolution, variant: AgentVariant, problem: AgentProblem, root: Path, compilers: Compilers
) -> SolutionJudgement:
    """The judgement; SolutionRefused if it cannot be compiled or launched."""
    case = problem.small()
    ready = built(solution, variant, case.sizes, case.arrays, root, compilers)
    outputs = [name for name in case.wanted if name in solution.arguments.values()]
    if not outputs:
        raise SolutionRefused(f"no argument is an output: {', '.join(case.wanted)}")
    try:
        ready.launch()
    except MachineError as error:
        if error.report.code in NOT_JUDGED:
            raise SolutionRefused(str(error).splitlines()[0]) from error
        return SolutionJudgement(False, float("inf"), str(error).splitlines()[0])
    found = [compared(case.arrays[name].astype(np.float64), case.wanted[name]) for name in outputs]
    return max(found, key=lambda judgement: judgement.share)


def compared(got: np.ndarray, want: np.ndarray) -> SolutionJudgement:
    """An output beside its reference."""
    allowed = TOLERANCE * (np.abs(want) + np.sqrt(np.mean(want**2)))
    with np.errstate(invalid="ignore"):
        shares = np.where(np.isfinite(got), np.abs(got - want) / allowed, np.inf)
    wrong, unwritten = int((shares > 1.0).sum()), int(np.isnan(got).sum())
    if not wrong:
        return SolutionJudgement(True, float(shares.max()))
    parts = [f"{wrong} of {want.size} elements are wrong"]
    if unwritten:
        parts.append(f"{unwritten} of them never written or NaN")
    finite = np.isfinite(got) & (want != 0.0)
    if finite.any() and not unwritten:
        parts.append(f"median of got ÷ wanted {np.median(got[finite] / want[finite]):.3g}")
    return SolutionJudgement(False, float(shares.max()), ", ".join(parts))
