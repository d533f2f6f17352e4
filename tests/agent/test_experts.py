"""Lowerings of the mixture of experts: what they write is proved and computes what it should."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from argus import machine
from argus.agent.judge import Judgement
from argus.agent.lower import NotApplicableError, lower
from argus.agent.optimise import optimise
from argus.agent.planner import Proposal
from argus.agent.search_state import Settings
from argus.agent.selector import realise
from argus.check import check
from argus.compile.cache import compile_cached
from argus.device.guards import launch_grid
from argus.device.launch import scalar_values
from argus.ir.passes.schedule import scheduled
from argus.knowledge import load
from argus.lang import read
from argus.ops.moe_reference import activated, blocks
from argus.tasks.routing import draw
from argus.tasks.task import Task, load_task

CHAIN: tuple[tuple[str, dict[str, object]], ...] = (
    ("expert-blocks", {"tiles": 4, "waves": 4}),
    ("gathered-rows", {"swizzle": True}),
    ("chiplet-rows", {"group": 8}),
    ("wide-scales", {"turns": 4}),
    ("expert-ring", {}),
    ("late-sums", {}),
)


def _lowered(steps: int) -> str:
    text = load_task("moe").source
    for name, params in CHAIN[:steps]:
        text = lower(text, name, params)
    return text


@pytest.mark.parametrize("steps", [0, 1, 2, 3, 4, 5, 6])
def test_every_step_is_proved(steps: int) -> None:
    assert check(scheduled(read(_lowered(steps)))).status == "proved"


def test_rows_of_two_experts_in_one_wave_are_refuted() -> None:
    text = lower(load_task("moe").source, "expert-blocks", {"tiles": 8, "waves": 4})
    assert check(scheduled(read(text))).status == "refuted"


def test_the_ring_brings_its_prerequisites() -> None:
    base = load()
    made = realise(load_task("moe").source, Proposal(base["expert-ring"], {}, 1.0, ""), (), base)
    assert [step.split(" ")[0] for step in made.steps][-1] == "expert-ring"
    assert made.source == _lowered(5)


class _Told:
    """Stands in for the judges: every candidate passes, faster the more of the chain it has."""

    def judge(self, sources: list[str], task: Task, *, seed: int) -> list[Judgement]:
        marks = ("WAVES = 4", "LDS_X", "across", "ag.ring")
        return [
            Judgement(
                "pass",
                "time",
                times={"shape": 2000.0 / (1 + sum(mark in source for mark in marks))},
                bottleneck={"bound": "compute", "stalls": {"wait_vmem": 1.0}},
                evidence="stated",
            )
            for source in sources
        ]


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_planner_comes_to_the_ring_soon(seed: int) -> None:
    told: Any = _Told()
    state = optimise(load_task("moe"), Settings(budget=8, seed=seed), told)
    assert "expert-ring" in [candidate.technique for candidate in state.candidates]


def test_a_step_that_reads_behind_its_barrier_needs_it() -> None:
    text = _lowered(6)
    at = text.rindex("                ag.barrier()\n")
    assert check(scheduled(read(text[:at] + text[at:].replace("ag.barrier()", "pass", 1)))).status == "refuted"


def test_late_sums_need_the_ring() -> None:
    for steps in (0, 2, 4, 6):
        with pytest.raises(NotApplicableError):
            lower(_lowered(steps), "late-sums", {})


@pytest.mark.parametrize("name", [name for name, _ in CHAIN if name != "chiplet-rows"])
def test_a_plain_product_has_no_place_for_them(name: str) -> None:
    with pytest.raises(NotApplicableError):
        lower(load_task("gemm").source, name, dict(CHAIN)[name])


def _computed(text: str, sizes: dict[str, int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What a kernel computes, what float64 says, and how large the numbers are that are summed."""
    task = load_task("moe")
    kernel = read(text)
    dice = np.random.default_rng(7)
    experts, inter, depth = sizes["E"], sizes["I"], sizes["K"]
    x = blocks(dice.standard_normal((sizes["T"], depth)), 1)
    w = blocks(dice.standard_normal((experts, 2 * inter, depth)) / np.sqrt(depth), 128)
    assert task.routing is not None
    shapes = {"token": (sizes["R"],), "expert": (sizes["P"],)}
    routed = draw(task.routing, sizes, shapes, "uniform", 1)
    stored = w.values.reshape(experts, 2, inter // 32, 32, depth // 16, 16).transpose(0, 1, 2, 4, 3, 5)
    out = np.zeros((sizes["R"], inter), ml_dtypes.bfloat16)
    arrays = {
        "X": x.values,
        "sx": x.scales,
        "token": routed["token"],
        "expert": routed["expert"],
        "W": np.ascontiguousarray(stored),
        "sw": w.scales.reshape(experts, 2, inter // 128, depth // 128),
        "H": out,
    }
    loaded = machine.load(compile_cached(scheduled(kernel)).object).kernel(kernel.name)
    arguments = [arrays[t.name] for t in kernel.tensors]
    loaded(launch_grid(kernel, sizes), kernel.threads, *arguments, *scalar_values(kernel, sizes, {}), executor="jit")
    rows = np.vstack([x.meaning, np.zeros((1, depth))])[routed["token"]]
    both = np.einsum("rk,rnk->rn", rows, w.meaning[np.repeat(routed["expert"], 128)], optimize=True)
    want = activated(both[:, :inter], both[:, inter:])
    return arrays["H"].astype(np.float64), want, np.abs(both).max(axis=1, keepdims=True)


SIZES = {"T": 100, "K": 512, "Kb": 4, "R": 384, "P": 3, "E": 2, "I": 128, "Ib": 1, "It": 4, "Kc": 32}


@pytest.mark.parametrize("steps", [1, pytest.param(5, marks=pytest.mark.full), pytest.param(6, marks=pytest.mark.full)])
def test_lowered_kernels_compute_it(steps: int) -> None:
    got, want, size = _computed(_lowered(steps), SIZES)
    assert np.abs(want).max() > 0.5
    assert (np.abs(got - want) <= 2.0**-8 * np.abs(want) + 1e-5 * (1 + size) ** 2).all()
