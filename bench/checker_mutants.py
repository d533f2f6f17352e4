"""The full mutation suite: every mutant of every program, judged by interpreter and checker.

    python bench/checker_mutants.py [--programs single,ring2] [--every 1] [--table docs/mutation.md]

Exit code 1 if a wrong mutant is proved, a harmless one refuted, or fewer than 98 % of wrong mutants are refuted.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter, defaultdict
from pathlib import Path
from time import perf_counter

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.check.judge import Judgement, judge
from tests.check.mutants import mutants
from tests.check.programs import PROGRAMS

REQUIRED = 0.98


def run(names: list[str], every: int, verbose: bool) -> list[tuple[str, Judgement]]:
    judged: list[tuple[str, Judgement]] = []
    for name in names:
        program = PROGRAMS[name]()
        for n, mutant in enumerate(mutants(program.kernel)):
            if n % every:
                continue
            start = perf_counter()
            one = judge(program, mutant)
            judged.append((name, one))
            took = perf_counter() - start
            mark = one.fault or ("unknown" if one.status == "unknown" else "")
            if verbose or mark:
                truth = one.truth.split(":")[0] or "harmless"
                print(f"{name:10} {mutant.kind:12} {mutant.name:50} {truth:14} {one.status:8} {took:5.2f} s  {mark}")
                if one.status == "unknown":
                    reasons = {f"{v.rule}: {v.reason}" for v in one.report.verdicts if v.status == "unknown"}
                    print("           ", "; ".join(sorted(reasons))[:300])
    return judged


def table(judged: list[tuple[str, Judgement]]) -> str:
    rows: dict[str, Counter[str]] = defaultdict(Counter)
    for _, one in judged:
        row = rows[one.mutant.kind]
        row["mutants"] += 1
        row["wrong" if one.truth else "harmless"] += 1
        if one.truth:
            row[f"wrong {one.status}"] += 1
        else:
            row[f"harmless {one.status}"] += 1
    columns = ("mutants", "wrong", "wrong refuted", "wrong unknown", "wrong proved")
    columns += ("harmless", "harmless proved", "harmless unknown", "harmless refuted")
    lines = ["| kind | " + " | ".join(columns) + " |", "|---" * (len(columns) + 1) + "|"]
    for kind, row in [*sorted(rows.items()), ("**all**", sum(rows.values(), Counter()))]:
        lines.append(f"| {kind} | " + " | ".join(str(row[c]) for c in columns) + " |")
    return "\n".join(lines)


def rules(judged: list[tuple[str, Judgement]]) -> str:
    found = Counter(rule for _, one in judged if one.truth for rule in one.rules)
    return "Refuted by rule: " + ", ".join(f"{rule} {n}" for rule, n in found.most_common())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", default=",".join(PROGRAMS))
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--table", type=Path)
    args = parser.parse_args()
    start = perf_counter()
    judged = run(args.programs.split(","), args.every, args.verbose)
    text = f"{table(judged)}\n\n{rules(judged)}\n"
    print(text)
    wrong = [one for _, one in judged if one.truth]
    refuted = [one for one in wrong if one.status == "refuted"]
    faults = [one for _, one in judged if one.fault]
    print(f"{len(judged)} mutants, {len(wrong)} wrong, {len(refuted)} refuted, {len(faults)} faults,", end=" ")
    print(f"{perf_counter() - start:.0f} s")
    if args.table:
        which = "every mutant" if args.every == 1 else f"one mutant in {args.every}"
        args.table.write_text(f"{_HEAD}\nThis table: {which} of {args.programs}.\n\n{text}")
    return 1 if faults or len(refuted) < REQUIRED * len(wrong) else 0


_HEAD = """# Mutation suite

Made by `python bench/checker_mutants.py --table docs/mutation.md`. *Wrong*: the independent interpreter computes
another result than numpy, meets a hazard, or writes an element not exactly once, at one of the program's sizes or at
the sizes of the checker's own counterexample.
"""


if __name__ == "__main__":
    sys.exit(main())
