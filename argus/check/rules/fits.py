"""Rule `fits`: index arithmetic gives on the machine what it gives on paper.

The checker computes with whole numbers; code has 32 bits and wraps around. What must fit is said in
`argus.ir.semantics.arithmetic`: operands of comparisons, divisions, minima, choices, amounts of shifts, ends of loops,
and numbers used as data, in addresses too. Sums and products may wrap on the way:

    if m >= s * 2147483647: ...          with s up to 2 the right side is 4294967294, on the machine -2

The offset of a lane in its buffer must stay in reach (`argus.ir.semantics.addresses`): by the bounds of its variables,
by a condition on the sizes that every launch is checked for, by facts of the path, or because every coordinate is
inside.

Tensors have fewer than 2**31 bytes here. A launch with a larger one is accepted only where the same numbers and offsets
fit by the bounds that its sizes give them (`argus.compile.large_tensors`).

Said only where it is not shown: a verdict of this rule is never `proved`.
"""

from __future__ import annotations

from argus.check.domain.tags import Tags
from argus.check.domain.threads import Spread
from argus.check.events import ProgramPoint
from argus.check.rules.in_bounds import whole_steps
from argus.check.rules.rule import Rule, RuleEvent
from argus.check.walk import KernelWalk
from argus.ir import ops
from argus.ir.ops import Access, Op, Tensor
from argus.ir.semantics import LEAST, MAX_BYTES, Need, buffer_parts, extent_bytes, needs, reached, size_bounds, varying
from argus.ir.semantics.addresses import LIMIT
from argus.layout import expr as E
from argus.layout.expr import Expr

Facts = tuple[Expr, ...]


class Fits(Rule):
    """Listens to index expressions that decide something, and to all accesses."""

    name = "fits"

    def begin(self, flow: KernelWalk) -> None:
        super().begin(flow)
        self.found: list[RuleEvent[Need]] = []
        self.known: dict[tuple[object, Facts], Need | None] = {}
        self.per_lane = varying(flow.kernel)
        self.sizes = size_bounds(flow.kernel)
        self.extents = tuple(extent_bytes(tensor).lt(MAX_BYTES) for tensor in flow.kernel.tensors)
        """At launches with larger tensors the same numbers are shown to fit by their sizes."""

    def counted(self, op: Op, place: ProgramPoint, numbers: tuple[Expr, ...]) -> None:
        failures = [self._missing(needs(number, whole=True), place.facts) for number in numbers]
        self._add(op, place, "numbers", failures)

    def global_load(self, op: ops.Load | ops.CopyToLds, place: ProgramPoint, access: Access) -> None:
        self._add(op, place, "address", [self._buffer(access, place)])

    def global_store(self, op: ops.Store | ops.Atomic, place: ProgramPoint, access: Access, value: Tags) -> None:
        del value
        self._add(op, place, "address", [self._buffer(access, place)])

    def lds_access(self, op: Op, place: ProgramPoint, access: Access, start: Spread, value: Tags) -> None:
        del start, value
        what = "landing" if isinstance(op, ops.CopyToLds) else "address"
        self._add(op, place, what, [self._address(access, place)])

    def _add(self, op: Op, place: ProgramPoint, what: str, failures: list[Need | None]) -> None:
        wrong = [need for need in failures if need is not None]
        self.settle(op, what, self.flow.prover.reason(), [sentence(need) for need in wrong])
        if wrong:
            self.found.append(RuleEvent(op, place.facts, tuple(wrong)))

    def _facts(self, access: Access, place: ProgramPoint) -> Facts:
        return place.facts if access.guard is None else (*place.facts, self.flow.here(access.guard))

    def _missing(self, wanted: tuple[Need, ...], facts: Facts) -> Need | None:
        """The first need that is not shown."""
        return next((need for need in wanted if not self._shown(need, facts)), None)

    def _shown(self, need: Need, facts: Facts) -> bool:
        key = need, facts
        if key not in self.known:
            known = (*facts, *self.extents) if _multiplied(need.number) else facts
            self.known[key] = None if self.flow.prover.holds(known, need.condition) is True else need
        return self.known[key] is None

    def _address(self, access: Access, place: ProgramPoint) -> Need | None:
        """What is missing of an address. Most of it many accesses share and holds whatever their guards say."""
        wanted = needs(self.flow.here(access.address))
        if access.guard is not None:
            wanted = tuple(need for need in wanted if not self._shown(need, place.facts))
        return self._missing(wanted, self._facts(access, place))

    def _buffer(self, access: Access, place: ProgramPoint) -> Need | None:
        return self._address(access, place) or self._reach(access, place, self._facts(access, place))

    def _reach(self, access: Access, place: ProgramPoint, facts: Facts) -> Need | None:
        parts = buffer_parts(access, self.per_lane, (var.name for var, _ in place.loops))
        if parts.plain or reached(access, parts, self.sizes) is not None:
            return None
        far = Need(self.flow.here(parts.offset), LEAST, LIMIT - access.count * access.memory.dtype.bytes)
        key = (access, far), facts
        if key not in self.known:
            shown = self._inside(access, facts) or self.flow.prover.holds(facts, far.condition) is True
            self.known[key] = None if shown else far
        return self.known[key]

    def _inside(self, access: Access, facts: Facts) -> bool:
        """Every coordinate is inside the tensor, whose extent is below 2**31 bytes."""
        tensor = access.memory
        if not isinstance(tensor, Tensor) or len(access.coords) != len(tensor.shape):
            return False
        known = (*self.flow.prover.base, *facts)
        for axis, (coordinate, extent) in enumerate(zip(access.coords, tensor.shape, strict=True)):
            here, last = self.flow.here(coordinate), access.count - 1 if axis == access.axis % len(tensor.axes) else 0
            for end in (here.ge(0), (here + last).lt(extent)):
                if not whole_steps(known, here, last, extent, end) and self.flow.prover.holds(facts, end) is not True:
                    return False
        return True


def sentence(need: Need) -> str:
    """What is not shown, in words."""
    if need.low == 1:
        return f"the divisor `{need.number}` may be zero, negative or too large"
    if need.high == 31:
        return f"a shift by `{need.number}` may be by less than 0 or more than 31"
    if need.high > 2**31:
        return f"the offset `{need.number}` of a lane may leave 32 bits and come back into the tensor"
    return f"`{need.number}` may not fit 32 bits"


def _multiplied(number: Expr) -> bool:
    """Sizes are multiplied in it, so that how large tensors are may bound it."""
    return any(node.op == "mul" and sum(arg.op != "const" for arg in node.args) > 1 for node in E.postorder(number))
