"""Verdicts and what they rest on: the data that proof and explanation share, without any text or search.

A verdict is one rule at one place of the source. `proved` holds for every launch the kernel's `requires` allow, within
the printed bounds of its variables; only the ledger makes it. `refuted` comes with a counterexample that the concrete
interpreter has confirmed. `unknown` says what could not be decided and never counts as proved.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from argus.ir.types import Span

Status = Literal["proved", "refuted", "unknown"]


@dataclass(frozen=True, slots=True)
class Site:
    """Who wrote an element: the store's place and the thread."""

    span: Span
    thread: int


@dataclass(frozen=True, slots=True)
class Party:
    """One party of a counterexample: a register element of a thread, or an access of a thread to memory."""

    name: str
    thread: int
    element: int
    does: str
    tensor: str = ""
    coords: Mapping[str, int] = field(default_factory=dict)
    span: Span | None = None
    written_at: Site | None = None


@dataclass(frozen=True, slots=True)
class Counterexample:
    """One execution that breaks a rule, as small as the rule allows."""

    rule: str
    span: Span
    op: int
    message: str
    sizes: Mapping[str, int]
    block: tuple[int, int, int]
    loop: Mapping[str, int]
    wave: int
    operands: tuple[Party, ...]
    help: str
    table: bool = False
    details: tuple[str, ...] = ()
    """More about it, a sentence each."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """One rule at one place. `sites` counts the program points and iteration classes it covers."""

    rule: str
    status: Status
    span: Span
    op: int
    decided_by: str
    seconds: float = 0.0
    sites: int = 1
    bounds: Mapping[str, tuple[int | None, int | None]] = field(default_factory=dict)
    reason: str = ""
    counterexample: Counterexample | None = None
    help: str = ""


@dataclass(frozen=True, slots=True)
class ObligationState:
    """One thing that had to be shown, and what became of it; `sites` are the visits at which it was discharged."""

    id: int
    op: int
    line: int
    rule: str
    what: str
    status: Literal["discharged", "open"]
    reason: str
    sites: int
