"""Kept proofs: the same verdicts, said to be kept; another program, checker or damaged entry is decided anew."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from argus.check import proof_cache
from argus.check.report import Verdict
from argus.ir.passes.schedule import scheduled
from argus.lang import read

KERNELS = Path(__file__).parents[1] / "public" / "kernels"


@pytest.fixture(autouse=True)
def _own_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARGUS_CACHE", str(tmp_path))


def test_a_kept_report_has_the_same_verdicts_and_says_so() -> None:
    kernel = read(KERNELS / "triton_10290.py", settings={"FIXED": 0})
    first, again = proof_cache.check_cached(scheduled(kernel)), proof_cache.check_cached(scheduled(kernel))
    assert first.status == "refuted"
    assert again.verdicts == first.verdicts
    assert again.render().startswith(first.render()[:200])
    assert proof_cache.NOTE in again.notes
    assert proof_cache.NOTE not in first.notes
    assert again.to_json()["stats"]["cached"] == 1


def test_another_program_is_another_key() -> None:
    kernel = read(KERNELS / "triton_10290.py", settings={"FIXED": 0})
    others = [
        read(KERNELS / "triton_10290.py", settings={"FIXED": 1}),
        replace(kernel, requires=kernel.requires[1:]),
        replace(kernel, computes=None),
        replace(kernel, source=kernel.source + "\n"),
    ]
    keys = {proof_cache.key(k) for k in (kernel, *others)}
    assert len(keys) == 5


def test_another_checker_is_another_key(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = read(KERNELS / "triton_10290.py")
    before = proof_cache.key(kernel)
    monkeypatch.setattr(proof_cache, "checker", lambda: "another checker")
    assert proof_cache.key(kernel) != before


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"verdicts": 3}', '{"verdicts": [{"rule": "conform"}]}'])
def test_a_damaged_entry_is_decided_anew(damage: str) -> None:
    kernel = read(KERNELS / "flashinfer_207.py", settings={"FIXED": 1})
    first = proof_cache.check_cached(scheduled(kernel))
    (entry,) = proof_cache.directory().glob("*.json")
    entry.write_text(damage)
    again = proof_cache.check_cached(scheduled(kernel))
    assert proof_cache.NOTE not in again.notes
    assert [v.status for v in again.verdicts] == [v.status for v in first.verdicts]
    assert proof_cache.NOTE in proof_cache.check_cached(scheduled(kernel)).notes


def test_a_place_that_cannot_be_written_keeps_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("ARGUS_CACHE", str(tmp_path / "file"))
    assert (
        proof_cache.check_cached(scheduled(read(KERNELS / "flashinfer_207.py", settings={"FIXED": 1}))).status
        == "proved"
    )


def test_a_status_that_does_not_exist_is_a_misfit() -> None:
    kernel = read(KERNELS / "flashinfer_207.py", settings={"FIXED": 1})
    proof_cache.check_cached(scheduled(kernel))
    (entry,) = proof_cache.directory().glob("*.json")
    entry.write_text(entry.read_text().replace('"status": "proved"', '"status": "certain"'))
    assert proof_cache.NOTE not in proof_cache.check_cached(scheduled(kernel)).notes
    with pytest.raises(proof_cache.MisfitError):
        proof_cache.decode(tuple[Verdict, ...], [{"rule": "x"}])
