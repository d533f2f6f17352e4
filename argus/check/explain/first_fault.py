"""Where an execution parts from the specification: the lines whose operands are right and whose result is not.

    stored  num / den,  num = 0 - e * x        e * x is an addend of the specification's sum, -e * x is not
    said    "what the specification adds is subtracted: online.py:19"

The stored number is followed back (`value_origins`) as long as numbers are met that are no part of the specification at
the element that is wrong (`specified_parts`). Sums, maxima and minima are compared as a whole (`compared_groups`): an
addend too much, one that is missing, one with the other sign, a start that is not neutral, a zero from outside of a
tensor under a minimum. An element that the result does not depend on is a fault of its load. Selections and branches
on the way are named where they decide that it is this number.

That is a guide for the eye, not a proof. A kernel may compute by another formula, whose intermediate numbers are no
part of the specification either; only those are met that lead to the wrong number.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from argus.check.explain.compared_groups import KINDS, UPDATE, ComparedGroup, Member, most_similar
from argus.check.explain.recorded_run import Recording
from argus.check.explain.specified_parts import GroupKind, SpecifiedAddend, SpecifiedParts
from argus.check.explain.value_origins import ComputedNumber, OriginOperand, ValueOrigins
from argus.check.rounding.narrowing import reads_as_xf32
from argus.ir import ops
from argus.ir.kernel import Kernel
from argus.ir.ops import Control, Op, Shared, Tensor
from argus.ir.types import Span, Value

MOST = 3
"""Faults that are said."""
TRIED = 4
"""Operands of one number that are followed."""
INSIDE = 60
"""Numbers that are looked at for the element behind an addend."""
PART = {8: 0.1, 16: 0.01, 32: 1e-5, 64: 1e-5}
"""Bits of the narrowest float that is computed with -> which part of a number may be rounding."""
TOO_OFTEN = {"sum": "is added once too often", "max": "is in the maximum here", "min": "is in the minimum here"}


class FaultLine(NamedTuple):
    """A place and what is wrong there. `names`: which names of its line to look up, those of its indices or all."""

    span: Span
    why: str
    names: str = ""


class FirstFaults:
    """The faults behind one wrong element, `target` by name."""

    def __init__(self, run: Recording, parts: SpecifiedParts, target: str) -> None:
        self.run, self.parts, self.target = run, parts, target
        self.origins = ValueOrigins(run)
        self.found: dict[tuple[str, int], FaultLine] = {}
        self._part = PART[_narrowest(run.kernel)]
        self._seen: set[int] = set()
        self._said = 0
        self._misplaced = False
        """A wrong element was loaded, or a right one is stored to a wrong place."""

    def behind(self, operand: OriginOperand, store: Op) -> list[FaultLine]:
        """The faults behind a number that is stored and wrong."""
        number = operand.number
        if number.op is not None and number.sort != "computed" and self._right(number):
            self._decided(operand, number.op)
            self._say(number.op, f"{_named(number)} is what is stored", "index")
            self._say(store, "it is stored", "all")
        self._follow(operand, True)
        other_side = [FaultLine(store.span, "", "index")] if self._misplaced else []
        return [*self.found.values(), *other_side]

    def among(self, kind: GroupKind, updates: Sequence[Member]) -> list[FaultLine]:
        """The faults among the updates of one element."""
        self._compare(kind, list(updates), None, ())
        return list(self.found.values())

    # -- following ---------------------------------------------------------------------------------------------------

    def _say(self, op: Op, why: str, names: str = "") -> None:
        self._said += 1
        if len(self.found) < MOST:
            self.found.setdefault((op.span.file, op.span.line), FaultLine(op.span, why, names))

    def _right(self, number: ComputedNumber) -> bool:
        match number.sort:
            case "element":
                return (number.tensor, number.coords) in self.parts.elements
            case "padding" | "constant" | "opaque":
                return True
            case "unwritten":
                return False
            case "computed":
                if number.value == 0 and number.fn == "mul":
                    return True
                return self.parts.has(number.value, KINDS.get(number.fn), self._part)

    def _follow(self, operand: OriginOperand, wrong: bool = False) -> None:
        """What is wrong behind a number, unless it is right."""
        number, path = operand.number, operand.path
        if id(number) in self._seen or len(self.found) >= MOST or (not wrong and self._right(number)):
            return
        self._seen.add(id(number))
        if number.op is None:
            return
        if number.sort == "element" and not self._right(number):
            self._say(number.op, f"{_named(number)} is loaded, on which {self.target} does not depend", "index")
            self._misplaced = True
            self._decided(operand, number.op)
        elif number.sort == "unwritten":
            self._say(number.op, "LDS is read that nobody wrote", "index")
        elif number.sort == "computed":
            kind = KINDS.get(number.fn)
            if kind is None or not self._compare(kind, self._flat(number, kind, path), number, path):
                self._by_operands(number, path)

    def _decided(self, operand: OriginOperand, op: Op) -> None:
        """The selections and branches by which it is this number that was taken."""
        around = [one for moved in (op, *operand.path) for one in self.run.around[moved.id]]
        for one in (*operand.path[::-1], *around):
            if one.control is Control.BRANCH:
                self._say(one, "this branch decides that it is taken")
            elif one.control is Control.LOOP and one in operand.path:
                self._say(one, "this loop is not executed once")
            elif one.map_function == "select":
                self._say(one, "this selection takes it")

    def _by_operands(self, number: ComputedNumber, path: tuple[Op, ...]) -> None:
        """A function or product: what of its operands is wrong, or else itself."""
        operands = [_after(path, one) for one in self._factors(number)]
        before, kind = self._said, KINDS.get(number.fn)
        if kind is not None and number.op is not None and not any(g.kind == kind for g in self.parts.groups):
            self._say(number.op, f"a {kind} is made, and the specification has none", "all")
        wrong = [one for one in operands if not self._right(one.number)][:TRIED]
        if any(id(one.number) in self._seen for one in wrong):  # its fault has been said
            self._said += 1
            return
        for one in wrong:
            self._follow(one)
        for one in operands:
            if self._said == before and any(moved.control is Control.LOOP for moved in one.path):
                self._decided(one, one.path[0])
        if self._said == before and number.op is not None:
            given = ", ".join(f"{one.number.value:.6g}" for one in operands[:3])
            self._say(number.op, f"{number.fn}({given}) = {number.value:.6g} is no part of the specification", "all")
            self._decided(OriginOperand(number, path), number.op)

    def _factors(self, number: ComputedNumber) -> list[OriginOperand]:
        """The operands; of a product the factors, of the products inside it too."""
        pending, found = list(self.origins.operands(number)), list[OriginOperand]()
        while pending:
            one = pending.pop(0)
            if number.fn == "mul" and one.number.fn == "mul" and not self._right(one.number):
                pending = [*(_after(one.path, inner) for inner in self.origins.operands(one.number)), *pending]
            else:
                found.append(one)
        return found

    # -- sums, maxima, minima ----------------------------------------------------------------------------------------

    def _flat(self, number: ComputedNumber, kind: GroupKind, path: tuple[Op, ...]) -> list[Member]:
        """All that goes into a sum, through the sums inside it that are no part of the specification."""
        found: list[Member] = []
        assert number.op is not None
        pending = [Member(1, OriginOperand(number, path), number.op)]
        while pending:
            one = pending.pop()
            own = one.operand.number
            inside = own is number or (own.sort == "computed" and not self._right(own))
            inner = self._inner(one, kind) if inside else []
            found += [] if inner else [one]
            pending += inner[::-1]
        return found

    def _inner(self, member: Member, kind: GroupKind) -> list[Member]:
        """The members of a sum inside a sum, of one that is multiplied too; empty if it is none."""
        own, scale, path = member.operand.number, member.scale, member.operand.path
        if own.op is None:
            return []
        if KINDS.get(own.fn) == kind:
            operands = self.origins.operands(own)
            scales = {"sub": (scale, -scale), "neg": (-scale,)}.get(own.fn) or (scale,) * len(operands)
            return [Member(s, _after(path, o), own.op) for s, o in zip(scales, operands, strict=True)]
        if kind != "sum" or own.fn != "mul":
            return []
        factors = self.origins.operands(own)
        sums = [f for f in factors if KINDS.get(f.number.fn) == "sum" and not self._right(f.number)]
        if len(sums) != 1 or len(factors) != 2:
            return []
        (other,) = [f for f in factors if f is not sums[0]]
        return [Member(scale * other.number.value, _after(path, sums[0]), own.op)]

    def _compare(
        self, kind: GroupKind, members: list[Member], whole: ComputedNumber | None, path: tuple[Op, ...]
    ) -> bool:
        """Say how a group differs from the most similar one of the specification; False if there is none."""
        counted = [m for m in members if not m.neutral(kind)]
        best = most_similar(kind, counted, self.parts.groups, self._part)
        if best is None:
            return False
        turned = best.turned
        if kind == "sum" and counted and not best.common and not turned:
            return False
        before = self._said
        for one in turned[:1]:
            self._say(one.join, "what the specification adds is subtracted here, or the other way round", "all")
        rest = [m for m in best.extra if m not in turned]
        self._extras(kind, rest)
        if len(best.missing) - len(turned) > len([m for m in rest if m.operand.number.sort != "constant"]):
            self._missing(kind, best, members, whole)
        if whole is not None and whole.op is not None:
            self._decided(OriginOperand(whole, path), whole.op)
        return self._said > before

    def _extras(self, kind: GroupKind, members: list[Member]) -> None:
        """What is too much: numbers that are wrong themselves first, as others may only have lost their partners."""
        before = self._said
        by_fault = sorted(members, key=lambda m: (self._right(m.operand.number), m.operand.number.sort == "computed"))
        starts = [m for m in members if m.operand.number.sort in ("constant", "padding")]
        for one in [*starts[:TRIED], *(m for m in by_fault if m not in starts)][:TRIED]:
            if self._said == before or not self._right(one.operand.number):
                self._extra(kind, one)

    def _extra(self, kind: GroupKind, member: Member) -> None:
        number = member.operand.number
        if number.sort == "constant" and number.op is not None:
            self._say(number.op, f"the constant {number.value:g} goes into the {kind}")
            self._decided(member.operand, number.op)
        elif number.sort == "padding" and number.op is not None:
            self._say(member.join, f"a zero from outside of {number.tensor} goes into the {kind}", "all")
            self._say(number.op, f"outside of {number.tensor} this load gives zeros", "index")
            self._decided(member.operand, number.op)
        elif number.fn == UPDATE:
            wrong = "is once too much" if self._right(number) else "is none of the specification"
            self._say(member.join, f"the update by {number.value:.6g} {wrong}", "all")
        elif not self._right(number):
            self._follow(member.operand)
        else:
            leaf = self.leaf(member.operand)
            what = f"{number.value:.6g}" if leaf is None else _named(leaf.number)
            self._say(member.join, f"{what} {TOO_OFTEN[kind]}")
            if leaf is not None and leaf.number.op is not None:
                self._say(leaf.number.op, "it is loaded", "index")
            if number.op is not None:
                self._decided(leaf or member.operand, number.op)

    def leaf(self, operand: OriginOperand) -> OriginOperand | None:
        """The first element, or zero from outside of a tensor, that a number is computed from."""
        pending = [operand]
        for _ in range(INSIDE):
            if not pending:
                break
            one = pending.pop(0)
            if one.number.sort in ("element", "padding"):
                return one
            if one.number.sort == "computed":
                pending += [_after(one.path, inner) for inner in self.origins.operands(one.number)]
        return None

    def _missing(
        self, kind: GroupKind, best: ComparedGroup, members: list[Member], whole: ComputedNumber | None
    ) -> None:
        elements = best.missing[0].elements
        what = _missing_text(best.missing[0])
        moves = [one for m in members if m.neutral(kind) for one in m.operand.path]
        for one in [one for one in moves if one.map_function == "select"][:1]:
            self._say(one, f"{what} is missing from the {kind}, and this takes what is not it", "all")
        idle = [one for one in moves if one.control is Control.LOOP][:1]
        for one in idle:
            self._say(one, "this loop is not executed once")
        if whole is not None and whole.op is not None:
            self._say(whole.op, f"{what} is missing from this {kind}", "all")
        for op in [] if idle else _loads(self.run.kernel, {tensor for tensor, _ in elements})[:2]:
            self._say(op, "it is loaded", "index")
            for one in self.run.around[op.id]:
                if one.control is Control.BRANCH:
                    self._say(one, "this branch decides whether it is loaded")


def _after(path: tuple[Op, ...], operand: OriginOperand) -> OriginOperand:
    """An operand of a number that itself came by a path."""
    return OriginOperand(operand.number, (*path, *operand.path)) if path else operand


def _named(number: ComputedNumber) -> str:
    if number.sort == "constant":
        return f"the constant {number.value:g}"
    if number.sort == "padding":
        return f"a zero from outside of {number.tensor}"
    return f"{number.tensor}[{', '.join(map(str, number.coords))}]" if number.tensor else f"{number.value:.6g}"


def _missing_text(addend: SpecifiedAddend) -> str:
    return " and ".join(f"{t}[{', '.join(map(str, c))}]" for t, c in addend.elements) or f"{addend.value:.6g}"


def _loads(kernel: Kernel, tensors: Iterable[str]) -> list[Op]:
    """Ops that load one of these tensors, one for each line."""
    names, found = set(tensors), dict[Span, Op]()
    for op in ops.walk(kernel.body):
        if any(f.reads and isinstance(f.memory, Tensor) and f.memory.name in names for f in op.footprints):
            found.setdefault(op.span, op)
    return list(found.values())


def _narrowest(kernel: Kernel) -> int:
    """Bits of the narrowest float that is computed with; one that is only stored as a result does not count."""
    bits = 16 if any(reads_as_xf32(op) for op in ops.walk(kernel.body)) else 32  # xf32 has the digits of f16
    narrow = set[Value]()
    for op in [op for _ in range(2) for op in ops.walk(kernel.body)]:  # twice: what loops hand back
        narrow |= {made for made, sources in op.sources if narrow & set(sources)}
        makes = op.needs_contents and not op.footprints
        given = min((v.dtype.bits for v in op.operands if v in narrow), default=64)
        kept = not makes and not any(isinstance(f.memory, Shared) for f in op.footprints)
        if kept and given < 64:
            narrow |= set(op.results)
        bits = bits if kept else min(bits, given)
        narrow |= {v for v in op.results if makes and v.dtype.kind == "float" and v.dtype.bits < 32}
    return max(8, bits)
