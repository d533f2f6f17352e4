"""Wait insertion: an explicit `Wait` before every use of a register that a load has still to fill.

A wave's memory accesses are outstanding until it waits for them; each counter (vm: global memory, lgkm: LDS) retires in
order of issue, so "the load that made %7 is done" is "at most n accesses are outstanding", n being how many were issued
after it. The pass counts them along every path:

    %7 = load A ...          vm: %7 outstanding, 0 younger
    %8 = load B ...          vm: %7 has 1 younger
    store lds.sA <- %7   ->  wait vm=1; store lds.sA <- %7
    ...
    store lds.sB <- %8   ->  wait vm=0; store lds.sB <- %8

Only accesses that are surely issued count as younger: a load nobody reads is not in the code, and a guarded LDS access
is skipped by a wave none of whose lanes pass.

Where paths meet (branches, the back edge of a loop) the smaller count is taken, which waits for more and is always
safe; loops are walked until the counts at their head no longer change, so loads may stay in flight across iterations.
Barriers that are not bare retire LDS accesses by themselves. What the author wrote as `wait` stays.

The result says `waits: explicit` in its policies: from there on, checker and interpreter take the program at its word.
Counts are capped at what the counters can express. What is put in before arithmetic orders no memory (`registers`):
the code waits where the instruction that reads the register comes to stand, and arithmetic may pass barriers. An access
that is surely issued keeps its place, and with it the wait. Waits for *memory* order (a direct-to-LDS copy before a
barrier, a global store another wave reads) are the author's, and `race_free` and `fresh` check them.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import assert_never

from argus.gfx942.target import Target
from argus.ir import ops
from argus.ir.kernel import Kernel
from argus.ir.ops import Counter, Op
from argus.ir.passes.liveness import emitted
from argus.ir.types import Value

COUNTERS: tuple[Counter, ...] = ("vm", "lgkm")


def insert_waits(kernel: Kernel) -> Kernel:
    """The kernel with explicit waits; unchanged if it already has them."""
    if kernel.policies.get("waits") == "explicit":
        return kernel
    first = 1 + max((op.id for op in ops.walk(kernel.body)), default=-1)
    body = _Inserter(kernel, first).block(kernel.body, PendingLoads(kernel.target))[0]
    return replace(kernel, body=body, policies={**kernel.policies, "waits": "explicit"})


@dataclass(frozen=True, slots=True)
class PendingLoads:
    """Loads outstanding on a path: `at`, for each value and counter it hangs on, is how many accesses had been issued
    on that counter when its youngest load was; `issued` are those issued so far, from some start on."""

    target: Target
    issued: dict[Counter, int] = field(default_factory=lambda: dict.fromkeys(COUNTERS, 0))
    at: dict[Value, dict[Counter, int]] = field(default_factory=dict)

    def younger(self, value: Value) -> dict[Counter, int]:
        """For each counter the value hangs on, how many accesses were certainly issued after its youngest load."""
        return {c: min(self.issued[c] - n, self.target.counters[c]) for c, n in self.at.get(value, {}).items()}

    def waited(self, vm: int | None, lgkm: int | None) -> PendingLoads:
        """What is still outstanding once at most `vm` and `lgkm` accesses are."""
        oldest = {
            c: -1 - top if most is None or most > top else self.issued[c] - most
            for c, top, most in ((c, self.target.counters[c], m) for c, m in zip(COUNTERS, (vm, lgkm), strict=True))
        }
        left: dict[Value, dict[Counter, int]] = {}
        for value, counts in self.at.items():
            kept = {c: n for c, n in counts.items() if n > oldest[c]}
            if kept:
                left[value] = kept
        return PendingLoads(self.target, self.issued, left)

    def after(self, op: Op, surely: bool) -> PendingLoads:
        """One more access on the op's counter, if it is `surely` issued; a load's result becomes outstanding."""
        counter = op.counter
        if counter is None:
            return self
        issued = {**self.issued, counter: self.issued[counter] + 1} if surely else self.issued
        made = {result: {counter: issued[counter]} for result in op.results}
        return PendingLoads(self.target, issued, {**self.at, **made} if made else self.at)

    def renamed(self, op: ops.Registers | ops.Bitcast) -> PendingLoads:
        """Naming registers anew needs no data: the result is outstanding as its sources are."""
        counts: dict[Counter, int] = {}
        for source in op.operands:
            for counter, n in self.at.get(source, {}).items():
                counts[counter] = max(n, counts.get(counter, n))
        return PendingLoads(self.target, self.issued, {**self.at, op.result: counts}) if counts else self

    def carried(self, sources: tuple[Value, ...], targets: tuple[Value, ...]) -> PendingLoads:
        """Values handed from `sources` to `targets` are outstanding under the new names too."""
        handed = {target: self.at[source] for source, target in zip(sources, targets, strict=True) if source in self.at}
        return PendingLoads(self.target, self.issued, {**self.at, **handed})

    def meet(self, other: PendingLoads) -> PendingLoads:
        """Outstanding on either path, with the count that is safe on both, counted from a start of its own."""
        found: dict[Value, dict[Counter, int]] = {}
        for value in self.at | other.at:
            mine, theirs = self.younger(value), other.younger(value)
            found[value] = {
                c: -min(mine.get(c, theirs.get(c, 0)), theirs.get(c, mine.get(c, 0))) for c in mine | theirs
            }
        return PendingLoads(self.target, at=found)


class _Inserter:
    def __init__(self, kernel: Kernel, first_id: int) -> None:
        self.next_id = first_id
        self.live = emitted(kernel)

    def block(self, block: list[Op], pending: PendingLoads) -> tuple[list[Op], PendingLoads]:
        made: list[Op] = []
        for op in block:
            wait = self.needed(op, pending)
            if wait is not None:
                made.append(wait)
                pending = pending.waited(wait.vm, wait.lgkm)
            new, pending = self.step(op, pending)
            made.append(new)
        return made, pending

    def needed(self, op: Op, pending: PendingLoads) -> ops.Wait | None:
        counts: dict[Counter, int] = {}
        for value in self.uses(op):
            for counter, younger in pending.younger(value).items() if value in pending.at else ():
                most = pending.target.counters[counter] - 1  # the counter's largest number is no wait
                counts[counter] = min(counts.get(counter, most), younger)
        if not counts:
            return None
        self.next_id += 1
        vm, lgkm, stays = counts.get("vm"), counts.get("lgkm"), op.counter is not None and op.surely_issued
        return ops.Wait(id=self.next_id - 1, span=op.span, site=op.site, vm=vm, lgkm=lgkm, registers=not stays)

    def uses(self, op: Op) -> tuple[Value, ...]:
        """Registers whose contents the op itself needs; loops, branches and renamings only hand them on, and an op that
        is not in the code waits for nothing."""
        return op.operands if op.needs_contents and op.id in self.live else ()

    def step(self, op: Op, pending: PendingLoads) -> tuple[Op, PendingLoads]:
        match op:
            case ops.For():
                return self.loop(op, pending)
            case ops.If():
                return self.branch(op, pending)
            case ops.Schedule():
                body, pending = self.block(op.body, pending)
                return replace(op, body=body), pending
            case ops.Wait():
                return op, pending.waited(op.vm, op.lgkm)
            case ops.Barrier():
                return op, pending if op.bare else pending.waited(None, 0)
            case ops.Registers() | ops.Bitcast():
                return op, pending.renamed(op)
            case ops.Load() | ops.Store() | ops.CopyToLds() | ops.Atomic():
                return op, pending.after(op, op.surely_issued and op.id in self.live)
            case (
                ops.Constant() | ops.Index() | ops.Symbol() | ops.Map() | ops.Convert() | ops.Lanes() | ops.Mfma() |
                ops.Instruction() | ops.SetPrio() | ops.Tag() | ops.Check()
            ):  # fmt: skip
                return op, pending
            case _:
                assert_never(op)

    def loop(self, op: ops.For, pending: PendingLoads) -> tuple[Op, PendingLoads]:
        head = pending.carried(op.inits, op.args)
        head = head.meet(head)
        start = self.next_id
        while True:
            self.next_id = start
            body, end = self.block(op.body, head)
            again = head.meet(end.carried(op.yields, op.args))
            if again == head:
                break
            head = again
        leaving = end.carried(op.yields, op.outs).meet(pending.carried(op.inits, op.outs))
        return replace(op, body=body), leaving

    def branch(self, op: ops.If, pending: PendingLoads) -> tuple[Op, PendingLoads]:
        then, after_then = self.block(op.then, pending)
        orelse, after_else = self.block(op.orelse, pending)
        after = after_then.carried(op.then_yields, op.outs).meet(after_else.carried(op.else_yields, op.outs))
        return replace(op, then=then, orelse=orelse), after
