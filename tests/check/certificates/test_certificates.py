"""Certificates that do not belong to the kernel, or were altered: no wrong kernel is proved, nothing is raised.

A sample runs here; the whole attack is `python -m bench.certificates`.
"""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from functools import cache

import pytest

from argus.check import check
from argus.check.certificate import Certificate, CertificateError
from argus.check.certificate_json import from_data, to_data
from argus.ir.passes.schedule import scheduled
from tests.check.certificates.alterations import ALTERATIONS
from tests.check.certificates.attack import (
    Subject,
    alteration,
    proved_by_forged_lemmas,
    proved_mutants,
    replayed,
    subject,
    wrong,
    wrong_mutants,
)
from tests.check.programs import PROGRAMS

SAMPLE = {"ring2": 12, "direct": 12, "rows": 8, "prefetch": 8}
ALTERED = 40


@cache
def subject_of(name: str) -> Subject:
    return subject(PROGRAMS[name]())


@pytest.mark.parametrize("name", SAMPLE)
def test_what_is_written_and_read_again_proves_the_same(name: str) -> None:
    one = subject_of(name)
    assert replayed(one.program.kernel, one.certificates)
    again = [to_data(from_data(data)) for data in one.certificates]
    assert json.loads(json.dumps(again)) == one.certificates


@pytest.mark.parametrize("name", SAMPLE)
def test_no_wrong_mutant_is_proved_by_the_right_kernels_certificate(name: str) -> None:
    one = subject_of(name)
    tried, proved = proved_mutants(one, SAMPLE[name])
    assert tried >= SAMPLE[name] // 2
    assert {m.name: wrong(one.program, m.kernel) for m in proved if wrong(one.program, m.kernel)} == {}


@pytest.mark.parametrize("name", ["ring2", "direct"])
def test_altered_certificates_prove_no_wrong_kernel_and_raise_nothing(name: str) -> None:
    one = subject_of(name)
    victims = wrong_mutants(one, 6)
    assert victims
    seen = set()
    for seed in range(ALTERED):
        what, data = alteration(one, seed)
        seen.add(what)
        victim = victims[seed % len(victims)]
        assert not replayed(victim.kernel, data), (what, seed, victim.name)
        replayed(one.program.kernel, data)
    assert len(seen) > len(ALTERATIONS) // 2


@pytest.mark.parametrize("name", ["ring2", "rows"])
def test_lemmas_save_questions_and_forged_ones_prove_nothing_wrong(name: str) -> None:
    one = subject_of(name)
    kernel = one.program.kernel
    (certificate,) = [from_data(data) for data in one.certificates]
    assert certificate.lemmas
    with_lemmas = check(scheduled(kernel), [certificate])
    without = check(scheduled(kernel), [replace(certificate, lemmas={})])
    assert with_lemmas.stats["lemma"] > 0
    assert with_lemmas.stats["linear"] + with_lemmas.stats["z3 integers"] <= 1  # that the launch facts can be true
    assert [v.status for v in with_lemmas.verdicts] == [v.status for v in without.verdicts]
    assert proved_by_forged_lemmas(one, kernel, 0)  # wrong lemmas show nothing, and the question is asked
    for seed, victim in enumerate(wrong_mutants(one, 6)):
        assert not proved_by_forged_lemmas(one, victim.kernel, seed), victim.name


def test_claims_that_are_too_strong_are_refused_and_weak_ones_prove_less() -> None:
    one = subject_of("ring2")
    for field, value in (("live", []), ("slots", [])):
        data = copy.deepcopy(one.certificates)
        data[0]["claims"][0][field] = value
        assert not replayed(one.program.kernel, data)
    report = check(scheduled(one.program.kernel), [Certificate()])
    assert report.status == "unknown"
    assert any(v.status == "proved" for v in report.verdicts)  # what does not rest on the loop


@pytest.mark.parametrize("data", [None, [], {}, {"version": 1}, {"version": 2, "nodes": [["var", [], "x", [5, 1], 0]]}])
def test_what_is_no_certificate_is_refused(data: object) -> None:
    with pytest.raises(CertificateError):
        from_data(data)


def test_every_obligation_is_listed_and_discharged_with_a_reason() -> None:
    report = check(scheduled(PROGRAMS["ring2"]().kernel))
    listed = report.to_json()["obligations"]
    assert {one["rule"] for one in listed} >= {"conform", "fresh", "race_free", "in_bounds", "fits", "value", "covers"}
    assert all(one["status"] == "discharged" and one["reason"] for one in listed)
