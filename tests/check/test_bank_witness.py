"""A refuted `bank_free` says what both lanes touch; the bytes, banks and coordinates are held against the layout."""

from __future__ import annotations

import re
from pathlib import Path

from argus.check import check
from argus.ir.passes.schedule import scheduled
from argus.lang import read

GEMM = Path("argus/kernels/gemm.py")
TOUCHED = re.compile(r"touches bytes (\d+) to (\d+) of sA\[(\d+), (\d+)\], banks (\d+) to (\d+)")


def test_both_lanes_are_named_with_bytes_banks_and_coordinates() -> None:
    text = GEMM.read_text().replace('.xor(chunk="row[0:3]")', "")
    text = text.replace("    ag.check.race_free(sA, sB)\n", "    ag.check.bank_free(sA, sB)\n")
    report = check(scheduled(read(text)))
    refuted = [v for v in report.verdicts if v.rule == "bank_free" and v.counterexample is not None]
    assert len(refuted) == 2
    example = refuted[0].counterexample
    assert example is not None
    seen = []
    for party in example.operands:
        found = TOUCHED.search(party.does)
        assert found is not None, party
        first, last, row, k, low, high = (int(n) for n in found.groups())
        assert (first, last) == (128 * row + 2 * k, 128 * row + 2 * k + 15)  # rows of 128 bytes, bf16
        assert (low, high) == (first // 4 % 32, last // 4 % 32)
        seen.append((first, low))
    assert seen[0][0] != seen[1][0]
    assert seen[0][1] == seen[1][1]
