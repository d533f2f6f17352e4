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
from typing import assert_never

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
        self.asked = any(op.control is ops.Control.BRANCH and op.sources for op in every)
        self._of = {scalar.value: _any(scalar.value) for scalar in kernel.scalars}
        while self.asked and sum(self._step(op) for op in every):
            pass

    def of_bytes(self, value: Value, start: int, width: int) -> Alternatives:
        """Of the elements that lie in some bytes of a value's registers."""
        each = element_bytes(value)
        return _together(self._known(value)[start // each : -(-(start + width) // each)])

    def _known(self, value: Value) -> list[Alternatives]:
        return self._of.get(value) or [frozenset()] * value.count

    def _step(self, op: ops.Op) -> bool:
        """Whether values became known better by an op."""
        joined = [
            (value, [frozenset[Sources]().union(*row) for row in zip(*map(self._known, given), strict=True)])
            for value, given in op.sources
        ]
        grown = [self._grow(value, more) for value, more in (*joined, *self._made(op))]
        return any(grown)

    def _made(self, op: ops.Op) -> list[tuple[Value, list[Alternatives]]]:
        match op:
            case ops.Load() | ops.Mfma():
                return [(op.result, self._own(op.result))]
            case ops.Map():
                return [(op.result, [_together(row) for row in zip(*map(self._known, op.args), strict=True)])]
            case ops.Convert():
                return [(op.result, self._known(op.value))]
            case ops.Lanes():
                return [(op.result, self._known(op.value) if of_lanes(op) is None else self._own(op.result))]
            case ops.Bitcast():
                each = element_bytes(op.result)
                places = range(op.result.count)
                return [(op.result, [self.of_bytes(op.value, n * each, each) for n in places])]
            case ops.Registers():
                return [(op.result, [self._known(op.args[arg])[n] for arg, n in op.pick])]
            case ops.Instruction():
                return [(out, _any(out) if of_instruction(op) is None else self._own(out)) for out in op.outs]
            case ops.Constant() | ops.Index():
                return [(op.result, _any(op.result))]
            case (
                ops.Symbol()
                | ops.Store()
                | ops.CopyToLds()
                | ops.Atomic()
                | ops.Barrier()
                | ops.Wait()
                | ops.SetPrio()
                | ops.Tag()
                | ops.Check()
                | ops.For()
                | ops.If()
                | ops.Schedule()
            ):
                return []
            case _:
                assert_never(op)

    def _own(self, value: Value) -> list[Alternatives]:
        return [frozenset({one}) for one in self.joined.of(value)]

    def _grow(self, value: Value, more: list[Alternatives]) -> bool:
        known = self._known(value)
        joined = [_least(a | b) for a, b in zip(known, more, strict=True)]
        self._of[value] = joined
        return joined != known


def _any(value: Value) -> list[Alternatives]:
    return [ANYTHING] * value.count


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
