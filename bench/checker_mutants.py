"""The mutation suite: single-point mutants of GEMM, attention and MoE, judged by interpreter and checker.

    python bench/checker_mutants.py [--programs gemm,moe] [--per-kind 12] [--table docs/mutation.md] [--save FILE]
    python bench/checker_mutants.py --merge FILE… --table docs/mutation.md

Of every kernel and family of mutants at most `--per-kind` are taken, evenly spread over the program (default: as many
as make the suite fit into half an hour). Exit code 1 if a wrong mutant is proved, a harmless one is refuted by a
correctness rule, or fewer than 98 % of wrong mutants are refuted.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path
from time import process_time
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.check.judge import judge
from tests.check.kernels import KERNELS
from tests.check.mutants import mutants, spread
from tests.check.programs import PROGRAMS

REQUIRED = 0.98
EVERY = {**KERNELS, **PROGRAMS}
PER_KIND = {"gemm": 34, "gemm64": 12, "pipelined": 2, "attention": 3, "moe": 2}
SMALL = 10
"""How many of each family, for the kernels; for the small programs of `tests/check/programs.py`."""
Row = dict[str, Any]


def run(names: Iterable[str], per_kind: int | None, shard: tuple[int, int], save: Path | None = None) -> list[Row]:
    """Judge the mutants of these programs (of a shard, every n-th); keep the judgements so far."""
    judged: list[Row] = []
    for name in names:
        program = EVERY[name]()
        chosen = spread(mutants(program.kernel), per_kind or PER_KIND.get(name, SMALL))
        for mutant in chosen[shard[0] :: shard[1]]:
            start = process_time()
            one = judge(program, mutant)
            reasons = sorted({f"{v.rule}: {v.reason}" for v in one.report.verdicts if v.status == "unknown"})
            row = {
                "program": name, "kind": mutant.kind, "name": mutant.name, "truth": one.truth, "status": one.status,
                "rules": list(one.rules), "slow": one.slow, "fault": one.fault, "unknown": reasons,
                "replayed": one.replayed, "seconds": process_time() - start,
            }  # fmt: skip
            judged.append(row)
            if save is not None:
                save.write_text(json.dumps(judged))
            if one.fault or one.status == "unknown":
                truth = one.truth.split(":")[0] or "harmless"
                print(f"{name:10} {mutant.kind:12} {mutant.name:44} {truth:14} {one.status:8} {one.fault}", flush=True)
                if one.status == "unknown":
                    print("           ", "; ".join(reasons)[:240], flush=True)
    return judged


def table(judged: list[Row], by: str) -> str:
    """Counts by family of mutants or by program."""
    rows: dict[str, Counter[str]] = defaultdict(Counter)
    for one in judged:
        truth = "wrong" if one["truth"] else "harmless"
        rows[one[by]].update(["mutants", truth, f"{truth} {one['status']}", *(["slow"] if one["slow"] else [])])
    columns = ("mutants", "wrong", "wrong refuted", "wrong unknown", "wrong proved")
    columns += ("harmless", "harmless proved", "harmless unknown", "harmless refuted", "slow")
    lines = [f"| {by} | " + " | ".join(columns) + " |", "|---" * (len(columns) + 1) + "|"]
    for kind, row in [*sorted(rows.items()), ("**all**", sum(rows.values(), Counter()))]:
        lines.append(f"| {kind} | " + " | ".join(str(row[c]) for c in columns) + " |")
    return "\n".join(lines)


def rules(judged: list[Row]) -> str:
    """Which rule refutes how many wrong mutants, and how many of them alone."""
    wrong = [one for one in judged if one["truth"] and one["rules"]]
    found = Counter(rule for one in wrong for rule in one["rules"])
    alone = Counter(one["rules"][0] for one in wrong if len(one["rules"]) == 1)
    lines = ["| rule | wrong mutants it refutes | it alone |", "|---|---|---|"]
    return "\n".join([*lines, *(f"| `{rule}` | {n} | {alone[rule]} |" for rule, n in found.most_common())])


def summary(judged: list[Row]) -> tuple[str, bool]:
    """One line, and whether the suite passes."""
    wrong = [one for one in judged if one["truth"]]
    refuted = [one for one in wrong if one["status"] == "refuted"]
    faults = [one for one in judged if one["fault"]]
    share = 100 * len(refuted) / max(1, len(wrong))
    seconds = sum(one["seconds"] for one in judged)
    text = (
        f"{len(judged)} mutants, {len(wrong)} wrong, {len(refuted)} of them refuted ({share:.1f} %) with a replayed "
        f"counterexample, {sum(1 for one in wrong if one['status'] == 'proved')} proved; "
        f"{len(faults)} faults; {seconds:.0f} s CPU"
    )
    return text, not faults and len(refuted) >= REQUIRED * len(wrong)


def page(judged: list[Row]) -> str:
    """docs/mutation.md."""
    names = ", ".join(dict.fromkeys(one["program"] for one in judged))
    open_ones = [one for one in judged if one["truth"] and one["status"] != "refuted"]
    left = "\n".join(f"* {o['program']}, {o['kind']}: {o['name']} ({'; '.join(o['unknown'])[:160]})" for o in open_ones)
    return (
        f"{_HEAD}\nPrograms: {names}. {summary(judged)[0]}.\n\n## By program\n\n{table(judged, 'program')}\n\n"
        f"## By family of mutants\n\n{table(judged, 'kind')}\n\n## By rule\n\n{rules(judged)}\n\n"
        f"## Wrong mutants left unknown\n\n{left or 'None.'}\n"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", default=",".join(KERNELS))
    parser.add_argument("--per-kind", type=int)
    parser.add_argument("--shard", default="0/1", metavar="I/N", help="only every N-th mutant, starting with the I-th")
    parser.add_argument("--save", type=Path, help="keep the judgements, to be merged")
    parser.add_argument("--merge", type=Path, nargs="+", default=[], help="judgements kept earlier, instead of a run")
    parser.add_argument("--table", type=Path)
    args = parser.parse_args()
    if args.merge:
        judged = [row for path in args.merge for row in json.loads(path.read_text())]
    else:
        index, count = (int(n) for n in args.shard.split("/"))
        judged = run(args.programs.split(","), args.per_kind, (index, count), args.save)
    text, good = summary(judged)
    print(f"{table(judged, 'kind')}\n\n{rules(judged)}\n\n{text}")
    if args.table:
        args.table.write_text(page(judged))
    return 0 if good else 1


_HEAD = """# Mutation suite

Made by `python bench/checker_mutants.py --table docs/mutation.md`. Each mutant is a kernel with one change of the kind
people make. *Wrong*: the independent interpreter computes another result than numpy, meets a hazard, or writes an
element not exactly once, at one of the program's launches or at the launch of the checker's own counterexample. *Slow*:
only rules about speed refute it. Wait mutants are made after the waits have been inserted. A refutation counts because
its counterexample was executed by the interpreter before it was shown.
"""


if __name__ == "__main__":
    sys.exit(main())
