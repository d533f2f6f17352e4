"""A fixed sample of the mutation suite (all of it: `python bench/checker_mutants.py`)."""

from __future__ import annotations

from itertools import islice

from tests.check.judge import judge
from tests.check.mutants import mutants
from tests.check.programs import PROGRAMS

SAMPLE = {"rows": 1, "transpose": 14, "single": 9, "prefetch": 40, "ring2": 60}
"""Program -> every how manieth mutant."""


def test_no_wrong_mutant_is_proved_and_no_harmless_one_refuted() -> None:
    judged = []
    for name, every in SAMPLE.items():
        program = PROGRAMS[name]()
        judged += [judge(program, mutant) for mutant in islice(mutants(program.kernel), every // 2, None, every)]
    assert len(judged) >= 60
    faults = [f"{one.mutant.kind}: {one.mutant.name}: {one.fault}" for one in judged if one.fault]
    assert not faults
    wrong = [one for one in judged if one.truth]
    refuted = [one for one in wrong if one.status == "refuted"]
    missed = [one.mutant.name for one in wrong if one.status != "refuted"]
    assert len(refuted) >= 0.98 * len(wrong), missed
