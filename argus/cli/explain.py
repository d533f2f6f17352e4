"""`argus explain CODE`: the manual page of an error."""

from __future__ import annotations

import argparse
from typing import Any

from argus.cli.options import GOOD, UsageError
from argus.lang import explain


def register(verbs: Any) -> None:
    parser = verbs.add_parser("explain", help="explain an error code, for example AG301")
    parser.add_argument("code")
    parser.set_defaults(handler=handle)


def handle(args: argparse.Namespace) -> int:
    page = explain(args.code)
    if page is None:
        raise UsageError(f"there is no error {args.code}")
    print(page)
    return GOOD
