"""Index tensors of a mixture of experts: their facts, and what a specification with them means."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from argus.agent.judge import Problem
from argus.agent.judge.data import KINDS, inputs
from argus.agent.judge.floor import multiplications
from argus.agent.judge.results import judged_part
from argus.spec import evaluate
from argus.tasks.routing import Kind, RoutingTensors, draw
from argus.tasks.task import TaskError, load_task, read_task
from tests.spec.stated import stated

ROUTING = RoutingTensors("token", "expert", "T", "E", 8)
SPEC = "H[r, n] = sum(X[token[r], k] * W[expert[r // 8], n, k], k)"


@pytest.mark.parametrize("kind", ["uniform", "skewed", "one"])
@pytest.mark.parametrize("sizes", [(50, 5, 20), (50, 5, 7), (3, 2, 1), (100, 1, 16)])
def test_a_routing_has_its_facts(kind: Kind, sizes: tuple[int, int, int]) -> None:
    tokens, experts, blocks = sizes
    found = draw(ROUTING, {"T": tokens, "E": experts}, {"token": (8 * blocks,), "expert": (blocks,)}, kind, 3)
    token, expert = found["token"].reshape(blocks, 8), found["expert"]
    assert token.shape == (blocks, 8)
    assert expert.shape == (blocks,)
    assert token.min() >= 0
    assert token.max() <= tokens
    assert expert.min() >= 0
    assert expert.max() < experts
    times = Counter(token[token < tokens].tolist())
    assert set(times) == set(range(tokens))
    assert len(set(times.values())) == 1
    for row in token:
        real = (row < tokens).sum()
        assert (row[:real] < tokens).all()


def test_draws_differ_by_seed_and_are_the_same_again() -> None:
    shapes = {"token": (160,), "expert": (20,)}
    one, again, other = (draw(ROUTING, {"T": 50, "E": 5}, shapes, "uniform", seed) for seed in (1, 1, 2))
    assert (one["token"] == again["token"]).all()
    assert (one["expert"] == again["expert"]).all()
    assert (one["token"] != other["token"]).any()
    assert (one["expert"] != other["expert"]).any()


def _data() -> dict[str, np.ndarray]:
    dice = np.random.default_rng(0)
    return {
        "X": dice.standard_normal((6, 4)).astype(np.float32),
        "W": dice.standard_normal((3, 5, 4)).astype(np.float32),
        "token": dice.integers(0, 7, 16).astype(np.int32),
        "expert": np.array([2, 0], np.int32),
    }


def _by_hand(data: dict[str, np.ndarray]) -> np.ndarray:
    want = np.zeros((16, 5))
    for r in range(16):
        if data["token"][r] < 6:
            x = data["X"][data["token"][r]].astype(np.float64)
            want[r] = data["W"][data["expert"][r // 8]].astype(np.float64) @ x
    return want


def test_rows_are_computed_with_what_their_block_picks() -> None:
    data = _data()
    found = evaluate(stated(SPEC, data), {**data, "H": np.zeros((16, 5))}, {})
    assert np.allclose(found.value, _by_hand(data), atol=1e-12)


def test_a_part_of_the_rows_is_judged_with_whole_index_tensors() -> None:
    data = _data()
    spec = stated(SPEC, data)
    want = _by_hand(data)
    got = np.full((16, 5), 0x7FBA5A5B, np.uint32).view(np.float32)
    got[8:12, 1:3] = want[8:12, 1:3]
    found = judged_part(spec, data, {}, got)
    assert found is not None
    assert found.comparison.ok
    got[9, 2] += 0.1
    found = judged_part(spec, data, {}, got)
    assert found is not None
    assert found.comparison.wrong == 1


def test_the_task_draws_its_routing_and_counts_its_products() -> None:
    task = load_task("moe")
    problem = Problem.of(task)
    assert Problem.from_json(problem.to_json()) == problem
    sizes = task.small[0]
    for kind in KINDS:
        given = inputs(task.kernel, sizes, kind, 5, problem.routing)
        assert given["token"].max() <= sizes["T"]
        assert given["expert"].max() < sizes["E"]
    assert task.kernel.computes is not None
    (spec,) = task.kernel.computes.results
    assert multiplications(task.kernel, sizes, spec) == 2 * sizes["R"] * sizes["I"] * sizes["K"]


def test_a_routing_that_names_nothing_is_refused() -> None:
    text = (
        "TASK = dict(shapes=[dict(M=64, N=64)], routing=dict(token='t', expert='e', tokens='M', experts='M', rows=8))\n"
    )
    kernel = load_task("softmax").source
    with pytest.raises(TaskError, match="no vector of whole numbers"):
        read_task("x", kernel.replace("@ag.kernel", text + "\n\n@ag.kernel"))
