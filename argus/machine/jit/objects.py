"""Compiled objects on disk, keyed by content.

    objects = ObjectStore.default()
    entry = objects.get(key, produce)       # produce() -> (LLVM texts, facts about them); called only if the key is new
    entry.codes, entry.facts

An entry lies in `$ARGUS_CACHE` (or `~/.cache/argus`) under `jit/`: KEY.0.o, KEY.1.o ..., host objects that are linked
together, and KEY.json, the facts the translator keeps with them and the objects' SHA-256. The key covers everything the
objects depend on: the kernel's bytes and mode, the sources of the translator, the semantic table and the instruction
facts (`source_digest`), the host processor and LLVM's version. An entry whose checksums do not match is made again.
Files are written by rename, so concurrent processes need no lock; the worst case is that both compile.

The texts are compiled in child processes (`compilers`), all at once: if LLVM aborts, the caller gets `TranslationError`
with its last words.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import llvmlite
import llvmlite.binding as llvm

from argus.machine.jit.compilers import compile_object
from argus.provenance import digest

EMITTERS = ("argus.machine.jit.executor", "argus.machine.jit.child")
"""The modules from which everything is imported that emits code."""

Facts = dict[str, Any]


Produce = Callable[[], tuple[list[str], Facts]]


@dataclass(frozen=True, slots=True)
class CompiledObject:
    """Compiled objects and what their producer noted about them."""

    codes: list[bytes]
    facts: Facts
    fresh: bool


@functools.cache
def source_digest() -> str:
    """A digest of every source file that decides what code is emitted, and of the compiler it is emitted for."""
    features = llvm.get_host_cpu_features().flatten()
    host = f"{digest(*EMITTERS)} {llvmlite.__version__} {llvm.get_host_cpu_name()} {features}"
    return hashlib.sha256(host.encode()).hexdigest()


class ObjectStore:
    """A folder of compiled objects."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @staticmethod
    def default() -> ObjectStore:
        root = os.environ.get("ARGUS_CACHE") or Path.home() / ".cache" / "argus"
        return ObjectStore(Path(root) / "jit")

    def get(self, key: str, produce: Produce) -> CompiledObject:
        """The entry of `key`, compiled now if it is not there."""
        found = self._read(key)
        if found is not None:
            return found
        texts, facts = produce()
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            return _compile_into(self.folder, key, texts, facts)
        except OSError:
            with tempfile.TemporaryDirectory() as folder:
                return _compile_into(Path(folder), key, texts, facts)

    def _read(self, key: str) -> CompiledObject | None:
        try:
            facts = json.loads((self.folder / f"{key}.json").read_text())
            sums = facts.pop("sha256")
            codes = [(self.folder / f"{key}.{n}.o").read_bytes() for n in range(len(sums))]
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None
        return CompiledObject(codes, facts, fresh=False) if _sums(codes) == sums else None


def _sums(codes: Sequence[bytes]) -> list[str]:
    return [hashlib.sha256(code).hexdigest() for code in codes]


def _compile_into(folder: Path, key: str, texts: Sequence[str], facts: Facts) -> CompiledObject:
    targets = [folder / f"{key}.{n}.o" for n in range(len(texts))]
    with ThreadPoolExecutor(len(texts)) as pool:
        list(pool.map(compile_object, texts, targets))
    codes = [target.read_bytes() for target in targets]
    partial = folder / f"{key}.json.{os.getpid()}"
    partial.write_text(json.dumps({**facts, "sha256": _sums(codes)}))
    partial.replace(folder / f"{key}.json")
    return CompiledObject(codes, json.loads(json.dumps(facts)), fresh=True)
