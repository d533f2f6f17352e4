"""The live set is the register plan's own, with names."""

from __future__ import annotations

from pathlib import Path

import pytest

from argus.compile.live_set import live_set
from argus.compile.registers import plan
from argus.pipeline import program_of

KERNELS = Path("argus/kernels")
FILES = [
    ("gemm.py", None), ("gemm_pipelined.py", None), ("attention.py", "attention"), ("softmax.py", "softmax"),
    ("matmul.py", "matmul"), ("layernorm.py", "layernorm"), ("moe.py", "quantise"), ("fp8_gemm.py", "fp8_matmul"),
    ("transpose.py", None), ("vadd.py", None),
]  # fmt: skip


@pytest.mark.parametrize(("file", "name"), FILES)
def test_as_many_registers_as_the_plan_says(file: str, name: str | None) -> None:
    kernel = program_of(KERNELS / file, {}, name).kernel
    found = live_set(kernel)
    assert found.registers == plan(kernel).live
    assert sum(value.registers for value in found.values) == found.registers


def test_values_have_the_names_of_the_source() -> None:
    found = live_set(program_of(KERNELS / "gemm.py", {}).kernel)
    held = {value.name: (value.line, value.registers, value.carried) for value in found.values}
    assert held == {"acc": (41, 64, True), "ra": (44, 16, False), "rb": (45, 16, False)}


def test_what_does_not_fit_is_named_too(tmp_path: Path) -> None:
    """Four times the accumulators of a wave: C130, and who is to blame."""
    text = (
        (KERNELS / "gemm_pipelined.py")
        .read_text()
        .replace("waves=(2, WAVES // 2)", "waves=(2, WAVES // 2), policy=dict(waves_per_simd=2)")
    )
    path = tmp_path / "large.py"
    path.write_text(text)
    found = live_set(program_of(path, {}).kernel)
    assert found.plan is None
    assert "C130" in found.refusal
    assert found.values[0].registers >= 256
