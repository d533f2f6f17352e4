"""Every listing reads quickly, prints and parses back, and computes what numpy says: the small ones when the IR is
executed, all of them when the compiled code object is executed on the simulated machine with its checks on."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from argus.compile import compile_kernel
from argus.device.guards import numpy_dtype, tensor_shapes
from argus.device.simulated import CheckingDevice
from argus.ir.interp import run
from argus.ir.kernel import Kernel
from argus.ir.parser import parse_kernel
from argus.ir.passes.schedule import scheduled
from argus.ir.printer import print_kernel
from argus.ir.verify import verify
from argus.lang import read
from tests.ir.test_text import same

PROGRAMS = Path(__file__).parent / "programs"
NAMES = sorted(p.stem for p in PROGRAMS.glob("*.py"))
KERNELS = PROGRAMS.parents[2] / "argus" / "kernels"
LISTINGS = [KERNELS / "vadd.py", KERNELS / "gemm.py", *(PROGRAMS / f"{n}.py" for n in NAMES)]
Array = np.ndarray[Any, Any]

BF16 = ml_dtypes.bfloat16
RNG = np.random.default_rng(7)


@pytest.mark.parametrize("path", LISTINGS, ids=lambda p: p.stem)
def test_reads_prints_and_parses_back_quickly(path: Path) -> None:
    read(path)
    seconds = []
    for _ in range(3):
        start = time.process_time()
        kernel = read(path)
        seconds.append(time.process_time() - start)
    assert min(seconds) < 0.3
    start = time.process_time()
    text = print_kernel(kernel)
    back = parse_kernel(text)
    assert time.process_time() - start < 0.6
    same(kernel, back)
    verify(back)


def normal(*shape: int) -> Array:
    return RNG.standard_normal(shape).astype(np.float32)


def half(*shape: int) -> Array:
    return RNG.standard_normal(shape).astype(BF16)


def wide(x: Array) -> Array:
    return x.astype(np.float64)


def softmax(x: Array) -> Array:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def attention(q: Array, k: Array, v: Array, scale: float, causal: bool) -> Array:
    s = np.einsum("bhqd,bhkd->bhqk", wide(q), wide(k)) * scale
    if causal:
        s = np.where(np.arange(s.shape[-1]) <= np.arange(s.shape[-2])[:, None], s, -np.inf)
    return np.einsum("bhqk,bhkd->bhqd", softmax(s), wide(v))


def launched(
    kernel: Kernel, arrays: dict[str, Array], sizes: dict[str, int], scalars: dict[str, float]
) -> dict[str, Array]:
    """The arrays after the compiled kernel ran on the machine, which must find no fault."""
    shapes = tensor_shapes(kernel, sizes)
    memory: dict[str, Array] = {}
    for t in kernel.tensors:
        given = arrays.get(t.name)
        memory[t.name] = np.zeros(shapes[t.name], numpy_dtype(t.dtype)) if given is None else given.copy()
    outcome = CheckingDevice().launch(kernel, compile_kernel(scheduled(kernel)).object, sizes, memory, scalars)
    assert not outcome.reports
    return memory


def results(
    kernel: Kernel, arrays: dict[str, Array], sizes: dict[str, int], scalars: dict[str, float] | None, small: bool
) -> list[dict[str, Array]]:
    found = [launched(kernel, arrays, sizes, scalars or {})]
    if small:
        outcome = run(kernel, arrays, sizes, scalars=scalars)
        assert not outcome.hazards
        found.append(outcome.arrays)
    return found


def check(
    kernel: Kernel,
    arrays: dict[str, Array],
    sizes: dict[str, int],
    wanted: dict[str, Array],
    tolerance: float,
    scalars: dict[str, float] | None = None,
    small: bool = True,
) -> None:
    for found in results(kernel, arrays, sizes, scalars, small):
        for name, expected in wanted.items():
            scale = max(1.0, float(np.abs(wide(expected)).max()))
            np.testing.assert_allclose(wide(found[name]), wide(expected), atol=tolerance * scale, rtol=tolerance)


def test_transpose() -> None:
    x = normal(64, 96)
    check(read(PROGRAMS / "transpose.py"), {"X": x}, {"M": 64, "N": 96}, {"Y": x.T}, 0)


def test_rmsnorm() -> None:
    x, w = half(8, 2048), half(2048)
    wanted = wide(x) / np.sqrt((wide(x) ** 2).mean(-1, keepdims=True) + 1e-5) * wide(w)
    check(read(PROGRAMS / "rmsnorm.py"), {"X": x, "W": w}, {"T": 8}, {"Y": wanted}, 1e-2, {"eps": 1e-5})


@pytest.mark.parametrize("n", [1000, 1024, 4])
def test_softmax(n: int) -> None:
    x = normal(8, n)
    check(read(PROGRAMS / "softmax.py"), {"X": x}, {"M": 8, "N": n}, {"Y": softmax(wide(x))}, 1e-5)


def test_splitk() -> None:
    a, b = half(64, 256), half(64, 256)
    kernel = read(PROGRAMS / "splitk.py")
    check(kernel, {"A": a, "B": b}, {"M": 64, "N": 64, "K": 256}, {"C": wide(a) @ wide(b).T}, 1e-4, small=False)


def test_paged() -> None:
    cache = half(64, 16, 128)
    table = RNG.integers(0, 64, (2, 5)).astype(np.int32)
    check(
        read(PROGRAMS / "paged.py"),
        {"cache": cache, "table": table},
        {"P": 64, "S": 2, "B": 5},
        {"out": cache[table]},
        0,
    )


def test_scan() -> None:
    x = normal(8, 256)
    check(read(PROGRAMS / "scan.py"), {"X": x}, {"M": 8}, {"Y": np.cumsum(wide(x), -1)}, 1e-5)


def test_quantise() -> None:
    x = half(8, 4096)
    scale = np.abs(wide(x)).max(-1) / 240
    wanted = (wide(x) / scale[:, None]).astype(ml_dtypes.float8_e4m3fnuz)
    kernel = read(PROGRAMS / "quantise.py")
    for found in results(kernel, {"X": x}, {"M": 8}, None, small=True):
        np.testing.assert_allclose(found["scales"], scale, rtol=1e-6)
        differs = wide(found["Y"]) != wide(wanted)
        assert differs.mean() < 1e-3  # a division by reciprocal may round the other way


def test_depthwise() -> None:
    x, k = normal(1, 8, 16, 64), normal(3, 3, 64)
    padded = np.pad(wide(x), ((0, 0), (1, 1), (1, 1), (0, 0)))
    wanted = sum(padded[:, i : i + 8, j : j + 16] * k[i, j] for i in range(3) for j in range(3))
    check(read(PROGRAMS / "depthwise.py"), {"X": x, "K": k}, {"B": 1, "H": 8, "W": 16, "C": 64}, {"Y": wanted}, 1e-5)


def test_routing() -> None:
    logits = normal(8, 64)
    logits[3, 17] = logits[3, 40] = 9.0
    wanted = {"expert": logits.argmax(-1), "weight": softmax(wide(logits)).max(-1)}
    check(read(PROGRAMS / "routing.py"), {"logits": logits}, {"T": 8}, wanted, 1e-5)


@pytest.mark.parametrize("causal", [False, True])
def test_attention(causal: bool) -> None:
    q, k, v = half(1, 1, 128, 128), half(1, 1, 192, 128), half(1, 1, 192, 128)
    kernel = read(PROGRAMS / "attention.py", settings={"causal": causal})
    sizes = {"B": 1, "H": 1, "Sq": 128, "Sk": 192}
    wanted = attention(q, k, v, 0.09, causal)
    check(kernel, {"Q": q, "K": k, "V": v}, sizes, {"O": wanted}, 2e-2, {"scale": 0.09}, small=False)


def test_moe() -> None:
    tokens, k, experts, n, rows = 40, 128, 4, 128, 128
    x, w = half(tokens, k), half(experts, n, k)
    block_expert = np.array([2, 0], dtype=np.int32)
    row_token = RNG.integers(0, tokens, rows).astype(np.int32)
    row_weight = np.where(np.arange(rows) % 7 == 0, 0, RNG.random(rows)).astype(np.float32)
    wanted = np.zeros((tokens, n))
    for r in range(rows):
        wanted[row_token[r]] += row_weight[r] * (wide(w[block_expert[r // 64]]) @ wide(x[row_token[r]]))
    arrays = {"X": x, "W": w, "block_expert": block_expert, "row_token": row_token, "row_weight": row_weight}
    sizes = {"T": tokens, "K": k, "E": experts, "N": n, "R": rows, "P": 2}
    check(read(PROGRAMS / "moe.py"), arrays, sizes, {"Y": wanted}, 1e-3, small=False)


def rotary_reference(x: Array, turns: Array) -> Array:
    c, s = np.cos(2 * np.pi * wide(turns)), np.sin(2 * np.pi * wide(turns))
    low, high = wide(x)[..., 0::2], wide(x)[..., 1::2]
    return np.stack([low * c - high * s, low * s + high * c], -1).reshape(x.shape)


def test_rotary() -> None:
    x, turns = half(2, 32, 128), RNG.random((32, 64)).astype(np.float32)
    wanted = rotary_reference(x, turns)
    check(read(PROGRAMS / "rotary.py"), {"X": x, "turns": turns}, {"B": 2, "S": 32}, {"Y": wanted}, 1e-2, small=False)
