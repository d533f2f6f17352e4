"""Exact decisions about a layout: injective, onto, equal; each negative answer comes with a witness.

    collision(L)         two points with one address, or None
    gap(L, size, unit)   an address below size that no point has, or None
    difference(A, B)     a point where two layouts differ, or None

Constant layouts are decided by complete enumeration.  With strides known only at launch, a layout is injective when
its strides nest (each above what all smaller digits can add) for all values within the symbols' bounds; equality is
identity of the simplified address.  Where that is not conclusive a solver is asked over the integers; if it cannot
answer either, `LayoutError` says so.  No answer is a guess.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from argus.layout import expr as E
from argus.layout.error import LayoutError
from argus.layout.form import LayoutForm, address, table, variable
from argus.layout.node import Expr

SOLVER_MILLISECONDS = 3000

Point = dict[str, int]


def point(form: LayoutForm, linear: int) -> Point:
    """The point of a linear index."""
    return {a.name: int(i) for a, i in zip(form.axes, np.unravel_index(linear, form.shape), strict=True)}


def collision(form: LayoutForm) -> tuple[Point, Point] | None:
    """Two points with the same address, or None when the layout is injective."""
    if not form.concrete:
        return _symbolic_collision(form)
    flat = table(form).reshape(-1)
    order = np.argsort(flat, kind="stable")
    same = np.nonzero(flat[order][1:] == flat[order][:-1])[0]
    if not len(same):
        return None
    return point(form, int(order[same[0]])), point(form, int(order[same[0] + 1]))


def injective(form: LayoutForm) -> bool:
    """No two points have the same address."""
    return collision(form) is None


def gap(form: LayoutForm, size: int, unit: int = 1) -> int | None:
    """The first multiple of `unit` below `size` that no point has, or None.  Addresses outside are an error."""
    flat = table(form).reshape(-1)
    if int(flat.min()) < 0 or int(flat.max()) >= size or (flat % unit).any():
        bad = int(flat[(flat < 0) | (flat >= size) | (flat % unit != 0)][0])
        raise LayoutError(f"address {bad} of the layout is not a multiple of {unit} within 0..{size - 1}")
    reached = np.zeros(size // unit, dtype=bool)
    reached[flat // unit] = True
    return None if reached.all() else int(np.argmin(reached)) * unit


def onto(form: LayoutForm, size: int, unit: int = 1) -> bool:
    """Every multiple of `unit` below `size` is the address of some point."""
    return gap(form, size, unit) is None


def difference(a: LayoutForm, b: LayoutForm) -> Point | None:
    """A point at which two layouts over the same axes differ, or None when they are equal."""
    mine = {axis.name: axis.extent for axis in a.axes}
    other = {axis.name: axis.extent for axis in b.axes}
    if mine != other:
        name = next(iter({n for n in {**mine, **other} if mine.get(n) != other.get(n)}))
        raise LayoutError(f"layouts over different axes cannot be compared: look at `{name}`", name)
    if a.concrete and b.concrete:
        order = [list(other).index(name) for name in mine]
        wrong = np.argwhere(table(a) != table(b).transpose(order))
        return dict(zip(mine, map(int, wrong[0]), strict=True)) if len(wrong) else None
    variables = {axis.name: variable(axis) for axis in a.axes}
    here, there = address(a, variables), address(b, variables)
    if here is there:
        return None
    return _solve(here.ne(there), variables, "are these layouts equal")


def _nested(form: LayoutForm) -> bool:
    """Strides, largest last, each larger than all smaller digits together can add, whatever the symbols are."""
    digits = []
    for digit in form.digits():
        if not isinstance(digit.extent, int):
            return False
        if digit.extent > 1:
            digits.append((E.as_expr(digit.stride), digit.extent))
    ordered = sorted(digits, key=lambda d: (d[0].op != "const", d[0].value if d[0].op == "const" else d[0].depth))
    reach: Expr = E.const(0)
    for stride, extent in ordered:
        if stride.gt(reach) is not E.TRUE:
            return False
        reach = reach + stride * (extent - 1)
    return form.swizzle.identity or all(isinstance(d.stride, int) for d in form.digits())


def _symbolic_collision(form: LayoutForm) -> tuple[Point, Point] | None:
    if _nested(form):
        return None
    first = {axis.name: variable(axis) for axis in form.axes}
    second = {name: E.var(f"{name}__other", v.lo, v.hi) for name, v in first.items()}
    conditions = [address(form, first).eq(address(form, second))]
    for axis in form.axes:
        if isinstance(axis.extent, Expr):
            conditions += [first[axis.name].lt(axis.extent), second[axis.name].lt(axis.extent)]
    distinct = E.lor(*(first[name].ne(second[name]) for name in first))
    model = _solve(E.land(distinct, *conditions), {**first, **{v.name: v for v in second.values()}}, "is it injective")
    if model is None:
        return None
    return {name: model[name] for name in first}, {name: model[f"{name}__other"] for name in first}


def _solve(condition: Expr, variables: Mapping[str, Expr], question: str) -> Point | None:
    import z3

    solver = z3.Solver()
    solver.set("timeout", SOLVER_MILLISECONDS)
    solver.add(*E.z3_bounds(condition.free() | frozenset(variables.values()), "int"))
    try:
        solver.add(E.to_z3(condition, "int"))
    except E.ExprError as error:
        raise LayoutError(f"undecided: {question}?  {error}") from error
    answer = solver.check()
    if answer == z3.unsat:
        return None
    if answer == z3.unknown:
        raise LayoutError(f"undecided: {question}?  The solver gave no answer in {SOLVER_MILLISECONDS} ms")
    model = solver.model()
    return {name: model.eval(E.to_z3(v, "int"), model_completion=True).as_long() for name, v in variables.items()}
