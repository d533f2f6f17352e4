"""Do counterexamples lead to the bug? Refuted mutants drawn by seed, judged mechanically.

    python -m bench.counterexamples [--count 40] [--seed 5] [--verbose]

A source is a single-point mutant of the verdict fuzzer (`bench.verdict_fuzz`) that the checker refutes. Its first
counterexample about results (not speed) passes if

* *line*: it names at most LINES lines, and the line it names, a line of one of its parties, of who wrote what they
  read, of the faults that its execution shows, where the terms part, or of the loops, grid or buffer around it is a
  changed line; of a dropped statement, a line that has the tensor or name the statement was about, and of a changed or
  dropped barrier or wait, the accesses it stood between; and
* *lane*: of `value` and `covers`, an execution by the interpreter, observed at the stores, agrees: the named register
  element of the named block, wave and lane stores the named element, and it is not what the specification gives (or,
  of `covers`, the element is stored as often as is said). Other rules show only what such an execution has confirmed.

A mutated header (`requires`, `computes`, an argument, a module constant) is not a line of the program: there any line
that uses what was changed would do, which no mechanical test can say, so such mutants count as not drawn.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import re
import sys
from collections import Counter
from dataclasses import dataclass

import numpy as np

from argus.check.engine import check
from argus.check.executed.inputs import data_of
from argus.check.explain.value_witness import launch_of
from argus.check.explain.writers import writers
from argus.check.report import Counterexample
from argus.ir.kernel import Kernel
from argus.ir.passes.insert_waits import insert_waits
from argus.lang.errors import ProgramError
from argus.spec import evaluate, stored
from bench.verdict_fuzz.judge import SPEED_RULES, program_of_text
from bench.verdict_fuzz.sources import source

MOST = 4000
LINES = 6
"""Lines that a counterexample may name: more than a reader looks at would always have the right one."""


@dataclass(frozen=True)
class Mutated:
    """Lines of the mutant that were changed or added, and the statements that were dropped."""

    lines: frozenset[int]
    dropped: tuple[str, ...]


def mutated(original: str, text: str) -> Mutated | None:
    """What differs between two kernels in their bodies; None where a header differs."""
    before, after = (ast.unparse(ast.parse(one)).splitlines() for one in (original, text))
    assert after == text.splitlines()
    lines: set[int] = set()
    dropped: list[str] = []
    for kind, i1, i2, j1, j2 in difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if kind == "delete":
            dropped += before[i1:i2]
        elif kind != "equal":
            lines |= set(range(j1 + 1, j2 + 1))
    body = [n for n, line in enumerate(after, 1) if line.startswith(" ")]
    if not lines <= set(body) or not all(line.startswith(" ") for line in dropped):
        return None
    return Mutated(frozenset(lines), tuple(dropped))


def led_to(found: Mutated, text: str, shown: set[int]) -> bool:
    """A changed line is shown; of a dropped statement a line that has the tensor, buffer or name it was about."""
    if found.lines & shown:
        return True
    about = {re.match(r"\s*(\w+)", line)[1] for line in found.dropped if re.match(r"\s*(\w+)", line)}
    words = {word for n in shown for word in re.findall(r"\w+", text.splitlines()[n - 1])}
    changed = [text.splitlines()[n - 1] for n in found.lines]
    if any("barrier" in line or "wait" in line for line in (*found.dropped, *changed)):
        return bool(shown)  # what the dropped wait or barrier was between is shown
    return bool(about - {"ag"} & words)


def shown_lines(example: Counterexample) -> set[int]:
    """Every line that the counterexample names."""
    lines = {example.span.line}
    for party in example.operands:
        lines |= {party.span.line} if party.span is not None else set()
        lines |= {party.written_at.span.line} if party.written_at is not None else set()
    for detail in example.details:
        place = re.search(r"\.py:(\d+)(:\d+)?$", detail)
        lines |= {int(place[1])} if place else set()
    return lines


def lane_holds(kernel: Kernel, example: Counterexample) -> bool:
    """The named register element stores the named element, and it is wrong."""
    party = example.operands[0]
    tensor = next((t for t in kernel.tensors if t.name == party.tensor), None)
    if example.rule not in ("value", "covers") or tensor is None:
        return True
    made, given = data_of(kernel, launch_of(example))
    at = tuple(party.coords[axis] for axis in tensor.axes)
    wrote, _ = writers(kernel, made, example.sizes, given, tensor, at)
    named = [w for w in wrote if (w.thread, w.element) == (party.thread, party.element)]
    if "is never written" in example.message or "no store wrote it" in party.does:
        return not wrote
    if "times" in example.message:
        return len(wrote) > 1 and bool(named)
    assert kernel.computes is not None
    (stated,) = [r for r in kernel.computes.results if r.result == tensor.name]
    shape = np.zeros([int(n) for n in made[tensor.name].shape], made[tensor.name].dtype)
    want = stored(evaluate(stated, {tensor.name: shape, **made}, {**example.sizes, **given}), shape.dtype)
    right = float(want.value[at])
    return any(w.block == example.block and not abs(w.value - right) <= 1e-3 * abs(right) for w in named)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--seed", type=int, default=5)
    parser.add_argument("--verbose", action="store_true")
    args = parser.parse_args()
    judged, good, rules, named = 0, 0, Counter[str](), list[int]()
    for n in range(MOST):
        if judged >= args.count:
            break
        one = source(args.seed, n)
        found = mutated(one.program.source, one.text) if one.mutation else None
        if found is None:
            continue
        try:
            program = program_of_text(one.program, one.text)
        except ProgramError:
            continue
        report = check(program)
        refuted = [v.counterexample for v in report.verdicts if v.counterexample and v.rule not in SPEED_RULES]
        if not refuted:
            continue
        example = refuted[0]
        lines = shown_lines(example)
        line = len(lines) <= LINES and led_to(found, one.text, lines)
        lane = lane_holds(insert_waits(program.kernel), example)
        named.append(len(lines))
        judged, good = judged + 1, good + (line and lane)
        rules[f"{example.rule} {'good' if line and lane else 'bad'}"] += 1
        if args.verbose or not (line and lane):
            said = f"changed {sorted(found.lines)} {found.dropped}, shown {sorted(lines)}: {line}, lane: {lane}"
            print(f"{n} {one.program.family} {one.mutation}: {example.rule}, {said}", flush=True)
    print(
        f"{good} of {judged} counterexamples name the mutated line and a lane that holds the wrong value, by "
        f"{sum(named) / max(1, judged):.1f} lines on average, at most {max(named, default=0)}; {dict(rules)}"
    )
    return 0 if 10 * good >= 9 * judged else 1


if __name__ == "__main__":
    sys.exit(main())
