"""The n-th source of a run: a family drawn by weight, the kernel as generated or one mutant of it.

Everything follows from the seed and n, so shards need no plan, a run can be resumed, and a finding is found again.
Library and naive kernels give mutants only, and at most a fifth of the sources (`weights.json`).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random

from argus.lang.errors import ProgramError
from bench.verdict_fuzz import corpus
from bench.verdict_fuzz.families import control, conversions, flat, numbers, rows, scans, staged
from bench.verdict_fuzz.judge import program_of_text
from bench.verdict_fuzz.mutators import mutants
from bench.verdict_fuzz.program import Generated

WEIGHTS = json.loads((Path(__file__).parent / "weights.json").read_text())
GIVEN = frozenset({"library", "naive"})
FAMILIES: dict[str, Callable[[Random], Generated]] = {
    f.__name__: f
    for f in (
        flat.elementwise, flat.several, flat.matrix, flat.persistent,
        rows.rows, rows.waves, rows.long, rows.online, rows.argmax,
        scans.scan, scans.steps,
        staged.tile, staged.transpose, staged.ring, staged.direct,
        control.branch, control.stencil, control.gather, control.atomic,
        numbers.integers, numbers.indices, numbers.product, conversions.conversions,
        corpus.library, corpus.naive,
    )
}  # fmt: skip


@dataclass(frozen=True)
class FuzzSource:
    """`mutation` is empty for a kernel as generated, unless its specification is another one on purpose."""

    program: Generated
    text: str
    mutation: str = ""
    line: int = 0


def source(seed: int, n: int, first: bool = False) -> FuzzSource:
    """`first`: of the families of the first full run alone, so that numbers found then mean the same source. A family
    that came later may stand instead of a share of another, so that the numbers of all others stay."""
    dice = Random(f"{seed}:{n}")
    names = sorted(f for f in WEIGHTS["families"] if not (first and f in WEIGHTS["later"]))
    name = dice.choices(names, [WEIGHTS["families"][f] for f in names])[0]
    other, share = WEIGHTS["instead"].get(name, (name, 0.0))
    if not first and Random(f"{seed}:{n}:instead").random() < share:
        name = other
    program = FAMILIES[name](dice)
    generated = FuzzSource(program, program.source, "specification" if program.mistaken else "")
    if name not in GIVEN and dice.random() < WEIGHTS["right"]:
        return generated
    for mutant in mutants(program.source, dice, WEIGHTS["tries"]):
        if readable(program, mutant.source):
            return FuzzSource(program, mutant.source, mutant.kind, mutant.line)
    return generated


def readable(program: Generated, text: str) -> bool:
    """The language takes the text; what fails otherwise is for the judge."""
    try:
        program_of_text(program, text)
    except ProgramError:
        return False
    except Exception:
        return True
    return True
