"""`argus clock explain`'s laws on real kernels: parts sum to the time, what-ifs come true, counters count."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from argus.cli.parser import build_parser
from argus.cli.time import given
from argus.clock import Launch, Parameters, Recorded, Timing
from argus.clock.explain import Explanation, explain
from argus.clock.sampled import matrix_element, prepared, sample, time_prepared

KERNELS = Path(__file__).parents[2] / "argus" / "kernels"
GEMM = KERNELS / "gemm.py"
SMALL = ("--shape", "M=256,N=256,K=512")
LONG = ("--shape", "M=1024,N=1024,K=2048")
STREAM = ("--kernel", "binary", "--shape", "N=67108864")


@cache
def explained(file: str, *words: str) -> Explanation:
    args: argparse.Namespace = build_parser().parse_args(["time", file, *words])
    timed = given(args)
    seen = sample(timed.work)

    def timer(recorded: Recorded, parameters: Parameters, **options: Any) -> tuple[Timing, Launch]:
        return time_prepared(timed.work, recorded, matrix_element(seen), parameters=parameters, **options)

    return explain(prepared(seen), timer, title=timed.title, places=timed.places)


@pytest.mark.parametrize(
    ("file", "words"),
    [
        (GEMM, SMALL),
        (GEMM, LONG),
        (KERNELS / "elementwise.py", STREAM),
        (KERNELS / "softmax.py", ("--kernel", "softmax")),
    ],
    ids=["gemm", "gemm folded", "stream", "softmax"],
)
def test_the_parts_sum_to_the_whole(file: Path, words: tuple[str, ...]) -> None:
    found = explained(str(file), *words)
    assert sum(part.microseconds for part in found.parts) == pytest.approx(found.microseconds, rel=1e-9)
    assert min(part.microseconds for part in found.parts) >= -1e-9 * found.microseconds
    assert sum(found.stack.causes.values()) == pytest.approx(found.stack.total, rel=1e-9)
    assert found.stack.total == found.timing.waves * found.timing.cycles
    lines = found.stack.by_place(found.places, found.ops)
    inside = sum(sum(causes.values()) for causes in lines.values())
    assert inside + sum(found.timing.idle.values()) == pytest.approx(found.stack.total, rel=1e-9)


def test_a_folded_loop_is_folded() -> None:
    """The law above also holds where iterations were left out, so one of its cases must be such a case."""
    assert explained(str(GEMM), *LONG).timing.iterations is not None
    assert explained(str(GEMM), *SMALL).timing.iterations is None


def test_a_stream_is_memory_bound() -> None:
    found = explained(str(KERNELS / "elementwise.py"), *STREAM)
    assert found.bound[0] == "memory-bound"
    memory = sum(part.microseconds for part in found.parts if part.group == "memory")
    assert memory > 0.6 * found.microseconds
    price = {price.name: price for price in found.prices}
    assert price["memory bandwidth limit"].saved > 0.1
    assert price["VALU instructions"].saved < 0.02
    served = {wait.served_by for wait in found.stack.waits if wait.wave_clocks > 0.01 * found.stack.total}
    assert served == {"hbm"}


@pytest.fixture
def without_swizzle(tmp_path: Path) -> Path:
    path = tmp_path / "gemm.py"
    path.write_text(re.sub(r"\.xor\([^)]*\)", "", GEMM.read_text(encoding="utf-8")), encoding="utf-8")
    return path


def test_bank_conflicts_show_on_the_lines_that_make_them(without_swizzle: Path) -> None:
    """Without the swizzle the column-wise fragment loads conflict: both lines count clocks, the later is waited for."""
    source = without_swizzle.read_text(encoding="utf-8").splitlines()
    found = explained(str(without_swizzle), *SMALL, "--force")
    blamed = {found.place(wait.source) for wait in found.stack.waits if wait.cause == "lds_bank_conflict"}
    texts = {source[int(place.split(":")[1]) - 1].strip() for place in blamed}
    assert any("sB.load(" in text for text in texts)
    assert all(text.startswith(("a = [sA.load(", "b = [sB.load(", "sA.store(", "sB.store(")) for text in texts)
    counted = {found.place(index) for index, clocks in found.conflicts.items() if clocks}
    assert {source[int(place.split(":")[1]) - 1].split(".")[0].strip() for place in counted} >= {"a = [sA", "b = [sB"}
    assert sum(found.conflicts.values()) == found.timing.bank_conflict_clocks > 0
    assert found.stack.causes["lds_bank_conflict"] > 0.1 * found.stack.total


def _without_conflicts(found: Explanation) -> float:
    return next(price for price in found.prices if price.name == "bank conflicts").microseconds


def test_the_price_of_bank_conflicts_comes_true(without_swizzle: Path) -> None:
    """What-if said: without conflicts this long. The swizzled kernel has none, and takes about that long."""
    with_conflicts = explained(str(without_swizzle), *SMALL, "--force")
    swizzled = explained(str(GEMM), *SMALL)
    assert swizzled.timing.bank_conflict_clocks == 0
    assert _without_conflicts(with_conflicts) < 0.9 * with_conflicts.microseconds
    assert _without_conflicts(with_conflicts) == pytest.approx(swizzled.microseconds, rel=0.1)


def test_the_price_of_the_launch_floor_is_the_protocols() -> None:
    found = explained(str(GEMM), *SMALL)
    price = next(price for price in found.prices if price.name == "launch floor")
    floor = next(part for part in found.parts if part.cause == "launch_floor")
    assert found.microseconds - price.microseconds == pytest.approx(floor.microseconds)
    assert floor.microseconds == pytest.approx(found.launch.microseconds - found.launch.cycles / found.launch.clock_mhz)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SQ_WAVES", lambda m, n, k: (m // 128) * (n // 128) * 4),
        ("SQ_INSTS_MFMA", lambda m, n, k: m * n * k // (32 * 32 * 8)),
        ("SQ_INSTS_VALU_MFMA_MOPS_BF16", lambda m, n, k: 2 * m * n * k // 512),
        ("SQ_VALU_MFMA_BUSY_CYCLES", lambda m, n, k: m * n * k // (32 * 32 * 8) * 32),
        ("SQ_INSTS_VMEM_RD", lambda m, n, k: (m // 128) * (n // 128) * 2 * 128 * k * 2 // (64 * 16)),
        ("SQ_INSTS_VMEM_WR", lambda m, n, k: m * n * 2 // (64 * 8)),
        ("SQ_LDS_BANK_CONFLICT", lambda m, n, k: 0),
    ],
)
@pytest.mark.parametrize(("shape", "sizes"), [(SMALL, (256, 256, 512)), (LONG, (1024, 1024, 2048))])
def test_counters_are_the_arithmetic_of_the_kernel(
    name: str, value: Callable[[int, int, int], int], shape: tuple[str, ...], sizes: tuple[int, int, int]
) -> None:
    """Counted by hand from the tile sizes of gemm.py: 128 x 128 x 64, four waves, 16-byte loads, 8-byte stores."""
    found = {counter.name: counter for counter in explained(str(GEMM), *shape).counters}
    assert found[name].value == value(*sizes)
    assert found[name].match == "same"


def test_wave_cycles_divide_into_waiting_and_working() -> None:
    """AMD's identity: waves' cycles are those waiting for data, those waiting for issue, and those active."""
    found = explained(str(GEMM), *SMALL)
    counter = {counter.name: counter.value for counter in found.counters}
    parts = counter["SQ_WAIT_ANY"] + counter["SQ_WAIT_INST_ANY"] + counter["SQ_ACTIVE_INST_ANY"]
    assert parts == pytest.approx(counter["SQ_WAVE_CYCLES"], rel=0.1)
    assert parts <= counter["SQ_WAVE_CYCLES"]
