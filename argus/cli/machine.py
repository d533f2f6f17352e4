"""`argus machine corpus DIR`: how much of a folder of code objects the machine can decode and execute."""

from __future__ import annotations

import argparse

from argus.cli.answers import CorpusAnswer, emit
from argus.cli.usage import GOOD, WRONG, UsageError
from argus.machine.corpus import OLDEST_LLVM, corpus, find_objdump


def handle(args: argparse.Namespace) -> int:
    if not args.dir.is_dir():
        raise UsageError(f"{args.dir} is not a folder")
    tool = find_objdump() if args.objdump else None
    if args.objdump and tool is None:
        raise UsageError(f"no llvm-objdump of LLVM {OLDEST_LLVM} or later, which knows gfx942; run without --objdump")
    report = corpus(args.dir, tool)
    if not report.objects:
        raise UsageError(f"no code objects below {args.dir}")
    if args.json:
        emit(CorpusAnswer, report.to_json())
    else:
        print(report.text())
    return GOOD if report.clean else WRONG
