"""The files a model may see: one folder, by real path.

    space = WorkspaceFolder(Path("kernels"))
    space.text("gemm.py")            the text of kernels/gemm.py
    space.text("../secret.py")       ToolError ARG-W103
    space.kernel("gemm.py")          {"rows.py": …, "gemm.py": …}: the file and what it imports from its folder

Links are resolved before anything is opened, and the opened file is asked once more where it really lies, so a link
that is exchanged in between gains nothing. Only regular files are read, at most `MAX_BYTES` of each. What a tool then
works on are these texts, never the paths: the process that runs a tool gets copies in a folder of its own.

What it cannot do: tell a hard link from the file it was made from.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Protocol

from argus.agent.tools.errors import ToolError
from argus.lang.imports import KernelFolder, imports_of, is_library
from argus.lang.source import MAX_BYTES

OPENED = Path("/proc/self/fd")


class KernelStore(Protocol):
    """Where a tool gets kernel files from: a folder, or texts in memory."""

    def kernel(self, name: str) -> dict[str, str]:
        """The kernel file first, then the files it imports from its folder, by file name."""
        ...


class WorkspaceFolder:
    """One folder; `root` is its real path."""

    def __init__(self, root: Path) -> None:
        try:
            self.root = root.resolve(strict=True)
        except OSError as error:
            raise ToolError("ARG-W109", f"the workspace {root} is not there: {error.strerror}") from error
        if not self.root.is_dir():
            raise ToolError("ARG-W109", f"the workspace {root} is not a folder")

    def text(self, name: str) -> str:
        """The text of a file inside."""
        path = self._inside(name)
        try:
            handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            raise _unreadable(name, error.strerror or "it cannot be opened") from error
        try:
            if OPENED.exists() and not (OPENED / str(handle)).resolve().is_relative_to(self.root):
                raise _outside(name)
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                raise _unreadable(name, "it is not a regular file")
            with os.fdopen(handle, "rb", closefd=False) as file:
                data = file.read(MAX_BYTES + 1)
        finally:
            os.close(handle)
        if len(data) > MAX_BYTES:
            raise _unreadable(name, f"it has more than {MAX_BYTES} bytes")
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError as error:
            raise _unreadable(name, "it is not UTF-8 text") from error

    def kernel(self, name: str) -> dict[str, str]:
        text = self.text(name)
        return with_imports(Path(name).name, text, _Beside(self, str(Path(name).parent)))

    def _inside(self, name: str) -> Path:
        if not name or "\0" in name:
            raise _unreadable(name, "it has no name")
        try:
            path = (self.root / name).resolve(strict=True)
        except FileNotFoundError as error:
            if not _led(self.root / name).is_relative_to(self.root):
                raise _outside(name) from error
            raise _unreadable(name, "there is no such file in the workspace") from error
        except (OSError, RuntimeError) as error:
            raise _unreadable(name, str(getattr(error, "strerror", "") or "its links go round")) from error
        if not path.is_relative_to(self.root):
            raise _outside(name)
        return path


class KernelTexts:
    """Kernel files in memory: the candidate of a run and the files beside it."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self.texts = dict(texts)

    def kernel(self, name: str) -> dict[str, str]:
        if name not in self.texts:
            raise _unreadable(name, f"there are {', '.join(sorted(self.texts))}")
        beside = {file.removesuffix(".py"): text for file, text in self.texts.items()}
        return with_imports(name, self.texts[name], beside)


class _Beside(Mapping[str, str]):
    """The files in one folder of a workspace, by module name, read when asked for."""

    def __init__(self, space: WorkspaceFolder, folder: str) -> None:
        self._space = space
        self._folder = folder

    def __getitem__(self, module: str) -> str:
        try:
            return self._space.text(f"{self._folder}/{module}.py")
        except ToolError as error:
            raise KeyError(module) from error

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


def with_imports(name: str, text: str, beside: Mapping[str, str]) -> dict[str, str]:
    """A kernel file and the files beside it that it imports, directly or through others."""
    found = imports_of(text, KernelFolder(None, beside))
    return {**{Path(s.file).name: s.text for s in found if not is_library(s.module)}, name: text}


def _led(path: Path) -> Path:
    """Where a path that does not exist would lead."""
    try:
        return path.resolve()
    except (OSError, RuntimeError):
        return path


def _outside(name: str) -> ToolError:
    return ToolError("ARG-W103", f"{_shown(name)} leads out of the workspace")


def _unreadable(name: str, why: str) -> ToolError:
    return ToolError("ARG-W104", f"{_shown(name)}: {why}")


def _shown(name: str) -> str:
    return repr(name[:200])
