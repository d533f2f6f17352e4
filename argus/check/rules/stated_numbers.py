"""What `ag.as_index` states also holds of a number that nobody loaded.

    p = ag.as_index(E[b].load(ONE, width=4), 1, P)      p is 0 where b is past the end of E, whatever E holds

Statements are obligations of the launch, and a launch can see to the elements of a tensor only. What a thread holds
because its load was outside the tensor, or its guard did not hold, is 0, and a constant or an index is what the kernel
says. So each of these must be shown to be as stated:

    a load               every fact with 0 for the symbol, or the coordinates are inside and the guard holds
    a constant, an index every fact with the number
    moved by registers, lanes, loops, selections    each of what it may be; a load there is inside wherever it stands
    arithmetic on loads  they are inside wherever they stand, and nothing but constants and indices goes in beside them:
                         then elements decide the number, and the launch can see to it
    anything else        not known: a selection may bring in a zero of the kernel's own, so may LDS, a loop or a scan
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import assert_never

from argus.check.walk import KernelWalk
from argus.ir import ops
from argus.ir.kernel import Kernel
from argus.ir.ops import Access, Tensor
from argus.ir.origins import Origins, reached
from argus.ir.types import Value
from argus.layout import expr as E
from argus.layout.expr import Expr

Facts = tuple[Expr, ...]
Fetch = ops.Load | ops.CopyToLds


class StatedNumbers:
    """The statements of one kernel, during one walk."""

    def __init__(self, flow: KernelWalk) -> None:
        self.flow = flow
        self.origins = Origins(flow.kernel)
        self.asked = _asked(flow.kernel)
        self.inside: dict[int, bool] = {}
        """Loads of tensors that were met, by op: whether all of them were inside at every visit."""
        self.waiting: list[tuple[ops.Symbol, ops.Load]] = []
        """Statements that hold if these loads are inside, which may still be to come."""

    def met(self, op: Fetch, facts: Facts) -> None:
        """A load of a tensor; it is looked at where a statement depends on it."""
        if op.id in self.asked and self.inside.get(op.id, True):
            self.inside[op.id] = self._holds(facts, _inside(self.flow, op.access))

    def doubts(self, op: ops.Symbol, facts: Facts) -> list[str]:
        """What may not be as it is stated."""
        return [why for value in self.origins.of(op.value) for why in self._doubts_of(op, value, facts)]

    def _doubts_of(self, op: ops.Symbol, value: Value, facts: Facts) -> list[str]:
        """Of one of the values that the number may be, where it was made."""
        maker = self.origins.made.get(value)
        match maker:
            case ops.Constant():
                return self._is(op, E.const(int(maker.value)), facts, f"it may be {int(maker.value)}")
            case ops.Index():
                return self._is(op, self.flow.here(maker.expr), facts, f"it may be `{maker.expr}`")
            case ops.Load():
                loads = self._decided_by(value)
                return self._loaded(op, loads[0], facts, value is op.value) if loads else self._computed(op)
            case (
                None | ops.Symbol() | ops.Map() | ops.Convert() | ops.Bitcast() | ops.Registers() | ops.Lanes() |
                ops.Mfma() | ops.Instruction() | ops.Store() | ops.CopyToLds() | ops.Atomic() | ops.For() | ops.If() |
                ops.Schedule() | ops.Barrier() | ops.Wait() | ops.SetPrio() | ops.Tag() | ops.Check()
            ):  # fmt: skip
                loads = self._decided_by(value)
                self.waiting += [(op, load) for load in loads]
                return [] if loads else self._computed(op)
            case _:
                assert_never(maker)

    def _decided_by(self, value: Value) -> list[ops.Load]:
        """The loads of a number that elements of tensors decide by arithmetic alone; none if it is not that."""
        loads: list[ops.Load] = []
        waiting, seen = [value], {value}
        while waiting:
            maker = self.origins.made.get(waiting.pop())
            match maker:
                case ops.Load() if maker.access.memory in self.flow.kernel.tensors:
                    loads.append(maker)
                case ops.Constant() | ops.Index():
                    pass
                case ops.Map() if maker.fn != "select":
                    waiting += [v for v in maker.args if v not in seen]
                    seen.update(maker.args)
                case ops.Convert() | ops.Registers() | ops.Lanes():
                    waiting += [v for v in maker.operands if v not in seen]
                    seen.update(maker.operands)
                case (
                    None | ops.Load() | ops.Map() | ops.Symbol() | ops.Bitcast() | ops.Mfma() | ops.Instruction() |
                    ops.Store() | ops.CopyToLds() | ops.Atomic() | ops.For() | ops.If() | ops.Schedule() |
                    ops.Barrier() | ops.Wait() | ops.SetPrio() | ops.Tag() | ops.Check()
                ):  # fmt: skip
                    return []
                case _:
                    assert_never(maker)
        return loads

    def _computed(self, op: ops.Symbol) -> list[str]:
        return [f"what is stated of `{op.symbol}` is not shown: it is computed"]

    def outside(self) -> Iterable[tuple[ops.Symbol, str]]:
        """Statements that rest on a load that is not inside wherever it stands; asked when the walk is over."""
        for op, load in self.waiting:
            if not self.inside.get(load.id, True):
                yield op, _said(op, load)

    def _loaded(self, op: ops.Symbol, load: ops.Load, facts: Facts, direct: bool) -> list[str]:
        missing = [fact for fact in _facts(self.flow, op, E.const(0)) if not self._holds(facts, fact)]
        if not missing:
            return []
        if not direct:
            self.waiting.append((op, load))
            return []
        inside = _inside(self.flow, load.access)
        return [] if all(self._holds(facts, E.lor(fact, inside)) for fact in missing) else [_said(op, load)]

    def _is(self, op: ops.Symbol, number: Expr, facts: Facts, what: str) -> list[str]:
        shown = all(self._holds(facts, fact) for fact in _facts(self.flow, op, number))
        return [] if shown else [f"what is stated of `{op.symbol}` is not shown: {what}"]

    def _holds(self, facts: Facts, goal: Expr) -> bool:
        if goal is E.TRUE:
            return True
        facts = (*facts, *self.flow.entangled)
        if self.flow.prover.holds(facts, goal) is True:
            return True
        active = self.flow.active
        if active.all():
            return False
        each = {_of_thread(goal, int(w), int(lane)) for w, lane in zip(*active.nonzero(), strict=True)}
        return all(self.flow.prover.holds(facts, one) is True for one in each)


def _of_thread(goal: Expr, wave: int, lane: int) -> Expr:
    numbers = {"lane": lane, "wave": wave}
    return goal.subst({v: numbers[v.name] for v in goal.free() if v.name in numbers})


def _said(op: ops.Symbol, load: ops.Load) -> str:
    tensor = load.access.memory.name
    return f"what is stated of `{op.symbol}` is not shown of the 0 that is read outside of {tensor}, or behind a guard"


def _facts(flow: KernelWalk, op: ops.Symbol, number: Expr) -> list[Expr]:
    """All that is stated of a symbol, said of a number."""
    low, high = op.symbol.bounds()
    bounds = [] if low is None else [number.ge(low)]
    bounds += [] if high is None else [number.le(high)]
    return [*bounds, *(flow.here(fact).subst({op.symbol: number}) for fact in op.facts)]


def _inside(flow: KernelWalk, access: Access) -> Expr:
    """Every element of the access is one of the tensor, and the guard holds."""
    tensor = access.memory
    assert isinstance(tensor, Tensor)
    if len(access.coords) != len(tensor.axes):
        return E.FALSE
    limits: list[Expr] = [] if access.guard is None else [flow.here(access.guard)]
    for axis, (coordinate, extent) in enumerate(zip(access.coords, tensor.shape, strict=True)):
        last = access.count - 1 if axis == access.axis % len(tensor.axes) else 0
        here = flow.here(coordinate)
        limits += [here.ge(0), (here + last).lt(extent)]
    return E.land(*limits)


def _asked(kernel: Kernel) -> frozenset[int]:
    """Loads of tensors that a statement may depend on, by operands, loops, branches and memory."""
    every = list(ops.walk(kernel.body))
    stated = {v for op in every if op.binds for v in op.operands}
    read = [op for op in every if any(part.reads and part.memory in kernel.tensors for part in op.footprints)]
    return frozenset(op.id for op in read if stated and reached(every, op.results) & stated)
