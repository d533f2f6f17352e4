"""Laws of the house: which room may import which, and what caches depend on."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import argus.provenance as provenance

ORDER = (
    "provenance", "cluster", "layout", "gfx942", "machine", "spec", "ir", "lang", "check", "compile", "pipeline",
    "clock", "device", "tasks", "ops", "surface", provenance.NAME, "plan", "torch", "knowledge", "agent", "bench",
    "report", "cli",
)  # fmt: skip
"""Rooms (folders and top-level modules) from the ground up: a room imports only rooms before it. The machine needs
nothing but the chip, and its table of instructions is what the compiler's re-check reads the object with. The package
itself (`import argus`) lends the names of `surface`."""
DATA = ("kernels", "naive")
"""Folders of kernel files, which are data: nothing imports them, and their own imports are read, not executed."""


def sources(package: Path = provenance.PACKAGE) -> list[Path]:
    return [p for p in sorted(package.rglob("*.py")) if not set(DATA) & set(p.relative_to(package).parts)]


def module_of(path: Path, package: Path = provenance.PACKAGE) -> str:
    parts = path.relative_to(package.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def room_of(module: str) -> str:
    return [*module.split("."), module][1]


def upward(module: str) -> list[str]:
    """What a module imports from a room that is not before its own, wherever the statement stands."""
    here = ORDER.index(room_of(module))
    wanted = [name for name in provenance.imported(module) if provenance.source(name) is not None]
    packages = {name.rpartition(".")[0] for name in wanted}
    named = [name for name in wanted if name != provenance.NAME or name not in packages]
    return [name for name in named if room_of(name) in DATA or ORDER.index(room_of(name)) > here]


@pytest.mark.parametrize("path", sources(), ids=module_of)
def test_imports_go_down_only(path: Path) -> None:
    """Imports inside functions and under TYPE_CHECKING count like all others."""
    assert not upward(module_of(path))


def test_every_room_has_its_place() -> None:
    assert {room_of(module_of(p)) for p in sources()} == set(ORDER)


@pytest.mark.parametrize(
    ("file", "text", "found"),
    [
        ("layout/expr.py", "from argus.ir.kernel import Kernel\n", "argus.ir.kernel"),
        ("ir/kernel.py", "if TYPE_CHECKING:\n    from argus.check.report import Report\n", "argus.check.report"),
        ("check/engine.py", "def late():\n    import argus.compile.compiler\n", "argus.compile.compiler"),
        ("lang/reader.py", "def late():\n    from argus import ops\n", "argus.ops"),
        ("machine/launch.py", "import argus\n", "argus"),
        ("machine/launch.py", "from argus import bf16\n", "argus"),
        ("ops/matmul.py", "from argus.kernels.gemm import gemm\n", "argus.kernels.gemm"),
        ("provenance.py", "from argus.layout import expr\n", "argus.layout.expr"),
        ("__init__.py", "from argus.cli.main import main\n", "argus.cli.main"),
    ],
)  # fmt: skip
def test_an_upward_import_is_found(
    file: str, text: str, found: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a copy of the package with one import more, the law fails for that module."""
    package = tmp_path / provenance.NAME
    ignored = shutil.ignore_patterns("__pycache__", "*.md", "*.json")
    shutil.copytree(provenance.PACKAGE, package, ignore=ignored)
    target = package / file
    assert target.is_file()
    monkeypatch.setattr(provenance, "PACKAGE", package)
    provenance.imported.cache_clear()
    module = module_of(target, package)
    assert not upward(module)
    target.write_text(target.read_text() + "\n" + text)
    provenance.imported.cache_clear()
    assert found in upward(module)
    provenance.imported.cache_clear()


def test_a_verdict_depends_on_what_the_checker_imports() -> None:
    files = {p.relative_to(provenance.PACKAGE).as_posix() for p in provenance.files(["argus.check.engine"])}
    assert {"check/walk.py", "ir/ops/__init__.py", "layout/expr.py", "gfx942/mfma.py"} <= files
    assert not any(name.startswith(("cli/", "agent/", "machine/")) for name in files)


def test_an_import_inside_a_function_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / provenance.NAME
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "first.py").write_text("def f():\n    from argus.second import x\n    return x\n")
    (package / "second.py").write_text("x = 1\n")
    monkeypatch.setattr(provenance, "PACKAGE", package)
    provenance.imported.cache_clear()
    before = provenance.digest.__wrapped__("argus.first")
    assert {p.name for p in provenance.files(["argus.first"])} == {"first.py", "second.py"}
    (package / "second.py").write_text("x = 2\n")
    assert provenance.digest.__wrapped__("argus.first") != before
    provenance.imported.cache_clear()
