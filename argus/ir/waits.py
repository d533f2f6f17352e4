"""Wait insertion: an explicit `Wait` before every use of a register that a load has still to fill.

A wave's memory accesses are outstanding until it waits for them; each counter (vm: global memory, lgkm: LDS) retires in
order of issue, so "the load that made %7 is done" is "at most n accesses are outstanding", n being how many were issued
after it. The pass counts them along every path:

    %7 = load A ...          vm: %7 outstanding, 0 younger
    %8 = load B ...          vm: %7 has 1 younger
    store lds.sA <- %7   ->  wait vm=1; store lds.sA <- %7
    ...
    store lds.sB <- %8   ->  wait vm=0; store lds.sB <- %8

Where paths meet (branches, the back edge of a loop) the smaller count is taken, which waits for more and is always
safe; loops are walked until the counts at their head no longer change, so loads may stay in flight across iterations.
Barriers that are not bare retire LDS accesses by themselves. What the author wrote as `wait` stays.

The result says `waits: explicit` in its policies: from there on, checker and interpreter take the program at its word.
Counts are capped at what the counters can express. Waits for *memory* order (a direct-to-LDS copy before a barrier, a
global store another wave reads) are the author's, and `race_free` and `fresh` check them.
"""

from __future__ import annotations

from dataclasses import replace

from argus.gfx942.waits import LGKM_MAX, VM_MAX
from argus.ir import ops
from argus.ir.kernel import Kernel
from argus.ir.ops import Op, Shared
from argus.ir.types import Value

MAX_COUNTS = {"vm": VM_MAX, "lgkm": LGKM_MAX}

Pending = dict[Value, dict[str, int]]
"""Value -> for each counter it hangs on, how many accesses were certainly issued after its youngest load."""


def counter_of(op: Op) -> str | None:
    """The wait counter an op's access is counted on."""
    if isinstance(op, ops.Load | ops.Store | ops.Atomic):
        return "lgkm" if isinstance(op.access.memory, Shared) else "vm"
    return "vm" if isinstance(op, ops.CopyToLds) else None


def insert_waits(kernel: Kernel) -> Kernel:
    """The kernel with explicit waits; unchanged if it already has them."""
    if kernel.policies.get("waits") == "explicit":
        return kernel
    first = 1 + max((op.id for op in ops.walk(kernel.body)), default=-1)
    body = _Inserter(first).block(kernel.body, {})[0]
    return replace(kernel, body=body, policies={**kernel.policies, "waits": "explicit"})


def after_wait(pending: Pending, vm: int | None, lgkm: int | None) -> Pending:
    """What is still outstanding once at most `vm` and `lgkm` accesses are."""
    limits = {"vm": VM_MAX + 1 if vm is None else vm, "lgkm": LGKM_MAX + 1 if lgkm is None else lgkm}
    result: Pending = {}
    for value, counts in pending.items():
        left = {c: n for c, n in counts.items() if n < limits[c]}
        if left:
            result[value] = left
    return result


def after_issue(pending: Pending, op: Op) -> Pending:
    """One more access on the op's counter; a load's result becomes outstanding."""
    counter = counter_of(op)
    if counter is None:
        return pending
    top = MAX_COUNTS[counter]
    grown = {v: {c: min(n + 1, top) if c == counter else n for c, n in counts.items()} for v, counts in pending.items()}
    if isinstance(op, ops.Load):
        grown[op.result] = {counter: 0}
    return grown


def renamed(pending: Pending, op: ops.Registers | ops.Bitcast) -> Pending:
    """Naming registers anew needs no data: the result is outstanding as its sources are."""
    counts: dict[str, int] = {}
    for source in op.operands:
        for counter, younger in pending.get(source, {}).items():
            counts[counter] = min(younger, counts.get(counter, younger))
    return {**pending, op.result: counts} if counts else pending


def meet(a: Pending, b: Pending) -> Pending:
    """Outstanding on either path, with the count that is safe on both."""
    result = dict(a)
    for value, counts in b.items():
        other = a.get(value, {})
        result[value] = {c: min(counts.get(c, other.get(c, 0)), other.get(c, counts.get(c, 0))) for c in counts | other}
    return result


class _Inserter:
    def __init__(self, first_id: int) -> None:
        self.next_id = first_id

    def block(self, block: list[Op], pending: Pending) -> tuple[list[Op], Pending]:
        made: list[Op] = []
        for op in block:
            wait = self.needed(op, pending)
            if wait is not None:
                made.append(wait)
                pending = after_wait(pending, wait.vm, wait.lgkm)
            new, pending = self.step(op, pending)
            made.append(new)
        return made, pending

    def needed(self, op: Op, pending: Pending) -> ops.Wait | None:
        counts: dict[str, int] = {}
        for value in self.uses(op):
            for counter, younger in pending.get(value, {}).items():
                counts[counter] = min(counts.get(counter, MAX_COUNTS[counter]), younger)
        if not counts:
            return None
        self.next_id += 1
        return ops.Wait(id=self.next_id - 1, span=op.span, site=op.site, vm=counts.get("vm"), lgkm=counts.get("lgkm"))

    def uses(self, op: Op) -> tuple[Value, ...]:
        """Registers whose contents the op itself needs; loops, branches and renamings only hand them on."""
        passing = ops.For | ops.If | ops.Tag | ops.Check | ops.Registers | ops.Bitcast
        return () if isinstance(op, passing) else op.operands

    def step(self, op: Op, pending: Pending) -> tuple[Op, Pending]:
        match op:
            case ops.For():
                return self.loop(op, pending)
            case ops.If():
                return self.branch(op, pending)
            case ops.Schedule():
                body, pending = self.block(op.body, pending)
                return replace(op, body=body), pending
            case ops.Wait():
                return op, after_wait(pending, op.vm, op.lgkm)
            case ops.Barrier():
                return op, pending if op.bare else after_wait(pending, None, 0)
            case ops.Registers() | ops.Bitcast():
                return op, renamed(pending, op)
            case _:
                return op, after_issue(pending, op)

    def loop(self, op: ops.For, pending: Pending) -> tuple[Op, Pending]:
        head = _carried(pending, op.inits, op.args)
        start = self.next_id
        while True:
            self.next_id = start
            body, end = self.block(op.body, head)
            again = meet(head, _carried(end, op.yields, op.args))
            if again == head:
                break
            head = again
        leaving = meet(_carried(end, op.yields, op.outs), _carried(pending, op.inits, op.outs))
        return replace(op, body=body), leaving

    def branch(self, op: ops.If, pending: Pending) -> tuple[Op, Pending]:
        then, after_then = self.block(op.then, pending)
        orelse, after_else = self.block(op.orelse, pending)
        after = meet(
            _carried(after_then, op.then_yields, op.outs),
            _carried(after_else, op.else_yields, op.outs),
        )
        return replace(op, then=then, orelse=orelse), after


def _carried(pending: Pending, sources: tuple[Value, ...], targets: tuple[Value, ...]) -> Pending:
    """Values handed from `sources` to `targets` are outstanding under the new names too."""
    result = dict(pending)
    for source, target in zip(sources, targets, strict=True):
        if source in pending:
            result[target] = pending[source]
    return result


def missing_waits(kernel: Kernel) -> list[tuple[Op, Value]]:
    """Uses of registers whose load may still be outstanding, in a kernel with explicit waits."""
    finder = _Finder()
    finder.block(kernel.body, {})
    return list(finder.missing)


class _Finder(_Inserter):
    """Walks as the inserter does; where a wait would have to be inserted, one is missing."""

    def __init__(self) -> None:
        super().__init__(0)
        self.missing: dict[tuple[Op, Value], None] = {}

    def needed(self, op: Op, pending: Pending) -> ops.Wait | None:
        for value in self.uses(op):
            if value in pending:
                self.missing[op, value] = None
        return super().needed(op, pending)
