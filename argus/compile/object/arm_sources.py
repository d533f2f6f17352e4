"""What data is made from on one path: behind a branch, one set of sources for each arm.

    if …:  r = x * 3 + v          sources of r on a path: {x, v}, or {x, w}
    else:  r = x - w
    store Y <- r

`data_sources` joins the arms: {x, v, w}. A register that the object fills in both arms holds x of one of them, so the
join does not see that the other arm has lost it. Here the arms stay apart, also through arithmetic behind the branch,
which a compiler may move into the arms. Every write that reaches a use must have all of one of these sets.

Asked only of kernels with a branch that hands on values. More than `MOST` sets are none: nothing is asked then.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product

from argus.compile.object.data_sources import DataSources, Sources, element_bytes, union
from argus.compile.object.kernel_exchanges import of_instruction, of_lanes
from argus.ir import ops
from argus.ir.kernel import Kernel
from argus.ir.types import Value

Alternatives = frozenset[Sources]
ANYTHING: Alternatives = frozenset({0})
"""No source is asked for."""
MOST = 16


class ArmSources:
    """The sets of sources that paths give each element of each value."""

    def __init__(self, kernel: Kernel, joined: DataSources) -> None:
        self.joined = joined
        every = list(ops.walk(kernel.body))
        self.asked = any(isinstance(op, ops.If) and op.sources for op in every)
        self._of: dict[Value, list[Alternatives]] = {}
        if not self.asked:
            return
        for op in every:
            for value in (*(value for value, _ in op.sources), *_followed(op)):
                self._of[value] = [frozenset()] * value.count
        while sum(self._step(op) for op in every):
            pass

    def of_bytes(self, value: Value, start: int, width: int) -> Alternatives:
        """Of the elements that lie in some bytes of a value's registers."""
        each = element_bytes(value)
        return _together(self._known(value)[start // each : -(-(start + width) // each)])

    def _known(self, value: Value) -> list[Alternatives]:
        return self._of.get(value) or [ANYTHING] * value.count

    def _step(self, op: ops.Op) -> bool:
        """Whether more sets became known of what the op makes."""
        changed = False
        for value, given in op.sources:
            rows = zip(*(self._known(one) for one in given), strict=True)
            changed |= self._grow(value, [frozenset().union(*row) for row in rows])
        for value in _followed(op):
            changed |= self._grow(value, self._made(op, value))
        return changed

    def _made(self, op: ops.Op, value: Value) -> list[Alternatives]:
        match op:
            case ops.Map():
                return [_together(row) for row in zip(*map(self._known, op.args), strict=True)]
            case ops.Convert():
                return self._known(op.value)
            case ops.Lanes() if of_lanes(op) is None:
                return self._known(op.value)
            case ops.Bitcast():
                each = element_bytes(value)
                return [self.of_bytes(op.value, n * each, each) for n in range(value.count)]
            case ops.Registers():
                return [self._known(op.args[arg])[n] for arg, n in op.pick]
        return [frozenset({one}) for one in self.joined.of(value)]

    def _grow(self, value: Value, more: list[Alternatives]) -> bool:
        known = self._of[value]
        joined = [_least(a | b) for a, b in zip(known, more, strict=True)]
        if joined == known:
            return False
        self._of[value] = joined
        return True


def _followed(op: ops.Op) -> tuple[Value, ...]:
    """What an op makes of whose sources something is asked; of anything else nothing is."""
    match op:
        case ops.Load() | ops.Mfma() | ops.Map() | ops.Convert() | ops.Bitcast() | ops.Registers() | ops.Lanes():
            return (op.result,)
        case ops.Instruction() if of_instruction(op) is not None:
            return tuple(op.outs)
    return ()


def _together(rows: Iterable[Alternatives]) -> Alternatives:
    """One set of each."""
    return _least(frozenset(union(chosen) for chosen in product(*rows)))


def _least(sets: Alternatives) -> Alternatives:
    """Sets that contain another one ask for nothing more."""
    if len(sets) <= 1:
        return sets
    if len(sets) > MOST:
        return ANYTHING
    return frozenset(one for one in sets if not any(other != one and other & ~one == 0 for other in sets))
