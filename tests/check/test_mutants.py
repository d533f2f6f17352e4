"""A fixed sample of the mutation suite (all of it: `python bench/checker_mutants.py`)."""

from __future__ import annotations

from tests.check.argreduce import PROGRAMS as PLACES
from tests.check.argreduce import mistakes as place_mistakes
from tests.check.cross_entropies import PROGRAMS as CROSS_ENTROPIES
from tests.check.cross_entropies import mistakes as cross_entropy_mistakes
from tests.check.judge import judge
from tests.check.mutants import mutants, spread
from tests.check.on_machine import run_object
from tests.check.programs import PROGRAMS
from tests.check.scans import PROGRAMS as SCANS
from tests.check.scans import mistakes

SAMPLE = {"rows": 10, "transpose": 10, "single": 18, "ring2": 20, "direct": 17}
"""Program -> about how many mutants, of all families."""


def test_no_wrong_mutant_is_proved_and_no_harmless_one_refuted() -> None:
    judged = []
    for name, total in SAMPLE.items():
        program = PROGRAMS[name]()
        judged += [judge(program, mutant) for mutant in spread(mutants(program.kernel), total)]
    assert len(judged) >= 75
    assert {"ring", "carried", "prologue", "map", "slice", "wait", "tail"} <= {one.mutant.kind for one in judged}
    faults = [f"{one.mutant.kind}: {one.mutant.name}: {one.fault}" for one in judged if one.fault]
    assert not faults
    wrong = [one for one in judged if one.truth]
    refuted = [one for one in wrong if one.status == "refuted"]
    missed = [one.mutant.name for one in wrong if one.status != "refuted"]
    assert len(refuted) >= 0.98 * len(wrong), missed


def test_scans_and_places_and_mistakes_in_them() -> None:
    judged = [judge(program, mutant) for program, mutant in [*list(mistakes())[::14], *list(place_mistakes())[::10]]]
    for name, total in {"scan": 4, "scan_prod": 3, "scan_axis": 2, "argrow": 3, "argaxis": 2}.items():
        program = {**SCANS, **PLACES}[name]()
        judged += [judge(program, mutant) for mutant in spread(mutants(program.kernel), total)]
    faults = [f"{one.mutant.kind}: {one.mutant.name}: {one.fault}" for one in judged if one.fault]
    assert not faults
    wrong = [one for one in judged if one.truth]
    missed = [one.mutant.name for one in wrong if one.status != "refuted"]
    assert len(wrong) >= 18
    assert not missed


def test_cross_entropy_and_mistakes_in_it() -> None:
    judged = [judge(program, mutant) for program, mutant in list(cross_entropy_mistakes())[::8]]
    for name, total in {"cross_entropy": 3, "cross_entropy_long": 3}.items():
        program = CROSS_ENTROPIES[name]()
        judged += [judge(program, mutant) for mutant in spread(mutants(program.kernel), total)]
    faults = [f"{one.mutant.kind}: {one.mutant.name}: {one.fault}" for one in judged if one.fault]
    assert not faults
    wrong = [one for one in judged if one.truth]
    assert len(wrong) >= 8
    assert not [one.mutant.name for one in wrong if one.status != "refuted"]


def test_waits_for_direct_copies_survive_in_the_object_and_waits_for_registers_do_not() -> None:
    program = PROGRAMS["direct"]()
    seen = {
        mutant.name: run_object(program, mutant.kernel, program.sizes[1]).split(":")[0]
        for mutant in mutants(program.kernel)
        if mutant.kind == "wait" and "inserted" in mutant.name
    }
    assert seen == {"inserted wait dropped at line 7": "hazard", "inserted wait dropped at line 10": "same"}
