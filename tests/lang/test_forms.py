"""Strided tensors, bit casts between widths, f32 maxima in memory, policies: from kernel text to the machine."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from argus import machine
from argus.check import check
from argus.compile import compile_kernel
from argus.device.guards import LaunchRefused
from argus.device.simulated import CheckingDevice
from argus.ir.interp import run
from argus.ir.kernel import Kernel
from argus.ir.passes.schedule import scheduled
from argus.lang import ProgramError, read
from argus.tasks.inputs import make_arrays

Array = np.ndarray[Any, Any]

STRIDED = """
import argus as ag
from argus import f32
PART = ag.Owner(t=256, r=4, m="r*8 + t//32", n="t%32")

@ag.kernel(threads=256, requires="M % 32 == 0 and N % 32 == 0", computes="Y[m, n] = X[m, n] * 2")
def strided(X: ag.In["M N", f32, "{x}"], Y: ag.{kind}["M N", f32, "{y}"]):
    bm, bn = ag.grid(M // 32, N // 32)
    Y[32 * bm, 32 * bn].store(X[32 * bm, 32 * bn].load(PART, width=4) * 2.0, width=4)
"""


def strided(x: str, y: str, kind: str = "Out") -> Kernel:
    return read(STRIDED.format(x=x, y=y, kind=kind))


@pytest.mark.parametrize(
    ("x", "y", "sizes"),
    [
        ("sX 1", "1 sY", {"sX": 100, "sY": 70}),
        ("1 M", "sY 1", {"sY": 96}),
        ("2 sX", "N 1", {"sX": 200}),
        ("1 1", "sY 1", {"sY": 97}),
    ],
)
def test_strided_tensors(x: str, y: str, sizes: dict[str, int]) -> None:
    kernel = strided(x, y)
    launch = {"M": 64, "N": 96, **sizes}
    arrays = make_arrays(kernel, launch, 1)
    device = CheckingDevice().launch(kernel, compile_kernel(scheduled(kernel)).object, launch, arrays)
    assert not device.reports
    given: Array = np.asarray(arrays["X"], np.float32)
    np.testing.assert_array_equal(arrays["Y"], given * 2)
    np.testing.assert_array_equal(run(kernel, {"X": given}, launch).arrays["Y"], given * 2)


def test_strided_tensors_are_proved() -> None:
    assert {v.status for v in check(scheduled(strided("sX 1", "1 sY"))).verdicts} == {"proved"}


def test_an_output_that_may_overlap_itself_has_a_condition() -> None:
    assert [str(c) for c in strided("sX 1", "1 sY").requires][-1] == "M <= sY"
    assert len(strided("sX 1", "N 1").requires) == 2
    with pytest.raises(ProgramError, match="AG215"):
        read(STRIDED.format(x="sX 1", y="16 1", kind="Out").replace("M N", "M=64 N=32").replace("M % 32 == 0 and", ""))


def test_launches_check_strides() -> None:
    kernel = strided("sX 1", "N 1")
    launch = {"M": 32, "N": 32, "sX": 40}
    arrays = dict(make_arrays(kernel, launch, 1))
    arrays["X"] = np.zeros((32, 32), np.float32)
    with pytest.raises(LaunchRefused, match="strided by"):
        CheckingDevice().launch(kernel, compile_kernel(scheduled(kernel)).object, launch, arrays)
    arrays = dict(make_arrays(kernel, launch, 1))
    arrays["Y"] = np.zeros((32, 64), np.float32)[:, ::2]
    with pytest.raises(LaunchRefused, match="row-major"):
        CheckingDevice().launch(kernel, compile_kernel(scheduled(kernel)).object, launch, arrays)


BITS = """
import argus as ag
from argus import bf16, f32, i32, u8
PART = ag.Owner(lane=64, e=8, i="lane*8 + e")
WORDS = ag.Owner(lane=64, e=4, i="lane*4 + e")
BYTES = ag.Owner(lane=64, e=16, i="lane*16 + e")

@ag.kernel(threads=64)
def bits(x: ag.In["N=512", bf16], y: ag.Out["N=512", bf16], w: ag.Out["P=256", i32], b: ag.Out["Q=1024", u8]):
    ag.grid(1)
    packed = x.load(PART, width=16).bitcast(i32)
    w.store(packed.held_as(WORDS), width=16)
    y.store((packed ^ -2147450880).bitcast(bf16).held_as(PART), width=16)
    b.store(packed.bitcast(u8).held_as(BYTES), width=16)
"""


def test_bit_casts_between_widths() -> None:
    kernel = read(BITS)
    x = np.random.default_rng(3).standard_normal(512).astype(ml_dtypes.bfloat16)
    made: dict[str, Array] = {
        "y": np.zeros(512, ml_dtypes.bfloat16), "w": np.zeros(256, np.int32), "b": np.zeros(1024, np.uint8)
    }  # fmt: skip
    code = compile_kernel(scheduled(kernel)).object
    result = machine.load(code).kernel("bits")((1, 1, 1), (64, 1, 1), x, *made.values())
    assert not result.reports
    expected = run(kernel, {"x": x}, {}).arrays
    for name, whole in (("y", x.view(np.uint16) ^ 0x8000), ("w", x.view(np.int32)), ("b", x.view(np.uint8))):
        np.testing.assert_array_equal(made[name].view(whole.dtype), whole)
        np.testing.assert_array_equal(expected[name].view(whole.dtype), whole)


EXTREME = """
import argus as ag
from argus import f32
ONE = ag.Owner(t=256, i="t")

@ag.kernel(threads=256)
def extreme(x: ag.In["N=256", f32], m: ag.InOut["P=8", f32]):
    ag.grid(1)
    m[ag.thread() % 8].atomic_{fn}(x.load(ONE, width=4).without(), guard=ag.thread() < 250)
"""


@pytest.mark.parametrize("fn", ["max", "min"])
def test_f32_extremes_in_memory(fn: str) -> None:
    rng = np.random.default_rng(5)
    x = rng.standard_normal(256).astype(np.float32)
    x[:6] = [np.inf, -np.inf, np.nan, -np.nan, 1e-40, -1e-40]
    x[6::8] = -np.abs(x[6::8])
    start = np.array([0, -1, 1, -5, 5, -0.5, -100, 100], np.float32)
    wanted = start.copy()
    pick = np.fmax if fn == "max" else np.fmin
    for t in range(250):
        wanted[t % 8] = pick(wanted[t % 8], x[t])
    kernel = read(EXTREME.format(fn=fn))
    found = start.copy()
    result = machine.load(compile_kernel(scheduled(kernel)).object).kernel("extreme")((1, 1, 1), (256, 1, 1), x, found)
    assert not result.reports
    np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(run(kernel, {"x": x, "m": start}, {}).arrays["m"], wanted)


POLICY = """
import argus as ag
from argus import bf16, f32
from argus.gfx942 import mfma_32x32x8_bf16 as MMA

@ag.kernel(threads=64, policy=dict({policy}))
def product(A: ag.In["M=32 K", bf16], B: ag.In["N=32 K", bf16], C: ag.Out["M=32 N=32", f32]):
    ag.grid(1)
    acc = ag.zeros(MMA.acc(row="m", col="n"), f32)
    for k in ag.range(K // 8):
        a = A[0, 8 * k].load(MMA.operand(row="m", k="k"), width=8)
        acc = ag.mfma(a, B[0, 8 * k].load(MMA.operand(row="n", k="k"), width=8), acc)
    C.store(acc, width=4)
"""


def test_policies_act_on_the_object() -> None:
    plain, many = (compile_kernel(scheduled(read(POLICY.format(policy=p)))).audit for p in ("", "waves_per_simd=8"))
    assert plain.agprs == 0
    assert many.vgprs + many.agprs <= 512 // 8
    moved = compile_kernel(scheduled(read(POLICY.format(policy="agpr=True")))).audit
    assert moved.agprs >= 16
