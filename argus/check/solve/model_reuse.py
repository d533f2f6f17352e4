"""Models of earlier questions, tried before the solver is asked again.

The loads of an unrolled copy ask the same question with another constant; when the answer is "that can be", the numbers
that showed it for the first copy usually show it for the next. Evaluating facts at given numbers is exact, so a model
that satisfies them is an answer; when none does, nothing is said. So are models that nobody has found, only imagined.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from argus.check.solve.linear_elimination import Eliminated
from argus.layout import expr as E
from argus.layout.expr import Expr, ExprError

KEPT = 8
USUAL = (8, 64, 256, 1024, 4096)
"""Sizes at which most of what can happen in a kernel does."""


class Models:
    """The most recent models, newest first."""

    def __init__(self) -> None:
        self._kept: list[KnownModel] = []

    def keep(self, model: Any, terms: dict[Expr, Any]) -> None:
        """Remember Z3's model of the variables among the terms."""
        import z3

        found: dict[str, int] = {}
        for e, term in terms.items():
            if e.op == "var":
                value = model.eval(term, model_completion=True)
                if not z3.is_int_value(value):
                    return
                found[e.name] = value.as_long()
        self._kept = [KnownModel(found), *self._kept][:KEPT]

    def suggested(self, values: dict[str, int], facts: tuple[Expr, ...]) -> bool:
        """The numbers satisfy the facts; they are kept then."""
        model = KnownModel(values)
        good = model.fits({v for fact in facts for v in fact.free()}) and all(map(model.satisfies, facts))
        if good:
            self._kept = [model, *self._kept][:KEPT]
        return good

    def backwards(self, gone: Eliminated, facts: tuple[Expr, ...]) -> bool:
        """Numbers read off an elimination that found no contradiction satisfy the facts."""
        return self.suggested(_numbers(gone), facts)

    def imagined(self, facts: tuple[Expr, ...]) -> bool:
        """The facts are true of usual sizes, with all else as small as it can be; such a model is kept."""
        sizes = [v for v in {v for fact in facts for v in fact.free()} if v.lo is not None and v.lo >= 1]
        for usual in USUAL:
            values = {v.name: max(v.lo or 1, usual if v.hi is None else min(usual, v.hi)) for v in sizes}
            if self.suggested(values, facts):
                return True
        return False

    def shows(self, facts: tuple[Expr, ...]) -> bool:
        """A model satisfies all of them."""
        variables = {v for fact in facts for v in fact.free()}
        return any(model.fits(variables) and all(map(model.satisfies, facts)) for model in self._kept)


class KnownModel:
    """Numbers for variables; one that is not named has its lower bound."""

    def __init__(self, values: dict[str, int]) -> None:
        self._values = values
        self._known: dict[Expr, bool] = {}

    def value(self, v: Expr) -> int:
        return self._values.get(v.name, v.lo if v.lo is not None else 0)

    def fits(self, variables: Iterable[Expr]) -> bool:
        """Every variable's number is within its bounds, and one name has one number."""
        values: dict[str, int] = {}
        for v in variables:
            value = self.value(v)
            if (v.lo is not None and value < v.lo) or (v.hi is not None and value > v.hi):
                return False
            if values.setdefault(v.name, value) != value:
                return False
        return True

    def satisfies(self, fact: Expr) -> bool:
        """The fact is true of these numbers; the same few facts are asked about again and again."""
        known = self._known.get(fact)
        if known is None:
            try:
                known = bool(E.evaluate(fact, {v.name: self.value(v) for v in fact.free()}))
            except ExprError:
                known = False
            self._known[fact] = known
        return known


def _numbers(gone: Eliminated) -> dict[str, int]:
    """Numbers for the variables, the last eliminated first: as small as its rows allow."""
    chosen: dict[Expr, int] = {}
    for atom, rows in reversed(gone):
        low: int | None = None
        high: int | None = None
        for factors, constant in rows:
            rest = constant + sum(k * chosen[other] for other, k in factors.items() if other is not atom)
            k = factors[atom]
            if k > 0:
                low = -(rest // k) if low is None else max(low, -(rest // k))
            else:
                high = rest // -k if high is None else min(high, rest // -k)
        chosen[atom] = low if low is not None else high if high is not None else 0
    return {atom.name: n for atom, n in chosen.items() if atom.op == "var"}
