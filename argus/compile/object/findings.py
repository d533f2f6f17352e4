"""What a comparison of an object with its kernel found.

    found.accesses, found.equal       208 of 208, {"normal form": 64, "all threads": 96, "induction": 42, "cases": 6}
    found.unknown, found.different    Finding(n=41, op=…, what="its address", witness=…)

Unknown is what could not be shown; different is what is certainly not the kernel's, where possible with a launch that
shows it. The audit of the compiler takes neither (`argus.compile.object.agreement`).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from argus.compile.object.witness import Witness
from argus.ir import ops


@dataclass(frozen=True, slots=True)
class Finding:
    """What is not shown, or is different, of instruction `n`, made for `op`."""

    n: int
    op: ops.Op
    what: str
    witness: Witness | None = None


@dataclass
class Agreement:
    """`placed` instructions were looked at, `accesses` of them go to memory; `equal` says how these were shown."""

    placed: int = 0
    accesses: int = 0
    equal: Counter[str] = field(default_factory=Counter)
    unknown: list[Finding] = field(default_factory=list)
    different: list[Finding] = field(default_factory=list)
    else_first: int = 0
    data: int = 0
    """Registers of data whose sources were compared."""
    waits: dict[int, int] = field(default_factory=dict)
    """Waits of the object -> the op in whose place they stand (`placed_waits`)."""
    slice_of: frozenset[int] = frozenset()
    """Instructions on which addresses and conditions depend."""
