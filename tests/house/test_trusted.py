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


def test_what_is_run_by_path_is_counted() -> None:
    assert provenance.PACKAGE / "check" / "solve" / "fallback_process.py" in trusted()
    assert counted()["check/rules"] > 1000
