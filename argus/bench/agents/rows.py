"""The rows of `argus bench agents`: a solution at a published size beside ours, and beside it what was published.

    row = agent_row(solution, variant, 4096, found, root, Compilers(run_python=True), Kept())
    row.status, row.theirs, row.verdict          "right", Timed(...), Paired("faster", 0.12, ...)

`right`      compiled, and right at the small size; without a verdict if it was not timed
`wrong`      a wrong result at the small size: it may be timed, and there is no verdict
`left out`   not found, not compiled or not launched: the reason is beside it
Only rows that are right have a verdict, and only verdicts count. Simulated times form ratios with simulated ones,
published with published ones (`published_ratio`: the publication's own reference over theirs), never both together.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

from argus.bench.agents.expressions import whole_number
from argus.bench.agents.judging import SolutionJudgement, judged
from argus.bench.agents.launching import Compilers, ReadySolution, built
from argus.bench.agents.problem import SIZES, AgentProblem, OursTimed
from argus.bench.agents.problems import PROBLEMS
from argus.bench.agents.refusal import SolutionRefused
from argus.bench.agents.solutions import AgentSolution, AgentVariant, ProblemName, PublishedReference, SolutionSet
from argus.bench.attention import lengths
from argus.bench.contestant import Contestant, executed
from argus.bench.kept import Kept, Timed, mark
from argus.bench.others import Best
from argus.bench.verdict import verdict
from argus.clock.paired import Paired
from argus.machine import MachineError

Status = Literal["right", "wrong", "left out"]


@dataclass(frozen=True, slots=True)
class AgentRow:
    """A solution at a size; `reason`: why it is wrong, left out or not timed."""

    system: str
    variant: str
    problem: ProblemName
    size: int
    status: Status
    reason: str = ""
    error_share: float | None = None
    ours: Timed | None = None
    ours_detail: str = ""
    theirs: Timed | None = None
    verdict: Paired | None = None
    published_ms: float | None = None
    reference: str = ""
    reference_ms: float | None = None
    note: str = ""

    @property
    def name(self) -> str:
        return f"{self.system}, {self.variant}" if self.variant else self.system

    @property
    def published_ratio(self) -> float | None:
        """Published time of the publication's own reference over the published time of this one."""
        if self.published_ms is None or self.reference_ms is None:
            return None
        return self.reference_ms / self.published_ms

    def to_json(self) -> dict[str, Any]:
        share = self.error_share
        finite = share is None or math.isfinite(share)
        return {
            "system": self.system, "variant": self.variant, "problem": self.problem, "size": self.size,
            "status": self.status, "reason": self.reason, "error_share": share if finite else str(share),
            "ours_simulated": None if self.ours is None else self.ours.to_json(), "ours": self.ours_detail,
            "theirs_simulated": None if self.theirs is None else self.theirs.to_json(),
            "verdict_simulated": None if self.verdict is None else self.verdict.to_json(),
            "published_ms": self.published_ms, "published_reference": self.reference,
            "published_reference_ms": self.reference_ms, "published_reference_over_theirs": self.published_ratio,
            "note": self.note,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class AgentRun:
    """What all rows share. `timing`: whether the clock is asked at all."""

    found: SolutionSet
    root: Path
    compilers: Compilers
    kept: Kept
    clocks: int = 0
    timing: bool = True
    problems: Mapping[ProblemName, AgentProblem] = field(default_factory=lambda: PROBLEMS)


def agent_rows(
    run: AgentRun, systems: Sequence[str] = (), problems: Sequence[str] = (), sizes: Sequence[int] = ()
) -> Iterator[AgentRow]:
    """Rows one by one, problem by problem; empty selections mean all. A solution is judged once, ours timed once."""
    for problem in run.problems:
        mine: dict[int, OursTimed] = {}
        for solution in run.found.solutions:
            if solution.problem != problem or (problems and problem not in problems):
                continue
            if systems and solution.system not in systems:
                continue
            for variant in solution.variants:
                chosen = [size for size in sizes or SIZES if not variant.sizes or size in variant.sizes]
                yield from _of_variant(run, solution, variant, chosen, mine)


def _of_variant(
    run: AgentRun, solution: AgentSolution, variant: AgentVariant, sizes: Sequence[int], mine: dict[int, OursTimed]
) -> Iterator[AgentRow]:
    problem = run.problems[solution.problem]
    judgement: SolutionJudgement | None = None
    why = ""
    if sizes:
        try:
            judgement = judged(solution, variant, problem, run.root, run.compilers)
        except SolutionRefused as error:
            why = str(error)
    for size in sizes:
        row = _blank(solution, variant, size, run.found.references.get(solution.problem))
        if judgement is None:
            yield replace(row, reason=why)
            continue
        status: Status = "right" if judgement.right else "wrong"
        row = replace(row, status=status, reason=judgement.reason, error_share=judgement.share)
        yield _timed(run, solution, variant, row, mine) if run.timing else row


def _blank(solution: AgentSolution, variant: AgentVariant, size: int, reference: PublishedReference | None) -> AgentRow:
    return AgentRow(
        solution.system, variant.name, solution.problem, size, "left out",
        published_ms=variant.published_ms.get(str(size)), reference="" if reference is None else reference.name,
        reference_ms=None if reference is None else reference.published_ms.get(str(size)), note=solution.note,
    )  # fmt: skip


def _timed(
    run: AgentRun, solution: AgentSolution, variant: AgentVariant, row: AgentRow, mine: dict[int, OursTimed]
) -> AgentRow:
    """The row with both times; without a time it has no verdict."""
    problem = run.problems[solution.problem]
    if row.size not in mine:
        mine[row.size] = problem.ours(row.size, run.kept)
    ours = mine[row.size]
    row = replace(row, ours=ours.timed, ours_detail=ours.detail)
    try:
        if solution.untimed:
            raise SolutionRefused(solution.untimed)
        sizes = problem.sizes(row.size)
        ready = built(solution, variant, sizes, problem.operands(row.size), run.root, run.compilers)
        make = partial(contestant, ready, solution, variant, sizes)
        theirs = run.kept.time(_words(ready, solution, row), make, SolutionRefused)
        if theirs.why:
            raise SolutionRefused(theirs.why)
    except SolutionRefused as error:
        return replace(row, reason="; ".join(filter(None, (row.reason, f"not timed: {error}"))))
    row = replace(row, theirs=theirs)
    return replace(row, verdict=_verdict(run, ours, theirs, make)) if row.status == "right" else row


def _words(ready: ReadySolution, solution: AgentSolution, row: AgentRow) -> str:
    launch = f"{ready.grid} {ready.block} {ready.lds} {solution.arguments} {solution.steps}"
    return f"agents {row.problem} {row.name} {mark(ready.code)} {mark(launch)} at {row.size}"


def _verdict(run: AgentRun, ours: OursTimed, theirs: Timed, make: Callable[[], Contestant]) -> Paired | None:
    best = Best(theirs.us, "", 1, (), theirs.interval)
    return verdict(ours.timed, best, lambda: (ours.make(), make()), run.clocks, run.kept.protocol)


def contestant(
    ready: ReadySolution, solution: AgentSolution, variant: AgentVariant, sizes: Mapping[str, int]
) -> Contestant:
    """The launch with a sample of it executed; workgroups of unlike length get theirs from `steps`."""
    try:
        part = executed(ready.work(solution.system))
    except (MachineError, ValueError) as error:
        raise SolutionRefused((str(error).splitlines() or ["no reason"])[0]) from error
    if solution.steps and part.recorded.work is not None:
        across, down, deep = (*ready.grid, 1, 1)[:3]
        found = steps_of(solution.steps, variant.known(sizes), (across, down, deep))
        part.recorded.work = lengths(part.recorded.work, found.__getitem__, len(found))
    return Contestant(solution.system, variant.name, (part,))


def steps_of(text: str, sizes: Mapping[str, int], grid: tuple[int, int, int]) -> list[int]:
    """The steps of every workgroup by its number; each coordinate that the expression names is gone through."""
    across, down, deep = grid
    named = [range(count) if axis in text else range(1) for axis, count in zip(("bx", "by", "bz"), grid, strict=True)]
    known = {
        (x, y, z): whole_number(text, {**sizes, "bx": x, "by": y, "bz": z})
        for z in named[2] for y in named[1] for x in named[0]
    }  # fmt: skip
    xs, ys, zs = (len(axis) for axis in named)
    return [known[x % xs, y % ys, z % zs] for z in range(deep) for y in range(down) for x in range(across)]
