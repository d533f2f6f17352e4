"""Where an execution parts from the specification: the lines whose operands are right and whose result is not.

    stored  num / den,  num = 0 - e * x        e * x is an addend of the specification's sum, -e * x is not
    said    "what the specification adds is subtracted: online.py:19"

The stored number is followed back (`value_origins`) as long as numbers are met that are no part of the specification at
the element that is wrong (`specified_parts`). A sum, maximum or minimum is compared as a whole, in whatever order it was
made: an addend too much, one that is missing, one with the other sign, a start that is not neutral, a zero from outside
of a tensor under a minimum. An element that the result does not depend on is a fault of its load.

That is a guide for the eye, not a proof. A kernel may compute by another formula, whose intermediate numbers are no part
of the specification either; only those are met that lead to the wrong number.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import inf, isfinite, isnan
from typing import NamedTuple

from argus.check.explain.recorded_run import Recording
from argus.check.explain.specified_parts import GroupKind, SpecifiedAddend, SpecifiedGroup, SpecifiedParts
from argus.check.explain.value_origins import ComputedNumber, Operand, ValueOrigins
from argus.ir import ops
from argus.ir.kernel import Kernel
from argus.ir.ops import Control, Op, Tensor
from argus.ir.types import Span

MOST = 3
"""Faults that are said."""
TRIED = 4
"""Operands of one number that are followed."""
GROUPS = 200
PART = {8: 0.1, 16: 0.01, 32: 1e-4, 64: 1e-4}
"""Bits of the narrowest float that is computed with -> which part of a number may be rounding."""
KINDS: dict[str, GroupKind] = {"add": "sum", "sub": "sum", "neg": "sum", "max": "max", "min": "min"}
START = {"sum": 0.0, "max": -inf, "min": inf}
TOO_OFTEN = {"sum": "is added once too often", "max": "is in the maximum here", "min": "is in the minimum here"}


class Fault(NamedTuple):
    """A place and what is wrong there. `names`: which names of its line to look up: of its indices, or of all it has."""

    span: Span
    why: str
    names: str = ""


class Member(NamedTuple):
    """A signed operand of a sum (or of a maximum), and the op that joined it to the others."""

    sign: int
    operand: Operand
    join: Op

    @property
    def value(self) -> float:
        return self.sign * self.operand.number.value


@dataclass(frozen=True, slots=True)
class Compared:
    """A kernel's sum beside the most similar one of the specification."""

    extra: list[Member]
    missing: list[SpecifiedAddend]
    common: int


class FirstFaults:
    """The faults behind one wrong element, `target` by name."""

    def __init__(self, run: Recording, parts: SpecifiedParts, target: str) -> None:
        self.run, self.parts, self.target = run, parts, target
        self.origins = ValueOrigins(run)
        self.found: dict[tuple[str, int], Fault] = {}
        self._part = PART[_narrowest(run.kernel)]
        self._seen: set[int] = set()

    def behind(self, operand: Operand, store: Op) -> list[Fault]:
        """The faults behind a number that is stored and wrong."""
        if operand.number.sort == "constant" and operand.number.op is not None:
            self._decided(operand, operand.number.op)
            self._say(operand.number.op, f"what is stored is the constant {operand.number.value:g}")
            self._say(store, "it is stored", "all")
        self._follow(operand, True)
        return list(self.found.values())

    def among(self, kind: GroupKind, updates: Sequence[Member]) -> list[Fault]:
        """The faults among the updates of one element."""
        self._compare(kind, list(updates), None)
        return list(self.found.values())

    # -- following ---------------------------------------------------------------------------------------------------

    def _say(self, op: Op, why: str, names: str = "") -> None:
        if len(self.found) < MOST:
            self.found.setdefault((op.span.file, op.span.line), Fault(op.span, why, names))

    def _right(self, number: ComputedNumber) -> bool:
        match number.sort:
            case "element":
                return (number.tensor, number.coords) in self.parts.elements
            case "padding" | "constant" | "opaque":
                return True
            case "unwritten":
                return False
            case "computed":  # that a quotient or exponential is zero, as some difference may be, says nothing
                telling = number.value != 0 or number.fn in KINDS or number.fn == "mul"
                return telling and self.parts.has(number.value, self._part)

    def _follow(self, operand: Operand, wrong: bool = False) -> None:
        number = operand.number
        if id(number) in self._seen or len(self.found) >= MOST or (not wrong and self._right(number)):
            return
        self._seen.add(id(number))
        if number.op is None:
            return
        if number.sort == "element" and not self._right(number):
            self._say(number.op, f"{_named(number)} is loaded, on which {self.target} does not depend", "index")
            self._decided(operand, number.op)
        elif number.sort == "unwritten":
            self._say(number.op, "LDS is read that nobody wrote", "index")
        elif number.sort == "computed":
            kind = KINDS.get(number.fn)
            if kind is None or not self._compare(kind, self._flat(number, kind), number):
                self._by_operands(number)

    def _decided(self, operand: Operand, op: Op) -> None:
        """The selections and branches by which it is this number that was taken."""
        around = [one for moved in (op, *operand.path) for one in self.run.around[moved.id]]
        for one in (*operand.path, *around):
            if one.control is Control.BRANCH:
                self._say(one, "this branch decides that it is taken")
            elif one.control is Control.LOOP and one in operand.path:
                self._say(one, "this loop is not executed once")
            elif one.map_function == "select":
                self._say(one, "this selection takes it")

    def _by_operands(self, number: ComputedNumber) -> None:
        """A function or product: what of its operands is wrong, or else itself."""
        operands = self._factors(number) if number.fn == "mul" else list(self.origins.operands(number))
        wrong = [one for one in operands if not self._right(one.number)]
        before = len(self.found)
        for one in wrong[:TRIED]:
            self._follow(one)
        for one in operands:
            if len(self.found) == before and any(moved.control is Control.LOOP for moved in one.path):
                self._decided(one, one.path[0])
        if len(self.found) == before and number.op is not None:
            given = ", ".join(f"{one.number.value:.6g}" for one in operands[:3])
            self._say(number.op, f"{number.fn}({given}) = {number.value:.6g} is no part of the specification", "all")

    def _factors(self, number: ComputedNumber) -> list[Operand]:
        pending, found = list(self.origins.operands(number)), list[Operand]()
        while pending:
            one = pending.pop(0)
            if one.number.fn == "mul" and not self._right(one.number):
                pending = [*self.origins.operands(one.number), *pending]
            else:
                found.append(one)
        return found

    # -- sums, maxima, minima ----------------------------------------------------------------------------------------

    def _flat(self, number: ComputedNumber, kind: GroupKind) -> list[Member]:
        """All that goes into a sum, through the sums inside it that are no part of the specification."""
        found: list[Member] = []
        assert number.op is not None
        pending = [Member(1, Operand(number), number.op)]
        while pending:
            sign, operand, join = pending.pop()
            own, op = operand.number, operand.number.op
            inside = op is not None and KINDS.get(own.fn) == kind and own.sort == "computed"
            if op is None or not inside or (own is not number and self._right(own)):
                found.append(Member(sign, operand, join))
                continue
            signs = {"sub": (sign, -sign), "neg": (-sign,)}.get(own.fn)
            inner = self.origins.operands(own)
            rows = zip(signs or (sign,) * len(inner), inner, strict=True)
            pending += [Member(s, Operand(o.number, (*operand.path, *o.path)), op) for s, o in rows][::-1]
        return found

    def _compare(self, kind: GroupKind, members: list[Member], whole: ComputedNumber | None) -> bool:
        """Say how a sum differs from the most similar one of the specification; False if there is none."""
        counted = [m for m in members if not self._neutral(kind, m)]
        groups = [g for g in self.parts.groups if g.kind == kind]
        groups.sort(key=lambda g: abs(len(g.members) - len(counted)))
        compared = [self._beside(kind, counted, g) for g in groups[:GROUPS]]
        best = max(compared, key=lambda c: 2 * c.common - len(c.extra) - len(c.missing), default=None)
        if best is None or (not best.common and not _turned(best)):
            return False
        before = len(self.found)
        turned = _turned(best)
        for one in turned[:1]:
            self._say(one.join, "what the specification adds is subtracted here, or the other way round", "all")
        rest = [m for m in best.extra if m not in turned]
        for one in sorted(rest, key=lambda m: m.operand.number.sort == "computed")[:TRIED]:
            self._extra(kind, one)
        if len(best.missing) - len(turned) > len([m for m in rest if m.operand.number.sort != "constant"]):
            self._missing(kind, best.missing, members, whole)
        return len(self.found) > before

    def _neutral(self, kind: GroupKind, member: Member) -> bool:
        number = member.operand.number
        return number.value == START[kind] and (number.sort != "computed" or number.fn == "mul" or kind != "sum")

    def _beside(self, kind: GroupKind, members: list[Member], group: SpecifiedGroup) -> Compared:
        stated = sorted((a for a in group.members if a.value != START[kind]), key=lambda a: a.value)
        values, left, extra = [a.value for a in stated], [True] * len(stated), list[Member]()
        for member in members:
            n = self._place(values, left, member.value) if self._may_match(member) else None
            if n is None:
                extra.append(member)
            elif kind == "sum":
                left[n] = False
        if kind == "sum":
            missing = [a for a, here in zip(stated, left, strict=True) if here]
        else:
            held = sorted(m.value for m in members if self._may_match(m))
            missing = [a for a in stated if self._place(held, [True] * len(held), a.value) is None]
        return Compared(extra, missing, len(members) - len(extra))

    def _may_match(self, member: Member) -> bool:
        number = member.operand.number
        return number.sort not in ("element", "constant", "padding") or (
            self._right(number) and number.sort == "element"
        )

    def _place(self, values: list[float], left: list[bool], value: float) -> int | None:
        if isnan(value):
            return None
        slack = self._part * abs(value) if isfinite(value) else 0.0
        n = bisect_left(values, value - slack)
        while n < len(values) and values[n] <= value + slack:
            if left[n]:
                return n
            n += 1
        return None

    def _extra(self, kind: GroupKind, member: Member) -> None:
        number = member.operand.number
        if number.sort == "constant" and number.op is not None:
            self._say(number.op, f"the constant {number.value:g} goes into the {kind}")
            self._decided(member.operand, number.op)
        elif number.sort == "padding" and number.op is not None:
            self._say(member.join, f"a zero from outside of {number.tensor} goes into the {kind}", "all")
            self._say(number.op, f"outside of {number.tensor} this load gives zeros", "index")
        elif not self._right(number):
            self._follow(member.operand)
        else:
            element = self._element(number)
            what = f"{number.value:.6g}" if element is None else _named(element)
            self._say(member.join, f"{what} {TOO_OFTEN[kind]}")
            if element is not None and element.op is not None:
                self._say(element.op, "it is loaded", "index")
            if number.op is not None:
                self._decided(member.operand, number.op)

    def _element(self, number: ComputedNumber) -> ComputedNumber | None:
        """The one element that a number is computed from, if it is one."""
        if number.sort == "element":
            return number
        inner = [one.number for one in self.origins.operands(number)] if number.sort == "computed" else []
        found = [one for one in map(self._element, inner[:TRIED]) if one is not None]
        return found[0] if len(found) == 1 else None

    def _missing(
        self, kind: GroupKind, missing: list[SpecifiedAddend], members: list[Member], whole: ComputedNumber | None
    ) -> None:
        elements = missing[0].elements
        what = " and ".join(f"{t}[{', '.join(map(str, c))}]" for t, c in elements) or f"{missing[0].value:.6g}"
        for member in members:
            if self._neutral(kind, member):
                for one in member.operand.path:
                    if one.map_function == "select":
                        self._say(one, f"{what} is missing from the {kind}, and zeros are taken", "all")
        if whole is not None and whole.op is not None:
            self._say(whole.op, f"{what} is missing from this {kind}", "all")
        for op in _loads(self.run.kernel, {tensor for tensor, _ in elements})[:2]:
            self._say(op, f"{op_tensor(op)} is loaded", "index")
            for one in self.run.around[op.id]:
                if one.control is Control.BRANCH:
                    self._say(one, "this branch decides whether it is loaded")


def _turned(compared: Compared) -> list[Member]:
    """Extra addends that are missing with the other sign."""
    return [m for m in compared.extra if any(abs(m.value + a.value) <= 1e-4 * abs(a.value) for a in compared.missing)]


def _named(number: ComputedNumber) -> str:
    return f"{number.tensor}[{', '.join(map(str, number.coords))}]"


def op_tensor(op: Op) -> str:
    return next(f.memory.name for f in op.footprints if f.reads)


def _loads(kernel: Kernel, tensors: Iterable[str]) -> list[Op]:
    """Ops that load one of these tensors, one for each line."""
    names, found = set(tensors), dict[Span, Op]()
    for op in ops.walk(kernel.body):
        if any(f.reads and isinstance(f.memory, Tensor) and f.memory.name in names for f in op.footprints):
            found.setdefault(op.span, op)
    return list(found.values())


def _narrowest(kernel: Kernel) -> int:
    """Bits of the narrowest float that is computed, and not only loaded or stored."""
    narrow = {v: v.dtype.bits for op in ops.walk(kernel.body) for v in op.results if v.dtype.kind == "float"}
    loaded = {v for op in ops.walk(kernel.body) if op.footprints for v in op.results}
    used = {v for op in ops.walk(kernel.body) if op.needs_contents and not op.footprints for v in op.operands}
    return min((bits for v, bits in narrow.items() if v in used and v not in loaded), default=32)
