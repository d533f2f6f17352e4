"""Perturbed clocks are reproducible and within their ranges; certain winners win always, coin flips do not."""

from __future__ import annotations

import pytest
from programs import LANE, Program, clocks, read_lds

from argus.clock.parameters import PARAMETERS, Parameters, Value
from argus.clock.sensitivity import compare, perturbed


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


def test_winners() -> None:
    def reads(stride: int) -> int:
        program = Program()
        program.add(program.lds(), read_lds(128, LANE * stride), times=50)
        program.add(program.wait(lgkm=0))
        return clocks(program, 8)

    swizzled, plain = reads(16), reads(128)
    result = compare({"swizzled": lambda p: swizzled, "plain": lambda p: plain}, count=5)
    assert result.wins == {"swizzled": pytest.approx(1), "plain": 0}
    flip = compare({"barriers": lambda p: p["barrier_clocks"], "constant": lambda p: 20.0})
    assert 0 < flip.wins["barriers"] < 1
    assert flip.spread["barriers"] == (4, 64)
    assert flip.nominal["barriers"] == PARAMETERS["barrier_clocks"]
    tie = compare({"a": lambda p: 1.0, "b": lambda p: 1.0}, count=4)
    assert tie.wins == {"a": pytest.approx(0.5), "b": pytest.approx(0.5)}
    with pytest.raises(ValueError, match="at least one candidate"):
        compare({})


def test_no_coexecution_serialises() -> None:
    program = Program()
    matrix, add = program.matrix("mfma_32x32x8_bf16", 0, 600, 610), program.valu()
    for _ in range(50):
        program.add(matrix)
        program.add(add, times=7)

    def total(parameters: Parameters) -> int:
        return clocks(program, 1, parameters)

    assert total(PARAMETERS.with_values(matrix_coexec=0)) - total(PARAMETERS) == pytest.approx(50 * 28, rel=0.05)
