"""Foreign code from day one: Triton's gfx942 objects, compiled here without a GPU, run through `argus run OBJECT`."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from argus import machine
from argus.cli.main import main

SIZE = 3000


@triton.jit
def triton_vadd(x, y, z, n, BLOCK: tl.constexpr):
    offset = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offset < n
    tl.store(z + offset, tl.load(x + offset, mask=inside) + tl.load(y + offset, mask=inside), mask=inside)


@pytest.fixture(scope="module")
def vadd_object(tmp_path_factory: pytest.TempPathFactory) -> Path:
    source = ASTSource(
        fn=triton_vadd,
        signature={"x": "*fp32", "y": "*fp32", "z": "*fp32", "n": "i32", "BLOCK": "constexpr"},
        constexprs={"BLOCK": 1024},
    )
    compiled = triton.compile(source, target=GPUTarget("hip", "gfx942", 64), options={"num_warps": 4})
    path = tmp_path_factory.mktemp("triton") / "vadd.hsaco"
    path.write_bytes(compiled.asm["hsaco"])
    return path


def spare_arguments(path: Path) -> int:
    """Triton adds pointers (scratch, profiling) behind the kernel's own four arguments."""
    args = machine.load(path).kernel("triton_vadd").info.args
    return sum(not a.value_kind.startswith("hidden") for a in args) - 4


def test_triton_vector_add_equals_numpy(vadd_object: Path) -> None:
    rng = np.random.default_rng(0)
    x, y = (rng.standard_normal(SIZE).astype(np.float32) for _ in range(2))
    z = np.zeros(SIZE, np.float32)
    kernel = machine.load(vadd_object).kernel("triton_vadd")
    result = kernel(3, 256, x, y, z, np.int32(SIZE), *[None] * spare_arguments(vadd_object), checks="all")
    assert result.reports == []
    np.testing.assert_array_equal(z, x + y)


def test_triton_vector_add_from_the_command_line(
    vadd_object: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spare = spare_arguments(vadd_object)
    arguments = [f"f32[{SIZE}]:normal", f"f32[{SIZE}]:iota", f"f32[{SIZE}]", f"i32={SIZE}", *["null"] * spare]
    command = ["run", str(vadd_object), "--grid", "3", "--block", "256", "--save", str(tmp_path), "--json"]
    for argument in arguments:
        command += ["--arg", argument]
    assert main(command) == 0
    assert json.loads(capsys.readouterr().out)["reports"] == []
    x, y, z = (np.load(tmp_path / f"arg{n}.npy") for n in range(3))
    np.testing.assert_array_equal(z, x + y)


def test_a_lying_size_is_an_out_of_bounds_report(vadd_object: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The kernel believes in 4096 elements, the arrays have 3000: the machine names the instruction and goes on."""
    spare = spare_arguments(vadd_object)
    command = ["run", str(vadd_object), "--grid", "4", "--block", "256"]
    for argument in [*[f"f32[{SIZE}]:normal"] * 2, f"f32[{SIZE}]", "i32=4096", *["null"] * spare]:
        command += ["--arg", argument]
    assert main(command) != 0
    captured = capsys.readouterr()
    text = captured.out + captured.err
    assert "out of bounds" in text
    assert "global_" in text or "buffer_" in text
