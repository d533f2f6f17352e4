"""`argus compile FILE -o DIR`: the code object and everything needed to launch it without Argus.

Written are the object, its sidecar, a C++ header and a Python module that launch it through HIP, the proof report and a
manifest with hashes. The object of a proved kernel is held against the kernel first (`compile/recheck`); one that
differs is not written. `--report` prints a table per loop of the machine code, and what the comparison found;
`--assembly` the code beside its source. `--debug-lines` adds DWARF line information to the object for rocprofv3 and
rocgdb; its code is the same.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from argus.cli.answers import CompileAnswer, emit
from argus.cli.gate import admit
from argus.cli.reading import kernel_of
from argus.cli.usage import GOOD
from argus.compile.cache import compile_cached
from argus.compile.debug_lines import with_debug_lines
from argus.compile.export import export
from argus.compile.recheck import recheck
from argus.compile.report import report, to_text
from argus.ir.passes.schedule import scheduled


def handle(args: argparse.Namespace) -> int:
    kernel = kernel_of(args)
    program = scheduled(kernel)
    proof = admit(program, args)
    compiled = compile_cached(program)
    if args.debug_lines:
        compiled = with_debug_lines(compiled)
    again = recheck(program, compiled) if args.report or proof.proved else None
    directory = Path(args.output)
    export(program, compiled, directory, proof.to_json())
    if args.llvm:
        (directory / f"{kernel.name}.ll").write_text(compiled.llvm_ir)
    target = directory / f"{kernel.name}.hsaco"
    made = report(program, compiled) if args.report else None
    if args.json:
        more = {**(made.to_json() if made else {}), **({"recheck": again.to_json()} if again else {})}
        emit(CompileAnswer, {"object": str(target), **compiled.summary, **more})
        return GOOD
    print(f"{target}: {compiled.describe()}")
    if made is not None and again is not None:
        print(to_text(made, assembly=args.assembly))
        print(f"\n{again.describe()}")
    elif again is not None:
        print(again.short())
    return GOOD
