"""`argus compile FILE -o DIR`: the code object and its sidecar."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from argus.cli.gate import add_force, admit
from argus.cli.options import GOOD, add_kernel_arguments
from argus.cli.reading import kernel_of
from argus.compile import compile_kernel


def register(verbs: Any) -> None:
    parser = verbs.add_parser("compile", help="make a gfx942 code object (.hsaco)")
    add_kernel_arguments(parser)
    parser.add_argument("-o", "--output", default="out", metavar="DIR", help="where to write (default: out)")
    parser.add_argument("--llvm", action="store_true", help="also write the LLVM IR")
    add_force(parser)
    parser.set_defaults(handler=handle)


def handle(args: argparse.Namespace) -> int:
    kernel = admit(kernel_of(args), args)
    compiled = compile_kernel(kernel)
    directory = Path(args.output)
    directory.mkdir(parents=True, exist_ok=True)
    target = directory / f"{kernel.name}.hsaco"
    target.write_bytes(compiled.object)
    (directory / f"{kernel.name}.hsaco.map.json").write_text(json.dumps(compiled.sidecar))
    if args.llvm:
        (directory / f"{kernel.name}.ll").write_text(compiled.llvm_ir)
    print(json.dumps({"object": str(target), **compiled.summary}) if args.json else f"{target}: {compiled.describe()}")
    return GOOD
