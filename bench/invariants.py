"""What assertions are worth: seeded faults in the outputs of transformations, checked with and without them.

    python -m bench.invariants [--kernels gemm,attention] [--most 8] [--no-specification]

A kernel is a naive task lowered by a chain of techniques. The assertions are those that `argus.agent.invariants` states
for the last technique of the chain, all proved of the kernel. A fault is one change at one line: a barrier left out, a
fragment of another half of k or another row, a tile fetched elsewhere, a loop one turn short, rows not copied, a
layout with less of its swizzle. Each faulty kernel is read and checked twice, never executed:

    refused      the reader or the checker refutes it, or leaves it undecided, before anything runs
    at the line  a refuted claim names a line at most two away from the fault
    repaired     the built-in repair answers the report and the checker proves the result, in at most two edits

With `--no-specification` the kernels do not say what they compute: then nothing but assertions speaks of values.
"""

from __future__ import annotations

import argparse
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from argus.agent.invariants import asserted
from argus.agent.judge import Judgement, Violation
from argus.agent.lower import lower
from argus.agent.repair import repairs
from argus.ir.compile_error import CompileError
from argus.ir.passes.schedule import scheduled
from argus.knowledge import load
from argus.lang import read
from argus.lang.errors import ProgramError
from argus.pipeline import report_of
from argus.tasks.task import load_task

NEAR = 2
EDITS = 2
BLOCKS = {"tiles_row": 2, "tiles_col": 2, "waves_row": 2, "waves_col": 2, "tiles_k": 8}
Chain = tuple[tuple[str, Mapping[str, Any]], ...]
GEMM: Chain = (
    ("register-blocking", BLOCKS), ("wide-fragments", {}), ("vector-stores", {}), ("lds-staging", {"barriers": "both"}),
    ("lds-swizzle", {"kind": "xor", "amount": 3}),
)  # fmt: skip
CHAINS: Mapping[str, tuple[str, Chain]] = {
    "gemm staged": ("gemm", GEMM[:4]),
    "gemm swizzled": ("gemm", GEMM),
    "gemm prefetched": ("gemm", (*GEMM, ("fragment-prefetch", {"depth": "fragments"}))),
    "gemm ring": ("gemm", (*GEMM, ("lds-ring", {"slots": 2}))),
    "attention staged": (
        "attention",
        (("query-waves", {"waves": 4}), ("key-tiles", {"tiles": 2}), ("lds-staging", {"barriers": "both"})),
    ),
}
FAULTS: tuple[tuple[str, str, str], ...] = (
    ("barrier left out", r"^( *)ag\.barrier\(\)$", r"\1pass"),
    ("other half of k", r"\ba\[i, ks, h\]", "a[i, ks, 1 - h]"),
    ("fragment of another row", r"(\bs[A-Z]\w*\.load\(.*row=)", r"\g<1>32 + "),
    ("tile of another turn", r"^( *\w+ = [A-Z]\w*\[.*, )(\w+ \* \w+)(\]\.load)", r"\1\2 + 8\3"),
    ("loop one turn short", r"^( *for \w+ in ag\.range\()([^()]*)\):$", r"\g<1>\2 - 1):"),
    ("rows not copied", r'^(    row=f"p\*\{)8( \* THREADS)', r"\g<1>4\2"),
    ("less swizzle", r'^( *)chunk="row\[0:3\]"$', r'\1chunk="row[0:1]"'),
    ("result of another tile", r"^( *[A-Z]\w*\[BLOCK_M \* bm)( \+ .*\]\.store)", r"\g<1> + 32\2"),
)


@dataclass(frozen=True, slots=True)
class SeededFault:
    """`line` is where the kernel was changed; the text has no assertions."""

    kernel: str
    kind: str
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Found:
    """What the checker said of one faulty kernel."""

    refused: bool
    near: bool
    rules: tuple[str, ...]
    judgement: Judgement


def lowered(name: str) -> str:
    """The kernel of a chain, with the assertions its transformations state."""
    task, chain = CHAINS[name]
    text = load_task(task).source
    for technique, params in chain:
        text = lower(text, technique, params)
    return text


def faults(kernel: str, text: str, most: int) -> Iterator[SeededFault]:
    """Single changes, at most `most` of each kind."""
    lines = text.splitlines()
    for kind, pattern, new in FAULTS:
        made = 0
        for number, line in enumerate(lines, 1):
            changed = re.sub(pattern, new, line, count=1)
            if changed != line and made < most:
                made += 1
                yield SeededFault(
                    kernel, kind, number, "\n".join([*lines[: number - 1], changed, *lines[number:]]) + "\n"
                )


def judged(text: str, line: int) -> Found:
    """The checker alone: nothing is executed."""
    try:
        report = report_of(scheduled(read(text)), run=False)
    except (ProgramError, CompileError) as error:
        code = str(getattr(error, "code", "error"))
        return Found(True, False, (code,), Judgement("error", "read", (Violation(code, str(error)),)))
    bad = [verdict for verdict in report.verdicts if verdict.status != "proved"]
    near = any(v.status == "refuted" and abs(v.span.line - line) <= NEAR for v in bad)
    wrong = tuple(Violation(v.rule, v.reason, v.span.line, v.status) for v in bad)
    return Found(bool(bad), near, tuple(sorted({v.rule for v in bad})), Judgement("fail", "check", wrong))


def repaired(text: str, found: Found, line: int) -> bool:
    """Whether built-in repairs lead to a proved kernel."""
    waiting = [(text, found)]
    for _ in range(EDITS):
        following = []
        for source, said in waiting:
            for repair in repairs(source, said.judgement)[:2]:
                after = judged(repair.source, line)
                if not after.refused:
                    return True
                following.append((repair.source, after))
        waiting = following[:2]
    return False


def assertions(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.strip().startswith("ag.check.")]


def without(text: str) -> str:
    """A kernel that asserts nothing."""
    stated = set(assertions(text))
    return "\n".join(line for line in text.splitlines() if line not in stated) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernels", default="", help="parts of names, separated by commas")
    parser.add_argument("--no-specification", action="store_true", help="kernels without `computes`")
    parser.add_argument("--most", type=int, default=4, help="faults of a kind in a kernel")
    args = parser.parse_args()
    wanted = [name for name in CHAINS if not args.kernels or any(part in name for part in args.kernels.split(","))]
    rows: dict[str, list[tuple[Found, Found, bool, bool]]] = defaultdict(list)
    for name in wanted:
        made = lowered(name)
        if args.no_specification:
            made = re.sub(r"^ *computes=.*\n", "", made, flags=re.MULTILINE)
        stated = assertions(asserted(made, load()[CHAINS[name][1][-1][0]]).text)
        print(f"{name}: {len(stated)} assertions: {', '.join(line.strip() for line in stated)}", flush=True)
        for fault in faults(name, without(made), args.most):
            more = fault.text + "\n".join(stated) + "\n"
            bare, helped = judged(fault.text, fault.line), judged(more, fault.line)
            mends = repaired(fault.text, bare, fault.line), repaired(more, helped, fault.line)
            rows[fault.kind].append((bare, helped, *mends))
            only = set(helped.rules) - set(bare.rules)
            print(f"  {fault.kind}, line {fault.line}: {', '.join(bare.rules) or 'proved'}; with assertions also "
                  f"{', '.join(sorted(only)) or 'nothing'}", flush=True)  # fmt: skip
    print("\n| fault | kernels | refused before execution, without | with | at the line, without | with | "
          "repaired, without | with |\n|---|---|---|---|---|---|---|---|")  # fmt: skip
    for kind, found in [*rows.items(), ("all", [one for each in rows.values() for one in each])]:
        counts = [
            sum(bare.refused for bare, *_ in found), sum(helped.refused for _, helped, *_ in found),
            sum(bare.near for bare, *_ in found), sum(helped.near for _, helped, *_ in found),
            sum(mended for *_, mended, _ in found), sum(mended for *_, mended in found),
        ]  # fmt: skip
        print(f"| {kind} | {len(found)} | {' | '.join(str(count) for count in counts)} |")


if __name__ == "__main__":
    main()
