"""The proof: a certificate replayed, with rules listening. Nothing else makes a verdict `proved`.

    proof = prove(kernel, certificate, prover, request)

The kernel is walked once, from its first op to its last. At a loop the walk takes what the certificate claims of its
head, and base, step and exit are shown (`invariant.induction`). Rules hear every access, product and statement and
discharge what they have to show. If a claim is not shown, or the certificate has no meaning for this kernel, the proof
has failed: nothing that rules heard counts, and `unshown` says which loop and which slots.

Trusted: this file and what it imports. Where the certificate comes from does not matter.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from argus.check.certificate import Certificate, CertificateError, LoopPath
from argus.check.invariant.induction import ClaimFails
from argus.check.obligations import STATED_OF_ACCESSES, STATED_OF_VALUES, Ledger, obligations
from argus.check.rules.assumed_waits import Waited
from argus.check.rules.isolation import HELP, Shielded, internal
from argus.check.rules.rule import Rule
from argus.check.solve.limits import LimitReached
from argus.check.solve.prover import Prover
from argus.check.verdict import Verdict
from argus.check.walk import KernelWalk, OtherStatement, launch_facts
from argus.check.walks import of_specification
from argus.ir import ops
from argus.ir.kernel import Kernel
from argus.ir.types import Value
from argus.layout.expr import ExprError
from argus.spec.tree import ResultSpec

ANSWERED = frozenset(
    {"conform", "race_free", "fresh", "in_bounds", "reduced", "covers", *STATED_OF_ACCESSES, *STATED_OF_VALUES}
)
SPECIFIED = ("value", "placed", "reduced", "covers")
"""Rules that a specification implies."""


@dataclass(frozen=True, slots=True)
class ProofRequest:
    """The rules to decide: about the kernel, about further statements of its specification (`more`), and with all
    registers taken to be waited for (`waited`). `results` are the tensors that some statement speaks of."""

    rules: tuple[Shielded, ...]
    more: tuple[tuple[ResultSpec, Shielded], ...]
    waited: tuple[Shielded, ...]
    results: frozenset[str]

    @staticmethod
    def of(
        rules: Iterable[Rule], results: frozenset[str], more: Iterable[ResultSpec] = (), waited: Iterable[Rule] = ()
    ) -> ProofRequest:
        further = [(one, Shielded(rule)) for one in more for rule in of_specification()]
        return ProofRequest(tuple(map(Shielded, rules)), tuple(further), tuple(map(Shielded, waited)), results)

    def listeners(self) -> tuple[Shielded, ...]:
        return (*self.rules, *(rule for _, rule in self.more), *self.waited)

    def asked(self) -> frozenset[str]:
        """Names of the rules, as obligations know them."""
        names = {rule.name for rule in self.listeners()}
        names |= set(STATED_OF_VALUES) if "relations" in names else set()
        return frozenset(names | (set(STATED_OF_ACCESSES) if "speed" in names else set()))

    def outputs(self, kernel: Kernel) -> frozenset[str]:
        """Results whose specification is decided here."""
        first = () if kernel.computes is None else kernel.computes.results[:1]
        return frozenset(statement.result for statement in (*first, *(one for one, _ in self.more)))

    def failures(self, kernel: Kernel, why: str) -> Iterator[Verdict]:
        """All rules unknown, for one reason."""
        for rule in self.listeners():
            rule.failed = why
            yield rule.failure(kernel)


@dataclass(slots=True)
class Proof:
    """What a replay came to: the walk, each rule with its view of it, and why it failed, if it did."""

    walk: KernelWalk
    certificate: Certificate
    views: dict[Shielded, KernelWalk] = field(default_factory=dict)
    failed: str = ""
    unshown: tuple[LoopPath, tuple[int, ...]] | None = None
    stopped: LimitReached | None = None
    """The limit at which the walk ended, before its end: rules have heard a part of the kernel."""


def prove(kernel: Kernel, certificate: Certificate, prover: Prover, request: ProofRequest) -> Proof:
    """Replay the certificate on the kernel, whose waits are explicit. The prover may know what every launch
    fulfills, and nothing else."""
    if prover.base != launch_facts(kernel):
        raise ValueError("a prover with other facts than those of every launch")
    ledger = Ledger(obligations(kernel, request.asked(), request.outputs(kernel), request.results))
    walk = KernelWalk(kernel, prover, request.listeners(), request.results, certificate, ledger)
    views: dict[Shielded, KernelWalk] = dict.fromkeys(request.rules, walk)
    views |= {rule: OtherStatement(walk, statement) for statement, rule in request.more}
    views |= {rule: Waited(walk) for rule in request.waited}
    proof = Proof(walk, certificate, views)
    for rule, view in views.items():
        rule.begin(view)
    try:
        walk.run()
    except ClaimFails as error:
        proof.failed = str(error)
        proof.unshown = walk.path(error.op), error.slots
    except LimitReached as reached:
        proof.stopped = reached
    except (CertificateError, ExprError) as error:
        proof.failed = f"the certificate does not replay: {error}"
    if not proof.failed:
        for rule in views:
            rule.finish()
    return proof


def conclusions(proof: Proof, explained: Mapping[Shielded, list[Verdict]]) -> list[Verdict]:
    """The verdicts, given those that were made of each rule's findings: only the ledger says `proved`, a rule that
    failed is unknown, and what is wrong besides is added."""
    walk, verdicts = proof.walk, list[Verdict]()
    for rule in (*explained, *(rule for rule in proof.views if rule not in explained)):
        if rule.failed:
            verdicts.append(rule.failure(walk.kernel))
        elif proof.stopped is None:
            verdicts += explained.get(rule, ())
        else:
            verdicts += _kept(rule, walk.kernel, explained.get(rule, []), proof.stopped)
    try:
        verdicts += _problems(walk)
    except Exception as error:
        verdicts.append(Verdict("check", "unknown", walk.kernel.span, -1, "none", reason=internal(error), help=HELP))
    return walk.ledger.gated(verdicts, walk.kernel.span)


def _kept(rule: Shielded, kernel: Kernel, verdicts: list[Verdict], stopped: LimitReached) -> list[Verdict]:
    """Of a walk that did not come to its end only counterexamples stay: they were executed."""
    refuted = [v for v in verdicts if v.status == "refuted"]
    unknown = Verdict(rule.name, "unknown", kernel.span, -1, "none", reason=str(stopped), help=stopped.advice)
    return [*refuted, unknown]


def _problems(walk: KernelWalk) -> list[Verdict]:
    """Assumptions that failed, launches that cannot exist, and statements nobody answers."""
    found = [Verdict("bounds", "unknown", op.span, op.id, "z3", reason=why) for op, why in dict.fromkeys(walk.problems)]
    if walk.unread:
        reason = f"the specification `{walk.kernel.computes}` cannot be followed: {walk.unread}"
        advice = "state it by sums, maxima and conditions on indices if it can be; `argus run` compares results"
        found += [
            Verdict(rule, "unknown", walk.kernel.span, -1, "structural", reason=reason, help=advice)
            for rule in SPECIFIED
        ]
    if walk.prover.possible(()) is not True:
        reason = "no sizes satisfy what the kernel requires, so every proof would be empty"
        found.append(Verdict("requires", "unknown", walk.kernel.span, -1, "z3", reason=reason))
    for op in ops.walk(walk.kernel.body):
        if isinstance(op, ops.Check) and op.rule not in ANSWERED:
            reason = f"there is no rule `{op.rule}`"
            found.append(Verdict(op.rule, "unknown", op.span, op.id, "structural", reason=reason))
        if isinstance(op, ops.Tag) and isinstance(op.target, Value):
            reason = f"the tag {op.name} is the author's word: nothing here derives it"
            found.append(Verdict("tag", "unknown", op.span, op.id, "structural", reason=reason))
    return found
