"""What has to be shown of a kernel, listed from its ops alone before anything is decided, and the ledger of it.

    %9 = mfma ...                      conform: pairs      fresh: waited
    %7 = load lds.sA[...]              fresh: written      race_free: ordered      in_bounds: inside      fits: address
    store C[...] <- %9                 in_bounds: place    value, placed, reduced: stored      covers: counted

That loads of a tensor which the kernel also stores to see what was there before the launch is listed and never shown.

The walk says which ops it meets (`visit`) and which it cannot meet (`unreachable`, with the reason). A rule that has
shown what it asks at the op being met says so (`discharge`, with the reason); where it has not, it may say why
(`doubt`). An obligation is discharged if it was at every visit of its op and nothing was doubted there, or if the op is
never visited and its block was shown to be unreachable. Everything else is open: an event that was not raised, a rule
that did not look, an op that the walk forgot.

`conclude` is the only place where a verdict `proved` is made, and it looks at nothing but the obligations it is given.
`gated` refuses any other, and adds a verdict `unknown` for what is open and no verdict speaks of.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, assert_never

from argus.check.verdict import ObligationState, Verdict
from argus.ir import ops
from argus.ir.kernel import Kernel
from argus.ir.ops import Access, Memory, Op, Tensor
from argus.ir.types import Span
from argus.layout.expr import Expr

WHOLE_KERNEL = -1
"""The op of obligations that speak of the whole grid; it is met when the walk has come to its end."""
STATED_OF_VALUES = ("same", "distinct", "aligned", "invariant")
STATED_OF_ACCESSES = ("bank_free", "vector", "coalesced")
STATED_NUMBERS = "stated numbers"
NOBODY_LOOKED = "no rule looked at this"
Key = tuple[int, str, str]


@dataclass(frozen=True, slots=True)
class Obligation:
    """One thing to show about one op (or the whole kernel), by one rule."""

    number: int
    op: int
    span: Span
    rule: str
    what: str
    memory: Memory | None = None

    @property
    def key(self) -> Key:
        return self.op, self.rule, self.what


def deciding(op: Op) -> tuple[Expr, ...]:
    """Index expressions of an op that decide something, addresses not among them."""
    match op:
        case ops.Index():
            return (op.expr,)
        case ops.If():
            return (op.cond,)
        case ops.For():
            return (op.lo, op.hi + (op.step - 1))  # the largest number the counter takes
        case ops.Load() | ops.Store() | ops.Atomic() | ops.CopyToLds():
            return () if op.access.guard is None else (op.access.guard,)
        case (
            ops.Constant() | ops.Symbol() | ops.Map() | ops.Convert() | ops.Bitcast() | ops.Registers() |
            ops.Lanes() | ops.Mfma() | ops.Instruction() | ops.Barrier() | ops.Wait() | ops.SetPrio() | ops.Tag() |
            ops.Check() | ops.Schedule()
        ):  # fmt: skip
            return ()
        case _:
            assert_never(op)


def obligations(
    kernel: Kernel, rules: frozenset[str], outputs: frozenset[str], others: frozenset[str] = frozenset()
) -> tuple[Obligation, ...]:
    """What these rules have to show. `outputs` are results whose specification is decided here, `others` those of which
    it is decided elsewhere."""
    found: dict[Key, Obligation] = {}

    def add(op: int, span: Span, rule: str, what: str, memory: Memory | None = None) -> None:
        if rule in rules and (op, rule, what) not in found:
            found[op, rule, what] = Obligation(len(found), op, span, rule, what, memory)

    statements = [op for op in ops.walk(kernel.body) if isinstance(op, ops.Check)]
    for op in ops.walk(kernel.body):
        for rule, what, memory in _of(op, outputs, others, statements):
            add(op.id, op.span, rule, what, memory)
    if kernel.shared:
        add(WHOLE_KERNEL, kernel.span, "race_free", "waves end in step")
    touched = [(op, part) for op in ops.walk(kernel.body) for part in op.footprints]
    for tensor in kernel.tensors:
        loads = [op for op, part in touched if part.memory is tensor and part.reads and not part.writes]
        if loads and any(part.memory is tensor and part.writes for _, part in touched):
            what = f"{tensor.name}: loads see what was there before the launch"
            add(WHOLE_KERNEL, loads[0].span, "fresh", what, tensor)
        asked = [check for check in statements if check.rule == "covers" and tensor in check.targets]
        if tensor.name in outputs or asked:
            span = asked[0].span if asked else tensor.span
            add(WHOLE_KERNEL, span, "covers", f"{tensor.name}: every element once", tensor)
    return tuple(found.values())


Asked = Iterator[tuple[str, str, Memory | None]]


def _of(op: Op, outputs: frozenset[str], others: frozenset[str], statements: list[ops.Check]) -> Asked:
    if op.operands and op.needs_contents:
        yield "fresh", "waited", None
    if deciding(op):
        yield "fits", "numbers", None
    match op:
        case ops.Mfma():
            yield "conform", "pairs", None
        case ops.Load():
            yield from _accessed(op.access, statements, reads=True)
        case ops.Store():
            yield from _accessed(op.access, statements, reads=False)
            if isinstance(op.access.memory, Tensor):
                yield from _stored(op.access.memory, outputs, others, statements)
            else:
                yield "race_free", "lanes", op.access.memory
        case ops.Atomic():
            yield from _accessed(op.access, statements, reads=False)
            if isinstance(op.access.memory, Tensor):
                yield from _stored(op.access.memory, outputs, others, statements)
        case ops.CopyToLds():
            yield from _accessed(op.access, statements, reads=True)
            yield "fits", "landing", None
            yield "in_bounds", "inside", op.into
            yield "race_free", "ordered", op.into
            yield "race_free", "lanes", op.into
            yield from _about_speed(op.into, statements)
        case ops.Symbol():
            yield "in_bounds", STATED_NUMBERS, None
        case ops.Barrier():
            yield "race_free", "met by all waves", None
        case ops.Check():
            if op.rule in (*STATED_OF_VALUES, "reduced", "covers"):
                yield op.rule, "stated", None
        case (
            ops.Constant() | ops.Index() | ops.Map() | ops.Convert() | ops.Bitcast() | ops.Registers() | ops.Lanes() |
            ops.Instruction() | ops.Wait() | ops.SetPrio() | ops.Tag() | ops.For() |
            ops.If() | ops.Schedule()
        ):  # fmt: skip
            return
        case _:
            assert_never(op)


def _accessed(access: Access, statements: list[ops.Check], reads: bool) -> Asked:
    memory = access.memory
    yield "fits", "address", None
    if isinstance(memory, Tensor):
        yield "in_bounds", "place", memory
    else:
        yield "in_bounds", "inside", memory
        yield "race_free", "ordered", memory
        if reads:
            yield "fresh", "written", memory
            if any(check.rule == "fresh" and memory in check.targets and check.args for check in statements):
                yield "fresh", "version", memory
    yield from _about_speed(memory, statements)


def _about_speed(memory: Memory, statements: list[ops.Check]) -> Asked:
    for check in statements:
        if check.rule in STATED_OF_ACCESSES and memory in check.targets:
            yield check.rule, f"{memory.name}, stated at line {check.span.line}", memory


def _stored(tensor: Tensor, outputs: frozenset[str], others: frozenset[str], statements: list[ops.Check]) -> Asked:
    if tensor.name in outputs:
        yield "value", "stored", tensor
        yield "placed", "stored", tensor
    if tensor.name in outputs or tensor.name not in others:
        yield "reduced", "stored", tensor
    if tensor.name in outputs or any(check.rule == "covers" and tensor in check.targets for check in statements):
        yield "covers", "counted", tensor


@dataclass(slots=True)
class _Account:
    """What was noted about one obligation: at how many visits it was discharged, why it is open."""

    discharged: set[int] = field(default_factory=set)
    reason: str = ""
    open: str = ""


class Ledger:
    """The obligations of one walk and what is noted about them."""

    def __init__(self, listed: Iterable[Obligation] = ()) -> None:
        self.obligations = tuple(listed)
        self._accounts: dict[Key, _Account] = {one.key: _Account() for one in self.obligations}
        self._visits: dict[int, int] = {}
        self._unreachable: dict[int, str] = {}
        self._issued: dict[int, Verdict] = {}
        self._left_to: dict[Key, str] = {}

    # -- notes of the walk -----------------------------------------------------------------------------------------

    def visit(self, op: Op) -> None:
        """The op is met, once more."""
        self._visits[op.id] = self._visits.get(op.id, 0) + 1

    def unreachable(self, block: Iterable[Op], why: str) -> None:
        """No execution that comes here enters the block."""
        for op in ops.walk(list(block)):
            self._unreachable.setdefault(op.id, why)

    def finish(self) -> None:
        """The walk has come to the end of the kernel."""
        self._visits[WHOLE_KERNEL] = 1

    # -- notes of the rules ----------------------------------------------------------------------------------------

    def discharge(self, op: int, rule: str, what: str, reason: str) -> None:
        """It is shown, at this visit of the op."""
        account = self._accounts.get((op, rule, what))
        if account is not None and op in self._visits:
            account.discharged.add(self._visits[op])
            account.reason = account.reason or reason

    def doubt(self, op: int, rule: str, what: str, why: str) -> None:
        """It is not shown at this visit: the obligation stays open whatever else is noted."""
        account = self._accounts.get((op, rule, what))
        if account is not None:
            account.open = account.open or why or "it was not shown"

    def settle(self, op: int, rule: str, what: str, reason: str, doubts: Iterable[str]) -> None:
        """Discharged, unless there are doubts."""
        first = next(iter(doubts), None)
        if first is None:
            self.discharge(op, rule, what, reason)
        else:
            self.doubt(op, rule, what, first)

    def leave_to(self, op: int, rule: str, what: str, other: str, why: str) -> None:
        """It stays open, and the verdict about it is that of another rule."""
        self.doubt(op, rule, what, why)
        self._left_to[op, rule, what] = other

    # -- conclusions -----------------------------------------------------------------------------------------------

    def state(self, one: Obligation) -> ObligationState:
        """What became of an obligation."""
        account, visits = self._accounts[one.key], self._visits.get(one.op, 0)
        done = len(account.discharged)
        shown, reason = False, account.open or NOBODY_LOOKED
        if visits and done == visits and not account.open:
            shown, reason = True, account.reason
        elif not visits and not account.open and one.op in self._unreachable:
            shown, reason = True, f"unreachable: {self._unreachable[one.op]}"
        status: Literal["discharged", "open"] = "discharged" if shown else "open"
        return ObligationState(one.number, one.op, one.span.line, one.rule, one.what, status, reason, done)

    def states(self) -> tuple[ObligationState, ...]:
        return tuple(self.state(one) for one in self.obligations)

    def at(self, rule: str, span: Span) -> list[Obligation]:
        """What the rule has to show of the ops at a place of the source."""
        return [one for one in self.obligations if one.rule == rule and one.span == span and one.op != WHOLE_KERNEL]

    def about(self, rule: str, memory: Memory) -> list[Obligation]:
        """What the rule has to show about one memory, and of no memory in particular."""
        return [one for one in self.obligations if one.rule == rule and one.memory in (memory, None)]

    def conclude(
        self,
        shown: Iterable[Obligation],
        rule: str,
        span: Span,
        op: int,
        by: str,
        sites: int = 1,
        bounds: Mapping[str, tuple[int | None, int | None]] | None = None,
    ) -> Verdict:
        """`proved` if all of these obligations, of which there is at least one, are discharged; else `unknown`."""
        states = [self.state(one) for one in shown]
        reason = next((one.reason for one in states if one.status != "discharged"), "" if states else NOBODY_LOOKED)
        if reason:
            return Verdict(rule, "unknown", span, op, by, sites=sites, reason=reason)
        verdict = Verdict(rule, "proved", span, op, by, sites=sites, bounds=bounds or {})
        self._issued[id(verdict)] = verdict
        return verdict

    def issued(self, verdict: Verdict) -> bool:
        """Whether the verdict was made here."""
        return id(verdict) in self._issued

    def gated(self, verdicts: Iterable[Verdict], everywhere: Span) -> list[Verdict]:
        """The verdicts, of which only those made here may be `proved`; and one for every place where something is open
        and no verdict of its rule, there or `everywhere`, is anything but proved."""
        found = [
            replace(v, status="unknown", reason=NOBODY_LOOKED) if v.status == "proved" and not self.issued(v) else v
            for v in verdicts
        ]
        places = {(v.rule, v.span) for v in found if v.status != "proved"}
        rules = {v.rule for v in found if v.status != "proved"}
        for one in self.obligations:
            state = self.state(one)
            if state.status == "discharged" or (one.rule, one.span) in places or (one.rule, everywhere) in places:
                continue
            if self._left_to.get(one.key) in rules or (one.rule in ("race_free", "covers") and one.rule in rules):
                continue  # the latter give one verdict for a memory, wherever it stands
            places.add((one.rule, one.span))
            reason = f"{one.what}: {state.reason}"
            found.append(Verdict(one.rule, "unknown", one.span, one.op, "none", reason=reason))
        return found
