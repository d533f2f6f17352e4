"""`argus explain CODE`: the manual page of an error, a machine report, a compile error or a rule of the checker."""

from __future__ import annotations

import argparse
import importlib
from typing import Any

from argus.agent.journal import CODES as JOURNAL_CODES
from argus.agent.providers import CODES as PROVIDER_CODES
from argus.check.relations import RULES as RELATIONS
from argus.check.speed import RULES as SPEED
from argus.cli.options import GOOD, UsageError
from argus.compile.errors import CODES as COMPILE_CODES
from argus.lang import explain
from argus.machine.errors import CODES as MACHINE_CODES

RULES = {
    **{
        name: f"argus.check.{name}"
        for name in ("conform", "race_free", "fresh", "in_bounds", "value", "placed", "reduced", "covers")
    },
    **dict.fromkeys(RELATIONS, "argus.check.relations"),
    **dict.fromkeys(SPEED, "argus.check.speed"),
}


def register(verbs: Any) -> None:
    parser = verbs.add_parser("explain", help="explain an error code (AG301, C130, ARG-M101) or a rule (covers)")
    parser.add_argument("code")
    parser.set_defaults(handler=handle)


def handle(args: argparse.Namespace) -> int:
    page = page_of(args.code)
    if page is None:
        raise UsageError(f"there is no error or rule {args.code}; rules: {', '.join(sorted(RULES))}")
    print(page)
    return GOOD


def page_of(code: str) -> str | None:
    """The page of a code or rule, or None."""
    if code in RULES:
        return f"# rule {code}\n\n{(importlib.import_module(RULES[code]).__doc__ or '').strip()}\n"
    upper = code.upper()
    for table, what in (
        (COMPILE_CODES, "compile error"),
        (MACHINE_CODES, "report of the machine"),
        (PROVIDER_CODES, "error of a model provider"),
        (JOURNAL_CODES, "error of the journal"),
    ):
        if upper in table:
            return f"# {upper}: {table[upper]} ({what})\n"
    return explain(upper)
