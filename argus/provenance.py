"""Which code a result rests on: one digest, computed from the import graph.

    digest("argus.check.engine", versions=("z3-solver",))

It covers every source file of the package that the named modules import, directly or through others, imports inside
functions and under `TYPE_CHECKING` included, and the data files (`.json`) that lie beside them. Caches and evidence use
it, so a file that a verdict comes to depend on enters their keys by being imported, and nobody has to list it.

What it cannot see: modules named by strings at run time, and files read from folders whose package is not imported.
A process started by path is named as a root of its own. The package's own `__init__` is left out: it only lends names
to kernel files.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable, Iterator
from functools import cache
from importlib import metadata
from pathlib import Path

PACKAGE = Path(__file__).parent
NAME = PACKAGE.name


@cache
def digest(*roots: str, versions: tuple[str, ...] = ()) -> str:
    """The digest of all files the modules `roots` rest on, and of the versions of the named distributions."""
    result = hashlib.sha256(" ".join(f"{name} {metadata.version(name)}" for name in versions).encode())
    for path in files(roots):
        result.update(path.relative_to(PACKAGE).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return result.hexdigest()


def files(roots: Iterable[str]) -> list[Path]:
    """Sources of the modules that `roots` import, and the data files beside them, sorted."""
    sources = {path for module in closure(roots) if (path := source(module)) is not None}
    data = {path for folder in {source.parent for source in sources} for path in folder.glob("*.json")}
    return sorted(sources | data)


def closure(roots: Iterable[str]) -> set[str]:
    """The modules of this package that `roots` import, themselves included."""
    seen: set[str] = set()
    open_ = list(roots)
    for root in open_:
        if source(root) is None:
            raise ValueError(f"{root} is no module of {NAME}")
    while open_:
        module = open_.pop()
        if module not in seen and module != NAME and source(module) is not None:
            seen.add(module)
            open_ += imported(module)
            open_.append(module.rpartition(".")[0])
    return seen


def source(module: str) -> Path | None:
    """The file of a module of this package; None if there is none."""
    head, *rest = module.split(".")
    if head != NAME:
        return None
    path = PACKAGE.joinpath(*rest)
    package, plain = path / "__init__.py", path.with_suffix(".py")
    return package if package.is_file() else plain if rest and plain.is_file() else None


@cache
def imported(module: str) -> tuple[str, ...]:
    """Every module of this package that a module's text imports, wherever the statement stands."""
    path = source(module)
    if path is None:
        return ()
    return tuple(dict.fromkeys(_names(ast.parse(path.read_text()))))


def _names(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Import():
                yield from (alias.name for alias in node.names if alias.name.split(".")[0] == NAME)
            case ast.ImportFrom(module=str(name), level=0) if name.split(".")[0] == NAME:
                yield name
                yield from (f"{name}.{alias.name}" for alias in node.names)
            case ast.ImportFrom(level=level) if level > 0:
                raise ValueError("relative imports are not followed")
            case _:
                pass
