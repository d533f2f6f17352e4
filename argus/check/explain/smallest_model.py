"""The smallest numbers that make facts true: sizes, block and iteration of a counterexample.

smallest_model(prover, (K > 64, K % 32 == 1), (K,))       {K: 65}
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from time import perf_counter
from typing import Any

from argus.check.solve.limits import effort_left, spend_effort
from argus.check.solve.prover import RLIMIT, Prover, restrict, solver_for, spent
from argus.layout import expr as E
from argus.layout.expr import Expr, ExprError


def smallest_model(prover: Prover, facts: Iterable[Expr], order: Sequence[Expr]) -> dict[Expr, int] | None:
    """The lexicographically smallest values of `order` (by magnitude from each variable's lower bound)."""
    import z3

    start = perf_counter()
    try:
        solver, terms = solver_for((*prover.base, *facts))
        if _asked(solver) != z3.sat:
            return None
        chosen: dict[Expr, int] = {}
        for variable in order:
            term = E.to_z3(variable, "int", cache=terms)
            low = variable.lo if variable.lo is not None else 0
            value = _least(solver, term, low)
            if value is None:
                return None
            solver.add(term == value)
            chosen[variable] = value
        return chosen
    except (ExprError, z3.Z3Exception):
        return None
    finally:
        prover.seconds += perf_counter() - start


def _asked(solver: Any, *assumptions: Any) -> Any:
    """The solver's answer under assumptions, paid by the rule at work."""
    import z3

    if effort_left() <= 0:
        return z3.unknown
    before = spent(solver)
    restrict(solver, RLIMIT)
    answer = solver.check(*assumptions)
    after = spent(solver)
    spend_effort(max(0, after - before) if before else 0)
    return answer


def _least(solver: Any, term: Any, low: int) -> int | None:
    """The smallest value >= low that the solver allows for the term."""
    import z3

    if _asked(solver, term >= low) != z3.sat:
        return None
    high = solver.model().eval(term, model_completion=True).as_long()
    while low < high:
        middle = (low + high) // 2
        answer = _asked(solver, term >= low, term <= middle)
        if answer == z3.sat:
            high = solver.model().eval(term, model_completion=True).as_long()
        elif answer == z3.unsat:
            low = middle + 1
        else:
            return None
    return int(high)
