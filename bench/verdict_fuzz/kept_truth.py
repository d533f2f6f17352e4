"""Truth that outlives a change of the checker.

A truth is about an object: what the machine, the IR interpreter and exact algebra made of its launches. Checking is a
quarter of the cost of judging a source. So a row keeps the digests of its object and of the code that told the truth;

    python -m bench.verdict_fuzz --recheck --shard 0/2 --out DIR [--seed S]

makes every verdict of a finished run anew and takes the truth of the row, if

* the object compiled today is the same, byte for byte, and so is the code that tells the truth (`oracle`);
* the verdict is the same as then. Another verdict is judged whole, since its counterexample may suggest launches;
* nothing is refuted that was right: that is a fault, and is judged whole.

`--trust DIGEST` names an older oracle that is known to tell the same of what is *right*; what else it said is judged
whole. It cannot tell that a change of the checker alters the premises of a proof: `check/executed/premises.py`, which
decides *beyond*, is part of the oracle.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from argus.compile import CompileError
from argus.ir.stages import Scheduled
from bench.verdict_fuzz.compiled_once import compiled_once
from bench.verdict_fuzz.exact import ExactTruth
from bench.verdict_fuzz.truth import Truth

ROOT = Path(__file__).parents[2]
ORACLE = (
    "argus/machine", "argus/ir/interp", "argus/ir/semantics", "argus/tasks/algebra", "argus/check/executed/premises.py",
    "bench/verdict_fuzz",
)  # fmt: skip
NOT_THE_ORACLE = ("__main__.py", "kept_truth.py", "keep.py", "minimise.py", "packed_truths.py", "report.py", "rows.py")


@cache
def oracle() -> str:
    """The digest of the code that tells the truth."""
    found = sha256()
    for name in ORACLE:
        path = ROOT / name
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            if file.name not in NOT_THE_ORACLE:
                found.update(file.relative_to(ROOT).as_posix().encode() + b"\0" + file.read_bytes() + b"\0")
    return found.hexdigest()[:16]


def object_of(made: Scheduled) -> str:
    """The digest of a kernel's object, or the code of the compiler's refusal."""
    try:
        return sha256(compiled_once(made)).hexdigest()[:16]
    except CompileError as error:
        return error.code


def kept_truth(row: Mapping[str, Any], verdict: str, made: Scheduled) -> Truth | None:
    """The truth of a row of an earlier run, if it still holds of this kernel with this verdict."""
    trusted = row.get("oracle") == oracle() or (row.get("trusted") and row["truth"] in ("right", "refused"))
    if not trusted or row["verdict"] != verdict:
        return None
    if verdict == "refuted" and row["truth"] in ("right", "rounded", "beyond"):
        return None
    if row["object"] != object_of(made):
        return None
    return Truth(row["truth"], row["detail"], ExactTruth(row["exact"], row["lost"]) if row["exact"] else None)
