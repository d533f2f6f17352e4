"""Triton's kernels on the JIT: right by NumPy, equal to the interpreter bit for bit, the same execution record.

The gfx942 code comes from Triton itself (no GPU needed): masked and unmasked streams, exec masks, DPP reductions, LDS
with barriers, matrix instructions of both shapes, division sequences, atomics.
"""

from __future__ import annotations

import numpy as np
import pytest
from jit_triton_kernels import (
    Launch,
    atomic_sum,
    attention,
    from_bf16,
    gemm,
    histogram,
    softmax,
    vector_add,
)

from argus.machine import load
from argus.machine.launch import LaunchResult
from argus.machine.record import ExecutionRecord

CASES = {
    "vadd": lambda: vector_add(3000),
    "vadd unaligned": lambda: vector_add(2999, aligned=False),
    "softmax": lambda: softmax(3, 1000),
    "gemm 16x16": lambda: gemm(64, 64, 64, tile=64),
    "gemm 32x32": lambda: gemm(64, 64, 64, tile=64, instruction=32),
    "attention": lambda: attention(128),
    "histogram": lambda: histogram(1000),
    "atomic sum": lambda: atomic_sum(700),
}


def run(launch: Launch, executor: str, **settings: object) -> tuple[np.ndarray, LaunchResult]:
    kernel = load(launch.code).kernel()
    result = kernel(launch.grid, launch.block, *launch.args, lds=launch.lds, executor=executor, **settings)
    return launch.args[launch.output], result


@pytest.mark.parametrize("name", CASES)
def test_result_and_record(name: str) -> None:
    make = CASES[name]
    expected = make().expected
    mine, result = run(make(), "jit")
    traced, traced_result = run(make(), "jit", record=True)
    theirs, reference = run(make(), "checking", record=True)
    number = from_bf16(mine) if mine.dtype == np.uint16 else mine
    tolerance = 1e-2 if mine.dtype == np.uint16 else 1e-5
    assert np.abs(number - expected).max() <= tolerance * np.abs(expected).max()
    assert np.array_equal(mine.view(np.uint8), theirs.view(np.uint8)) or name == "atomic sum"
    assert np.array_equal(traced.view(np.uint8), theirs.view(np.uint8)) or name == "atomic sum"
    assert result.instructions == traced_result.instructions == reference.instructions
    assert result.record is None
    assert traced_result.record is not None
    assert reference.record is not None
    assert_same_record(traced_result.record, reference.record)


def assert_same_record(mine: ExecutionRecord, theirs: ExecutionRecord) -> None:
    assert mine.waves.keys() == theirs.waves.keys()
    for key, wave in theirs.waves.items():
        for field in ("pc", "exec", "addr", "addr_index", "bytes", "space", "barriers"):
            a, b = getattr(mine.waves[key], field), getattr(wave, field)
            assert a.dtype == b.dtype, (key, field)
            assert np.array_equal(a, b), (key, field)


def test_chosen_workgroups_only() -> None:
    launch = vector_add(4096)
    out, result = run(launch, "jit", workgroups=[2, (1, 0, 0)], record=True)
    assert np.array_equal(out[1024:3072], launch.expected[1024:3072])
    assert not out[:1024].any()
    assert not out[3072:].any()
    assert result.workgroups == 2
    assert result.record is not None
    assert {group for group, _ in result.record.waves} == {1, 2}


def test_threads_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    outputs = []
    for threads in ("1", "3"):
        monkeypatch.setenv("ARGUS_THREADS", threads)
        outputs.append(run(gemm(256, 256, 64, tile=64), "jit")[0])
    assert np.array_equal(outputs[0], outputs[1])


def test_progress_reaches_the_end() -> None:
    seen: list[tuple[int, int]] = []
    run(vector_add(1 << 16), "jit", progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (64, 64)
