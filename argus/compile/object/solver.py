"""What the normal form does not decide, asked of Z3 in bit-vectors of 32 and 64 bits.

    solver.never(active, difference)      no thread of any launch has all of these words different from 0

Conditions come first to cases over the choices in the words, which needs no solver: `guard` excludes a lane by an empty
buffer or by an offset that is out of range, each in its own case. Then Z3 is asked, with what is known of every launch
(what the kernel requires, the grid). `False` means *not shown*: possible, or not decided within the limits of effort,
CPU time and memory of one kernel and one question (`argus.check.solve.limits`). A proof is never taken from a question
whose facts exclude each other: they are asked for once by themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from argus.check.solve.limits import Budget, Limits, effort_left, limited, spend_effort
from argus.machine.symbolic.bit_vectors import BitVectors
from argus.machine.symbolic.cases import never_together
from argus.machine.symbolic.sums import WordSum
from argus.machine.symbolic.words import Words

LIMITS = Limits(effort=12_000_000, seconds=8.0, memory=1 << 30)
"""For one kernel."""
QUESTION = 800_000
"""Z3's units of effort for one question; about half a second at most."""
MOST_FAILED = 2
"""Questions of one kernel that Z3 did not answer with a proof; after them no others are asked."""
MOST_CASES = 300
"""Cases of the choices in the words of one question."""
MEGABYTES = 512
MILLISECONDS = 4_000
"""Memory of the solver for one question, and the last line should it not look at its own limit."""
DECIDED = 50_000
"""What a question with an answer is counted as; one without an answer has used up its share."""


class AccessSolver:
    """Questions about the words of one kernel; `known` makes words that are 1 at every launch, when first asked."""

    def __init__(self, space: Words, known: Callable[[], Sequence[WordSum]]) -> None:
        self.space, self._known = space, known
        self._answers: dict[tuple[WordSum, ...], str] = {}
        self.ways: set[str] = set()
        """How what was shown since somebody cleared it was shown: `cases`, `solver`."""
        self._vectors: BitVectors | None = None
        self._facts: list[Any] = []
        self._budget = Budget("object accesses", LIMITS)
        self._usable, self._failed = True, 0

    def never(self, *words: WordSum) -> bool:
        """No thread of any launch has all these words different from 0."""
        if any(not word.terms for word in words):
            return True
        key = tuple(dict.fromkeys(words))
        answer = self._answers.get(key)
        if answer is None:
            if never_together(self.space, key, MOST_CASES):
                answer = "cases"
            else:
                answer = "solver" if self._asked(key) else ""
            self._answers[key] = answer
        self.ways |= {answer} - {""}
        return answer != ""

    def _asked(self, words: tuple[WordSum, ...]) -> bool:
        if not self._usable or self._failed >= MOST_FAILED or self._budget.seconds > LIMITS.seconds:
            return False
        with limited(self._budget):
            shown = self._unsatisfiable(words)
        self._failed += not shown
        return shown

    def _unsatisfiable(self, words: tuple[WordSum, ...]) -> bool:
        import z3

        try:
            if self._vectors is None:
                self._vectors = BitVectors(self.space)
                self._facts = [self._vectors.word(word) == 1 for word in self._known()]
                self._usable = self._check([]) == z3.sat
            return self._usable and bool(self._check([self._vectors.word(word) != 0 for word in words]) == z3.unsat)
        except (z3.Z3Exception, MemoryError):
            return False

    def _check(self, conditions: list[Any]) -> Any:
        import z3

        assert self._vectors is not None
        effort = min(QUESTION, effort_left())
        if effort <= 0:
            return z3.unknown
        solver = z3.SolverFor("QF_BV")
        solver.set("rlimit", effort)
        solver.set("max_memory", MEGABYTES)
        solver.set("timeout", MILLISECONDS)
        solver.add(*self._facts, *conditions, *self._vectors.facts())
        found = solver.check()
        spend_effort(QUESTION if found == z3.unknown else DECIDED)
        return found
