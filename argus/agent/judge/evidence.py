"""What a judgement rests on, as one hash: the source, the object that ran, the seeds, the verdicts and the times.

Anyone who judges the same source again with the same program gets the same hash; a judgement whose hash cannot be made
again was not made here (`argus verify-all`). Times of a GPU differ from one measurement to the next and are left out.
Another program gives other hashes: which one a run was judged by stands in its configuration.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from argus.clock import MODEL_VERSION

ROOMS = ("agent/judge", "check", "clock", "compile", "device", "gfx942", "ir", "lang", "layout", "machine", "tasks")


@cache
def program() -> str:
    """A digest of everything a judgement depends on besides the candidate and the problem."""
    root = Path(__file__).parents[2]
    versions = " ".join(f"{name} {metadata.version(name)}" for name in ("llvmlite", "z3-solver", "numpy", "ml_dtypes"))
    digest = hashlib.sha256(versions.encode())
    for room in ROOMS:
        for path in sorted((root / room).rglob("*")):
            if path.suffix in (".py", ".json"):
                digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def question(source: str, problem: str, seed: int) -> str:
    """The name of a question: this source, this problem (its digest), this seed, this program."""
    return _hash({"source": source, "problem": problem, "seed": seed, "program": program()})


def evidence(asked: str, code: bytes, found: Mapping[str, Any]) -> str:
    """The hash of an answered question: `found` holds verdicts, comparisons and times."""
    return _hash(
        {"question": asked, "object": hashlib.sha256(code).hexdigest(), "clock": MODEL_VERSION, "found": found}
    )


def _hash(value: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
