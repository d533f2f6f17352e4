"""An op class that no pass knows: refused by the compiler, unknown to the checker, and mypy lists the places.

At run time the class stands outside of the union, as one made by other code would. For mypy it is added to the union in
a copy of the package, which is what someone who adds an op does first; a place is a call of `assert_never`, or of a
function that takes only some classes of the union.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import pytest

from argus.check import check
from argus.compile import CompileError, compile_kernel
from argus.ir import ops
from argus.ir.kernel import Kernel
from argus.ir.known_ops import unknown_ops
from argus.ir.ops import Declared, OpBase
from argus.ir.passes.schedule import scheduled
from tests.ir.samples import gemm

ROOT = Path(__file__).parents[2]
PLACES = (
    "argus/ir/printer.py",
    "argus/ir/verify.py",
    "argus/ir/passes/insert_waits.py",
    "argus/ir/passes/liveness.py",
    "argus/ir/passes/schedule.py",
    "argus/ir/passes/split_wide_ops.py",
    "argus/ir/interp/wave.py",
    "argus/compile/control.py",
    "argus/compile/emit.py",
    "argus/compile/fullest_point.py",
    "argus/compile/report.py",
)


NEW_CLASS = """

@dataclass(slots=True, eq=False, kw_only=True)
class Prefetch(OpBase):
    declared: ClassVar = Declared("prefetch", effect=True)
"""


@dataclass(slots=True, eq=False, kw_only=True)
class Prefetch(OpBase):
    """Brings something somewhere; nobody has heard of it."""

    declared: ClassVar = Declared("prefetch", effect=True)


def with_stranger(kernel: Kernel, inside: bool) -> Kernel:
    """The kernel with the op at the end, or in its first loop."""
    body = list(kernel.body)
    new = Prefetch(id=10_000)
    if not inside:
        return replace(kernel, body=[*body, new])  # type: ignore[list-item]
    for n, op in enumerate(body):
        if isinstance(op, ops.For):
            body[n] = replace(op, body=[*op.body, new])  # type: ignore[list-item]
            return replace(kernel, body=body)
    raise AssertionError("the sample has a loop")


@pytest.mark.parametrize("inside", [False, True])
def test_the_compiler_refuses_it(inside: bool) -> None:
    program = scheduled(with_stranger(gemm(), inside))
    assert [type(op) for op in unknown_ops(program.kernel)] == [Prefetch]
    with pytest.raises(CompileError, match="Prefetch") as caught:
        compile_kernel(program)
    assert caught.value.code == "C120"


@pytest.mark.parametrize("inside", [False, True])
def test_the_checker_calls_it_unknown(inside: bool) -> None:
    report = check(scheduled(with_stranger(gemm(), inside)))
    assert report.status == "unknown"
    assert not any(verdict.status == "proved" for verdict in report.verdicts)


def test_mypy_lists_the_places(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "argus", tmp_path / "argus", ignore=shutil.ignore_patterns("__pycache__", "kernels", "*.md"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    structure = tmp_path / "argus" / "ir" / "ops" / "structure.py"
    structure.write_text(structure.read_text() + NEW_CLASS)
    union = tmp_path / "argus" / "ir" / "ops" / "__init__.py"
    text = union.read_text()
    changed = text.replace("Structure = For | If | Schedule", "Structure = For | If | Schedule | Prefetch")
    changed = changed.replace("structure import Barrier,", "structure import Prefetch, Barrier,")
    assert changed.count("Prefetch") == 2
    union.write_text(changed)
    made = subprocess.run(
        [sys.executable, "-m", "mypy", "-p", "argus.ir", "-p", "argus.compile", "--no-error-summary"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    lines = [line for line in made.stdout.splitlines() if "error:" in line]
    assert lines
    assert all("incompatible type" in line for line in lines), made.stdout
    found = {match[1] for line in lines if (match := re.match(r"([\w/]+\.py):\d+", line))}
    assert set(PLACES) <= found
