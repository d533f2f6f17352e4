"""Limits of a decision: every rule has a budget of steps, solver effort, CPU time and memory, then it is `unknown`.

    with limited(Budget("covers")):
        spend(12)                  twelve steps of work; raises LimitReached when the budget is used up
        afford(8 * count)          an array of so many bytes is about to be made; raises when that is too much

Steps (rows of an elimination, monomials of a sum, elements of a case, events) and the solver's own units are counted,
so the same kernel stops at the same place on every machine, loaded or not. CPU time and memory are the last line: they
are looked at every `LOOK` steps or `CALLS` calls of `spend`, and stop what counts too little for what it costs. The
time of a check is shared (`check_time`): by its size a kernel has so many seconds for everything, and one rule may use
a part of them, so that the others still conclude.

The budget is found by context, not passed from hand to hand: a question asked while rule `covers` listens is paid by
`covers`, one asked by the walk itself is paid by the walk. A question that the solver's share of the budget no longer
pays is not asked and counts as undecided; so a rule goes on with what structure, enumeration and elimination decide.

What it cannot do: stop a single operation that counts nothing (numpy on an array that `afford` let pass, one call of
the solver between two looks at its own limit).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from time import process_time

STEPS = 20_000_000
EFFORT = 24_000_000
SECONDS = 60.0
CHECK_SECONDS, SECONDS_PER_OP = 8.0, 0.15
"""CPU time of a whole check. Proofs of the library need 2 s, and 15 s for `layernorm_long` (789 ops) with short loads;
what needs most are counterexamples of kernels such as MoE's, of 164 ops: up to 30 s."""
SHARE = 0.7
"""Part of a check's time that one rule may use."""
MEMORY = 2 << 30
ARRAY = 1 << 28
"""Bytes of one array made by an enumeration."""
LOOK, CALLS = 20_000, 64
"""Steps, and calls of `spend`, between two looks at the clock; at memory only by steps."""
ADVICE = {
    "steps": "smaller tiles or fewer unrolled copies by --set, or check the parts as kernels of their own",
    "solver effort": "narrow the sizes in `requires` (divisors, bounds), or state the relation that is missing",
    "CPU time": "smaller tiles or fewer unrolled copies by --set; `argus check --stats` says which rule takes the time",
    "memory": "smaller tiles or fewer unrolled copies by --set; `argus check --stats` says which rule takes the time",
}


class LimitReached(Exception):
    """A budget is used up: what of it, and whose."""

    def __init__(self, what: str, name: str, limit: str) -> None:
        super().__init__(f"the limit of {what} for `{name}` ({limit}) was reached")
        self.advice = ADVICE[what]


@dataclass(frozen=True, slots=True)
class Limits:
    """What one rule may use: counted steps, units of the solver, CPU seconds, bytes."""

    steps: int = STEPS
    effort: int = EFFORT
    seconds: float = SECONDS
    memory: int = MEMORY


class Budget:
    """What a rule has used of its limits."""

    def __init__(self, name: str, limits: Limits | None = None, late: bool = False) -> None:
        self.name = name
        self.late = late
        """It concludes what is known, also when the time of the check is over."""
        self.limits = limits or (_STATED.get() or {}).get(name, USUAL)
        self.steps = 0
        self.effort = 0
        self.seconds = 0.0
        self._look = min(LOOK, self.limits.steps)
        self._calls = 0
        self._since: float | None = None
        self._memory: int | None = None

    def spend(self, steps: int) -> None:
        self.steps += steps
        self._calls += 1
        if self.steps > self._look:
            self._look_around()
        elif self._calls >= CALLS:
            self._look_at_clock()

    def _look_at_clock(self) -> None:
        self._calls, now, common = 0, process_time(), _TIME.get()
        limit = self.limits.seconds if common is None else min(self.limits.seconds, SHARE * common.seconds)
        used = self.seconds + (0.0 if self._since is None else now - self._since)
        if used > limit:
            raise LimitReached("CPU time", self.name, f"{limit:.3g} s")
        if common is not None and not self.late and now > common.end:
            raise LimitReached("CPU time", "check", f"{common.seconds:.3g} s for {common.ops} ops")

    def _look_around(self) -> None:
        if self.steps > self.limits.steps:
            raise LimitReached("steps", self.name, f"{self.limits.steps:,}")
        self._look = min(self.steps + LOOK, self.limits.steps)
        self._look_at_clock()
        if self._memory is not None and resident() - self._memory > self.limits.memory:
            raise LimitReached("memory", self.name, f"{self.limits.memory >> 20} MiB")

    def afford(self, size: int) -> None:
        if size > min(ARRAY, self.limits.memory):
            raise LimitReached("memory", self.name, f"{min(ARRAY, self.limits.memory) >> 20} MiB for one array")

    @property
    def effort_left(self) -> int:
        return max(0, self.limits.effort - self.effort)

    def enter(self, now: float) -> None:
        self._since = now
        if self._memory is None:
            self._memory = resident()

    def leave(self, now: float) -> None:
        if self._since is not None:
            self.seconds += now - self._since
        self._since = None


@dataclass(frozen=True, slots=True)
class CheckTime:
    """CPU seconds that all rules of a check have together, by the number of ops, and when they end."""

    ops: int
    seconds: float
    end: float


USUAL = Limits()
_TIME: ContextVar[CheckTime | None] = ContextVar("time of the check", default=None)
_STATED: ContextVar[Mapping[str, Limits] | None] = ContextVar("limits by rule", default=None)
_CURRENT: ContextVar[Budget | None] = ContextVar("budget of the rule at work", default=None)


def resident() -> int:
    """Bytes of this process that are in memory now; 0 where the system does not tell."""
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")
    except (OSError, IndexError, ValueError):
        return 0


@contextmanager
def stated_limits(limits: Mapping[str, Limits]) -> Iterator[None]:
    """Other limits than the usual ones, by the name of the rule; `walk` for the walk itself."""
    token = _STATED.set(limits)
    try:
        yield
    finally:
        _STATED.reset(token)


@contextmanager
def check_time(ops: int) -> Iterator[None]:
    """The check of a kernel of so many ops, within its time; a check inside of another one shares that one's."""
    if _TIME.get() is not None:
        yield
        return
    seconds = CHECK_SECONDS + SECONDS_PER_OP * ops
    token = _TIME.set(CheckTime(ops, seconds, process_time() + seconds))
    try:
        yield
    finally:
        _TIME.reset(token)


def seconds_left() -> float:
    """CPU time that is left of the check, or of a rule outside of one."""
    common = _TIME.get()
    return SECONDS if common is None else max(0.0, common.end - process_time())


@contextmanager
def limited(budget: Budget) -> Iterator[Budget]:
    """The budget pays for what is done inside; the one outside stands still."""
    before = _CURRENT.get()
    now = process_time()  # one look at the clock for both: it is a call of the system
    if before is not None:
        before.leave(now)
    token = _CURRENT.set(budget)
    budget.enter(now)
    try:
        yield budget
    finally:
        now = process_time()
        budget.leave(now)
        _CURRENT.reset(token)
        if before is not None:
            before.enter(now)


def spend(steps: int = 1) -> None:
    """Count steps of work."""
    budget = _CURRENT.get()
    if budget is not None:
        budget.spend(steps)


def afford(size: int) -> None:
    """An array of so many bytes is about to be made."""
    budget = _CURRENT.get()
    if budget is not None:
        budget.afford(size)
    elif size > ARRAY:
        raise LimitReached("memory", "check", f"{ARRAY >> 20} MiB for one array")


def effort_left() -> int:
    """Units that the solver may still use for the rule at work."""
    budget = _CURRENT.get()
    return EFFORT if budget is None else budget.effort_left


def spend_effort(units: int) -> None:
    """The solver has used so many units for the rule at work."""
    budget = _CURRENT.get()
    if budget is not None:
        budget.effort += units
