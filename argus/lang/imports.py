"""Which kernel files a kernel file imports: found by name, read as data, never executed.

    from argus.kernels.rows import ROW, added       a file of the library
    from my_rows import ROW                         my_rows.py beside the kernel file

Only `from … import NAME` at the top level, only these two places. A file reached through a link that leads elsewhere,
a file that imports itself through others, and more than `MAX_DEPTH` levels or `MAX_TOTAL` bytes are refused. Imports
stand at the top level without a condition, so the files a kernel rests on follow from the syntax trees alone:

    imports_of(text, beside)      the imported files, each once, in the order in which they are read

That is what digests, evidence and the journal use. A kernel given as text has no folder; the files beside it are given
as texts (`beside`), so a judgement in another process, or on another machine, reads the same files.

What it cannot do: `import a.b`, `import *`, packages of one's own, names chosen by a knob.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from argus.ir.kernel import ImportedSource
from argus.lang.errors import ProgramError
from argus.lang.source import MAX_BYTES, SOURCE_NAME, text_of, tree_of

LIBRARY_MODULE = "argus.kernels"
LIBRARY = Path(__file__).parents[1] / "kernels"
LIBRARY_NAME = "argus/kernels"
"""How places in the library are named, wherever it is installed."""
MAX_DEPTH = 8
MAX_TOTAL = MAX_BYTES


class OutsideError(ValueError):
    """The file a name leads to is neither in the library nor beside the kernel file."""


@dataclass(frozen=True, slots=True)
class KernelFolder:
    """Where the files beside a kernel file are: a folder, or texts that came with the kernel."""

    folder: Path | None = None
    texts: Mapping[str, str] = field(default_factory=dict)

    @staticmethod
    def of(path_or_source: str | Path, beside: Mapping[str, str] | None = None) -> KernelFolder:
        """The folder of a kernel file; for source text, the files given with it."""
        if isinstance(path_or_source, str) and "\n" in path_or_source:
            return KernelFolder(None, dict(beside or {}))
        return KernelFolder(Path(path_or_source).parent)

    def source(self, module: str, importer: str) -> ImportedSource | None:
        """The file a module name leads to from the module `importer` ("" is the kernel file); None if there is none."""
        if is_library(module):
            name = module.removeprefix(f"{LIBRARY_MODULE}.")
            return _on_disk(LIBRARY, module, name, LIBRARY_NAME)
        if "." in module or is_library(importer):
            return None
        if self.folder is not None:
            return _on_disk(self.folder, module, module, str(self.folder))
        text = self.texts.get(module)
        return None if text is None else ImportedSource(module, f"{module}.py", text)

    def modules(self) -> Iterator[str]:
        """Names of the files beside the kernel file."""
        if self.folder is None:
            yield from self.texts
        else:
            yield from (path.stem for path in sorted(self.folder.glob("*.py")))


def is_library(module: str) -> bool:
    return module.startswith(f"{LIBRARY_MODULE}.")


def library_modules() -> list[str]:
    """Module names of the library's kernel files."""
    return [f"{LIBRARY_MODULE}.{path.stem}" for path in sorted(LIBRARY.glob("[a-z]*.py"))]


def imports_of(text: str, beside: KernelFolder) -> tuple[ImportedSource, ...]:
    """Every file that a kernel's text imports, directly or through others.

    A text that cannot be read has the imports found up to there: whoever reads it says what is wrong.
    """
    found: dict[str, ImportedSource] = {}
    open_ = [("", text, 0)]
    while open_:
        importer, here, depth = open_.pop(0)
        for module in _imported(here):
            source = None if module in found or depth >= MAX_DEPTH else _quietly(beside, module, importer)
            if source is not None and sum(len(s.text) for s in found.values()) <= MAX_TOTAL:
                found[module] = source
                open_.append((module, source.text, depth + 1))
    return tuple(found.values())


def text_with_imports(path: Path) -> str:
    """The text of a kernel file and of every file it imports, for keys of what is made from it."""
    text = text_of(path)[1]
    return "\0".join((text, *(f"{i.module}\0{i.text}" for i in imports_of(text, KernelFolder.of(path)))))


def _imported(text: str) -> list[str]:
    try:
        tree = tree_of(SOURCE_NAME, text)
    except ProgramError:
        return []
    return [n.module for n in tree.body if isinstance(n, ast.ImportFrom) and n.module and not n.level]


def _quietly(beside: KernelFolder, module: str, importer: str) -> ImportedSource | None:
    try:
        return beside.source(module, importer)
    except (OutsideError, ProgramError):
        return None


def _on_disk(folder: Path, module: str, name: str, shown: str) -> ImportedSource | None:
    if not name.isidentifier():
        return None
    path = folder / f"{name}.py"
    if not path.is_file():
        return None
    if path.resolve().parent != folder.resolve():
        raise OutsideError(str(path.resolve()))
    return ImportedSource(module, str(Path(shown) / path.name), text_of(path)[1])
