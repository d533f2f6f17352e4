"""How long reading, printing and re-reading take: `python -m bench.language`.

For each program: best of five of reading the file, printing its IR, parsing the text back and printing again; the two
texts must be equal. CPU time of this process, so a busy machine does not count against it.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from argus.ir.parser import parse_kernel
from argus.ir.printer import print_kernel
from argus.lang import read

ROOT = Path(__file__).parents[1]
PROGRAMS = [ROOT / "argus/kernels/gemm.py", *sorted((ROOT / "tests/lang/programs").glob("*.py"))]
LIMIT = 0.3

T = TypeVar("T")


def best(action: Callable[[], T], times: int = 5) -> tuple[float, T]:
    taken = []
    for _ in range(times):
        start = time.process_time()
        result = action()
        taken.append(time.process_time() - start)
    return min(taken), result


def main() -> int:
    slow = 0
    print(f"{'program':<16} {'ops':>6} {'read':>8} {'print':>8} {'parse':>8}   seconds of CPU, best of 5")
    for path in PROGRAMS:
        reading, kernel = best(lambda path=path: read(path))
        printing, text = best(lambda kernel=kernel: print_kernel(kernel))
        parsing, again = best(lambda text=text: parse_kernel(text))
        if print_kernel(again) != text:
            print(f"{path.stem}: the text does not parse back to itself")
            return 1
        slow += reading > LIMIT
        print(f"{path.stem:<16} {text.count(chr(10)):>6} {reading:>8.3f} {printing:>8.3f} {parsing:>8.3f}")
    print(f"{slow} of {len(PROGRAMS)} need more than {LIMIT} s to read")
    return int(slow > 0)


if __name__ == "__main__":
    sys.exit(main())
