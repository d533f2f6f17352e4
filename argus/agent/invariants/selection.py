"""The assertions a kernel gets before somebody edits it: those of its technique that the checker proves of it as it is.

    asserted(text, entry)      AssertedKernel(text with the statements at the end of the kernel, checks)

An entry of the knowledge base names rules (`race_free(buffer)`, `conform across LDS`); those are taken, and always that
products pair and results are covered. An assertion that the reader refuses or the checker does not prove of the kernel
at hand is left out: it is no invariant of it.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass

from argus.agent.invariants.proposals import ProposedCheck, proposals
from argus.ir.compile_error import CompileError
from argus.ir.passes.schedule import scheduled
from argus.knowledge import KnowledgeEntry
from argus.lang import read
from argus.lang.checks import RULES
from argus.lang.errors import ProgramError
from argus.pipeline import report_of

ALWAYS = ("conform", "covers", "reduced", "race_free", "fresh")


@dataclass(frozen=True, slots=True)
class AssertedKernel:
    """`text` states `checks`, all of them proved."""

    text: str
    checks: tuple[ProposedCheck, ...]


def rules_of(entry: KnowledgeEntry | None) -> tuple[str, ...]:
    """The rules an entry names in its invariants and failure modes, behind those that always count."""
    if entry is None:
        return ALWAYS
    said = " ".join((*entry.invariants, *entry.failure_modes))
    return tuple(dict.fromkeys((*ALWAYS, *(rule for rule in RULES if rule in said))))


def asserted(text: str, entry: KnowledgeEntry | None = None, beside: Mapping[str, str] | None = None) -> AssertedKernel:
    """The kernel with the assertions that hold of it."""
    rules = rules_of(entry)
    return proved_of(text, [check for check in proposals(text) if check.rule in rules], beside)


def proved_of(text: str, wanted: list[ProposedCheck], beside: Mapping[str, str] | None = None) -> AssertedKernel:
    """The kernel with those of `wanted` that the checker proves of it."""
    kept = [check for check in wanted if _readable(stated(text, [check]), beside)]
    while kept:
        made = stated(text, kept)
        wrong = _unproved(made, kept, beside)
        if not wrong:
            return AssertedKernel(made, tuple(kept))
        kept = [check for check in kept if check not in wrong]
    return AssertedKernel(text, ())


def stated(text: str, checks: list[ProposedCheck]) -> str:
    """The file with the statements behind the last one of the kernel."""
    function = kernel_function(text)
    if function is None or not checks:
        return text
    lines = text.splitlines()
    column = function.body[0].col_offset
    at = function.end_lineno or len(lines)
    new = [" " * column + check.text for check in checks]
    return "\n".join([*lines[:at], *new, *lines[at:]]) + "\n"


def kernel_function(text: str) -> ast.FunctionDef | None:
    """The function under `@ag.kernel`."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return None
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and any("ag.kernel" in ast.unparse(d) for d in node.decorator_list):
            return node
    return None


def _readable(text: str, beside: Mapping[str, str] | None) -> bool:
    try:
        read(text, beside=dict(beside or {}))
    except ProgramError:
        return False
    return True


def _unproved(text: str, kept: list[ProposedCheck], beside: Mapping[str, str] | None) -> list[ProposedCheck]:
    """Assertions that are not proved; all of them where it cannot be said which."""
    try:
        report = report_of(scheduled(read(text, beside=dict(beside or {}))), run=False)
    except (ProgramError, CompileError):
        return kept
    lines = text.splitlines()
    places = {number: check for number, line in enumerate(lines, 1) for check in kept if line.strip() == check.text}
    bad = [verdict for verdict in report.verdicts if verdict.status != "proved"]
    wrong = {places[verdict.span.line].text for verdict in bad if verdict.span.line in places}
    wrong |= {check.text for check in kept for verdict in bad if verdict.rule == check.rule}
    return [check for check in kept if check.text in wrong]
