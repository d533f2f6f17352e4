"""Values put together from constants and loads are counted by their places, not by how many of them need registers."""

from __future__ import annotations

from argus.compile.registers import plan
from tests.check.kernels import KERNELS
from tests.check.mutants import mutants


def test_a_tile_that_is_partly_constant_is_planned() -> None:
    kernel = KERNELS["attention"]().kernel
    partly = [m for m in mutants(kernel) if m.name.startswith("load missing, zero instead")]
    assert len(partly) > 1
    whole = plan(kernel)
    assert all(plan(m.kernel).live <= whole.live for m in partly)
