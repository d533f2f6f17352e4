"""Chains: where a technique belongs in one, which parameter sets come first, and what is no candidate."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import replace

import pytest

from argus.agent.chains import chain_of, placed
from argus.agent.chip_fill import fullest_first
from argus.agent.judge import Judgement
from argus.agent.lower import NotApplicableError, lower
from argus.agent.optimise import optimise
from argus.agent.planner import Proposal
from argus.agent.recombine import AT_ONCE, plans, promising
from argus.agent.search_state import Settings
from argus.agent.selector import refuse_unserved
from argus.knowledge import load
from argus.lang import read
from argus.lang.errors import ProgramError
from argus.tasks.task import Task, load_task
from tests.agent.test_recombine import BLOCK, BLOCKED, RAGGED, STAGED, passed, state_of

RESIDUAL = "examples/agent/tasks/residual.py"
PIPELINE = (
    ("register-blocking", {**BLOCK, "tiles_row": 4, "tiles_col": 4}), ("wide-fragments", {}), ("vector-stores", {}),
    ("lds-staging", {"barriers": "both"}), ("lds-swizzle", {"kind": "xor", "amount": 3}),
    ("fragment-prefetch", {"depth": "fragments", "slices": 4}),
)  # fmt: skip


def proposal(name: str, **params: object) -> Proposal:
    return Proposal(load()[name], params, 1.0, "why")


# -- where a technique belongs ---------------------------------------------------------------------------------------


def test_a_technique_without_room_at_the_end_is_placed_behind_what_it_requires() -> None:
    """Twice the block's rows and columns do not fit into LDS with a finished pipeline; made for them it does."""
    task = load_task(RESIDUAL)
    (parent,) = state_of(PIPELINE).candidates[1:]
    late = task.source
    for name, params in PIPELINE:
        late = lower(late, name, params)
    larger = proposal("matrix-shape", shape="32x32x8", block="larger")
    with pytest.raises(ProgramError, match="AG310"):
        read(lower(late, larger.entry.id, larger.params))
    made = placed(task, parent, larger)
    assert [step.split(" ", 1)[0] for step in made.steps[:2]] == ["register-blocking", "matrix-shape"]
    assert read(made.source).lds_bytes <= 65536
    assert made.lineage(parent.done) == made.steps


def test_a_parent_that_is_more_than_its_chain_is_not_replayed() -> None:
    task = load_task(RESIDUAL)
    (repaired,) = state_of((*PIPELINE, ("repair race_free", {}))).candidates[1:]
    assert len(chain_of(repaired)) < len(repaired.done)
    with pytest.raises(NotApplicableError):
        placed(task, repaired, proposal("matrix-shape", shape="32x32x8", block="larger"))


class Steps:
    """A judge who likes every step of the pipeline, one after the other, and larger instructions most."""

    def judge(self, sources: Sequence[str], task: Task, *, seed: int) -> list[Judgement]:
        words = ("TILES_M", "ag.shared", ".xor", "ahead")
        return [
            passed(10.0 if "32x32x8" in text else 1000.0 / 2 ** sum(word in text for word in words)) for text in sources
        ]


def test_a_search_takes_the_larger_instruction_with_its_room() -> None:
    state = optimise(load_task(RESIDUAL), Settings(budget=24), Steps())  # type: ignore[arg-type]
    names = [step.split(" ", 1)[0] for step in state.best.done]
    assert "matrix-shape" in names
    assert read(state.best.source).lds_bytes <= 65536
    parent = state.candidates[state.best.parent or 0]
    assert len(state.best.done) < len(parent.done) + len(names)  # the chain stands once


# -- which parameter sets come first ---------------------------------------------------------------------------------


def test_sets_that_leave_half_of_the_chip_idle_go_last() -> None:
    """1000 x 1000: blocks of 256 are 16 workgroups for 304 compute units, of 128 they are 64, of 64 they are 256."""
    task = load_task(RAGGED)
    first, *_, last = fullest_first(task.source, task, load()["register-blocking"])
    assert (first["tiles_row"], last["tiles_row"]) == (2, 4)
    staged = lower(task.source, "register-blocking", BLOCK)
    sizes = fullest_first(staged, task, load()["block-sizes"])
    assert all(each["tiles_row"] == 1 for each in sizes[:2])


def test_the_order_of_an_entry_stays_where_every_set_fills_the_chip() -> None:
    task = load_task("gemm")
    for name in ("register-blocking", "lds-staging", "split-k"):
        assert list(fullest_first(task.source, task, load()[name])) == list(load()[name].choices)


# -- what is no candidate --------------------------------------------------------------------------------------------


def test_what_no_repair_makes_serve_the_task_is_no_candidate() -> None:
    """Chiplets that tile the grid: no shape of 1000, 520 or 136 has a grid of whole rectangles, nor with half the
    block, nor with a quarter of it."""
    task = load_task(RAGGED)
    blocked = lower(task.source, "register-blocking", BLOCK)
    assert refuse_unserved(blocked, task)
    tiled = lower(blocked, "chiplet-tiles", {"rows": 2, "group": 1})
    with pytest.raises(NotApplicableError, match="does not solve"):
        refuse_unserved(tiled, task)


def test_what_a_repair_makes_serve_the_task_is_one() -> None:
    """Blocks of 256 rows do not divide 384; half of them does."""
    task = load_task("gemm")
    blocked = lower(task.source, "register-blocking", PIPELINE[0][1])
    assert refuse_unserved(blocked, replace(task, small=({"M": 384, "N": 256, "K": 128},)))


# -- looks ------------------------------------------------------------------------------------------------------------


def test_every_technique_has_its_turn_before_one_comes_again() -> None:
    found = plans(state_of(BLOCKED, STAGED), random.Random(0))
    changed = [plan.steps[plan.changed][0] for plan in found]
    names = set(changed)
    assert set(changed[: len(names)]) == names
    assert len(changed) > len(names)


def test_near_parameters_come_before_far_ones() -> None:
    """Of the variations of a step those that change one number come before those that change several."""
    sizes = {"tiles_row": 1, "tiles_col": 1, "waves_row": 2, "waves_col": 2, "tiles_k": 8}
    found = plans(state_of((*BLOCKED, ("block-sizes", sizes))), random.Random(0))
    varied = [plan for plan in found if plan.instead == sizes]
    changed = [plan.steps[plan.changed][1] for plan in varied]
    changes = [sum(sizes.get(name) != other.get(name) for name in {*sizes, *other}) for other in changed]
    assert changes == sorted(changes)
    assert changes[0] == 1 < changes[-1]


def test_looks_go_on_from_what_the_clock_found() -> None:
    """The first chain before the best is changed further: the clock scores two changes before anything is judged."""
    asked: list[str] = []

    def clock(source: str, limit: float) -> float:
        asked.append(source)
        return 40.0 - len(asked) if len(asked) <= AT_ONCE else math.inf

    state = state_of(BLOCKED, STAGED)
    found = promising(state, random.Random(0), clock, 2 * AT_ONCE)
    assert len(found) == AT_ONCE
    steps = [set(made.steps) for made in found]
    further = plans(state, random.Random(0), [state.candidates[-1]])
    assert further[0].of[0] == state.candidates[-1].number
    assert len(asked) == state.scored == 2 * AT_ONCE
    assert all(steps)


def test_looks_in_vain_are_not_repeated_until_the_best_is_another() -> None:
    asked: list[str] = []

    def clock(source: str, limit: float) -> float:
        asked.append(source)
        return math.inf

    class Flat:
        def judge(self, sources: Sequence[str], task: Task, *, seed: int) -> list[Judgement]:
            return [passed(100.0) for _ in sources]

    state = optimise(load_task("gemm"), Settings(budget=30), Flat(), clock=clock)  # type: ignore[arg-type]
    assert len(asked) == state.scored == 6
