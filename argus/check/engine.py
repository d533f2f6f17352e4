"""Runs all rules over a kernel and collects their verdicts.

Implied rules need no statement: conform, race_free, fresh, in_bounds, fits, and, where the kernel says what it
computes, value, placed, reduced and covers. Stated rules are decided where they stand. A statement no rule answers is
`unknown`, never ignored; so is a specification that no rule can follow, and a rule that fails (`isolation`).

A specification of several results (`O[q, d] = ...; L[q] = ...`) is decided result by result: tags mean what one result
makes of them, so the kernel is walked once for each.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from time import perf_counter

from argus.check.advice.speed import Speed
from argus.check.certificate import Certificate, LoopPath
from argus.check.explain.refuters import explained
from argus.check.explain.stats import effort
from argus.check.guess.guess_walk import guess
from argus.check.guess.lemma_search import lemmas_of
from argus.check.prove import SPECIFIED, Proof, ProofRequest, conclusions, prove
from argus.check.report import Report, Verdict
from argus.check.rules.isolation import internal
from argus.check.rules.rule import Rule
from argus.check.solve.limits import Budget, check_time, limited
from argus.check.solve.model_reuse import Models
from argus.check.solve.prover import Prover
from argus.check.solve.smtlib import question
from argus.check.walk import KernelWalk, launch_facts
from argus.check.walks import planned
from argus.ir.kernel import Kernel
from argus.ir.ops import walk as walk_ops
from argus.ir.passes.insert_waits import insert_waits
from argus.ir.stages import Scheduled
from argus.spec.tree import ResultSpec

COLLECT_AFTER = 200_000
"""Objects more than were freed, after which cycles are looked for."""
MAX_ATTEMPTS = 4
"""How often a certificate is guessed, each time with less in it."""
MAX_QUESTIONS = 20
"""How many undecided questions a report carries."""
SILENT = "the specification says nothing about {}: placed and covers were not checked there"


def check(program: Scheduled, replayed: Iterable[Certificate] = (), lemmas: bool = False) -> Report:
    """Decide every implied and stated rule of the program. With certificates to be `replayed`, nothing is guessed, and
    no counterexample is looked for: what they do not show is unknown. With `lemmas`, the certificates of a proof
    say how questions of arithmetic were decided."""
    with check_time(sum(1 for _ in walk_ops(program.kernel.body))):
        return _checked(program, replayed, lemmas)


def _checked(program: Scheduled, replayed: Iterable[Certificate], lemmas: bool) -> Report:
    given, kernel = iter(replayed), program.kernel
    first, *others = planned(kernel)
    report = decide(
        first.kernel, (*first.rules, Speed()), first.results, first.more, certificate=next(given, None), lemmas=lemmas
    )
    if not first.results:
        return report
    for walk in others:
        more = decide(walk.kernel, walk.rules, walk.results, certificate=next(given, None), lemmas=lemmas)
        report = _together(report, more)
    return replace(report, kernel=kernel, notes=_unmentioned(kernel, first.results))


def _together(report: Report, more: Report) -> Report:
    """Both reports as one. Where they speak of the same thing (a check the author states) the worse verdict stands,
    and nothing that is not proved is left out."""
    order = ("refuted", "unknown", "proved")
    verdicts = {(v.rule, v.span, v.op): v for v in more.verdicts if v.rule in SPECIFIED or v.status != "proved"}
    merged = []
    for v in report.verdicts:
        other = verdicts.pop((v.rule, v.span, v.op), v)
        merged.append(min(v, other, key=lambda x: order.index(x.status)))
    stats = {name: value + more.stats.get(name, 0) for name, value in report.stats.items()}
    return replace(
        report, verdicts=(*merged, *verdicts.values()), seconds=report.seconds + more.seconds, stats=stats,
        questions=(*report.questions, *more.questions)[:MAX_QUESTIONS],
        obligations=(*report.obligations, *more.obligations), certificates=(*report.certificates, *more.certificates),
    )  # fmt: skip


def _unmentioned(kernel: Kernel, results: frozenset[str]) -> tuple[str, ...]:
    others = [t.name for t in kernel.tensors if t.written and t.name not in results]
    return (SILENT.format(", ".join(others)),) if others else ()


@contextmanager
def _collected_seldom() -> Iterator[None]:
    """A check makes many small objects and few cycles: looking for cycles at the usual rate takes a seventh of it."""
    usual = gc.get_threshold()
    gc.set_threshold(COLLECT_AFTER, *usual[1:])
    try:
        yield
    finally:
        gc.set_threshold(*usual)


@_collected_seldom()
def decide(
    kernel: Kernel,
    rules: Iterable[Rule],
    results: frozenset[str] = frozenset(),
    more: Iterable[ResultSpec] = (),
    waited: Iterable[Rule] = (),
    certificate: Certificate | None = None,
    lemmas: bool = False,
) -> Report:
    """Decide these rules, those of a specification for `more` of its statements, and rules for which all registers are
    `assumed_waits` for. Nothing raised on the way escapes: it makes verdicts `unknown`."""
    start = perf_counter()
    request = ProofRequest.of(rules, results, more, waited)
    try:
        kernel = insert_waits(kernel)
        prover = Prover(launch_facts(kernel), Models(), {} if certificate is None else certificate.lemmas)
        proof = _proved(kernel, prover, request, certificate)
    except Exception as error:
        return Report(kernel, tuple(request.failures(kernel, internal(error))), perf_counter() - start)
    if proof.failed:
        return Report(kernel, tuple(request.failures(kernel, proof.failed)), perf_counter() - start)
    flow, shielded = proof.walk, list(proof.views)
    stats = {"walk": perf_counter() - start - sum(rule.seconds for rule in shielded)}
    verdicts = conclusions(proof, explained(proof, search=certificate is None))
    for rule in shielded:
        stats[rule.name] = stats.get(rule.name, 0.0) + rule.seconds
    stats |= effort(flow.prover)
    open_questions = flow.prover.undecided[:MAX_QUESTIONS] if any(v.status == "unknown" for v in verdicts) else []
    questions = tuple(question(facts) for facts in open_questions)
    notes, listed = _notes(flow, verdicts), flow.ledger.states()
    made = proof.certificate
    if lemmas and all(v.status == "proved" for v in verdicts):
        made = replace(made, lemmas=lemmas_of(prover))
    return Report(kernel, tuple(verdicts), perf_counter() - start, stats, notes, questions, listed, (made,))


def _proved(kernel: Kernel, prover: Prover, request: ProofRequest, replayed: Certificate | None) -> Proof:
    """Guess, then prove; where a claim is not shown, guess again without it, and in the end claim nothing. A given
    certificate is only replayed."""
    if replayed is not None:
        with limited(Budget("walk")):
            return prove(kernel, replayed, prover, request)
    given_up: dict[LoopPath, set[int]] = {}
    guessing, walking = Budget("guess"), Budget("walk")
    for _ in range(MAX_ATTEMPTS):
        with limited(guessing):
            certificate = _guessed(kernel, prover, given_up)
        with limited(walking):
            proof = prove(kernel, certificate, prover, request)
        if proof.unshown is None:
            break
        path, slots = proof.unshown
        given_up.setdefault(path, set()).update(slots)
    if proof.failed:
        with limited(walking):
            return prove(kernel, Certificate(), prover, request)
    return proof


def _guessed(kernel: Kernel, prover: Prover, given_up: dict[LoopPath, set[int]]) -> Certificate:
    """A certificate; an empty one if the guess goes wrong, which leaves loops unknown to the proof."""
    try:
        return guess(kernel, prover, given_up)
    except Exception:
        return Certificate()


def _notes(flow: KernelWalk, verdicts: list[Verdict]) -> tuple[str, ...]:
    """What nobody asked about, and what a reader may think was checked."""
    if flow.kernel.computes is None:
        silent = [rule for rule in SPECIFIED if all(v.rule != rule for v in verdicts)]
        if not silent:
            return ()
        listed = " and ".join(part for part in (", ".join(silent[:-1]), *silent[-1:]) if part)
        return (f"no specification (computes=…): {listed} {'was' if len(silent) == 1 else 'were'} not checked",)
    if flow.spec is None:
        return ()
    others = [t.name for t in flow.kernel.tensors if t.written and t is not flow.spec.output]
    return (SILENT.format(", ".join(others)),) if others else ()
