"""Certificates under attack: the right kernel's on its mutants, and altered ones on right and wrong kernels.

    python -m bench.certificates [--altered 2000] [--mutants 60] [--programs ring2,direct]

Every mutant that a foreign certificate proves is executed by the interpreter: none may be wrong. Every altered
certificate is replayed on a mutant that the interpreter shows to be wrong, which must not be proved, and on the right
kernel, where nothing may be raised; an altered certificate that still proves the right kernel is replayed on all of its
wrong mutants. On every wrong mutant the right kernel's claims are also replayed with forged lemmas, one for each
question that is asked. Exit code 1 if a wrong kernel is proved.
"""

from __future__ import annotations

import argparse
from collections import Counter
from time import process_time

from tests.check.certificates.attack import (
    alteration,
    proved_by_forged_lemmas,
    proved_mutants,
    replayed,
    subject,
    wrong,
    wrong_mutants,
)
from tests.check.kernels import KERNELS
from tests.check.programs import PROGRAMS

EVERY = {**PROGRAMS, **{name: KERNELS[name] for name in ("gemm64", "direct")}}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--altered", type=int, default=2000, help="altered certificates, over all programs")
    parser.add_argument("--mutants", type=int, default=60, help="mutants of each program")
    parser.add_argument("--programs", default=",".join(EVERY))
    arguments = parser.parse_args()
    names, start = arguments.programs.split(","), process_time()
    faults: list[str] = []
    kinds: Counter[str] = Counter()
    still: Counter[str] = Counter()
    for name in names:
        one = subject(EVERY[name]())
        tried, proved = proved_mutants(one, arguments.mutants)
        bad = [m.name for m in proved if wrong(one.program, m.kernel)]
        faults += [f"{name}: the right kernel's certificate proves `{mutant}`" for mutant in bad]
        print(f"{name:<12} {tried} mutants, {len(proved)} proved by a foreign certificate, {len(bad)} of them wrong")
        victims = wrong_mutants(one, max(12, arguments.mutants // 4))
        for seed in range(-(-arguments.altered // len(names))):
            what, data = alteration(one, seed)
            kinds[what] += 1
            tests = [victims[seed % len(victims)]] if victims else []
            if replayed(one.program.kernel, data):
                still[what] += 1
                tests = victims
            faults += [f"{name}: {what} (seed {seed}) proves `{m.name}`" for m in tests if replayed(m.kernel, data)]
        forged = [m for seed, m in enumerate(victims) if proved_by_forged_lemmas(one, m.kernel, seed)]
        faults += [f"{name}: forged lemmas prove `{m.name}`" for m in forged]
    print(f"{sum(kinds.values())} altered certificates, {sum(still.values())} still prove the right kernel")
    for what, count in sorted(kinds.items()):
        print(f"  {what:<28} {count:>5} altered, {still[what]:>4} still prove")
    print(f"{len(faults)} wrong kernels proved, {process_time() - start:.0f} s CPU")
    print("\n".join(faults))
    return 1 if faults else 0


if __name__ == "__main__":
    raise SystemExit(main())
