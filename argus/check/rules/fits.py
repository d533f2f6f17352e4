"""Rule `fits`: numbers that conditions and loops are decided by fit the 32 bits they have on the machine.

The checker computes with whole numbers; code has 32 bits and wraps around. Sums and products may wrap on the way, since
the last 32 bits are right all the same. What is compared, divided, chosen from or counted to must fit:

    if m >= s * 2147483647: ...          with s up to 2 the right side is 4294967294, on the machine -2

Said only where it is not shown: a verdict of this rule is never `proved`.
"""

from __future__ import annotations

from argus.check.report import Verdict
from argus.check.rules.rule import Rule, RuleFindings
from argus.check.walk import Flow, ProgramPoint
from argus.ir import ops
from argus.layout import expr as E
from argus.layout.expr import Expr
from argus.layout.node import postorder

LEAST, MOST = -(2**31), 2**31 - 1
WRAPS = ("add", "mul", "shl", "xor", "and", "or", "const", "var")
"""Operations whose last 32 bits follow from those of their operands."""
ADVICE = "bound the sizes in requires=…, or compare smaller numbers"


class Fits(Rule):
    """Listens to index expressions that decide something."""

    name = "fits"

    def begin(self, flow: Flow) -> None:
        super().begin(flow)
        self.found: RuleFindings[Expr] = RuleFindings()
        self.known: dict[tuple[Expr, tuple[Expr, ...]], Expr | None] = {}

    def mark(self) -> int:
        return self.found.mark()

    def rewind(self, position: int) -> None:
        self.found.rewind(position)

    def counted(self, op: ops.Op, place: ProgramPoint, numbers: tuple[Expr, ...]) -> None:
        for number in numbers:
            key = number, place.facts
            if key not in self.known:
                self.known[key] = self._too_large(number, place.facts)
            failure = self.known[key]
            if failure is not None:
                self.found.add(op, place.facts, [failure])

    def _too_large(self, number: Expr, facts: tuple[Expr, ...]) -> Expr | None:
        """The first number in it that is not known to fit."""
        seen = [a for node in postorder(number) if node.op not in WRAPS for a in node.args if not a.boolean]
        for one in dict.fromkeys([*seen, *([] if number.boolean else [number])]):
            low, high = one.lo, one.hi
            if low is not None and high is not None and low >= LEAST and high <= MOST:
                continue
            if self.flow.prover.holds(facts, E.land(one.ge(LEAST), one.le(MOST))) is not True:
                return one
        return None

    def verdicts(self, flow: Flow) -> list[Verdict]:
        del flow
        made = []
        for span in self.found.spans():
            first = self.found.at(span)[0]
            reason = f"`{first.failures[0]}` may not fit 32 bits"
            made.append(Verdict("fits", "unknown", span, first.op.id, "z3", reason=reason, help=ADVICE))
        return made
