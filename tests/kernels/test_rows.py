"""Row kernels against their specifications in float64 with derived bounds, against numpy on hostile rows, proved."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from argus.check import check
from argus.ir.passes.schedule import scheduled
from argus.lang import read
from argus.tasks.inputs import make_arrays, make_scalars
from tests.kernels.running import KERNELS, judged, kernel_of, run

LONG: dict[str, Any] = {"WAVES": 2, "CHUNKS": 1}

CASES: list[tuple[str, str, dict[str, Any], dict[str, int]]] = [
    *((f, f, {}, {"M": 6, "N": 200}) for f in ("softmax", "rmsnorm", "layernorm", "rowreduce")),
    *(
        (f, f, {"CHUNKS": 1, "EXACT": True}, {"M": 3, "N": 512})
        for f in ("softmax", "rmsnorm", "layernorm", "rowreduce")
    ),
    ("softmax", "softmax", {"WAVES": 2, "CHUNKS": 1, "EXACT": True}, {"M": 3, "N": 1024}),
    *((f, f, {"WAVES": 4, "CHUNKS": 1}, {"M": 2, "N": 1000}) for f in ("softmax", "rmsnorm", "layernorm")),
    *((f, f, {"DTYPE": "f32", "WIDTH": 4}, {"M": 5, "N": 333}) for f in ("softmax", "rmsnorm", "layernorm")),
    *(("rowreduce", "rowreduce", {"OP": op, "WIDTH": 2}, {"M": 3, "N": 333}) for op in ("mean", "max")),
    *(("elementwise", "binary", {"OP": op}, {"N": 5000}) for op in ("add", "mul")),
    *(
        ("elementwise", "unary", {"ACT": op, "DTYPE": "f32", "WIDTH": 4}, {"N": 3001})
        for op in ("relu", "silu", "gelu")
    ),
    ("transpose", "transpose", {}, {"M": 96, "N": 200}),
    ("transpose", "transpose", {"DTYPE": "f32", "WIDTH": 4}, {"M": 37, "N": 131}),
]


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(
            case,
            id="-".join([case[1], *map(str, case[2].values())]),
            marks=() if number % 2 == 0 else (pytest.mark.full,),
        )
        for number, case in enumerate(CASES)
    ],
)
def test_against_the_specification(case: tuple[str, str, dict[str, Any], dict[str, int]]) -> None:
    file, name, knobs, sizes = case
    kernel = kernel_of(file, name, knobs)
    arrays, scalars = make_arrays(kernel, sizes, 0), make_scalars(kernel, 0)
    run(kernel, sizes, arrays, scalars)
    assert kernel.computes is not None
    inputs = {t.name: arrays[t.name] for t in kernel.tensors if t.read}
    output = next(t.name for t in kernel.tensors if t.written)
    found = judged(arrays[output], kernel.computes, inputs, {**sizes, **scalars})
    assert found.ok, found


@pytest.mark.parametrize("file", ["softmax", "rmsnorm", "layernorm"])
def test_long_rows_are_the_same_function(file: str) -> None:
    sizes = {"M": 2, "N": 2600}
    short, long = kernel_of(file, file, {"WAVES": 4}), kernel_of(file, f"{file}_long", LONG)
    arrays, scalars = make_arrays(short, sizes, 1), make_scalars(short, 1)
    assert short.computes is not None
    run(long, sizes, arrays, scalars, checked=False)
    inputs = {t.name: arrays[t.name] for t in short.tensors if t.read}
    found = judged(arrays["Y"], short.computes, inputs, {**sizes, **scalars})
    assert found.ok, found


@pytest.mark.parametrize("operation", ["sum", "mean", "max"])
def test_long_rows_reduced(operation: str) -> None:
    kernel = kernel_of("rowreduce", "rowreduce_long", {**LONG, "OP": operation})
    arrays = make_arrays(kernel, {"M": 2, "N": 2600}, 0)
    run(kernel, {"M": 2, "N": 2600}, arrays, checked=False)
    assert kernel.computes is not None
    found = judged(arrays["Y"], kernel.computes, {"X": arrays["X"]}, {"M": 2, "N": 2600})
    assert found.ok, found


@pytest.mark.parametrize("name", ["softmax", "softmax_long"])
def test_softmax_of_hostile_rows(name: str) -> None:
    knobs = {"DTYPE": "f32"} if name == "softmax" else {**LONG, "DTYPE": "f32"}
    kernel = kernel_of("softmax", name, knobs)
    x = np.zeros((5, 400), np.float32)
    x[0] = np.linspace(-3e38, 3e38, 400)  # differences overflow
    x[1] = -3.3e38  # all equal and near the lowest
    x[2, ::2] = -np.inf
    x[3, 7] = np.nan
    x[4] = -0.0
    y = np.full_like(x, np.nan)
    run(kernel, {"M": 5, "N": 400}, {"X": x, "Y": y}, checked=False)
    with np.errstate(over="ignore", invalid="ignore"):
        e = np.exp(x.astype(np.float64) - x.astype(np.float64).max(1, keepdims=True))
        want = e / e.sum(1, keepdims=True)
    np.testing.assert_allclose(y, want, rtol=1e-5, atol=1e-30)


@pytest.mark.parametrize(
    ("file", "name", "knobs"),
    [
        ("softmax", "softmax", {"WAVES": 4}),
        ("rmsnorm", "rmsnorm", {}),
        ("softmax", "softmax", {"CHUNKS": 8, "EXACT": True}),
        pytest.param("layernorm", "layernorm", {"CHUNKS": 8, "EXACT": True}, marks=pytest.mark.full),
        ("rowreduce", "rowreduce", {"OP": "max"}),
        ("elementwise", "unary", {"ACT": "gelu"}),
        ("elementwise", "unary", {"ACT": "relu"}),
        ("elementwise", "combine", {"BIAS": True}),
        pytest.param("layernorm", "layernorm", {}, marks=pytest.mark.full),
        pytest.param("elementwise", "binary", {}, marks=pytest.mark.full),
        pytest.param("transpose", "transpose", {"DTYPE": "f32"}, marks=pytest.mark.full),
    ],
    ids=lambda value: str(value) if isinstance(value, str) else "-".join(value),
)
def test_proved(file: str, name: str, knobs: dict[str, Any]) -> None:
    report = check(scheduled(kernel_of(file, name, knobs)))
    assert [v.rule for v in report.verdicts if v.status != "proved"] == []


@pytest.mark.parametrize(
    "wrong", ["ag.where(x < 0.0, x, 0.0)", "ag.where(x < 1.0, 0.0, x)", "ag.where(x > 0.0, 0.0, x)"]
)
def test_another_choice_by_sign_is_no_relu(wrong: str) -> None:
    text = (KERNELS / "elementwise.py").read_text(encoding="utf-8")
    changed = text.replace("ag.where(x < 0.0, 0.0, x)", wrong)
    assert changed != text
    report = check(scheduled(read(changed, settings={"ACT": "relu"}, kernel="unary")))
    assert [v.status for v in report.verdicts if v.rule == "value"] == ["refuted"]
