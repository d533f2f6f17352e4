"""What a judgement rests on, as one hash: the source, the object that ran, the seeds, the verdicts and the times.

Anyone who judges the same source again with the same program gets the same hash; a judgement whose hash cannot be made
again was not made here (`argus verify-all`). Times of a GPU differ from one measurement to the next and are left out.
Another program gives other hashes: which one a run was judged by stands in its configuration.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from argus.agent.judge.problem import Problem
from argus.clock import MODEL_VERSION
from argus.lang.imports import KernelFolder, imports_of
from argus.provenance import digest


def program() -> str:
    """A digest of everything a judgement depends on besides the candidate and the problem."""
    return digest("argus.agent.judge.court", versions=("llvmlite", "z3-solver", "numpy", "ml_dtypes"))


def question(source: str, problem: Problem, seed: int) -> str:
    """The name of a question: this source with the files it imports, this problem, this seed, this program."""
    asked = {"source": source, "problem": problem.digest(), "seed": seed, "program": program()}
    imported = imports(source, problem)
    return _hash({**asked, "imports": imported} if imported else asked)


def imports(source: str, problem: Problem) -> dict[str, str]:
    """The kernel files a candidate imports, of the library or beside the task: a digest of each by module name."""
    found = imports_of(source, KernelFolder(None, problem.beside))
    return {i.module: hashlib.sha256(i.text.encode()).hexdigest() for i in found}


def evidence(asked: str, code: bytes, found: Mapping[str, Any]) -> str:
    """The hash of an answered question: `found` holds verdicts, comparisons and times."""
    return _hash(
        {"question": asked, "object": hashlib.sha256(code).hexdigest(), "clock": MODEL_VERSION, "found": found}
    )


def _hash(value: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
