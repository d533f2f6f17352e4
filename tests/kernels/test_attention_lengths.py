"""Attention of sequences of different lengths, packed one behind the other, against float64 sequence by sequence."""

from __future__ import annotations

from functools import cache
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from argus import machine
from argus.compile import Compiled, compile_kernel
from argus.device.guards import launch_grid
from argus.ir.kernel import Kernel
from argus.ir.passes.schedule import scheduled
from argus.lang import read
from argus.ops.attention import attention_lengths, checked_starts, numbers_of
from argus.ops.choice import NoKernel
from tests.kernels.test_attention import KERNEL, Problem


@cache
def made(d: int, causal: bool) -> tuple[Kernel, Compiled]:
    kernel = read(
        str(KERNEL), settings={"D": d, "BC": 32 if d == 128 else 64, "causal": causal}, kernel="attention_lengths"
    )
    return kernel, compile_kernel(scheduled(kernel))


def packed(parts: list[np.ndarray], d: int, heads: int) -> np.ndarray:
    """[heads, S, D] of each sequence as [tokens, heads, D]."""
    return np.ascontiguousarray(
        np.concatenate([np.zeros((0, heads, d), parts[0].dtype), *(p.swapaxes(0, 1) for p in parts)])
    )


def run(problems: list[Problem], checked: bool = False, d: int = 128, spoil: bool = False) -> None:
    """One launch of all sequences; each is judged by itself."""
    causal = problems[0].causal
    kernel, compiled = made(d, causal)
    heads, shared = problems[0].q.shape[1], problems[0].q.shape[0]
    q = packed([p.q.reshape(-1, *p.q.shape[2:]) for p in problems], d, heads * shared)
    k, v = (packed([getattr(p, name) for p in problems], d, shared) for name in "kv")
    starts = [np.cumsum([0, *(getattr(p, name).shape[-2] for p in problems)]).astype(np.int32) for name in "qk"]
    if spoil:
        k[starts[1][1] : starts[1][2]] = np.nan
        v[starts[1][1] : starts[1][2]] = np.nan
    numbers = numbers_of(starts[0], starts[1], causal)
    out, lse = np.full(q.shape, 7, ml_dtypes.bfloat16), np.full((q.shape[1], q.shape[0]), 7, np.float32)
    tiles = len(numbers["Tiles"])
    sizes = {"Tq": len(q), "HK": shared, "G": heads, "Tk": len(k), "B": len(problems), "W": tiles, "W1": tiles + 1}
    result = machine.load(compiled.object).kernel(kernel.name)(
        launch_grid(kernel, sizes), (kernel.threads,), q, k, v, out, lse, *numbers.values(),
        np.float32(problems[0].scale), *(np.int32(sizes[s.name]) for s in kernel.shapes),
        executor="checking" if checked else "jit", options=machine.Options(checks="all" if checked else ()),
    )  # fmt: skip
    assert not result.reports, result.reports[0]
    for n, problem in enumerate(problems):
        rows = slice(starts[0][n], starts[0][n + 1])
        shape = problem.q.shape
        o = out[rows].astype(np.float64).swapaxes(0, 1).reshape(shape)
        if spoil and n == 1:
            assert np.isnan(o).all()
            continue
        problem.judge(o, lse[:, rows].astype(np.float64).reshape(shape[:-1]))


def sequences(
    lengths: list[tuple[int, int]], causal: bool, d: int = 128, heads: int = 2, shared: int = 1
) -> list[Problem]:
    return [Problem.random(shared, heads, sq, sk, d, causal) for sq, sk in lengths]


def test_checked_by_the_interpreter() -> None:
    run(sequences([(70, 70), (1, 33), (300, 90)], True, heads=1), checked=True)


@pytest.mark.parametrize("causal", [False, True])
def test_twenty_random_lengths(causal: bool) -> None:
    """Lengths drawn at random; a prefill, single tokens, more keys than queries and the reverse, no keys at all."""
    dice = np.random.default_rng(7)
    lengths = [(int(dice.integers(1, 700)), int(dice.integers(1, 700))) for _ in range(16)]
    run(sequences([*lengths, (1, 700), (257, 256), (64, 1), (128, 128)], causal))


def test_shared_key_heads_and_head_dimension_64() -> None:
    run(sequences([(40, 300), (500, 500), (3, 2)], True, d=64, heads=2, shared=3), d=64)


def test_nothing_of_the_next_sequence_is_read_as_data() -> None:
    run(sequences([(70, 90), (50, 60), (33, 33)], True), spoil=True)


@pytest.mark.parametrize(
    ("starts", "words"),
    [
        ([0, 5, 3, 4], "never falls"),
        ([0, 5, 3], "ends with the 4 tokens"),
        ([1, 4], "begins with 0"),
        ([0], "begins with 0"),
        ([[0, 4]], "begins with 0"),
        ([0, 1.9, 4], "whole numbers, not float64"),
        ([0, 2**32 + 4], "ends with the 4 tokens"),
        ([0, 2**32 + 2, 4], "never falls"),
        (np.array([0, 3, 1, 4], np.uint64), "never falls"),
        ([False, True, True], "whole numbers, not bool"),
    ],
)
def test_starts_that_are_none_are_refused(starts: Any, words: str) -> None:
    with pytest.raises(NoKernel, match=words):
        checked_starts("starts_q", starts, 4)


@pytest.mark.parametrize("dtype", [np.int64, np.uint8, np.uint64])
def test_starts_of_any_whole_type_are_taken(dtype: Any) -> None:
    made = checked_starts("starts_q", np.array([0, 1, 1, 4], dtype), 4)
    assert made.dtype == np.int32
    assert made.tolist() == [0, 1, 1, 4]


def test_tiles_start_with_the_longest() -> None:
    starts: Any = np.array([0, 300, 300, 1000], np.int32)
    numbers = numbers_of(starts, starts, True)
    assert numbers["Row"].tolist() == [0, 256, 300, 556, 812, 1000]
    assert numbers["Tiles"].tolist() == [[4, 2], [3, 2], [1, 0], [0, 0], [2, 2]]
    assert numbers["Place"][numbers["Tiles"][:, 0]].tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("causal", [False, True])
def test_what_the_kernel_states_of_its_data_is_so(causal: bool) -> None:
    """The obligations of a launch, for random sequences: every statement of the kernel, row by row."""
    dice = np.random.default_rng(11)
    for _ in range(50):
        lengths = dice.integers(0, 700, (2, int(dice.integers(1, 9))))
        first_q, first_k = (np.cumsum([0, *row]).astype(np.int32) for row in lengths)
        n = numbers_of(first_q, first_k, causal)
        rows = np.diff(n["Row"])
        assert (n["Row"][0], n["Row"][-1]) == (0, first_q[-1])
        assert bool(((rows >= 0) & (rows <= 256)).all())
        assert (n["Place"][n["Tiles"][:, 0]] == np.arange(len(rows))).all()
        for tile, b in n["Tiles"]:
            low, high = n["Row"][tile], n["Row"][tile + 1]
            assert 0 <= n["StartK"][b] <= n["EndK"][b] <= first_k[-1]
            assert high <= n["EndQ"][b] <= first_q[-1]
            assert (n["Seq"][low:high] == b).all()


def test_launched_by_the_library() -> None:
    """`ops.attention_lengths` proves the kernel and launches it."""
    problems = sequences([(40, 50), (0, 7), (300, 20)], True, d=64, heads=2, shared=2)
    q = packed([p.q.reshape(4, -1, 64) for p in problems if p.q.size], 64, 4)
    k, v = (packed([getattr(p, name) for p in problems], 64, 2) for name in "kv")
    out, lse = attention_lengths(q, k, v, [0, 40, 40, 340], [0, 50, 57, 77], causal=True, device="jit")
    for n, rows in ((0, slice(0, 40)), (2, slice(40, 340))):
        shape = problems[n].q.shape
        o = out[rows].astype(np.float64).swapaxes(0, 1).reshape(shape)
        problems[n].judge(o, lse[:, rows].astype(np.float64).reshape(shape[:-1]))
