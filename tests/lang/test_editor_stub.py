"""Kernel files in an editor: the stubs are current, ruff and mypy accept every kernel with the shipped settings."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from argus.cli.editor_stub import MEANINGS, covered, stub, texts
from argus.cli.init import write
from argus.ir.maps import MAPS
from argus.lang import builtins, transfers

ROOT = Path(__file__).parents[2]
FOLDERS = ("argus/kernels", "argus/tasks/naive", "examples/kernels")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new project, as `argus init` writes it."""
    folder = tmp_path_factory.mktemp("editor") / "demo"
    write(folder)
    return folder


def tool(project: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """A tool with the project's settings; Argus is found as an installed package would be."""
    environment = {**os.environ, "MYPYPATH": str(ROOT)}
    command = [sys.executable, "-m", *words]
    return subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True, check=False)


def test_the_stubs_are_current() -> None:
    """Made by `python -m argus.cli.editor_stub`."""
    for file, text in texts().items():
        assert (ROOT / "argus" / file).read_text() == text, file


def test_every_name_of_the_language_is_in_the_stub() -> None:
    declared = set()
    for line in stub().splitlines():
        words = line.replace("(", " ").replace(":", " ").split()
        if line.startswith(("def ", "class ", "from argus.gfx942")):
            declared.add(words[-1] if line.startswith("from") else words[1])
        elif words and not line.startswith((" ", "from", "import", "@", '"')):
            declared.add(words[0])
    assert covered() - declared == set()


def test_every_function_says_what_it_does() -> None:
    assert {*builtins.FUNCTIONS, *transfers.FUNCTIONS} - set(MEANINGS) - set(MAPS) == set()


def test_mypy_accepts_kernels_as_they_are(project: Path) -> None:
    kernels = [str(ROOT / folder) for folder in FOLDERS]
    done = tool(project, "mypy", "--config-file", "pyproject.toml", ".", *kernels)
    assert done.returncode == 0, done.stdout


def test_ruff_accepts_kernels_as_they_are(project: Path) -> None:
    kernels = [str(ROOT / folder) for folder in FOLDERS]
    done = tool(project, "ruff", "check", "--config", "pyproject.toml", ".", *kernels)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("right", "wrong", "code"),
    [
        ("width=4 * PER_THREAD) + y", "widht=4 * PER_THREAD) + y", "call-arg"),
        ("x[start].load", "x[start].laod", "attr-defined"),
        ("ag.cdiv(N, size)", "ag.cdvi(N, size)", "attr-defined"),
        ("load(PART, ", 'load("PART", ', "arg-type"),
    ],
)
def test_a_mistake_is_underlined(right: str, wrong: str, code: str, project: Path, tmp_path: Path) -> None:
    """The stubs can say no: a wrong name, a wrong keyword, a wrong type."""
    text = (project / "demo.py").read_text()
    assert right in text
    path = tmp_path / "wrong.py"
    path.write_text(text.replace(right, wrong, 1))
    done = tool(project, "mypy", "--config-file", "pyproject.toml", str(path))
    assert done.returncode == 1
    assert f"[{code}]" in done.stdout
