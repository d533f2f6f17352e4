"""Flash attention on the machine against float64, element by element, with bounds derived from the arithmetic.

The bound of an output: half a unit of bf16 in the result; the rounding of each probability to bf16 (2**-8 nearest,
2**-7 truncated) times |v|; the error of the scores (f32 sums of D products) through the exponential; f32 sums over
the keys. Small launches run on the checking interpreter with every check on, larger ones on the JIT.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from argus import machine
from argus.compile import Compiled, CompileError, compile_kernel
from argus.compile.decoded import decode
from argus.device.guards import LaunchRefused, launch_grid
from argus.device.simulated import CheckingDevice
from argus.ir.kernel import Kernel
from argus.ir.passes.schedule import scheduled
from argus.lang import read
from argus.ops.attention import attention, choose_attention

KERNEL = Path(__file__).parents[2] / "argus/kernels/attention.py"
UNIT = 2.0**-24
EXP_ERROR = 2.0**-20
Wide = np.ndarray[Any, np.dtype[np.float64]]


@cache
def made(**knobs: Any) -> tuple[Kernel, Compiled]:
    kernel = read(str(KERNEL), settings=knobs, kernel="attention")
    return kernel, compile_kernel(scheduled(kernel))


@dataclass(frozen=True)
class Problem:
    q: np.ndarray
    k: np.ndarray
    v: np.ndarray
    causal: bool
    scale: float

    @classmethod
    def random(cls, z: int, g: int, sq: int, sk: int, d: int, causal: bool, size: float = 1.0) -> Problem:
        rng = np.random.default_rng(1000 * sq + sk)
        q, k, v = (
            (size * rng.standard_normal(shape)).astype(ml_dtypes.bfloat16)
            for shape in ((z, g, sq, d), (z, sk, d), (z, sk, d))
        )
        return cls(q, k, v, causal, float(np.float32(d**-0.5)))

    @property
    def sizes(self) -> Mapping[str, int]:
        return {"Z": self.q.shape[0], "G": self.q.shape[1], "Sq": self.q.shape[2], "Sk": self.k.shape[1]}

    def run(self, checked: bool = False, workgroups: list[int] | None = None, **knobs: Any) -> tuple[Wide, Wide]:
        kernel, compiled = made(D=self.q.shape[-1], causal=self.causal, **knobs)
        out, lse = np.full(self.q.shape, 7, ml_dtypes.bfloat16), np.full(self.q.shape[:-1], 7, np.float32)
        tail = (np.int32(self.sizes[s.name]) for s in kernel.shapes)
        result = machine.load(compiled.object).kernel(kernel.name)(
            launch_grid(kernel, self.sizes), (kernel.threads,), self.q, self.k, self.v, out, lse,
            np.float32(self.scale), *tail, executor="checking" if checked else "jit",
            options=machine.Options(checks="all" if checked else (), workgroups=workgroups),
        )  # fmt: skip
        assert not result.reports, result.reports[0]
        return out.astype(np.float64), lse.astype(np.float64)

    def reference(self, z: int, g: int, rows: slice, rounding: str) -> tuple[Wide, Wide, Wide, Wide]:
        """(output, its bound, LSE, its bound) of some rows of one head."""
        q, k, v = self.q[z, g, rows].astype(np.float64), self.k[z].astype(np.float64), self.v[z].astype(np.float64)
        sk, d = k.shape
        scores = self.scale * (q @ k.T)
        wrong = ((d + 2) * UNIT * self.scale * (np.abs(q) @ np.abs(k).T)).max(1, keepdims=True) + EXP_ERROR
        if self.causal:
            row = np.arange(self.q.shape[2])[rows, None]
            scores = np.where(np.arange(sk)[None] <= row + sk - self.q.shape[2], scores, -np.inf)
        top = scores.max(1, keepdims=True)
        top = np.where(np.isfinite(top), top, 0.0)
        weight = np.exp(scores - top)
        total = weight.sum(1, keepdims=True)
        p = weight / np.where(total > 0, total, 1.0)
        out = p @ v
        sums = 2 * sk * UNIT
        of_p = 2.0**-8 if rounding == "rne" else 2.0**-7
        bound = 2.0**-8 * np.abs(out) + (of_p + 2 * wrong + sums) * (p @ np.abs(v)) + 1e-30
        with np.errstate(divide="ignore"):
            lse = (top + np.log(total))[:, 0]
        return out, bound, lse, (wrong + sums)[:, 0] + 4 * UNIT * np.abs(np.where(np.isfinite(lse), lse, 0)) + 2.0**-20

    def judge(self, out: Wide, lse: Wide, rounding: str = "rne", rows: slice = slice(None)) -> None:
        for z in range(self.q.shape[0]):
            for g in range(self.q.shape[1]):
                want, bound, log, log_bound = self.reference(z, g, rows, rounding)
                assert (np.abs(out[z, g, rows] - want) <= bound).all()
                there = np.isfinite(log)
                assert (lse[z, g, rows][~there] == -np.inf).all()
                assert (np.abs(lse[z, g, rows][there] - log[there]) <= log_bound[there]).all()


@pytest.mark.parametrize("causal", [False, True])
def test_checked_by_the_interpreter(causal: bool) -> None:
    """Races, waits, barriers, uninitialised registers, bounds: no report."""
    problem = Problem.random(1, 1, 256, 384, 128, causal)
    problem.judge(*problem.run(checked=True))


FORMS: list[dict[str, Any]] = [
    {"LAZY": 8},
    {"OPPOSITE": True},
    {"MIRROR": True},
    {"XCD": False},
    {"SWIZZLE": False},
    {"PREFETCH": False},
    {"INTERLEAVE": False},
    {"LAZY": 8, "OPPOSITE": True},
    {"WAVES": 4, "BC": 32, "LAZY": 8},
]


@pytest.mark.full
@pytest.mark.parametrize("knobs", FORMS, ids=str)
def test_every_form_checked_by_the_interpreter(knobs: dict[str, Any]) -> None:
    """512 queries, so that the mirrored form has two tiles."""
    problem = Problem.random(1, 1, 512, 512, 128, True)
    problem.judge(*problem.run(checked=True, **knobs))


@pytest.mark.parametrize("knobs", [FORMS[0], FORMS[1], FORMS[8]], ids=str)
def test_forms_that_move_work(knobs: dict[str, Any]) -> None:
    """Keys that grow along the sequence make the maximum move at every step, far or by a little."""
    problem = Problem.random(1, 2, 512, 768, 128, True)
    problem.k[0] *= np.linspace(0.01, 6, 768)[:, None].astype(ml_dtypes.bfloat16)
    problem.judge(*problem.run(**knobs))


@pytest.mark.parametrize(
    ("z", "g", "sq", "sk", "causal"),
    [(2, 3, 256, 256, True), (1, 2, 512, 768, True), (1, 1, 512, 256, True), (1, 2, 512, 512, False)],
)
def test_whole_tiles(z: int, g: int, sq: int, sk: int, causal: bool) -> None:
    """MHA, shared KV heads, more keys than queries, and more queries than keys: rows that see nothing."""
    problem = Problem.random(z, g, sq, sk, 128, causal)
    problem.judge(*problem.run())


@pytest.mark.parametrize("causal", [pytest.param(False, marks=pytest.mark.full), True])
@pytest.mark.parametrize(("sq", "sk"), [(1, 1), (200, 333), (257, 64), (300, 427), (64, 700)])
def test_any_lengths(sq: int, sk: int, causal: bool) -> None:
    problem = Problem.random(2, 2, sq, sk, 128, causal)
    problem.judge(*problem.run(RAGGED=True))


def test_nothing_outside_is_read_as_data() -> None:
    """NaN in the head behind a ragged one does not reach it."""
    problem = Problem.random(2, 1, 70, 90, 128, True)
    problem.q[1], problem.k[1], problem.v[1] = np.nan, np.nan, np.nan
    out, lse = problem.run(RAGGED=True)
    first = Problem(problem.q[:1], problem.k[:1], problem.v[:1], True, problem.scale)
    first.judge(out[:1], lse[:1])
    assert np.isnan(out[1]).all()


def test_rounding_toward_zero_and_head_dimension_64() -> None:
    problem = Problem.random(1, 2, 256, 256, 64, True)
    problem.judge(*problem.run(ROUND="rtz"), rounding="rtz")


def test_large_magnitudes_and_signed_zeros() -> None:
    """Scores of several hundred: one key takes all; zeros of either sign; outputs stay finite."""
    problem = Problem.random(1, 1, 256, 256, 128, True, size=8.0)
    problem.q[0, 0, :32] = -0.0
    out, lse = problem.run()
    assert np.isfinite(out).all()
    problem.judge(out, lse)


def test_nan_in_a_query_stays_in_its_row() -> None:
    problem = Problem.random(1, 1, 256, 256, 128, False)
    problem.q[0, 0, 5, 3] = np.nan
    out, _ = problem.run()
    assert np.isnan(out[0, 0, 5]).all()
    others = np.arange(256) != 5
    want, bound, _, _ = problem.reference(0, 0, slice(None), "rne")
    assert (np.abs(out[0, 0] - want) <= bound)[others].all()


def test_nan_in_a_key_reaches_only_the_rows_that_see_it() -> None:
    problem = Problem.random(1, 1, 256, 256, 128, True)
    problem.k[0, 200] = np.nan
    out, lse = problem.run()
    assert np.isnan(out[0, 0, 200:]).all()
    assert np.isnan(lse[0, 0, 200:]).all()
    clean = Problem.random(1, 1, 256, 256, 128, True)
    clean.judge(out, lse, rows=slice(0, 200))


def test_infinite_scores_give_nan_in_their_row_only() -> None:
    """inf - inf has no value; what numpy says too."""
    problem = Problem.random(1, 1, 256, 256, 128, False)
    problem.q[0, 0, 7] = np.inf
    out, lse = problem.run()
    assert np.isnan(out[0, 0, 7]).all()
    problem.judge(out, lse, rows=slice(8, 256))


def test_an_infinite_value_is_infinite_or_nan_in_its_column_only() -> None:
    problem = Problem.random(1, 1, 256, 256, 128, False)
    problem.v[0, 100, 5] = np.inf
    out, _ = problem.run()
    assert not np.isfinite(out[0, 0, :, 5]).any()
    others = np.arange(128) != 5
    problem.v[0, 100, 5] = 0
    want, bound, _, _ = problem.reference(0, 0, slice(None), "rne")
    assert (np.abs(out[0, 0] - want) <= bound)[:, others].all()


@pytest.mark.parametrize("tiny", [1e-38, 1e-40])
def test_denormal_operands(tiny: float) -> None:
    """Denormal scores are as good as zero: the mean of the values, which may be denormal themselves."""
    problem = Problem.random(1, 1, 256, 256, 128, True)
    problem.q[:] = (problem.q.astype(np.float64) * tiny).astype(ml_dtypes.bfloat16)
    problem.v[:, :, :64] = (problem.v[:, :, :64].astype(np.float64) * tiny).astype(ml_dtypes.bfloat16)
    problem.judge(*problem.run())


@pytest.mark.parametrize("scale", [0.0, -1.0, float("nan")])
def test_a_scale_that_is_not_positive_is_refused(scale: float) -> None:
    problem = Problem.random(1, 1, 256, 256, 128, True)
    kernel, compiled = made(D=128, causal=True)
    arrays = {"Q": problem.q, "K": problem.k, "V": problem.v, "O": np.zeros_like(problem.q)}
    arrays["L"] = np.zeros(problem.q.shape[:-1], np.float32)
    with pytest.raises(LaunchRefused, match="scale > 0"):
        CheckingDevice().launch(kernel, compiled.object, problem.sizes, arrays, {"scale": scale})


def test_stores_are_unbiased() -> None:
    problem = Problem.random(1, 4, 256, 256, 128, False)
    out, _ = problem.run()
    want = np.stack([problem.reference(0, g, slice(None), "rne")[0] for g in range(4)])
    error = out[0] - want
    spread = error.std() / np.sqrt(error.size)
    assert abs(error.mean()) < 4 * spread


def test_inner_loop() -> None:
    """Instructions per 64 matrix instructions; the loop has two steps."""
    for rounding, most in (("rtz", 430), ("rne", 490)):
        kernel, compiled = made(ROUND=rounding)
        code = decode(compiled.object, kernel.name)
        first, last = max(code.loops, key=lambda span: code.kinds[span[0] : span[1]].count("mfma"))
        counts = Counter(code.kinds[first : last + 1])
        assert counts["mfma"] == 128
        assert last - first + 1 <= 2 * most
        assert counts["accmov"] == counts["scratch"] == 0
        assert counts["barrier"] == 2


@pytest.mark.parametrize("length", [4096])
def test_sampled_rows_of_a_long_sequence(length: int) -> None:
    """The longest and the shortest tile of a causal launch."""
    problem = Problem.random(1, 1, length, length, 128, True)
    out, lse = problem.run(workgroups=[0, length // 256 - 1])
    for rows in (slice(length - 256, length), slice(0, 256)):
        problem.judge(out, lse, rows=rows)


@pytest.mark.full
@pytest.mark.parametrize("length", [1024, 2048, 4096, 8192, 16384])
def test_sampled_workgroups_of_the_benchmark(length: int) -> None:
    """Batch 16, 8 query heads, 1 KV head: first, middle and last tile, each of another head, with the table's knobs."""
    knobs: dict[str, Any] = dict(choose_attention(length, length, 128, "bf16", True).knobs)
    rows = 32 * int(knobs.get("WAVES", 8))
    tiles, z, g = length // rows, 16, 8
    dice = np.random.default_rng(length)
    block = dice.standard_normal((1 << 20) + 7919).astype(ml_dtypes.bfloat16)
    q, k, v = (np.resize(block[n:], shape) for n, shape in enumerate(((z, g, length, 128), *((z, length, 128),) * 2)))
    problem = Problem(q, k, v, True, float(np.float32(128**-0.5)))
    chosen = [(0, 3, 5), (tiles // 2, 7, 11), (tiles - 1, 0, 15)]
    rest = {name: value for name, value in knobs.items() if name not in ("D", "causal")}
    out, lse = problem.run(workgroups=[(place * g + at) * z + pair for place, at, pair in chosen], **rest)
    for place, at, pair in chosen:
        tile = slice(rows * (tiles - 1 - place), rows * (tiles - place))
        want, bound, log, log_bound = problem.reference(pair, at, tile, "rne")
        assert (np.abs(out[pair, at, tile] - want) <= bound).all()
        assert (np.abs(lse[pair, at, tile] - log) <= log_bound).all()


@pytest.mark.full
@pytest.mark.parametrize(("sq", "sk"), [(256, 256), (70, 90)])
def test_the_operation_proves_and_launches(sq: int, sk: int) -> None:
    problem = Problem.random(2, 3, sq, sk, 128, True)
    o, lse = attention(problem.q, problem.k[:, None], problem.v[:, None], causal=True, device="jit")
    problem.judge(o.astype(np.float64), lse.astype(np.float64))


CONFIGURATIONS = [
    {"D": d, "WAVES": waves, "BC": keys, "causal": causal, "ROUND": rounding, "RAGGED": ragged, "AHEAD": 2}
    for d in (64, 128)
    for waves in (4, 8)
    for keys in (32, 64)
    for causal in (False, True)
    for rounding, ragged in (("rne", False), ("rtz", False), ("rne", True))
    if keys * d // 8 >= 64 * waves and (waves == 8 or keys * d < 8192)
] + [{"AHEAD": 4, "causal": causal} for causal in (False, True)]


@pytest.mark.full
@pytest.mark.parametrize("knobs", CONFIGURATIONS, ids=str)
def test_every_configuration_is_clean_or_refused_with_numbers(knobs: dict[str, Any]) -> None:
    """The audit holds (no spills, no copies) and the result is right, or C130 before LLVM is asked."""
    try:
        kernel, compiled = made(**knobs)
    except CompileError as error:
        assert error.code == "C130", error  # noqa: PT017 (both outcomes are fine)
        return
    code = decode(compiled.object, kernel.name)
    assert not {"accmov", "scratch"} & set(code.kinds)
    rest = {name: value for name, value in knobs.items() if name not in ("D", "causal")}
    problem = Problem.random(1, 1, 256, 384, knobs.get("D", 128), knobs["causal"])
    problem.judge(*problem.run(**rest), rounding=knobs.get("ROUND", "rne"))
