"""`argus explain CODE`: the manual page of an error, a machine report, a compile error or a rule of the checker."""

from __future__ import annotations

import argparse
import importlib

from argus.check.obligations import STATED_OF_ACCESSES, STATED_OF_VALUES
from argus.cli import manual
from argus.cli.answers import ExplainAnswer, emit
from argus.cli.parser import near
from argus.cli.usage import GOOD, UsageError
from argus.lang import explain

RULES = {
    **{
        name: f"argus.check.rules.{name}"
        for name in ("conform", "race_free", "fresh", "in_bounds", "value", "placed", "reduced", "covers", "fits")
    },
    **dict.fromkeys(STATED_OF_VALUES, "argus.check.rules.relations"),
    **dict.fromkeys(STATED_OF_ACCESSES, "argus.check.advice.speed"),
}


def handle(args: argparse.Namespace) -> int:
    page = page_of(args.code)
    if page is None:
        told = near(args.code, RULES) or f"; rules: {', '.join(sorted(RULES))}"
        raise UsageError(f"there is no error or rule {args.code}{told}")
    if args.json:
        emit(ExplainAnswer, {"code": args.code, "page": page})
    else:
        print(page)
    return GOOD


def page_of(code: str) -> str | None:
    """The page of a code or rule, or None."""
    if code in RULES:
        return f"# rule {code}\n\n{(importlib.import_module(RULES[code]).__doc__ or '').strip()}\n"
    return manual.page(code.upper()) or explain(code.upper())
