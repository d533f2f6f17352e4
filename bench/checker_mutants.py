"""The mutation suite: single-point mutants of kernels, judged by interpreter, checker and machine.

    python bench/checker_mutants.py [--programs gemm,moe] [--total 100] [--table docs/mutation.md] [--save FILE]
    python bench/checker_mutants.py --shard 0/2 --save FILE
    python bench/checker_mutants.py --merge FILE… --table docs/mutation.md

Of every kernel `--total` mutants are taken, as many of each family as of the others where there are enough,
evenly spread over the program. Scans, places of extremes and cross entropy are programs too (`tests/check/scans.py`,
`argreduce.py`, `cross_entropies.py`), and `scan_mistakes`, `argreduce_mistakes`, `cross_entropy_mistakes` are mistakes
in the text of their templates. Every `--machine`-th is also
compiled and its object executed (all wait mutants of the kernel with direct copies). Judgements in the file of `--save`
are kept, so that a run can be continued. Exit code 1 if a wrong mutant is proved, a harmless one is refuted by a
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

from tests.check.argreduce import PROGRAMS as PLACES
from tests.check.argreduce import mistakes as place_mistakes
from tests.check.convolution_kernels import CONVOLUTIONS
from tests.check.cross_entropies import PROGRAMS as CROSS_ENTROPIES
from tests.check.cross_entropies import mistakes as cross_entropy_mistakes
from tests.check.judge import judge
from tests.check.kernels import KERNELS
from tests.check.mutants import Mutant, mutants, spread
from tests.check.on_machine import run_object
from tests.check.programs import PROGRAMS, Program
from tests.check.scans import PROGRAMS as SCANS
from tests.check.scans import mistakes as scan_mistakes

REQUIRED = 0.98
EVERY = {**KERNELS, **CONVOLUTIONS, **PROGRAMS, **SCANS, **PLACES, **CROSS_ENTROPIES}
MISTAKES = {
    "scan_mistakes": scan_mistakes,
    "argreduce_mistakes": place_mistakes,
    "cross_entropy_mistakes": cross_entropy_mistakes,
}
TOTAL = {"gemm": 120, "gemm64": 25, "direct": 60, "pipelined": 102, "attention": 102, "moe": 102}
TOTAL |= {"conv2d": 60, "conv_transpose2d": 40, "pool": 40, "average": 40}
SMALL = 40
"""How many mutants of each kernel; of the small programs of `tests/check/programs.py`."""
MACHINE = 5
Row = dict[str, Any]


def run(names: Iterable[str], total: int | None, shard: tuple[int, int], machine: int, save: Path | None) -> list[Row]:
    """Judge the mutants of these programs (of a shard, every n-th); keep the judgements so far."""
    judged: list[Row] = json.loads(save.read_text()) if save is not None and save.exists() else []
    done = {(row["program"], row["kind"], row["name"]) for row in judged}
    for name in names:
        for n, (program, mutant) in enumerate(material(name, total)):
            if n % shard[1] != shard[0] or (name, mutant.kind, mutant.name) in done:
                continue
            start = process_time()
            one = judge(program, mutant)
            seconds = process_time() - start
            ours = name == "direct" and mutant.kind == "wait"
            row = {
                "program": name, "kind": mutant.kind, "name": mutant.name, "truth": one.truth, "status": one.status,
                "rules": list(one.rules), "slow": one.slow, "fault": one.fault, "replayed": one.replayed,
                "unknown": sorted({f"{v.rule}: {v.reason}" for v in one.report.verdicts if v.status == "unknown"}),
                "machine": _executed(program, mutant) if ours or n % machine == 0 else "", "seconds": seconds,
            }  # fmt: skip
            judged.append(row)
            if save is not None:
                save.write_text(json.dumps(judged))
            if one.fault or one.status == "unknown":
                truth = one.truth.split(":")[0] or "harmless"
                print(f"{name:10} {mutant.kind:12} {mutant.name:44} {truth:14} {one.status:8} {one.fault}", flush=True)
                if one.status == "unknown":
                    print("           ", "; ".join(row["unknown"])[:240], flush=True)
    return judged


def material(name: str, total: int | None) -> list[tuple[Program, Mutant]]:
    """The mutants of a program, or mistakes in the text of a template."""
    if name in MISTAKES:
        return list(MISTAKES[name]())
    program = EVERY[name]()
    return [(program, mutant) for mutant in spread(mutants(program.kernel), total or TOTAL.get(name, SMALL))]


def _executed(program: Program, mutant: Mutant) -> str:
    """What the object does: the first launch at which it does something wrong, else `same`."""
    found = ""
    for sizes in program.sizes:
        found = run_object(program, mutant.kernel, sizes)
        if found != "same":
            break
    return found


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


def machine_table(judged: list[Row]) -> str:
    """What objects do, by what the interpreter says of the IR."""
    rows: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for one in judged:
        if one.get("machine"):
            family = "waits" if one["kind"] == "wait" else "all others"
            where = f"{family} of direct" if one["program"] == "direct" and family == "waits" else family
            rows[where, "wrong" if one["truth"] else "harmless"][one["machine"].split(":")[0]] += 1
    words = ("differs", "hazard", "same", "does not compile")
    lines = ["| mutants | in the IR | executed | " + " | ".join(words) + " |", "|---" * (len(words) + 3) + "|"]
    for (family, truth), row in sorted(rows.items()):
        lines.append(f"| {family} | {truth} | {sum(row.values())} | " + " | ".join(str(row[w]) for w in words) + " |")
    return "\n".join(lines)


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


def page(judged: list[Row], before: str) -> str:
    """docs/mutation.md; sections of other commands stay as they were."""
    names = ", ".join(dict.fromkeys(one["program"] for one in judged))
    open_ones = [one for one in judged if one["truth"] and one["status"] != "refuted"]
    left = "\n".join(f"* {o['program']}, {o['kind']}: {o['name']} ({'; '.join(o['unknown'])[:160]})" for o in open_ones)
    parts = {
        "By program": table(judged, "program"),
        "By family of mutants": table(judged, "kind"),
        "By rule": rules(judged),
        "On the machine": f"{_MACHINE}\n{machine_table(judged)}",
        "Wrong mutants left unknown": left or "None.",
    }
    part = _part(judged)
    sections = "\n\n".join(f"## {title}\n\n{text}" for title, text in parts.items())
    others = [text for text in before.split("\n## ")[1:] if text.partition("\n")[0] not in parts]
    kept = "".join(f"\n## {text.rstrip()}\n" for text in others)
    return f"{_HEAD}\nPrograms: {names}. {summary(judged)[0]}.{part}\n\n{sections}\n{kept}"


def _part(judged: list[Row]) -> str:
    """What is missing of the default sample."""
    found = Counter(one["program"] for one in judged)
    missing = {name: TOTAL.get(name, SMALL) - n for name, n in found.items() if n < TOTAL.get(name, SMALL)}
    if not missing:
        return ""
    left = ", ".join(f"{n} of {name}" for name, n in missing.items())
    return f"\n\nNot judged of the default sample: {left}. A run with the same `--save` files goes on from here."


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", default=",".join((*KERNELS, *CONVOLUTIONS)))
    parser.add_argument("--total", type=int, help="mutants of each program")
    parser.add_argument("--machine", type=int, default=MACHINE, metavar="N", help="execute the object of every N-th")
    parser.add_argument("--shard", default="0/1", metavar="I/N", help="only every N-th mutant, starting with the I-th")
    parser.add_argument("--save", type=Path, help="keep the judgements, to be merged")
    parser.add_argument("--merge", type=Path, nargs="+", default=[], help="judgements kept earlier, instead of a run")
    parser.add_argument("--table", type=Path)
    args = parser.parse_args()
    if args.merge:
        judged = [row for path in args.merge for row in json.loads(path.read_text())]
    else:
        index, count = (int(n) for n in args.shard.split("/"))
        judged = run(args.programs.split(","), args.total, (index, count), args.machine, args.save)
    text, good = summary(judged)
    print(f"{table(judged, 'kind')}\n\n{rules(judged)}\n\n{text}")
    if args.table:
        args.table.write_text(page(judged, args.table.read_text() if args.table.exists() else ""))
    return 0 if good else 1


_HEAD = """# Mutation suite

Made by `python bench/checker_mutants.py --table docs/mutation.md`; in pieces by `--shard I/N --save FILE`, put together
by `--merge FILE…`. Each mutant is a kernel with one change of the kind people make. *Wrong*: the interpreter, which is
independent, computes another result than numpy, meets a hazard, or writes an element not exactly once, at one of the
launches of the program or of the checker's counterexample. *Slow*: only rules about speed refute it. Wait mutants
are made after the waits have been inserted. A refutation counts because its counterexample was executed by the
interpreter before it was shown.

| family | what is changed |
|---|---|
| lane, block, coordinate | the lane, wave, block or coordinate an access belongs to; neighbouring stores exchanged |
| address | one element or LDS row further, doubled stride |
| swizzle | no XOR on one side |
| slice, iteration | a fragment of the next slice; an access one iteration early or late |
| carried | a value a loop carries kept from the iteration before, or exchanged with another |
| ring | depth one less or more, for both sides or one; the next slot |
| register, operand | registers rotated, operands swapped |
| function, exchange | another elementwise function, another partner in a lane exchange |
| contraction | a matrix instruction dropped or done twice |
| loop | starts one late, ends one early or late, goes in steps of two |
| prologue, epilogue | what is done before or after the loop is missing |
| barrier, wait | dropped, bare, moved past the nearest LDS access; dropped, for one access fewer |
| lost store | a store, copy or atomic dropped |
| guard, mask | guard dropped or one wider; mask edge moved, turned or gone |
| tail | a requirement on sizes dropped, so that tails trust the linear address |
| grid | blocks too many or few, grid swapped |
| map | blocks in another order in loads, in stores, or everywhere (harmless) |
| extra | a barrier or wait more than needed (harmless) |
"""
_MACHINE = """A sample of the mutants (`--machine N`: every N-th, and all wait mutants of `direct`) is compiled and its
object executed by the machine with its checks for races, waits and barriers, at the program's launches. A dropped wait
for a *register* does not survive: LLVM inserts what is missing, so these objects are right. Waits for direct copies to
LDS before a barrier are the kernel's own; dropped or weakened they reach the object, and the machine sees the race.
"""


if __name__ == "__main__":
    sys.exit(main())
