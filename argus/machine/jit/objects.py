"""Compiled objects on disk, keyed by content.

    objects = ObjectStore.default()
    entry = objects.get(key, produce)       # produce() -> (LLVM text, facts about it); called only if the key is new
    entry.code, entry.facts

An entry is two files in `$ARGUS_CACHE` (or `~/.cache/argus`) under `jit/`: KEY.o, the host object, and KEY.json, the
facts the translator keeps with it and the object's SHA-256. The key covers everything the object depends on: the
kernel's bytes and mode, the sources of the translator, the semantic table and the instruction facts (`source_digest`),
the host processor and LLVM's version. An entry whose checksum does not match is made again. Entries are written by
rename, so concurrent processes need no lock; the worst case is that both compile.

Compilation runs in a child process (`child.py`): if LLVM aborts, the caller gets `CompileError` with its last words.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import llvmlite
import llvmlite.binding as llvm

from argus.machine.jit.errors import CompileError

COMPILE_SECONDS = 300
CHILD = Path(__file__).with_name("child.py")
PACKAGE = Path(__file__).parents[2]
DEPENDS_ON = ("machine/jit", "machine/semantics", "gfx942")

Facts = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Entry:
    """A compiled object and what its producer noted about it."""

    code: bytes
    facts: Facts
    fresh: bool


@functools.cache
def source_digest() -> str:
    """A digest of every source file that decides what code is emitted, and of the compiler it is emitted for."""
    digest = hashlib.sha256()
    for folder in DEPENDS_ON:
        for path in sorted((PACKAGE / folder).rglob("*")):
            if path.suffix in (".py", ".json"):
                digest.update(path.name.encode())
                digest.update(path.read_bytes())
    features = llvm.get_host_cpu_features().flatten()
    digest.update(f"{llvmlite.__version__} {llvm.get_host_cpu_name()} {features}".encode())
    return digest.hexdigest()


class ObjectStore:
    """A folder of compiled objects."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @staticmethod
    def default() -> ObjectStore:
        root = os.environ.get("ARGUS_CACHE") or Path.home() / ".cache" / "argus"
        return ObjectStore(Path(root) / "jit")

    def get(self, key: str, produce: Callable[[], tuple[str, Facts]], passes: int = 0) -> Entry:
        """The entry of `key`, compiled now if it is not there."""
        found = self._read(key)
        if found is not None:
            return found
        text, facts = produce()
        return self._write(key, text, facts, passes)

    def _read(self, key: str) -> Entry | None:
        try:
            code = (self.folder / f"{key}.o").read_bytes()
            facts = json.loads((self.folder / f"{key}.json").read_text())
        except (OSError, ValueError):
            return None
        if not isinstance(facts, dict) or facts.pop("sha256", None) != hashlib.sha256(code).hexdigest():
            return None
        return Entry(code, facts, fresh=False)

    def _write(self, key: str, text: str, facts: Facts, passes: int) -> Entry:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            return self._compile_into(self.folder, key, text, facts, passes)
        except OSError:
            with tempfile.TemporaryDirectory() as folder:
                return self._compile_into(Path(folder), key, text, facts, passes)

    @staticmethod
    def _compile_into(folder: Path, key: str, text: str, facts: Facts, passes: int) -> Entry:
        target = folder / f"{key}.o"
        compile_object(text, target, passes)
        code = target.read_bytes()
        noted = json.dumps({**facts, "sha256": hashlib.sha256(code).hexdigest()})
        partial = folder / f"{key}.json.{os.getpid()}"
        partial.write_text(noted)
        partial.replace(folder / f"{key}.json")
        return Entry(code, json.loads(json.dumps(facts)), fresh=True)


def compile_object(text: str, target: Path, passes: int) -> None:
    """Compile LLVM text into `target` in a child process."""
    command = [sys.executable, "-P", str(CHILD), str(target), str(passes)]
    try:
        done = subprocess.run(command, input=text, text=True, capture_output=True, timeout=COMPILE_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise CompileError(f"LLVM did not finish within {COMPILE_SECONDS} s") from None
    if done.returncode != 0:
        last_words = "\n".join(done.stderr.strip().splitlines()[-4:]) or f"exit status {done.returncode}"
        raise CompileError(f"LLVM could not compile the translated kernel: {last_words}")
