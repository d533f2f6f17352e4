"""A bounded part of `python -m bench.workbench_requests`, which sends 1,000."""

from __future__ import annotations

import pytest

pytest.importorskip("mcp")

from bench.workbench_requests import wrong


def test_malformed_requests_are_answered_and_open_nothing_outside() -> None:
    found, codes = wrong(120, seed=1)
    assert not found
    assert {"ARG-W101", "ARG-W102", "ARG-W103", "ARG-W104"} <= set(codes)
