"""Planner, selector, learner and loop, against a judge whose answers are a stated function of the source."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from argus.agent.bottleneck import bottleneck
from argus.agent.judge import Judgement, Violation
from argus.agent.lower import NotApplicableError, lower
from argus.agent.optimise import optimise
from argus.agent.planner import attempt, propose, random_order
from argus.agent.policy import PolicyError, PolicyTable, merged
from argus.agent.policy_file import read_policy, write_policy
from argus.agent.repair import repairs
from argus.agent.reward import reward
from argus.agent.search_state import Settings, State
from argus.agent.selector import closure, refuse_unserved
from argus.knowledge import load, matching
from argus.tasks.task import Task, TaskError, builtin_tasks, load_task, read_task

BLOCK = {"tiles_row": 2, "tiles_col": 2, "waves_row": 2, "waves_col": 2, "tiles_k": 8}


def passed(us: float, bound: str = "compute") -> Judgement:
    seen = {"bound": bound, "stalls": {"wait_vmem": 10, "barrier": 5}, "helps": {}}
    return Judgement("pass", "time", (), {"N=1": us}, {"N=1": 10.0}, seen, evidence="e")


def refuted(rule: str, line: int) -> Judgement:
    return Judgement("fail", "check", (Violation(rule, "wrong", line),), evidence="e")


class Scripted:
    """A judge that likes certain words: each makes a kernel twice as fast; two barriers are needed around a copy."""

    WORDS = ("TILES_M", "ag.shared", ".xor(", "a0 =", "ag.schedule", "wide=8")

    def __init__(self) -> None:
        self.asked: list[str] = []

    def judge(self, sources: Sequence[str], task: Task, *, seed: int) -> list[Judgement]:
        self.asked.extend(sources)
        return [self._one(source) for source in sources]

    def _one(self, source: str) -> Judgement:
        lines = source.splitlines()
        store = next((n for n, line in enumerate(lines, 1) if ".store(r" in line), 0)
        if store and "barrier" not in lines[store - 2] and "range" not in source[:0]:
            return refuted("race_free", store)
        return passed(1000.0 / 2 ** sum(word in source for word in self.WORDS))


def run(seed: int, **changes: object) -> tuple[State, Scripted]:
    judge = Scripted()
    settings = Settings(seed=seed, **{"budget": 20, **changes})  # type: ignore[arg-type]
    return optimise(load_task("gemm"), settings, judge), judge  # type: ignore[arg-type]


def test_the_loop_climbs_within_its_budget() -> None:
    state, judge = run(0)
    assert state.spent == len(judge.asked) <= 20
    assert state.best.microseconds <= 1000.0 / 2**5
    assert len(set(judge.asked)) == len(judge.asked)


def test_a_run_is_a_function_of_its_seed() -> None:
    first, second = run(3)[0], run(3)[0]
    assert [c.source for c in first.candidates] == [c.source for c in second.candidates]
    assert first.policy.to_json() == second.policy.to_json()


def test_what_fails_is_never_best_and_unknown_never_promotes() -> None:
    class Undecided(Scripted):
        def _one(self, source: str) -> Judgement:
            return passed(5.0) if "TILES" not in source else Judgement("unknown", "check", evidence="e")

    state = optimise(load_task("gemm"), Settings(budget=6), Undecided())  # type: ignore[arg-type]
    assert state.best.number == 0


def test_a_pass_without_evidence_ranks_nowhere() -> None:
    assert math.isinf(reward_time(Judgement("pass", "time", (), {"N=1": 1.0})))


def reward_time(judgement: Judgement) -> float:
    from argus.agent.reward import microseconds

    return microseconds(judgement)


def test_without_feedback_nothing_is_repaired() -> None:
    state, _ = run(1, feedback=False)
    assert not any("repair" in step for c in state.candidates for step in c.done)


def test_a_race_is_repaired_by_a_barrier_at_its_line() -> None:
    text = lower(load_task("gemm").source, "register-blocking", BLOCK)
    text = lower(text, "lds-staging", {"barriers": "after"})
    line = next(n for n, row in enumerate(text.splitlines(), 1) if "sB.store" in row)
    fixed = repairs(text, refuted("race_free", line))[0].source
    rows = [row.strip() for row in fixed.splitlines()]
    assert rows[rows.index("sA.store(ra, width=16)") - 1] == "ag.barrier()"


@pytest.mark.parametrize(
    ("judgement", "expected"),
    [
        (Judgement("fail", "compile", (Violation("C301", "142 registers do not fit"),)), "TILES_K = 4"),
        (Judgement("error", "read", (Violation("read", "AG310: 36,848 bytes more of LDS"),)), "TILES_K = 4"),
        (
            Judgement("fail", "contract", (Violation("contract", "gemm requires N % 128 == 0, but N = 64"),)),
            "WAVES_N = 1",
        ),
        (
            Judgement("fail", "contract", (Violation("contract", "gemm requires N % 128 == 0, but N = 4128"),)),
            "ag.cdiv(N, BLOCK_N)",
        ),
    ],
)
def test_what_does_not_fit_becomes_smaller(judgement: Judgement, expected: str) -> None:
    text = lower(load_task("gemm").source, "register-blocking", BLOCK)
    assert expected in repairs(text, judgement)[0].source


def test_padding_gives_way_where_LDS_is_too_small() -> None:
    text = lower(lower(load_task("gemm").source, "register-blocking", BLOCK), "lds-staging", {"barriers": "both"})
    text = lower(lower(text, "wide-fragments", {}), "lds-padding", {"kind": "pad", "amount": 16})
    full = Judgement("error", "read", (Violation("read", "AG310: 36,848 bytes more of LDS"),))
    first, *_, last = repairs(text, full)
    assert "+ 16" in text
    assert "+ 16" not in first.source
    assert ".xor(" in first.source
    assert "TILES_K = 2" in last.source


def test_repairs_of_what_nobody_knows_are_none() -> None:
    assert repairs(load_task("gemm").source, refuted("conform", 3)) == []


def test_prerequisites_come_in_order() -> None:
    names = [entry.id for entry in closure(load()["instruction-scheduling"], (), load())]
    for name in names:
        assert all(names.index(before) < names.index(name) for before in load()[name].requires)
    assert names[0] == "register-blocking"
    assert closure(load()["instruction-scheduling"], names, load()) == []
    assert closure(load()["instruction-scheduling"], (), {}) == []


def test_experience_moves_the_ranking() -> None:
    entries = matching(family="gemm")
    policy = PolicyTable()
    for _ in range(30):
        policy.learn(("gemm", "matrix", "chiplet-order"), 1.0, 0)
        policy.learn(("gemm", "matrix", "register-blocking"), None, 1)
    ranks = [
        next(
            n
            for n, p in enumerate(propose(entries, policy, "gemm", "matrix", (), random.Random(seed)))
            if p.entry.id == "chiplet-order"
        )
        for seed in range(20)
    ]
    assert sum(ranks) / len(ranks) < 4


def test_what_was_tried_is_not_proposed_again() -> None:
    entries = matching(family="gemm")
    tried = {attempt(e.id, c) for e in entries for c in e.choices if e.id != "lds-swizzle"}
    found = propose(entries, PolicyTable(), "gemm", "banks", tried, random.Random(0))
    assert {p.entry.id for p in found} == {"lds-swizzle"}
    assert {p.entry.id for p in random_order(entries, tried, random.Random(0))} == {"lds-swizzle"}


def test_policies_are_kept_and_refused(tmp_path: Path) -> None:
    policy = PolicyTable()
    policy.learn(("row", "hbm", "row-vectors"), 0.5, 0)
    write_policy(policy, tmp_path / "p.json")
    again = read_policy(tmp_path / "p.json")
    assert again.to_json() == policy.to_json()
    assert merged([policy, again]).rows["row", "hbm", "row-vectors"].tries == 2
    assert "row-vectors" in policy.lessons()
    (tmp_path / "p.json.md").write_text("<!-- argus: lessons, version 1 -->\nno end\n")
    with pytest.raises(PolicyError, match="pair"):
        read_policy(tmp_path / "p.json")
    (tmp_path / "p.json.md").unlink()
    for text in ("{", "[]", '{"version": 1, "rows": [{"key": [1]}]}'):
        (tmp_path / "p.json").write_text(text)
        with pytest.raises(PolicyError):
            read_policy(tmp_path / "p.json")


def test_reward_orders_outcomes() -> None:
    parent = passed(100.0)
    unreadable = reward(parent, Judgement("error", "read")).total
    two_rules = reward(parent, Judgement("fail", "check", (Violation("a", ""), Violation("b", "")))).total
    wrong = reward(parent, Judgement("fail", "small")).total
    slower, faster = reward(parent, passed(120.0)).total, reward(parent, passed(50.0)).total
    assert unreadable < wrong < two_rules < slower < 0 < faster <= 1.25


def test_bottlenecks_are_one_word() -> None:
    assert bottleneck(passed(1.0)) == "latency"
    assert bottleneck(passed(1.0, "hbm")) == "hbm"
    assert bottleneck(Judgement("fail", "compile")) == "compile"


def test_built_in_tasks_are_read() -> None:
    assert {"gemm", "softmax", "layernorm"} <= set(builtin_tasks())
    for name in builtin_tasks():
        task = load_task(name)
        assert "TASK" not in task.source
        assert task.shapes


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("x = 1", "no TASK"),
        ("TASK = dict(", "not a kernel file"),
        ("TASK = 3", "not a dictionary"),
        ("TASK = dict(shapes=open('x'))", "numbers, words"),
        ("TASK = dict(colour=1)", "no entry"),
    ],
)
def test_what_is_no_task_is_refused(text: str, problem: str) -> None:
    with pytest.raises(TaskError) as error:
        read_task("mine", text)
    assert problem in str(error.value)


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(TaskError, match="gemm"):
        load_task("nothing")


def test_what_serves_no_shape_of_the_task_costs_no_evaluation() -> None:
    """A row of 65536 does not fit in the registers of a wave, which no repair changes; blocks that do not divide a
    size can be made smaller, so they are judged."""
    task = load_task("reduction")
    resident = lower(lower(task.source, "row-vectors", {"per_lane": 8}), "row-resident", {"widest": 4096})
    with pytest.raises(NotApplicableError, match="does not solve the task"):
        refuse_unserved(resident, task)
    state = optimise(task, Settings(budget=12, seed=3), Scripted())  # type: ignore[arg-type]
    for candidate in state.candidates:
        refuse_unserved(candidate.source, task)
    ragged = replace(load_task("gemm"), held_out=({"M": 512, "N": 3136, "K": 1024},))
    refuse_unserved(lower(ragged.source, "register-blocking", {**BLOCK, "tiles_col": 4}), ragged)


@pytest.mark.parametrize("family", ["elementwise", "window", "row"])
def test_a_launch_of_too_many_workgroups_has_a_remedy(family: str) -> None:
    assert any("dispatch" in entry.bottlenecks for entry in matching(family=family))
