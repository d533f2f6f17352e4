"""Memory accesses of decoded objects held against the IR: `python -m bench.object_accesses [KERNEL ...]`.

Every kernel file of `argus/kernels` with its defaults, and every kernel as the dispatcher derives it
(`bench.dispatch_proofs`). For each: accesses shown equal, by which way, unknown ones with the first reason, and CPU
seconds of the comparison. A difference is printed and makes the exit code 1; so do more than 5 % unknown in all.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from argus.compile import CompileError, compile_kernel
from argus.compile.decoded import decode
from argus.compile.matching import match
from argus.compile.object.agreement import agree
from argus.compile.object.findings import Agreement
from argus.ir.kernel import KnobValue
from argus.ir.passes.schedule import scheduled
from argus.ir.stages import Scheduled
from argus.lang import read
from argus.lang.errors import ProgramError
from bench.dispatch_proofs import choices

KERNELS = Path(__file__).parents[1] / "argus/kernels"
MOST_UNKNOWN = 0.05


def defaults() -> Iterator[tuple[Path, str | None, Mapping[str, KnobValue]]]:
    """Every kernel of every file, as it is written."""
    for file in sorted(KERNELS.glob("*.py")):
        if file.name == "__init__.py":
            continue
        try:
            read(str(file))
            yield file, None, {}
        except ProgramError as error:
            if "no kernel" in str(error):
                continue
            names = str(error).partition("several kernels: ")[2].splitlines()[0]
            yield from ((file, name.strip(), {}) for name in names.split(","))


def compared(program: Scheduled) -> tuple[Agreement, float]:
    """(what the comparison found, its CPU seconds)."""
    compiled = compile_kernel(program)
    kernel = program.kernel
    started = time.process_time()
    code = decode(compiled.object, kernel.name)
    matched = match(kernel, code, [(pc, op) for pc, op in compiled.sidecar["pcs"]])
    found = agree(kernel, compiled.object, code, matched)
    return found, time.process_time() - started


def main() -> int:
    names = sys.argv[1:]
    rows = [*defaults(), *((Path(c.path), c.kernel, dict(c.knobs)) for c in choices(every=False))]
    ways: Counter[str] = Counter()
    accesses = unknown = different = kernels = 0
    seconds = 0.0
    for file, name, knobs in rows:
        if names and (name or file.stem) not in names:
            continue
        try:
            program = scheduled(read(str(file), settings=dict(knobs), kernel=name))
            found, took = compared(program)
        except (CompileError, ProgramError) as error:
            print(file.stem, name or "", dict(knobs), "not compiled:", str(error).splitlines()[0], flush=True)
            continue
        kernels += 1
        accesses += found.accesses
        ways += found.equal
        unknown += len(found.unknown)
        different += len(found.different)
        seconds += took
        said = [f"unknown {len(found.unknown)}: {found.unknown[0].what}"] if found.unknown else []
        said += [f"DIFFERENT {len(found.different)}: {found.different[0].what}"] if found.different else []
        print(
            program.kernel.name,
            dict(knobs),
            f"{found.equal.total()}/{found.accesses}",
            *said,
            f"{took:.2f} s",
            flush=True,
        )
    shown = ", ".join(f"{count} by {way}" for way, count in ways.items())
    print(
        f"{kernels} kernels, {accesses} accesses: {shown}; {unknown} unknown, {different} different; "
        f"{seconds:.1f} s CPU"
    )
    return 1 if different or unknown > MOST_UNKNOWN * accesses else 0


if __name__ == "__main__":
    sys.exit(main())
