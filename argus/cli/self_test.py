"""The self-test of `argus doctor` on a GPU: right results, and measured times beside simulated ones.

    self_test(calls, CASES, MeasuringBench(calls))  ->  [{"kernel": "vadd", "right": True, "simulated": {…}, …}, …]

Each case is proved and compiled, launched once on the GPU at small sizes and compared with its specification, then
measured against itself by the judge's protocol (alternating launches, caches flushed, HIP events) and timed by the
clock with the protocol that says the same (`event`, nothing warm). The ratio measured/simulated has the interval of
the model: its low end is the measured time over the model's high one.

It has been run against a stub of the call table only: no GPU was at hand.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from argus.agent.judge.measure import Contender, MeasuringBench, UnbelievableError
from argus.check.rounding.derived_comparison import compare_derived
from argus.clock.sampled import matrix_element, prepared, sample, time_prepared
from argus.clock.uncertainty import interval_of
from argus.device.hip import HipDevice
from argus.device.hip_calls import HipCalls, HipError
from argus.ir.kernel import Kernel
from argus.pipeline import Proved, build, program_of, prove
from argus.spec.compare import combined
from argus.tasks.inputs import make_arrays, make_scalars
from argus.tasks.work import work_of

SEED = 0


class SelfTestCase(NamedTuple):
    """A kernel of the library, sizes to compare at, and sizes to time at."""

    kernel: str
    small: Mapping[str, int]
    timed: Mapping[str, int]


CASES = (
    SelfTestCase("vadd", {"N": 10_000}, {"N": 1 << 26}),
    SelfTestCase("softmax", {"M": 16, "N": 1000}, {"M": 32768, "N": 1024}),
    SelfTestCase("gemm", {"M": 256, "N": 256, "K": 128}, {"M": 4096, "N": 4096, "K": 4096}),
)
"""One that memory bounds, one of rows, one that the matrix units bound."""


def self_test(calls: HipCalls, cases: Sequence[SelfTestCase], bench: MeasuringBench) -> list[dict[str, Any]]:
    """What each case gave; a failure is in its `error`, and the others go on."""
    return [_tested(calls, case, bench) for case in cases]


def _tested(calls: HipCalls, case: SelfTestCase, bench: MeasuringBench) -> dict[str, Any]:
    file = Path(str(files("argus").joinpath("kernels", f"{case.kernel}.py")))
    proof = prove(program_of(file, {}, case.kernel))
    kernel, code = proof.program.kernel, build(proof).object
    simulated = _simulated(kernel, code, case.timed)
    found = {"kernel": kernel.name, "shape": dict(case.timed), "simulated": simulated, "right": False, "error": ""}
    empty = {"measured": None, "ratio": None, "ratio_low": None, "ratio_high": None}
    try:
        found["right"] = _right(HipDevice(calls), proof, code, case.small)
        contender = Contender(
            kernel, code, case.timed, make_arrays(kernel, case.timed, SEED), make_scalars(kernel, SEED)
        )
        took = bench.compare(contender, contender)["candidate"]
    except (HipError, UnbelievableError) as error:
        return {**found, **empty, "error": str(error)}
    measured = {"microseconds": 1e6 * took.median, "p10": 1e6 * took.p10, "p90": 1e6 * took.p90}
    ratios = {
        "ratio": measured["microseconds"] / simulated["microseconds"],
        "ratio_low": measured["microseconds"] / simulated["high"],
        "ratio_high": measured["microseconds"] / simulated["low"],
    }
    return {**found, "measured": measured, **ratios}


def _right(device: HipDevice, proof: Proved, code: bytes, sizes: Mapping[str, int]) -> bool:
    """Whether the GPU computes what the kernel's specification says."""
    kernel, derived = proof.program.kernel, proof.report.rounding
    assert kernel.computes is not None
    scalars = make_scalars(kernel, SEED)
    arrays = make_arrays(kernel, sizes, SEED)
    inputs = {name: array.copy() for name, array in arrays.items()}
    device.launch(kernel, code, sizes, arrays, scalars)
    symbols = {**sizes, **scalars}
    results = [
        compare_derived(None if derived is None else derived.of(s.result), s, inputs, symbols, arrays[s.result])
        for s in kernel.computes.results
    ]
    return combined(results).ok


def _simulated(kernel: Kernel, code: bytes, sizes: Mapping[str, int]) -> dict[str, float]:
    """Microseconds of the clock for a launch alone between two events, nothing in the caches, with its interval."""
    work = work_of(kernel, code, sizes, SEED)
    seen = sample(work, SEED)
    _, launch = time_prepared(work, prepared(seen, SEED), matrix_element(seen), protocol="event")
    limits = interval_of(launch)
    return {"microseconds": launch.sustained.microseconds, "low": limits.low, "high": limits.high}
