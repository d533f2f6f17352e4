"""Every claim of the walk beside the run: over the library's kernels and generated ones.

    python -m bench.concretisation [--library] [--generated 300] [--seed 5]

Exit code 1 if a claim differs.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from random import Random
from time import process_time

from bench.concretisation.compare import Concretised, concretised
from bench.concretisation.material import LIBRARY_KERNELS, generated, library_launch


def main() -> int:
    words = argparse.ArgumentParser(prog="python -m bench.concretisation", description=__doc__)
    words.add_argument("--library", action="store_true", help="the library's kernels only")
    words.add_argument("--generated", type=int, default=300)
    words.add_argument("--seed", type=int, default=5)
    given = words.parse_args()
    everything = Concretised()
    for file, kernel in LIBRARY_KERNELS:
        start = process_time()
        found = library_launch(file, kernel)
        _row(f"{file}.{kernel}", found, process_time() - start)
        everything.join(found)
    if not given.library:
        by_family: dict[str, Concretised] = {}
        seconds: defaultdict[str, float] = defaultdict(float)
        for n in range(given.generated):
            start = process_time()
            family, program, arrays, sizes, scalars = generated(Random(f"{given.seed}:{n}"))
            found = concretised(program, arrays, sizes, scalars)
            by_family.setdefault(family, Concretised()).join(found)
            seconds[family] += process_time() - start
        for family, found in sorted(by_family.items()):
            _row(family, found, seconds[family])
            everything.join(found)
    print(f"\n{everything.claims} claims, {len(everything.differences)} differences")
    return 1 if everything.differences else 0


def _row(name: str, found: Concretised, seconds: float) -> None:
    silent = ", ".join(f"{why} {n}" for why, n in found.silent.most_common(3))
    wordless, wrong = sum(found.silent.values()), len(found.differences)
    print(f"| {name} | {found.claims} | {wordless} | {wrong} | {seconds:.1f} | {silent} |", flush=True)
    for difference in found.differences[:5]:
        print(f"  {difference}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
