"""Real workers of a local Ray: order, machines, secrets, and what happens when one is killed."""

from __future__ import annotations

import json
import os
import platform
from pathlib import Path

import pytest

from argus.cluster import ClusterError, Pool, WorkerDiedError, answers
from argus.cluster.ray_pool import RETRIES, RayAnswer, RayPool
from argus.cluster.work import asked

pytestmark = pytest.mark.full
WORKS = "tests.ray.works"


def test_answers_come_in_order_with_their_machine(pool: Pool) -> None:
    found = list(answers(pool, f"{WORKS}:doubled", range(40)))
    assert [answer.value for answer in found] == [2 * n for n in range(40)]
    for answer in found:
        assert answer.machine["host"] == platform.node()
        assert int(answer.machine["process"]) != os.getpid()
        assert len(answer.machine["node"]) > 20


def test_secrets_stay_here(pool: Pool) -> None:
    seen = pool.ask(f"{WORKS}:environment", None).result().value
    assert "ARGUS_TEST_NAME" in seen
    assert "PATH" in seen
    assert not [name for name in seen if "KEY" in name or name == "RAY_LIKE_TOKEN"]
    assert "PYTEST_CURRENT_TEST" not in seen


def test_what_the_work_raises_is_raised_here(pool: Pool) -> None:
    with pytest.raises(LookupError, match="no such thing"):
        pool.ask(f"{WORKS}:refused", "no such thing").result()


def test_work_of_a_killed_worker_is_done_again(pool: Pool, tmp_path: Path) -> None:
    """As often as it was killed, and once more; never twice at once."""
    path = tmp_path / "begun"
    assert pool.ask(f"{WORKS}:dying", {"file": str(path), "times": RETRIES}).result().value == RETRIES + 1
    begun = path.read_text().splitlines()
    assert len(begun) == len(set(begun)) == RETRIES + 1


def test_work_that_kills_every_worker_fails_with_a_code(pool: Pool, tmp_path: Path) -> None:
    path = tmp_path / "begun"
    waiting = pool.ask(f"{WORKS}:dying", {"file": str(path), "times": 99})
    with pytest.raises(WorkerDiedError, match=r"^ARG-R104: 3 workers in a row died of this work: ") as caught:
        waiting.result()
    assert caught.value.code == "ARG-R104"
    assert len(path.read_text().splitlines()) == RETRIES + 1
    assert pool.ask(f"{WORKS}:doubled", 21).result().value == 42


def test_a_worker_with_another_argus_refuses(pool: Pool) -> None:
    assert isinstance(pool, RayPool)
    question = json.loads(asked(f"{WORKS}:doubled", 1))
    question["argus"] |= {"z3-solver": "1.0", "files of argus": "0" * 64}
    with pytest.raises(ClusterError) as caught:
        RayAnswer(pool, pool._task.remote(json.dumps(question))).result()
    assert caught.value.code == "ARG-R103"
    assert f"the worker on {platform.node()} has another Argus: " in caught.value.message
    assert "z3-solver 5.4.0.0 there, 1.0 here" in caught.value.message
    assert "000000000000 here" in caught.value.message


def test_a_worker_without_the_work_is_another_argus(pool: Pool) -> None:
    with pytest.raises(ClusterError, match=r"^ARG-R103: a worker cannot load what is asked of it: .*nothing_there"):
        pool.ask("tests.ray.nothing_there:work", None).result()
