"""How long proofs of the library take from their certificates, with and without lemmas.

    python -m bench.replays [matmul:matmul attention:attention_lengths …]

CPU seconds, measured in process: a check that guesses and proves, the same with lemmas searched for (what the proof
cache does once), a replay of the certificate without its lemmas, and one with them.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from dataclasses import replace
from time import process_time
from typing import TypeVar

import argus.provenance as provenance
from argus.check import check
from argus.pipeline import program_of

T = TypeVar("T")
KERNEL = re.compile(r"^@ag\.kernel.*?^def (\w+)", re.MULTILINE | re.DOTALL)


def library() -> list[str]:
    files = sorted((provenance.PACKAGE / "kernels").glob("*.py"))
    return [f"{file.stem}:{name}" for file in files for name in KERNEL.findall(file.read_text())]


def timed(work: Callable[[], T]) -> tuple[T, float]:
    start = process_time()
    return work(), process_time() - start


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kernels", nargs="*", help="file:kernel of the library; all if none is named")
    names = parser.parse_args().kernels or library()
    total, failed = [0.0] * 4, 0
    print(f"{'kernel':<34}{'check':>8}{'+ search':>9}{'replay':>8}{'+ lemmas':>9}  lemmas")
    for name in names:
        file, _, kernel = name.partition(":")
        program = program_of(str(provenance.PACKAGE / "kernels" / f"{file}.py"), {}, kernel)
        _, full = timed(lambda program=program: check(program))
        report, searched = timed(lambda program=program: check(program, lemmas=True))
        plain = [replace(one, lemmas={}) for one in report.certificates]
        without, before = timed(lambda program=program, plain=plain: check(program, plain))
        again, after = timed(lambda program=program, report=report: check(program, report.certificates))
        failed += not (report.proved and without.proved and again.proved)
        row = full, searched, before, after
        total = [x + y for x, y in zip(total, row, strict=True)]
        count = sum(len(one.lemmas) for one in report.certificates)
        print(f"{name:<34}{full:>8.2f}{searched:>9.2f}{before:>8.2f}{after:>9.2f}  {count}", flush=True)
    print(f"{'all':<34}{total[0]:>8.2f}{total[1]:>9.2f}{total[2]:>8.2f}{total[3]:>9.2f}  {failed} not proved")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
