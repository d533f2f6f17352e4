"""Texts and objects under the name of their content: the same bytes are kept once and cannot change unseen.

`put` writes a temporary file, flushes it and renames it, so a name never stands for half a text; `get` hashes what it
reads.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

from argus.agent.journal.errors import JournalError


@dataclass(frozen=True, slots=True)
class Blobs:
    """A folder of contents."""

    folder: Path

    def path(self, digest: str) -> Path:
        return self.folder / digest[:2] / digest[2:]

    def put(self, content: bytes) -> str:
        """The SHA-256 of `content`, which is stored when this returns."""
        digest = hashlib.sha256(content).hexdigest()
        path = self.path(digest)
        if path.exists():
            return digest
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=".new-")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(name, path)
        except BaseException:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(name)
            raise
        return digest

    def get(self, digest: str) -> bytes:
        """The content called `digest`."""
        try:
            content = self.path(digest).read_bytes()
        except OSError as error:
            raise JournalError("ARG-J105", f"{digest}: {error.strerror}") from error
        if hashlib.sha256(content).hexdigest() != digest:
            raise JournalError("ARG-J105", f"{self.path(digest)}: the content is not what its name says")
        return content
