"""A rule behind a shield: a mistake inside one rule costs that rule its verdicts, and nothing else.

    placed raises KeyError while it listens   ->   unknown[placed]: internal: KeyError: ... (placed.py:88)

A rule that has failed hears nothing more, and whatever it had found before is withheld, since it may rest on half of
the program. The other rules go on. If the walk itself fails, no rule has heard everything, and all of them are unknown.

Each rule has its own budget (`limits`). A rule that uses it up while it listens is unknown, and the reason says what to
try. Counterexamples are looked for within the same budget, after the proof (`explain.refuters`).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from traceback import extract_tb
from typing import get_args

from argus.check.events import Event, RuleEvents
from argus.check.rules.rule import Rule
from argus.check.solve.limits import Budget, LimitReached, limited, spend
from argus.check.verdict import Verdict
from argus.check.walk import KernelWalk
from argus.ir.kernel import Kernel

HELP = "this is a mistake of the checker, not of the kernel; please report it with the kernel"


def internal(error: Exception) -> str:
    """The reason a verdict gives for an error nobody expected."""
    frames = extract_tb(error.__traceback__)
    where = f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
    text = str(error)
    return f"internal: {type(error).__name__}{': ' + text if text else ''}{where}"


class Shielded:
    """Listens in place of a rule and passes everything on, until the rule fails."""

    def __init__(self, rule: Rule) -> None:
        self.rule = rule
        self.failed = ""
        self.help = HELP
        self.seconds = 0.0
        self.budget = Budget(rule.name)
        self.hears = frozenset(e for e in get_args(Event) if getattr(type(rule), e) is not getattr(Rule, e))
        """Events the rule listens to at all."""

    @property
    def name(self) -> str:
        return self.rule.name

    def tell(self, event: Callable[[], None]) -> None:
        """Let the rule hear an event, within its budget; if that fails, the rule has failed."""
        if self.failed:
            return
        start = perf_counter()
        try:
            with limited(self.budget):
                spend()
                event()
        except LimitReached as reached:
            self.failed, self.help = str(reached), reached.advice
        except Exception as error:
            self.failed = internal(error)
        self.seconds += perf_counter() - start

    def begin(self, flow: KernelWalk) -> None:
        self.failed = ""
        self.tell(lambda: self.rule.begin(flow))

    def hear(self, event: Event, heard: Callable[[RuleEvents], None]) -> None:
        if event in self.hears:
            self.tell(lambda: heard(self.rule))

    def finish(self) -> None:
        self.tell(self.rule.finish)

    def failure(self, kernel: Kernel) -> Verdict:
        return Verdict(self.name, "unknown", kernel.span, -1, "none", reason=self.failed, help=self.help)
