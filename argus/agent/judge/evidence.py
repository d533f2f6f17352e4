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

from argus.clock import MODEL_VERSION
from argus.provenance import digest


def program() -> str:
    """A digest of everything a judgement depends on besides the candidate and the problem."""
    return digest("argus.agent.judge.court", versions=("llvmlite", "z3-solver", "numpy", "ml_dtypes"))


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
