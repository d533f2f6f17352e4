"""Certificates against kernels they were not made for: what a proof does with them, and what is true.

A wrong kernel must never be proved, whatever the certificate says; nothing may be raised. Which kernels are wrong is
known from the interpreter (`tests.check.truth`), which shares nothing with the proof.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, replace
from typing import Any

from argus.check import Report, check
from argus.check.certificate import CertificateError
from argus.check.certificate_json import from_data, to_data
from argus.check.solve.lemmas import Lemma, Method
from argus.ir.kernel import Kernel
from argus.ir.passes.schedule import scheduled
from tests.check.certificates.alterations import altered
from tests.check.judge import SLOW_RULES
from tests.check.mutants import Mutant, mutants, spread
from tests.check.programs import Program
from tests.check.truth import execute

Data = list[dict[str, Any]]


@dataclass(frozen=True)
class Subject:
    """A right kernel with its certificates as data."""

    program: Program
    certificates: Data


def subject(program: Program) -> Subject:
    report = check(scheduled(program.kernel), lemmas=True)
    assert proved(report), report.render()
    return Subject(program, json.loads(json.dumps([to_data(one) for one in report.certificates])))


def proved(report: Report) -> bool:
    relevant = [v for v in report.verdicts if v.rule not in SLOW_RULES]
    return bool(relevant) and all(v.status == "proved" for v in relevant)


def replayed(kernel: Kernel, certificates: Data) -> bool:
    """Whether the certificates prove the kernel; what cannot be read proves nothing."""
    try:
        read = [from_data(one) for one in certificates]
    except CertificateError:
        return False
    return proved(check(scheduled(kernel), read))


class ForgedLemmas(dict[str, Lemma]):
    """A lemma for every question that is asked: any facts, any method, never `open`."""

    def __init__(self, seed: int) -> None:
        super().__init__({"": Lemma((), "structural")})
        self.dice = random.Random(seed)

    def get(self, name: str, default: Any = None) -> Any:
        methods: tuple[Method, ...] = ("structural", "elimination", "cases", "digits", "Z3")
        needed = tuple(n for n in range(24) if self.dice.random() < 0.3)
        return Lemma(needed, self.dice.choice(methods))


def proved_by_forged_lemmas(one: Subject, kernel: Kernel, seed: int) -> bool:
    """The right kernel's claims, and a lemma for whatever is asked, on this kernel."""
    read = [replace(from_data(data), lemmas=ForgedLemmas(seed)) for data in one.certificates]
    return proved(check(scheduled(kernel), read))


def wrong(program: Program, kernel: Kernel) -> str:
    """What the kernel does wrong, at the sizes of the program; empty if nothing."""
    for sizes in program.sizes:
        truth = execute(program, kernel, sizes)
        if truth:
            return truth
    return ""


def proved_mutants(one: Subject, total: int) -> tuple[int, list[Mutant]]:
    """The right kernel's certificates on its mutants: how many were tried, and those that are proved."""
    chosen = spread(mutants(one.program.kernel), total)
    return len(chosen), [mutant for mutant in chosen if replayed(mutant.kernel, one.certificates)]


def wrong_mutants(one: Subject, total: int) -> list[Mutant]:
    """Mutants that the interpreter shows to be wrong."""
    return [m for m in spread(mutants(one.program.kernel), total) if wrong(one.program, m.kernel)]


def alteration(one: Subject, seed: int) -> tuple[str, Data]:
    """The certificates with something changed in one of them."""
    which = seed % len(one.certificates)
    name, made = altered(one.certificates[which], seed)
    return name, [made if n == which else data for n, data in enumerate(one.certificates)]
