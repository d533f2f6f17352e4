"""The GEMM through the checker: proved as it is, refuted with thread, element and line when it is broken."""

from __future__ import annotations

import json
from time import process_time

import pytest

from argus.check import Report, Verdict, check
from argus.ir.passes.schedule import scheduled
from tests.ir import samples


def only(report: Report, rule: str, status: str) -> list[Verdict]:
    return [v for v in report.verdicts if v.rule == rule and v.status == status]


def test_the_gemm_is_proved_for_all_sizes_in_half_a_second() -> None:
    check(scheduled(samples.gemm()))  # loads the solver
    start = process_time()
    report = check(scheduled(samples.gemm()))
    assert process_time() - start < 0.5
    assert report.status == "proved", report.render()
    (conform,) = only(report, "conform", "proved")
    assert conform.sites == 32
    assert conform.bounds["K"] == (1, 2**20)


def test_another_swizzle_for_the_reader_is_refuted_with_thread_element_and_line() -> None:
    report = check(scheduled(samples.gemm(reader_shift=1)))
    (verdict,) = only(report, "conform", "refuted")
    example = verdict.counterexample
    assert example is not None
    assert (example.span.line, dict(example.sizes), example.block) == (22, {"M": 128, "N": 128, "K": 64}, (0, 0, 0))
    b, a = example.operands
    assert (b.thread, b.element, b.tensor, dict(b.coords)) == (0, 0, "B", {"N": 0, "K": 0})
    assert (a.thread, a.element, a.tensor, dict(a.coords)) == (1, 0, "A", {"M": 1, "K": 8})
    assert a.written_at is not None
    assert (a.written_at.span.line, a.written_at.thread) == (15, 9)


@pytest.mark.parametrize(
    ("barriers", "lines", "loops"), [((False, True), (19, 15), {"kt": 1}), ((True, False), (15, 19), {"kt": 0})]
)
def test_a_missing_barrier_is_refuted_with_both_accesses(
    barriers: tuple[bool, bool], lines: tuple[int, int], loops: dict[str, int]
) -> None:
    report = check(scheduled(samples.gemm(barriers=barriers)))
    verdict = only(report, "race_free", "refuted")[0]
    example = verdict.counterexample
    assert example is not None
    first, second = example.operands
    assert (first.span.line, second.span.line) == lines  # type: ignore[union-attr]
    assert dict(example.loop) == loops
    assert first.thread // 64 != second.thread // 64


def test_vector_add_has_nothing_refuted() -> None:
    report = check(scheduled(samples.vadd()))
    assert not [v for v in report.verdicts if v.status == "refuted"], report.render()


def test_json_follows_the_interface_page() -> None:
    data = json.loads(json.dumps(check(scheduled(samples.gemm(reader_shift=1))).to_json()))
    assert {"kernel", "file", "settings", "seconds", "verdicts"} <= data.keys()
    (verdict,) = [v for v in data["verdicts"] if v["status"] == "refuted"]
    assert {"rule", "status", "decided_by", "seconds", "program_point", "bounds", "reason"} <= verdict.keys()
    example = verdict["counterexample"]
    assert example["where"] == {
        "sizes": {"M": 128, "N": 128, "K": 64},
        "loop": {"kt": 0, "ks": 0, "i": 0, "j": 0, "h": 0},
        "block": [0, 0, 0],
        "wave": 0,
    }
    assert example["operands"][1]["tag"] == {"tensor": "A", "coords": {"M": 1, "K": 8}}
    assert example["operands"][1]["written_at"] == {"file": "sample.py", "line": 15, "thread": 9}
