"""Sums, maxima and minima of a kernel beside those of its specification, in whatever order they were made.

    kernel          1 + a0 * b0 + a1 * b1          extra    the constant 1
    specification   a0 * b0 + a1 * b1 + a2 * b2    missing  a2 * b2

Members are matched by their numbers, up to rounding. A member may be scaled: `(x + y) * z` is the sum of `x * z` and
`y * z`, as the running sums of an online softmax are.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from math import inf, isfinite, isnan
from typing import NamedTuple

from argus.check.explain.specified_parts import GroupKind, SpecifiedAddend, SpecifiedGroup
from argus.check.explain.value_origins import OriginOperand
from argus.ir.ops import Op

KINDS: dict[str, GroupKind] = {"add": "sum", "sub": "sum", "neg": "sum", "max": "max", "min": "min"}
"""Functions that make a sum, a maximum or a minimum."""
START: dict[GroupKind, float] = {"sum": 0.0, "max": -inf, "min": inf}
UPDATE = "update"
"""The function of a number that an atomic brought, of which no more is known."""
GROUPS = 200


class Member(NamedTuple):
    """An operand of a sum with its factor (of a maximum: 1), and the op that joined it to the others."""

    scale: float
    operand: OriginOperand
    join: Op

    @property
    def value(self) -> float:
        return self.scale * self.operand.number.value

    def neutral(self, kind: GroupKind) -> bool:
        """It changes nothing: the start of a sum, a zero that was loaded, a product with zero."""
        number = self.operand.number
        return self.value == START[kind] and (
            number.sort != "computed" or number.fn in ("mul", UPDATE) or kind != "sum"
        )


@dataclass(frozen=True, slots=True)
class ComparedGroup:
    """What a kernel's group has too much and too little, and how much is common."""

    extra: list[Member]
    missing: list[SpecifiedAddend]
    common: int
    turned: list[Member]
    """Of what is too much, members that are missing with the other sign."""

    @property
    def likeness(self) -> float:
        """How much is alike; a member with the other sign is nearly so."""
        turned = len(self.turned)
        return 2 * self.common + 1.5 * turned - (len(self.extra) - turned) - (len(self.missing) - turned)


def most_similar(
    kind: GroupKind, members: list[Member], groups: list[SpecifiedGroup], part: float
) -> ComparedGroup | None:
    """The group of the specification that has most in common with these members."""
    alike = [g for g in groups if g.kind == kind]
    alike.sort(key=lambda g: abs(len(g.members) - len(members)))
    compared = [_beside(kind, members, g, part) for g in alike[:GROUPS]]
    return max(compared, key=lambda c: c.likeness, default=None)


def _beside(kind: GroupKind, members: list[Member], group: SpecifiedGroup, part: float) -> ComparedGroup:
    stated = sorted((a for a in group.members if a.value != START[kind]), key=lambda a: a.value)
    values, left, extra = [a.value for a in stated], [True] * len(stated), list[Member]()
    for member in members:
        n = _place(values, left, member.value, part) if _counts(member) else None
        if n is None:
            extra.append(member)
        elif kind == "sum":
            left[n] = False
    if kind == "sum":
        missing = [a for a, here in zip(stated, left, strict=True) if here]
    else:  # the same twice is no fault of a maximum
        held = sorted(m.value for m in members if _counts(m))
        missing = [a for a in stated if _place(held, [True] * len(held), a.value, part) is None]
    lacking = [a.value for a in missing]
    free = [True] * len(lacking)
    turned = []
    for member in extra if kind == "sum" else ():
        n = _place(lacking, free, -member.value, part) if _counts(member) else None
        if n is not None:
            free[n] = False
            turned.append(member)
    return ComparedGroup(extra, missing, len(members) - len(extra), turned)


def _counts(member: Member) -> bool:
    """Constants and zeros from outside of a tensor are no addends that a specification means."""
    return member.operand.number.sort not in ("constant", "padding")


def _place(values: list[float], left: list[bool], value: float, part: float) -> int | None:
    """The first number that is equal up to rounding and still free."""
    if isnan(value):
        return None
    slack = part * abs(value) if isfinite(value) else 0.0
    n = bisect_left(values, value - slack)
    while n < len(values) and values[n] <= value + slack:
        if left[n]:
            return n
        n += 1
    return None
