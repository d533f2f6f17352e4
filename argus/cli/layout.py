"""`argus layout EXPR|FILE:NAME`: a layout or owner as a table, with its bank conflicts, or as a picture.

argus layout 'Layout(row=(8, 128), chunk=(8, 16), e=(8, 2)).xor(chunk="row[0:3]")'
argus layout argus/kernels/gemm.py:LDS_A --svg lds.svg
"""

from __future__ import annotations

import argparse
from pathlib import Path

from argus.cli.answers import LayoutAnswer, emit
from argus.cli.options import settings
from argus.cli.usage import GOOD, UsageError
from argus.lang import read_value
from argus.layout.error import LayoutError
from argus.layout.layout import Layout
from argus.layout.owner import Owner
from argus.layout.read import read_layout
from argus.layout.show import svg, table


def handle(args: argparse.Namespace) -> int:
    what = find(args.what, args)
    if args.svg:
        Path(args.svg).write_text(svg(what))
    if args.json:
        emit(LayoutAnswer, {"layout": str(what), "table": table(what), "svg": args.svg})
    elif args.svg:
        print(f"wrote {args.svg}")
    else:
        print(what)
        print(table(what))
    return GOOD


def find(text: str, args: argparse.Namespace) -> Layout | Owner:
    file, colon, name = text.rpartition(":")
    if colon and name.isidentifier() and file.endswith(".py"):
        value = read_value(Path(file), name, settings(args))
        if not isinstance(value, Layout | Owner):
            raise UsageError(f"{name} in {file} is {'not there' if value is None else 'neither a layout nor an owner'}")
        return value
    try:
        return read_layout(text)
    except LayoutError as error:
        raise UsageError(f"not a layout: {error}") from error
