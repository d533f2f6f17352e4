"""Laws of the house: which room may import which, and what caches depend on."""

from __future__ import annotations

from pathlib import Path

import pytest

import argus.provenance as provenance

ORDER = (
    "provenance", "layout", "gfx942", "machine", "spec", "ir", "lang", "check", "compile", "pipeline", "clock",
    "device", "tasks", "ops", "surface", "knowledge", "agent", "bench", "report", "cli",
)  # fmt: skip
"""Rooms (folders and top-level modules) from the ground up: a room imports only rooms before it. The machine needs
nothing but the chip, and its table of instructions is what the compiler's re-check reads the object with."""
DATA = ("kernels", "naive")
"""Folders of kernel files, which are data."""


def sources() -> list[Path]:
    return [p for p in sorted(provenance.PACKAGE.rglob("*.py")) if not set(DATA) & set(p.parts)]


def module_of(path: Path) -> str:
    parts = path.relative_to(provenance.PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def room_of(module: str) -> str:
    return module.split(".")[1]


@pytest.mark.parametrize("path", sources(), ids=lambda p: module_of(p))
def test_imports_go_down_only(path: Path) -> None:
    """Imports inside functions and under TYPE_CHECKING count like all others."""
    module = module_of(path)
    if module == provenance.NAME:
        return
    here = ORDER.index(room_of(module))
    wanted = (name for name in provenance.imported(module) if name != provenance.NAME and provenance.source(name))
    upward = [name for name in wanted if ORDER.index(room_of(name)) > here]
    assert not upward


def test_every_room_has_its_place() -> None:
    assert {room_of(module_of(p)) for p in sources() if module_of(p) != provenance.NAME} <= set(ORDER)


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
