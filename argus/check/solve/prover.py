"""Deciding conditions: does a goal follow from facts, can facts hold together.

    holds((kt < K//64, K % 64 == 0), kt*64 + 63 < K)          -> True

Order: structural (constants, a fact itself, bounds carried by the expression), a model of an earlier question that
fits this one (`model_reuse`), elimination among linear facts (`linear_elimination`), then Z3 over mathematical
integers, or 64-bit vectors where bit operations make integers impossible, with the no-overflow condition proved beside
it. Effort is limited by Z3's deterministic `rlimit`, for each question and for all questions of a rule together
(`limits`), so a verdict does not depend on the load of the machine; CPU time and memory have limits that only what
escapes this reaches. `undecided` keeps what Z3 leaves open.

Only facts connected to the question by common variables are handed to the solver.
Answers are three-valued: None means "not decided", and callers must treat it as the bad case.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping
from time import perf_counter
from typing import Any, Protocol, assert_never

from argus.check.solve.block_numbers import digits_named
from argus.check.solve.lemmas import AskedQuestion, Facts, Lemma, Method, chosen, question_name
from argus.check.solve.limits import effort_left, seconds_left, spend, spend_effort
from argus.check.solve.linear_elimination import Eliminated, contradict
from argus.layout import expr as E
from argus.layout.expr import Expr, ExprError

RLIMIT = 4_000_000
ATTEMPTS = (4, 4, 1)
"""Z3 often loses its way where a fresh start does not: attempts with a fourth of the effort come before the whole."""
MAX_MEGABYTES = 1024
"""Memory of the solver for one question."""
MAX_MILLISECONDS, LEAST_MILLISECONDS = 60_000, 1000
"""The last line, should the solver not look at its own limit: by the wall, so four times what is left of CPU time on a
machine that is not loaded, and as many times more as processes wait for a core."""
MAX_FACTS = 4096
"""Facts of one question."""
SHOWN_BY = {"elimination": {"elimination", "cases", "digits"}, "Z3": {"Z3"}}


class KnownModels(Protocol):
    """Numbers that made facts true before (`model_reuse`). Not trusted: facts that can be true show no goal."""

    def keep(self, model: Any, terms: dict[Expr, Any]) -> None: ...

    def backwards(self, gone: Eliminated, facts: Facts) -> bool: ...

    def shows(self, facts: Facts) -> bool: ...

    def imagined(self, facts: Facts) -> bool: ...


class Prover:
    """Decides over `base`, the facts true everywhere (what the kernel requires, launch bounds)."""

    def __init__(
        self,
        base: Iterable[Expr] = (),
        models: KnownModels | None = None,
        lemmas: Mapping[str, Lemma] | None = None,
    ) -> None:
        self.base: Facts = tuple(base)
        self.lemmas = lemmas or {}
        """What to try first, by the name of the question."""
        self.asked: dict[str, AskedQuestion] = {}
        """All questions, for lemmas to be made of."""
        self.decided: Counter[str] = Counter()
        self.seconds = 0.0
        self.effort = 0
        """What Z3 spent, in its own units (those of `rlimit`)."""
        self.last: Method = "structural"
        """How the last question was decided."""
        self.undecided: list[Facts] = []
        """Questions that nothing answered."""
        self.used: set[Method] = set()
        """How questions since the last `reason` were decided, those that had been asked before too."""
        self._memo: dict[tuple[frozenset[Expr], Expr], bool | None] = {}
        self._how: dict[tuple[frozenset[Expr], Expr], Method] = {}
        self._refused = False
        """The last question was not asked, as the rule at work has no effort left; another rule may ask it."""
        self._models = models
        self._spent = 0
        """Z3's effort in this process when it was last asked."""

    @property
    def queries(self) -> int:
        """Questions of arithmetic, answered by elimination or by Z3."""
        return self.decided["linear"] + self.decided["z3 integers"] + self.decided["z3 bits"]

    def holds(self, facts: Iterable[Expr], goal: Expr) -> bool | None:
        """True: the goal follows. False: the facts allow its negation. None: undecided."""
        if goal.op == "const":
            self.decided["structural"] += 1
            return True if goal.value else not_(self.possible(facts))
        known = frozenset((*self.base, *facts))
        if goal in known or any(fact.op == "land" and goal in fact.args for fact in known):
            self.decided["structural"] += 1
            return True
        relevant = _cone(known, goal.free())
        key = (relevant, goal)
        if key not in self._memo:
            answer = not_(self._satisfiable((E.lnot(goal), *relevant), aimed=True))
            if self._refused:
                return answer
            self._memo[key], self._how[key] = answer, self.last
        self.used.add(self._how[key])
        return self._memo[key]

    def possible(self, facts: Iterable[Expr]) -> bool | None:
        """Can all facts (and the base) be true together?"""
        own = frozenset(facts)
        if E.FALSE in own:
            self.decided["structural"] += 1
            return False
        seeds = frozenset(v for fact in own or self.base for v in fact.free())
        relevant = _cone(own | frozenset(self.base), seeds)
        key = (relevant, E.TRUE)
        if key not in self._memo:
            answer = self._satisfiable(tuple(relevant))
            if self._refused:
                return answer
            self._memo[key], self._how[key] = answer, self.last
        self.used.add(self._how[key])
        return self._memo[key]

    def reason(self, otherwise: str = "structural") -> str:
        """How questions since the last call were decided: by Z3, by elimination, or `otherwise` alone."""
        by = [name for name, ways in SHOWN_BY.items() if ways & self.used]
        self.used.clear()
        return "+".join([otherwise, *by] if otherwise != "structural" or not by else by)

    def _satisfiable(self, facts: Facts, aimed: bool = False) -> bool | None:
        """`aimed`: the first fact is the one that matters, others are there to contradict it."""
        start, name = perf_counter(), question_name(facts)
        spend(1 + len(facts))
        self._refused, self.last = False, "structural"
        lemma = self.lemmas.get(name)
        if lemma is not None and lemma.how == "open":
            self.decided["open by lemma"] += 1
            answer = None
        elif lemma is not None and self._contradicts(without_multiples(chosen(facts, lemma)), lemma.how):
            self.decided["lemma"] += 1
            self.last, answer = lemma.how, False
        else:
            answer = self._decided(without_multiples(facts), aimed)
        if not self._refused:
            self.asked[name] = AskedQuestion(facts, answer, self.last)
        self.seconds += perf_counter() - start
        return answer

    def _contradicts(self, facts: Facts, how: Method) -> bool:
        """This method shows that the facts cannot be true together."""
        match how:
            case "structural":
                return E.FALSE in facts
            case "elimination" | "cases":
                return contradict(facts, how == "cases") is True
            case "digits":
                return _by_digits(facts)
            case "Z3":
                return effort_left() > 0 and self._by_z3(facts)[0] is False
            case "open":
                return False
            case _:
                assert_never(how)

    def _decided(self, facts: Facts, aimed: bool) -> bool | None:
        if E.FALSE in facts:
            self.decided["structural"] += 1
            return False
        if self._models is not None and self._models.shows(facts):
            self.decided["known model"] += 1
            return True
        methods: tuple[Method, Method] = ("elimination", "cases")
        for how in methods:
            found = contradict(facts, how == "cases")
            if found is True or (found and self._models is not None and self._models.backwards(found, facts)):
                self.decided["linear"] += 1
                self.last = how
                return found is not True
        if aimed and _by_digits(facts):
            self.decided["linear"] += 1
            self.last = "digits"
            return False
        if self._models is not None and self._models.imagined(facts):
            self.decided["known model"] += 1
            return True
        if effort_left() <= 0 or len(facts) > MAX_FACTS:
            self.decided["not asked"] += 1
            self.undecided.append(facts)
            self._refused = True
            return None
        self.last = "Z3"
        answer, how_asked = self._by_z3(facts)
        if answer is None:
            self.undecided.append(facts)
        self.decided[how_asked] += 1
        return answer

    def _by_z3(self, facts: Facts) -> tuple[bool | None, str]:
        before = self._spent or _total()
        answer, how, self._spent = _first(facts, self._models)
        effort = max(0, self._spent - before)
        self.effort += effort
        spend_effort(effort)
        return answer, how


def _by_digits(facts: Facts) -> bool:
    """With digits of block numbers named, elimination among facts that share a variable with the first contradicts."""
    first, *others = facts or (E.TRUE,)
    named = digits_named((first, *sorted(others, key=lambda f: f.digest)))
    if named is None:
        return False
    near = tuple(fact for fact in named if not fact.free() or fact.free() & named[0].free())
    return contradict(near) is True or contradict(near, split=True) is True


def _first(facts: Facts, models: KnownModels | None) -> tuple[bool | None, str, int]:
    """Integers, or bits where integers cannot express the facts: the answer, by what, and Z3's effort so far."""
    import z3

    how = "z3 integers"
    try:
        try:
            solver, terms = solver_for(facts)
        except ExprError:
            how = "z3 bits"
            answer, so_far = _by_bits(facts)
            return answer, how, so_far
        found = z3.unknown
        for attempt, share in enumerate(ATTEMPTS):
            if attempt:
                solver, terms = solver_for(facts)
            restrict(solver, RLIMIT // share)
            found = solver.check()
            if found != z3.unknown:
                break
        if found == z3.sat and models is not None:
            models.keep(solver.model(), terms)
        return True if found == z3.sat else False if found == z3.unsat else None, how, spent(solver)
    except z3.Z3Exception:
        return None, how, 0


def _total() -> int:
    """Z3's effort in this process so far."""
    import z3

    probe = z3.Solver()
    probe.check()
    return spent(probe)


def spent(solver: Any) -> int:
    """Z3's effort up to the solver's last question; it counts per process."""
    statistics = solver.statistics()
    return int(statistics.get_key_value("rlimit count")) if "rlimit count" in list(statistics.keys()) else 0


def not_(answer: bool | None) -> bool | None:
    return None if answer is None else not answer


def _cone(facts: frozenset[Expr], seeds: frozenset[Expr]) -> frozenset[Expr]:
    """The facts that speak, directly or through others, about the seeds' variables. Leaving facts out is safe: what
    follows from fewer follows from all, and what is impossible with fewer is impossible."""
    chosen: set[Expr] = set()
    reached = set(seeds)
    grown = True
    while grown:
        grown = False
        for fact in facts:
            if fact not in chosen and (fact.free() & reached or not fact.free()):
                chosen.add(fact)
                reached |= fact.free()
                grown = True
    return frozenset(chosen)


def without_multiples(facts: Facts) -> Facts:
    """x % c == 0 says x = c*y: with y in place of x, quotients and remainders of x disappear."""
    replaced: dict[Expr, Expr | int] = {}
    for fact in _parts(facts):
        if fact.op == "eq" and fact.args[1].op == "const" and fact.args[1].value == 0 and fact.args[0].op == "mod":
            x, c = fact.args[0].args
            if x.op == "var" and c.op == "const" and c.value > 1 and x not in replaced:
                low = None if x.lo is None else -(-x.lo // c.value)
                high = None if x.hi is None else x.hi // c.value
                if low is None or high is None or low <= high:
                    replaced[x] = c.value * E.var(f"{x.name}_{c.value}th", low, high)
    return tuple(fact.subst(replaced) for fact in facts) if replaced else facts


def _parts(facts: Iterable[Expr]) -> list[Expr]:
    flat: list[Expr] = []
    for fact in facts:
        flat.extend(fact.args if fact.op == "land" else (fact,))
    return flat


def _named(facts: Iterable[Expr]) -> set[Expr]:
    """Variables and uninterpreted applications, whose bounds are facts too."""
    found: set[Expr] = set()
    for fact in facts:
        found |= {node for node in E.postorder(fact) if node.op in ("var", "apply")}
    return found


def _divisors(facts: Iterable[Expr]) -> list[Expr]:
    """Divisors that are not constants: a model may not set them to zero."""
    nodes = (node for fact in facts for node in E.postorder(fact) if node.op in ("floordiv", "mod"))
    return [node.args[1].ne(0) for node in nodes if node.args[1].op != "const"]


def solver_for(facts: Facts) -> tuple[Any, dict[Expr, Any]]:
    import z3

    terms: dict[Expr, Any] = {}
    solver = z3.SolverFor("QF_NIA") if _nonlinear(facts) else z3.Solver()
    restrict(solver, RLIMIT)
    parts = _parts(sorted(facts, key=lambda f: f.digest))  # the order must not depend on the process
    for fact in parts:
        solver.add(E.to_z3(fact, "int", cache=terms))
    solver.add(*side_conditions(parts, terms))
    return solver, terms


def side_conditions(facts: Iterable[Expr], terms: dict[Expr, Any] | None = None) -> list[Any]:
    """What is true besides the facts: divisors are not zero, variables and loaded data are in their bounds."""
    parts = _parts(facts)
    divisors = [E.to_z3(fact, "int", cache={} if terms is None else terms) for fact in _divisors(parts)]
    return [*divisors, *E.z3_bounds(_named(parts), "int")]


def _nonlinear(facts: Iterable[Expr]) -> bool:
    for fact in facts:
        for node in E.postorder(fact):
            if node.op == "apply":
                return False
    return any(
        node.op == "mul" and sum(a.op != "const" for a in node.args) > 1 for fact in facts for node in E.postorder(fact)
    )


def bits_solver(facts: Facts) -> tuple[Any, list[Expr], set[Expr]]:
    """Z3 over 64-bit vectors with the facts, these, and the numbers whose bounds they rest on."""
    import z3

    solver = z3.Solver()
    parts = _parts(sorted(facts, key=lambda f: f.digest))
    named = _named(parts)
    solver.add(*(E.to_z3(f, "bv", 64) for f in (*parts, *_divisors(parts))), *E.z3_bounds(named, "bv", 64))
    return solver, parts, named


def _by_bits(facts: Facts) -> tuple[bool | None, int]:
    """64-bit vectors; only an answer that cannot be an artefact of wrapping counts. Also the effort so far."""
    import z3

    if any(v.lo is None or v.hi is None for v in _named(_parts(facts))):
        return None, 0
    solver, parts, named = bits_solver(facts)
    restrict(solver, RLIMIT)
    exact = z3.And(*(E.z3_no_overflow(f, 64) for f in parts))
    answer = solver.check()
    if answer == z3.unsat:
        limits = z3.Solver()
        restrict(limits, RLIMIT)
        limits.add(*E.z3_bounds(named, "bv", 64), z3.Not(exact))
        return (False if limits.check() == z3.unsat else None), spent(limits)
    solver.add(exact)
    return (True if answer == z3.sat and solver.check() == z3.sat else None), spent(solver)


def restrict(solver: Any, effort: int) -> None:
    """The next question's limits: effort (what the rule at work has left, at most), memory, and a last line."""
    solver.set("rlimit", max(1, min(effort, effort_left())))
    solver.set("max_memory", MAX_MEGABYTES)
    wall = min(MAX_MILLISECONDS, LEAST_MILLISECONDS + 4000 * seconds_left())
    solver.set("timeout", int(wall * _waiting()))


def _waiting() -> float:
    """Processes to a core, at least one; 1 where the system does not tell."""
    try:
        return max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))
    except (AttributeError, OSError):
        return 1.0
