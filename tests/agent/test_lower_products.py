"""Further transformations of products: split k, rings, opposite phases, direct copies, ragged sizes, walks.

Each is proved by the checker on the program as it is scheduled, and executed beside numpy in float64.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from argus.agent.lower import NotApplicableError, lower
from argus.tasks.task import load_task
from tests.agent.executed import Step, lowered, multiplies, refuted, simulated, status

SMALL = {"tiles_row": 1, "tiles_col": 1, "waves_row": 2, "waves_col": 2, "tiles_k": 4}
BLOCKED: tuple[Step, ...] = (("register-blocking", dict(SMALL)), ("wide-fragments", {}), ("vector-stores", {}))
STAGED: tuple[Step, ...] = (*BLOCKED, ("lds-staging", {"barriers": "both"}))
SWIZZLED: tuple[Step, ...] = (*STAGED, ("lds-swizzle", {"kind": "cross", "amount": 2}))
ROWS_OF_64: tuple[Step, ...] = (*STAGED[1:], ("lds-swizzle", {"kind": "cross", "amount": 3}))
DEEP: tuple[Step, ...] = (("register-blocking", {**SMALL, "tiles_row": 2, "tiles_k": 8}), *ROWS_OF_64)
FILLING: tuple[Step, ...] = (
    *DEEP,
    ("range-guards", {"axes": "grid"}),
    ("chip-filling-tiles", {"rows": 96, "cols": 64}),
)
AHEAD: tuple[Step, ...] = (*FILLING, ("fragment-prefetch", {"depth": "fragments"}))


@pytest.mark.parametrize(
    ("steps", "sizes"),
    [
        ((*BLOCKED, ("split-k", {"parts": 2})), (64, 64, 128)),
        ((*BLOCKED, ("split-k", {"parts": 2}), ("lds-staging", {"barriers": "both"})), (64, 64, 128)),
        ((*SWIZZLED, ("lds-ring", {"slots": 2})), (64, 64, 160)),
        ((*SWIZZLED, ("lds-ring", {"slots": 3})), (64, 64, 128)),
        ((*SWIZZLED, ("wave-groups", {})), (64, 64, 128)),
        ((*STAGED, ("direct-to-lds", {"slots": 1})), (64, 64, 96)),
        ((*STAGED, ("direct-to-lds", {"slots": 2})), (64, 64, 96)),
        ((*STAGED, ("range-guards", {"axes": "grid"})), (67, 72, 64)),
        ((*STAGED, ("range-guards", {"axes": "all"})), (65, 68, 72)),
        ((*STAGED, ("software-pipelining", {"depth": "fetch"}), ("range-guards", {"axes": "grid"})), (67, 72, 64)),
        ((*STAGED, ("persistent-groups", {"turns": 2})), (64, 128, 64)),
        ((*BLOCKED, ("loop-unrolling", {"turns": 2})), (64, 64, 128)),
        ((*STAGED, ("stagger-k", {"stride": 2})), (128, 64, 96)),
        ((*STAGED, ("stagger-k", {"stride": 1}), ("persistent-groups", {"turns": 2})), (64, 128, 64)),
        ((("register-blocking", {**SMALL, "tiles_row": 2}), ("split-k", {"parts": 2})), (128, 64, 64)),
        (FILLING, (100, 68, 128)),
        ((*AHEAD, ("just-in-time-fragments", {"read": 3, "write": 4})), (100, 68, 192)),
        (
            (
                *DEEP,
                ("fragment-prefetch", {"depth": "fragments"}),
                ("instruction-scheduling", {"mfma": 2}),
                ("just-in-time-fragments", {"read": 2, "write": 3}),
            ),
            (128, 64, 192),
        ),
    ],
    ids=lambda value: " ".join(name for name, _ in value[1:]) if isinstance(value[0], tuple) else str(value),
)
def test_it_is_proved_and_multiplies(steps: tuple[Step, ...], sizes: tuple[int, int, int]) -> None:
    text = lowered("gemm", *steps)
    assert status(text) == "proved"
    assert multiplies(text, *sizes)


def test_the_parts_of_a_long_k_gain_where_blocks_are_few() -> None:
    sizes = {"M": 64, "N": 64, "K": 4096}
    whole = lowered("gemm", *BLOCKED)
    parts = lower(whole, "split-k", {"parts": 4})
    assert simulated(parts, sizes) < 0.7 * simulated(whole, sizes)


def test_a_tile_of_which_there_are_304_is_faster_with_fragments_just_in_time() -> None:
    sizes = {"M": 4096, "N": 4096, "K": 1024}
    large = (("register-blocking", {**SMALL, "tiles_row": 4, "tiles_col": 4, "tiles_k": 8}), *ROWS_OF_64)
    ragged = (*large, ("range-guards", {"axes": "grid"}), ("chip-filling-tiles", {"rows": 256, "cols": 224}))
    ahead = lowered("gemm", *ragged, ("fragment-prefetch", {"depth": "fragments"}))
    in_time = lower(ahead, "just-in-time-fragments", {"read": 3, "write": 4})
    assert simulated(in_time, sizes) < 0.95 * simulated(lower(ahead, "instruction-scheduling", {"mfma": 4}), sizes)
    square = lowered(
        "gemm", *large, ("fragment-prefetch", {"depth": "fragments"}), ("instruction-scheduling", {"mfma": 2})
    )
    assert simulated(in_time, sizes) < simulated(square, sizes)


def test_a_piece_that_reads_after_the_barrier_is_refuted() -> None:
    text = lowered("gemm", *AHEAD, ("just-in-time-fragments", {"read": 3, "write": 4}))
    at = text.index("ag.barrier()", text.index("has been read"))
    assert refuted(text[:at] + "pass" + text[at + len("ag.barrier()") :]) & {"race_free", "fresh"}


def test_sums_that_meet_without_a_barrier_are_refuted() -> None:
    text = lowered("gemm", *BLOCKED, ("split-k", {"parts": 2}))
    at = text.index("ag.barrier()", text.index("sums.store"))
    assert refuted(text[:at] + "pass" + text[at + len("ag.barrier()") :]) >= {"race_free"}


def test_every_part_storing_the_result_is_not_proved() -> None:
    text = lowered("gemm", *BLOCKED, ("split-k", {"parts": 2}))
    assert status(text.replace(", guard=wk == 0", "")) != "proved"


def test_a_wrapped_loop_that_ends_a_step_late_is_refuted() -> None:
    text = lowered("gemm", *STAGED, ("stagger-k", {"stride": 1}))
    assert "reduced" in refuted(text.replace("ag.range(begin):", "ag.range(begin + 1):"))


def test_a_ring_with_a_slot_too_few_is_refuted() -> None:
    text = lowered("gemm", *SWIZZLED, ("lds-ring", {"slots": 2}))
    assert "race_free" in refuted(text.replace("ag.ring(2", "ag.ring(1"))


def test_halves_without_the_second_barrier_are_refuted() -> None:
    text = lowered("gemm", *SWIZZLED, ("wave-groups", {}))
    at = text.rindex("ag.barrier()")
    assert refuted(text[:at] + "pass" + text[at + len("ag.barrier()") :])


def test_a_copy_that_is_not_waited_for_is_refuted() -> None:
    text = lowered("gemm", *STAGED, ("direct-to-lds", {"slots": 1}))
    assert refuted(text.replace("ag.wait(vm=0)", "pass")) & {"race_free", "fresh"}


def test_a_ragged_row_without_a_guard_is_not_proved() -> None:
    text = lowered("gemm", *STAGED, ("range-guards", {"axes": "grid"}))
    assert status(text.replace(', guard="shape"', "")) != "proved"


def test_other_tasks_have_their_own_names_and_conditions() -> None:
    linear = str(Path(__file__).parents[2] / "examples" / "agent" / "tasks" / "linear.py")
    text = lowered(load_task(linear).source, ("register-blocking", dict(SMALL)), ("split-k", {"parts": 2}))
    assert status(text) == "proved"
    assert "K // 128" in lowered("fp8", ("range-guards", {"axes": "all"}))
    for task in ("fp8", "attention"):
        with pytest.raises(NotApplicableError):
            lowered(task, ("stagger-k", {"stride": 1}))


@pytest.mark.parametrize(
    ("steps", "name", "params"),
    [
        ((), "split-k", {"parts": 2}),
        (STAGED, "split-k", {"parts": 2}),
        (BLOCKED, "lds-ring", {"slots": 2}),
        ((*SWIZZLED, ("lds-ring", {"slots": 2})), "lds-ring", {"slots": 2}),
        (SWIZZLED, "just-in-time-fragments", {"read": 3, "write": 4}),
        (BLOCKED, "chip-filling-tiles", {"rows": 208, "cols": 224}),
        ((), "chip-filling-tiles", {"rows": 256, "cols": 224}),
        (BLOCKED, "wave-groups", {}),
        (BLOCKED, "direct-to-lds", {"slots": 1}),
        ((*STAGED, ("persistent-groups", {"turns": 2})), "persistent-groups", {"turns": 2}),
        ((*STAGED, ("software-pipelining", {"depth": "fetch"})), "stagger-k", {"stride": 1}),
        ((("grouped-order", {"order": "ag.grouped(8)"}),), "persistent-groups", {"turns": 2}),
    ],
)
def test_no_place_is_said(steps: tuple[Step, ...], name: str, params: dict[str, object]) -> None:
    with pytest.raises(NotApplicableError):
        lowered("gemm", *steps, (name, params))
