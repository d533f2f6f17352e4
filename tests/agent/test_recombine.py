"""Recombined chains, and what they are worth to a search that is stuck."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

import pytest

from argus.agent.chains import LineagePlan, chain_of, chain_text, replayed
from argus.agent.chip_fill import filled_share
from argus.agent.judge import Judgement
from argus.agent.lower import NotApplicableError, lower
from argus.agent.optimise import optimise
from argus.agent.policy import PolicyTable
from argus.agent.recombine import plans, population, promising
from argus.agent.search_state import SearchCandidate, Settings, State
from argus.agent.selector import refuse_unreadable
from argus.lang import read
from argus.pipeline import program_of, report_of
from argus.tasks.task import Task, load_task

BLOCK = {"tiles_row": 2, "tiles_col": 2, "waves_row": 2, "waves_col": 2, "tiles_k": 8}
RAGGED = "examples/agent/tasks/ragged.py"


def passed(us: float) -> Judgement:
    return Judgement("pass", "time", (), {"N=1": us}, {"N=1": 10.0}, {"bound": "compute"}, evidence="e")


def state_of(*chains: Sequence[tuple[str, dict[str, object]]]) -> State:
    """A run with candidates of these chains, each faster than the one before."""
    task = load_task("gemm")
    state = State(task, Settings(), PolicyTable())
    state.candidates = [SearchCandidate(0, 0, None, task.source, "naive", {}, "", (), passed(1000.0))]
    for number, chain in enumerate(chains, 1):
        done = tuple(chain_text([step]) for step in chain)
        state.candidates.append(
            SearchCandidate(
                number, 1, 0, f"{task.source}# {number}\n", chain[-1][0], {}, "", done, passed(100.0 / number)
            )
        )
    return state


BLOCKED = (("register-blocking", BLOCK), ("vector-stores", {}))
STAGED = (("register-blocking", BLOCK), ("lds-staging", {"barriers": "both"}))


def test_a_chain_is_read_back_from_a_lineage() -> None:
    (candidate,) = state_of((*STAGED, ("repair race_free", {}))).candidates[1:]
    assert chain_of(candidate) == STAGED


def test_the_population_has_each_set_of_techniques_once() -> None:
    state = state_of(BLOCKED, STAGED, BLOCKED)
    assert [c.number for c in population(state)] == [3, 2]


def test_crossover_variation_and_insertion() -> None:
    found = plans(state_of(BLOCKED, STAGED), random.Random(0))
    names = [[name for name, _ in plan.steps] for plan in found]
    assert ["register-blocking", "lds-staging", "vector-stores"] in names
    assert ["register-blocking", "matrix-shape", "lds-staging"] in names
    varied = [plan for plan in found if plan.why.startswith("variation") and plan.changed == 0]
    assert all(dict(plan.steps[0][1]) != BLOCK for plan in varied)
    assert len({chain_text(plan.steps) for plan in found}) == len(found)
    assert [plan.why for plan in found] == [plan.why for plan in plans(state_of(BLOCKED, STAGED), random.Random(0))]


def test_a_chain_is_the_steps_one_after_the_other() -> None:
    task = load_task("gemm")
    by_hand = lower(lower(task.source, *BLOCKED[0]), *BLOCKED[1])
    made = replayed(task, LineagePlan(BLOCKED, 1, "why", (1,)))
    assert made.source == by_hand
    assert made.steps == tuple(chain_text([step]) for step in BLOCKED)
    with pytest.raises(NotApplicableError):
        replayed(task, LineagePlan((BLOCKED[0], BLOCKED[0]), 1, "why", (1,)))


def test_only_what_the_clock_likes_is_judged_and_the_clock_is_asked_a_bounded_number_of_times() -> None:
    asked: list[str] = []

    def clock(source: str, limit: float) -> float:
        assert limit == pytest.approx(1.02 * state.best.microseconds)
        asked.append(source)
        return 10.0 if "vector" in source or len(asked) == 2 else math.inf

    state = state_of(BLOCKED, STAGED)
    found = promising(state, random.Random(0), clock, 3)
    assert len(asked) == state.scored == 3
    assert all(made.source in asked for made in found)
    assert len(found) < 3
    promising(state, random.Random(0), clock, 3)
    assert len(set(asked)) == len(asked)


def test_chains_that_fill_the_chip_come_first() -> None:
    """1000 x 1000: blocks of 256 are 16 workgroups for 304 compute units, blocks of 64 are 256."""
    task = load_task(RAGGED)
    sizes = [{**BLOCK, "tiles_row": n, "tiles_col": n} for n in (4, 1)]
    few, many = (filled_share(lower(task.source, "register-blocking", each), task) for each in sizes)
    assert (round(few, 3), round(many, 3)) == (round(16 / 304, 3), round(256 / 304, 3))
    assert filled_share("def (", task) == 0.0


class Plateau:
    """A judge for whom nothing but one combination is faster than blocks alone."""

    def judge(self, sources: Sequence[str], task: Task, *, seed: int) -> list[Judgement]:
        return [passed(self.took(source)) for source in sources]

    @staticmethod
    def took(source: str, limit: float = math.inf) -> float:
        return 50.0 if "16x16x16" in source and "ag.shared" in source else 100.0 if "TILES_M" in source else 1000.0


def test_a_stuck_search_tries_chains_and_keeps_their_lineage() -> None:
    task = load_task("gemm")
    settings = Settings(budget=24, chains=4)
    state = optimise(task, settings, Plateau(), clock=Plateau.took)  # type: ignore[arg-type]
    made = [c for c in state.candidates if c.technique == "recombination"]
    assert made
    assert all(c.parent == 0 and c.done for c in made)
    assert not any(key[2] == "recombination" for key in state.policy.rows)
    without = optimise(task, settings, Plateau())  # type: ignore[arg-type]
    assert not any(c.technique == "recombination" for c in without.candidates)


class Words:
    """A judge for whom the first of some words that a source has says how long it takes."""

    def __init__(self, **times: float) -> None:
        self.times = times

    def judge(self, sources: Sequence[str], task: Task, *, seed: int) -> list[Judgement]:
        found = [[us for word, us in self.times.items() if word in source] for source in sources]
        return [passed(first[0] if first else 100.0) for first in found]


def test_chains_come_when_nothing_is_left_to_try() -> None:
    """A window kernel has few techniques: its search ended without having looked at one chain."""
    asked: list[str] = []

    def clock(source: str, limit: float) -> float:
        asked.append(source)
        return math.inf

    settings = Settings(budget=60, patience=100)
    state = optimise(load_task("depthwise"), settings, Words(piece=50.0), clock=clock)  # type: ignore[arg-type]
    assert state.ended == "nothing is left to try"
    assert asked


@pytest.mark.parametrize("seed", range(4))
def test_a_structure_that_excludes_the_best_is_tried_before_it(seed: int) -> None:
    """Rows of results one by one leave no place for rows that serve several; the kernel before them does."""
    judge = Words(total_=1.0, factors=10.0, HEIGHT=40.0, piece=60.0)
    state = optimise(load_task("depthwise"), Settings(budget=12, seed=seed), judge)  # type: ignore[arg-type]
    assert state.best.microseconds == pytest.approx(10.0)


def test_what_a_slow_parent_promises_has_to_make_up_for_it() -> None:
    """Small changes are tried on the best kernels, not on everything that passed."""
    judge = Words(factors=10.0, HEIGHT=40.0, piece=60.0)
    state = optimise(load_task("depthwise"), Settings(budget=60), judge)  # type: ignore[arg-type]
    of = {c.parent for c in state.candidates if c.technique == "occupancy"}
    ranked = [c.number for c in state.ranked()]
    assert all(state.candidates[n].microseconds <= 40.0 for n in of if n is not None), (of, ranked)


def test_a_chain_that_needs_too_much_LDS_takes_shorter_steps() -> None:
    """Four tiles of 32 rows where there were four of 16: the fragments of a step, and all that follows, with half the
    k."""
    task = load_task("examples/agent/tasks/residual.py")
    blocks = ("register-blocking", {**BLOCK, "tiles_row": 4, "tiles_col": 4})
    larger = ("matrix-shape", {"shape": "32x32x8", "block": "larger"})
    rest = (
        ("wide-fragments", {}),
        ("lds-staging", {"barriers": "both"}),
        ("fragment-prefetch", {"depth": "fragments"}),
    )
    made = replayed(task, LineagePlan((blocks, larger, *rest), 1, "why", (1,)))
    assert made.steps[0] == chain_text([("register-blocking", {**blocks[1], "tiles_k": 4})])
    assert len(made.steps) == 5
    assert read(made.source).lds_bytes == 65536


# -- ragged sizes ----------------------------------------------------------------------------------------------------

CHAIN = (
    ("register-blocking", BLOCK), ("wide-fragments", {}), ("vector-stores", {}), ("lds-staging", {"barriers": "both"}),
    ("lds-swizzle", {"kind": "xor", "amount": 3}), ("fragment-prefetch", {"depth": "fragments"}),
    ("instruction-scheduling", {"mfma": 2}),
)  # fmt: skip


def test_a_ragged_product_takes_the_whole_chain_and_stays_ragged(tmp_path_factory: pytest.TempPathFactory) -> None:
    text = load_task(RAGGED).source
    for technique, params in CHAIN:
        text = lower(text, technique, params)
        read(text)
        assert "BLOCK" not in text.split("requires=", 1)[1].split("\n", 1)[0]
        assert "ag.cdiv(M, BLOCK_M)" in text
        assert 'guard="shape"' in text
    path = tmp_path_factory.mktemp("ragged") / "ragged.py"
    path.write_text(text)
    assert report_of(program_of(path, {}), run=False).proved


def test_what_the_reader_refuses_is_no_candidate() -> None:
    text = load_task("gemm").source
    refuse_unreadable(text, {})
    with pytest.raises(NotApplicableError, match="AG"):
        refuse_unreadable(text.replace("ag.mfma(a, b, acc)", "ag.nothing(a)"), {})
