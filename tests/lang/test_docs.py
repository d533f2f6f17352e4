"""The code blocks of the pages are executed.

A `python` block whose first line is `# file: NAME` is a kernel file: it is saved under that name and read; a second
line `# error: CODE` says that it must be refused so. Other `python` blocks are Python and run in order, in the folder
with the saved files. `sh` blocks are commands of `argus` that must succeed. A `text` block with a diagnostic must be
what the reader says about the file it names.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from argus.cli.main import main
from argus.lang import ProgramError, read

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.DOTALL | re.MULTILINE)


PAGES = {
    "tutorial.md": 5,
    "architecture.md": 1,
    "language.md": 5,
    "convolution.md": 1,
    "machine.md": 2,
    "clock.md": 2,
    "kernels.md": 1,
    "kernels_moe.md": 1,
    "operators.md": 2,
    "from_triton.md": 2,
}
"""Pages whose blocks are executed, and how many there are at least. Sizes in them are small: a page takes seconds."""


WITH_EXTRAS = {"kernelbench.md": "tests/torch", "pytorch.md": "tests/torch"}
"""Pages that need an extra, and the tests that execute them."""


@pytest.mark.parametrize("page", PAGES)
def test_blocks(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run_page(page, tmp_path) >= PAGES[page]


def run_page(page: str, tmp_path: Path) -> int:
    """Execute the blocks of a page in the current folder; how many there are."""
    shutil.copytree(ROOT / "argus" / "kernels", tmp_path / "argus" / "kernels")
    names: dict[str, object] = {}
    blocks = BLOCK.findall((ROOT / "docs" / page).read_text())
    for language, text in blocks:
        if language == "python" and text.startswith("# file: "):
            kernel_file(tmp_path, text)
        elif language == "python":
            exec(compile(text, page, "exec"), names)
        elif language == "sh":
            for line in text.splitlines():
                assert main(line.split()[1:]) == 0, line
        elif text.startswith("error["):
            file = re.search(r"--> (\S+?):", text)
            assert file is not None
            with pytest.raises(ProgramError) as caught:
                read(file[1])
            assert caught.value.render() == text
    return len(blocks)


def kernel_file(folder: Path, text: str) -> None:
    lines = text.splitlines()
    name = lines[0].removeprefix("# file: ")
    wanted = lines[1].removeprefix("# error: ") if lines[1].startswith("# error: ") else None
    source = "\n".join(lines[2 if wanted else 1 :]) + "\n"
    (folder / name).write_text(source)
    if wanted is None:
        read(name)
        return
    with pytest.raises(ProgramError) as caught:
        read(name)
    assert caught.value.code == wanted


def test_every_page_with_python_is_executed() -> None:
    assert {p.name for p in (ROOT / "docs").glob("*.md") if "```python" in p.read_text()} <= {*PAGES, *WITH_EXTRAS}


def test_environment_variables_are_on_the_page() -> None:
    text = (ROOT / "docs" / "interfaces.md").read_text()
    for path in (ROOT / "argus").rglob("*.py"):
        for name in re.findall(r"environ[^\n]*?[\"']([A-Z_]{5,})[\"']", path.read_text()):
            assert f"`{name}`" in text, (path, name)


def test_the_agents_page_names_everything() -> None:
    """Each transformation, entry of a task file and kind of provider."""
    from argus.agent.lower import LOWERINGS
    from argus.agent.providers import KINDS
    from argus.tasks.task import ENTRIES

    text = (ROOT / "docs" / "agent.md").read_text()
    assert not [name for name in LOWERINGS if f"`{name}`" not in text]
    assert not [name for name in ENTRIES if f"`{name}`" not in text and f"{name}=" not in text]
    assert not [kind for kind in KINDS if kind.partition(":")[0] not in text]


def test_links_lead_somewhere() -> None:
    """Links between the pages: the file is there, and so is the heading."""
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "examples").rglob("*.md")]
    for page in pages:
        for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
            if target.startswith("http"):
                continue
            name, _, heading = target.partition("#")
            file = page.parent / name if name else page
            assert file.exists(), (page, target)
            assert not heading or heading in headings(file), (page, target)


def headings(page: Path) -> set[str]:
    """The headings of a page as links name them."""
    titles = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def test_reference_names_everything() -> None:
    """Each function, method and rule of the language is mentioned in the reference."""
    from argus.lang import algebra, builtins, checks, instructions, pythonic, tile_methods, transfers

    text = (ROOT / "docs" / "language.md").read_text()
    words = set(re.findall(r"\w+", text))
    for table in (
        builtins.FUNCTIONS, builtins.CONSTANTS, algebra.CONSTRUCTORS, algebra.LAYOUT, algebra.MATRIX, algebra.FRAGMENT,
        tile_methods.TILE, transfers.GLOBAL, transfers.SHARED, transfers.FUNCTIONS, pythonic.STATIC,
        instructions.NAMES, checks.RULES,
    ):  # fmt: skip
        missing = [name for name in table if name not in words]
        assert not missing
