"""Lemmas of a proof: for each question that was asked, the facts it needed and the method that shows it.

    lemmas_of(prover)       {"5f0c…": Lemma((0, 1, 3), "elimination"), "91ab…": Lemma((), "open"), …}

For questions that Z3 decided, an unsatisfiable core says which facts are needed; often elimination, which has few rows,
shows the contradiction among these. For those of elimination the method is noted, with all facts. What no method showed
is `open`. Nothing here is trusted: the prover that is given a lemma shows it again.
"""

from __future__ import annotations

from argus.check.solve.lemmas import AskedQuestion, Facts, Lemma, Method, chosen, in_order
from argus.check.solve.linear_elimination import contradict
from argus.check.solve.prover import RLIMIT, Prover, restrict, side_conditions, without_multiples
from argus.layout import expr as E
from argus.layout.expr import ExprError


def lemmas_of(prover: Prover) -> dict[str, Lemma]:
    """By the names of questions. That the launch facts can be true is asked anew."""
    base = frozenset(prover.base)
    found = {name: _lemma(asked) for name, asked in prover.asked.items() if not base.issuperset(asked.facts)}
    return {name: lemma for name, lemma in found.items() if lemma is not None}


def _lemma(asked: AskedQuestion) -> Lemma | None:
    if asked.answer is not False:
        return Lemma((), "open")
    facts = in_order(asked.facts)
    everything = tuple(range(len(facts)))
    match asked.how:
        case "Z3":
            needed = _core(facts)
            if needed is None:
                return Lemma(everything, asked.how)
            methods: tuple[Method, ...] = ("elimination", "cases")
            for how in methods:
                if contradict(without_multiples(chosen(facts, Lemma(needed, how))), how == "cases") is True:
                    return Lemma(needed, how)
            return Lemma(needed, "Z3")
        case "elimination" | "cases":
            return Lemma(everything, asked.how)
        case "digits":
            aim = facts.index(asked.facts[0])
            return Lemma((aim, *(n for n in everything if n != aim)), asked.how)
        case "structural" | "open":
            return None


def _core(facts: Facts) -> tuple[int, ...] | None:
    """Positions of facts that Z3 says contradict each other; None where it does not say."""
    import z3

    try:
        changed = without_multiples(facts)
        solver = z3.Solver()
        restrict(solver, RLIMIT)
        for n, fact in enumerate(changed):
            solver.assert_and_track(E.to_z3(fact, "int"), f"fact {n}")
        solver.add(*side_conditions(changed))
        if solver.check() != z3.unsat:
            return None
        return tuple(sorted(int(str(one).split()[1].rstrip("|")) for one in solver.unsat_core()))
    except (ExprError, z3.Z3Exception):
        return None
