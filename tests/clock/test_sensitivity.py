"""Perturbed clocks are reproducible, within their ranges, and move what they should."""

from __future__ import annotations

import pytest
from programs import Program, clocks

from argus.clock.parameters import PARAMETERS, Parameters, Value
from argus.clock.sensitivity import perturbed


def _values(drawn: list[Parameters]) -> list[dict[str, Value]]:
    return [{name: row.value for name, row in clock.rows.items()} for clock in drawn]


def test_reproducible_and_in_range() -> None:
    first = perturbed(3)
    assert _values(first) == _values(perturbed(3))
    assert _values(first) != _values(perturbed(4))
    for clock in first:
        assert 0.5 <= clock["lds_read_latency_b128"] / PARAMETERS["lds_read_latency_b128"] <= 2
        assert 0.8 <= clock["l2_latency"] / PARAMETERS["l2_latency"] <= 1.4
        assert clock["valu_clocks"] == PARAMETERS["valu_clocks"]
    assert {clock["matrix_coexec"] for clock in first} == {0, 1}
    assert {4, 64} <= {clock["barrier_clocks"] for clock in first} <= {4, 8, 16, 32, 64}


def test_everything_fitted_or_assumed_is_perturbed() -> None:
    drawn = perturbed(0)
    open_ = {name for name, row in PARAMETERS.rows.items() if row.confidence in ("X", "assumed")}
    still = {name for name in open_ if len({clock.rows[name].value for clock in drawn}) == 1}
    assert not still
    assert {"power_matrix_bf16", "power_base", "power_exponent", "launch_floor_graph", "vmem_line_clocks"} <= open_


def test_no_coexecution_serialises() -> None:
    program = Program()
    matrix, add = program.matrix("mfma_32x32x8_bf16", 0, 600, 610), program.valu()
    for _ in range(50):
        program.add(matrix)
        program.add(add, times=7)

    def total(parameters: Parameters) -> int:
        return clocks(program, 1, parameters)

    assert total(PARAMETERS.with_values(matrix_coexec=0)) - total(PARAMETERS) == pytest.approx(50 * 28, rel=0.05)
