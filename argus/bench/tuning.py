"""Times and proofs for `argus.agent.tuning`: the clock (graph protocol) and the checker.

Times are kept in out/launches, as those of KernelBench's tasks are (`argus.bench.kernelbench.timing`). Whether an
alternative is faster is asked again under perturbed clocks, both sides under the same ones (`argus.clock.paired`):
`won` says under how many of them it is, `low` and `high` are the 90 % interval of the ratio.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from argus.agent.tuning.tuner import LaunchesTime, TrialRefused
from argus.bench.contestant import Contestant, from_choice
from argus.bench.kept import Kept
from argus.bench.kernelbench.timing import LAUNCHES, timed_key, timed_launch
from argus.clock import LABEL, PARAMETERS, Launch, Parameters
from argus.clock.paired import decided
from argus.clock.sensitivity import perturbed
from argus.ir.compile_error import CompileError
from argus.lang.errors import ProgramError
from argus.ops.choice import Choice
from argus.pipeline import program_of, report_of
from argus.plan.plan import PlannedLaunch
from argus.plan.planner import kernel_of

DIGITS = 16
CLOCKS = 4
"""Perturbed clocks under which an alternative is compared with what it replaces."""


class ClockBench:
    """The simulated MI300X; `keep`: where times are kept."""

    clock = LABEL

    def __init__(self, keep: Path | None = LAUNCHES, clocks: int = CLOCKS) -> None:
        self.kept, self.clocks = Kept(keep, "graph"), clocks

    def time(self, launches: Sequence[PlannedLaunch]) -> LaunchesTime:
        try:
            times = [timed_launch(launch, self.kept, proved=False) for launch in launches]
        except (CompileError, ProgramError) as error:
            raise TrialRefused(str(error)) from error
        bounds = [each.interval for each in times if each.interval is not None]
        low, high = (math.fsum(side) for side in ((b.low for b in bounds), (b.high for b in bounds)))
        return LaunchesTime(math.fsum(each.us for each in times), low, high)

    def faster(self, ours: Sequence[PlannedLaunch], theirs: Sequence[PlannedLaunch]) -> dict[str, Any]:
        one, other = _executed(ours), _executed(theirs)

        def under(those: Sequence[Contestant], parameters: Parameters) -> list[Launch]:
            return [launch for each in those for launch in each.launches(parameters, "graph")]

        clocks = [PARAMETERS, *perturbed(count=self.clocks)]
        ratios = [_total(under(one, clock)) / _total(under(other, clock)) for clock in clocks]
        found = decided(math.log(ratios[0]), [math.log(each) for each in ratios[1:]], 0.0)
        rounded = {name: round(getattr(found, name), 4) for name in ("ratio", "low", "high")}
        return {**rounded, "clocks": self.clocks, "won": sum(each < 1 for each in ratios[1:])}

    def evidence(self, launches: Sequence[PlannedLaunch]) -> list[dict[str, Any]]:
        found = []
        for file, kernel, knobs in dict.fromkeys(launch.key for launch in launches):
            path = next(launch.path for launch in launches if launch.file == file)
            report = report_of(program_of(path, dict(knobs), kernel))
            if not report.proved:
                raise TrialRefused(f"{kernel} is {report.status} with {dict(knobs)}")
            text = kernel_of(file, kernel, knobs).full_source
            found.append(
                {
                    "file": file,
                    "kernel": kernel,
                    "knobs": dict(knobs),
                    "proved": len(report.verdicts),
                    "text": sha256(text.encode()).hexdigest()[:DIGITS],
                }
            )
        return found


def _total(launches: Sequence[Launch]) -> float:
    return math.fsum(launch.sustained.microseconds for launch in launches)


def _executed(launches: Sequence[PlannedLaunch]) -> list[Contestant]:
    """Every launch executed; equal ones once."""
    made: dict[Any, Contestant] = {}
    for launch in launches:
        if timed_key(launch) not in made:
            choice = Choice(launch.file, launch.kernel, launch.knobs)
            made[timed_key(launch)] = from_choice(launch.kernel, choice, launch.sizes, proved=False)
    return [made[timed_key(launch)] for launch in launches]
