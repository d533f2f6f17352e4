"""What a proof rests on: no guess, no explanation, no kept file, nothing that writes for people."""

from __future__ import annotations

import pytest

import argus.provenance as provenance
from bench.trusted_lines import counted, trusted

UNTRUSTED = (
    "check/guess/", "check/explain/", "check/advice/", "check/engine.py", "check/proof_cache.py", "check/report.py",
    "check/certificate_json.py", "check/solve/model_reuse.py", "check/solve/smtlib.py", "ir/interp/", "lang/",
    "compile/", "machine/",
)  # fmt: skip


@pytest.mark.parametrize("part", UNTRUSTED)
def test_the_proof_imports_nothing_of(part: str) -> None:
    found = [path.relative_to(provenance.PACKAGE).as_posix() for path in trusted()]
    assert (provenance.PACKAGE / part).exists()
    assert [path for path in found if path.startswith(part)] == []


def test_the_proof_starts_no_process() -> None:
    """What is run by path, no import names."""
    starting = [path.name for path in trusted() if "subprocess" in path.read_text()]
    assert starting == []
    assert counted()["check/rules"] > 1000
