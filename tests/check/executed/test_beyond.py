"""A proof whose premises no ordinary launch meets is withdrawn; one that large inputs alone leave is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from argus.ir.passes.schedule import scheduled
from argus.lang import read
from argus.pipeline import report_of

MAP = """import argus as ag
from argus import f32

P = ag.Owner(t=256, i="t")


@ag.kernel(threads=256, requires="N >= 1", computes="z[i] = SPECIFIED", example=dict(N=1000))
def k(x: ag.In["N", f32], z: ag.Out["N", f32]):
    at = 256 * ag.grid(ag.cdiv(N, 256))
    v = x[at].load(P, width=4)
    z[at].store(STORED, width=4)
"""


def reported(specified: str, stored: str, folder: Path) -> dict[str, str]:
    file = folder / "k.py"
    file.write_text(MAP.replace("SPECIFIED", specified).replace("STORED", stored))
    report = report_of(scheduled(read(str(file))), kept=False)
    return {verdict.rule: f"{verdict.status} {verdict.reason}" for verdict in report.verdicts}


@pytest.mark.parametrize(
    "stored",
    ["v + 0.0 * ag.exp(v + 1e30)", "v + 0.0 * ag.exp(v * 0.0 + 100.0)", "v + 0.0 / ag.exp(v * 0.0 - 1000.0)"],
)
def test_a_number_that_always_leaves_its_type(stored: str, tmp_path: Path) -> None:
    said = reported("x[i]", stored, tmp_path)["value"]
    assert said.startswith("unknown with ordinary inputs a number leaves its type at every launch tried")
    assert "nan instead of" in said


@pytest.mark.parametrize(("specified", "stored"), [("exp(x[i])", "ag.exp(v)"), ("exp(x[i]) * x[i]", "ag.exp(v) * v")])
def test_one_that_only_large_inputs_leave(specified: str, stored: str, tmp_path: Path) -> None:
    assert reported(specified, stored, tmp_path)["value"].startswith("proved")
