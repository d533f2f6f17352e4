"""AITER's code objects, from a directory the caller names; nothing of theirs is kept here.

kernel(root, "fmoe/silu/….co")      the loaded kernel
named(root, "fmoe/silu/….co")       a mark of its bytes, for the words a time is kept under
"""

from __future__ import annotations

from pathlib import Path

from argus import machine
from argus.bench.kept import Passing, mark
from argus.gfx942.elf import LoadError
from argus.machine.launch import LoadedKernel


class AiterError(RuntimeError):
    """An object of AITER cannot do what is asked."""


class MissingError(AiterError, Passing):
    """The directory does not hold the object, or holds something else."""


def kernel(root: Path, path: str) -> LoadedKernel:
    try:
        return machine.load(_bytes(root, path)).kernel()
    except LoadError as error:
        raise MissingError(f"AITER {path}: {error}") from error


def named(root: Path, path: str) -> str:
    try:
        return mark(_bytes(root, path))
    except MissingError:
        return "missing"


def _bytes(root: Path, path: str) -> bytes:
    try:
        return (root / path).read_bytes()
    except OSError as error:
        raise MissingError(f"AITER {path}: {error.strerror}") from error
