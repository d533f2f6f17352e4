"""The process behind `fallback_solver`: reads one SMT-LIB question per line (as a JSON string), answers sat, unsat or
unknown.

Strategies, each limited by `RLIMIT`: Z3's older simplex with another seed, then its tactic for non-linear integers.
Executed as a script; imports Z3 only. Memory and CPU time per question are limited by the system: beyond them the
process ends, which is "no answer".
"""

from __future__ import annotations

import json
import sys

RLIMIT = 6_000_000
MEMORY = 2 << 30
SECONDS = 60


def main() -> None:
    """Until standard input ends."""
    import resource

    import z3

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    for line in sys.stdin:
        word = "unknown"
        used = resource.getrusage(resource.RUSAGE_SELF)
        resource.setrlimit(resource.RLIMIT_CPU, (int(used.ru_utime + used.ru_stime) + SECONDS, resource.RLIM_INFINITY))
        try:
            asserted = z3.parse_smt2_string(json.loads(line))
            older = z3.SimpleSolver()
            older.set("arith.solver", 2)
            older.set("random_seed", 7)
            for solver in (older, z3.Tactic("qfnia").solver()):
                solver.set("rlimit", RLIMIT)
                solver.add(asserted)
                answer = solver.check()
                if answer != z3.unknown:
                    word = str(answer)
                    break
        except (z3.Z3Exception, MemoryError, ValueError):
            word = "unknown"
        print(word, flush=True)


if __name__ == "__main__":
    main()
