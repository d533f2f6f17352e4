"""The proof: a certificate replayed, with rules listening. Nothing else makes a verdict `proved`.

    proof = prove(kernel, certificate, prover, request)

The kernel is walked once, from its first op to its last. At a loop the walk takes what the certificate claims of its
head, and base, step and exit are shown (`invariant.induction`). Rules hear every access, product and statement and
discharge what they have to show. If a claim is not shown, or the certificate has no meaning for this kernel, the proof
has failed: nothing that rules heard counts, and `unshown` says which loop and which slots.

Trusted: this file and what it imports. Where the certificate comes from does not matter.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from argus.check.certificate import Certificate, CertificateError, LoopPath
from argus.check.invariant.induction import ClaimFails
from argus.check.obligations import STATED_OF_ACCESSES, STATED_OF_VALUES, Ledger, obligations
from argus.check.report import Verdict
from argus.check.rules.assumed_waits import Waited
from argus.check.rules.covers import Covers
from argus.check.rules.isolation import Shielded
from argus.check.rules.placed import Placed
from argus.check.rules.reduced import Reduced
from argus.check.rules.rule import Rule
from argus.check.rules.value import Valued
from argus.check.solve.limits import LimitReached
from argus.check.solve.prover import Prover
from argus.check.walk import KernelWalk, Said
from argus.ir.kernel import Kernel
from argus.layout.expr import ExprError
from argus.spec.tree import ResultSpec


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
        further = [(one, Shielded(rule)) for one in more for rule in (Valued(), Placed(), Reduced(), Covers())]
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
    views: dict[Shielded, KernelWalk] = field(default_factory=dict)
    failed: str = ""
    unshown: tuple[LoopPath, tuple[int, ...]] | None = None
    stopped: LimitReached | None = None
    """The limit at which the walk ended, before its end: rules have heard a part of the kernel."""


def prove(kernel: Kernel, certificate: Certificate, prover: Prover, request: ProofRequest) -> Proof:
    """Replay the certificate on the kernel, whose waits are explicit."""
    ledger = Ledger(obligations(kernel, request.asked(), request.outputs(kernel), request.results))
    walk = KernelWalk(kernel, prover, request.listeners(), request.results, certificate, ledger)
    views: dict[Shielded, KernelWalk] = dict.fromkeys(request.rules, walk)
    views |= {rule: Said(walk, statement) for statement, rule in request.more}
    views |= {rule: Waited(walk) for rule in request.waited}
    proof = Proof(walk, views)
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
    return proof
