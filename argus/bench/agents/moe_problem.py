"""A fused mixture of experts in fp8 (e4m3fnuz) with block scales: dim 7168, inter 2048, 32 experts, top 4, bf16 out.

Operands: X [T, D], W1 [E, 2 I, D] (gate, then up), W2 [E, D, I] in fp8; XF, W1F, W2F the same without their scales in
f32; WEIGHTS and IDS [T, TOPK]; scales SX [T, D / 128], S1 and S2 per expert and block of 128 x 128; TMP [T, D] in f32;
outputs OUT (bf16) and OUTF (f32, zero before the launch). Sizes: T, D, I, E, TOPK. The activation stays in f32, as the
published kernels have it; ours quantises it again, and sorting of tokens is counted for nobody (docs/kernels_moe.md).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from argus.bench import moe
from argus.bench.agents.problem import BF16, F32, FP8, OursTimed, SmallCase, Wide, never_written
from argus.bench.kept import Kept, Timed
from argus.bench.moe import DIM, EXPERTS, INTER, TOPK
from argus.bench.others import Others
from argus.clock.staged import Operand
from argus.ops.moe_reference import routing

SMALL = {"T": 8, "D": 1024, "I": 512, "E": 8, "TOPK": TOPK}
BLOCK = 128


class MoeProblem:
    axis = "tokens"

    def sizes(self, size: int) -> dict[str, int]:
        return {"T": size, "D": DIM, "I": INTER, "E": EXPERTS, "TOPK": TOPK}

    def operands(self, size: int) -> dict[str, Any]:
        sizes = self.sizes(size)
        found: dict[str, Any] = {}
        for seed, (name, shape) in enumerate(_shapes(sizes).items()):
            dtype = FP8 if name in ("X", "W1", "W2") else F32
            found[name] = Operand(shape, dtype, seed)
            if dtype is FP8:
                found[f"{name}F"] = Operand(shape, F32, seed)
        result = (size, DIM)
        return found | {
            "IDS": routing("uniform", size, EXPERTS, TOPK), "TMP": Operand(result, F32, blank=True),
            "OUT": Operand(result, BF16, blank=True), "OUTF": Operand(result, F32, blank=True),
        }  # fmt: skip

    def small(self) -> SmallCase:
        dice = np.random.default_rng(0)
        arrays: dict[str, Any] = {}
        spread = {"X": (0.1, 1.0), "W1": (0.0, 8.0), "W2": (0.0, 8.0), "SX": (0.1, 0.02), "WEIGHTS": (0.25, 0.05)}
        for name, shape in _shapes(SMALL).items():
            mean, deviation = spread.get(name, (0.01, 0.002))
            drawn = (dice.standard_normal(shape) * deviation + mean).astype(np.float32)
            arrays[name] = drawn.astype(FP8) if name in ("X", "W1", "W2") else np.maximum(drawn, np.float32(1e-8))
        arrays["IDS"] = routing("uniform", SMALL["T"], SMALL["E"], TOPK)
        arrays |= {f"{name}F": arrays[name].astype(np.float32) for name in ("X", "W1", "W2")}
        result = (SMALL["T"], SMALL["D"])
        arrays |= {"TMP": never_written(result, F32), "OUT": never_written(result, BF16), "OUTF": np.zeros(result, F32)}
        want = reference(arrays)
        return SmallCase(SMALL, arrays, {"OUT": want, "OUTF": want})

    def ours(self, size: int, kept: Kept) -> OursTimed:
        row = moe.moe_row(size, Others("none"), kept=kept)
        whole = Timed(row.us, row.ours[0].mhz, interval=row.interval)
        return OursTimed(whole, "four launches: gate and up, quantise, down, combine", lambda: moe.ours(size))


def _shapes(sizes: dict[str, int]) -> dict[str, tuple[int, ...]]:
    t, d, i, e, topk = sizes.values()
    return {
        "X": (t, d), "W1": (e, 2 * i, d), "W2": (e, d, i), "WEIGHTS": (t, topk), "SX": (t, d // BLOCK),
        "S1": (e, 2 * i // BLOCK * (d // BLOCK)), "S2": (e, d // BLOCK * (i // BLOCK)),
    }  # fmt: skip


def reference(arrays: dict[str, Any]) -> Wide:
    """The result in float64; no rounding in between."""

    def scaled(weights: Any, scales: Any) -> Wide:
        rows, columns = weights.shape
        blocks = scales.reshape(rows // BLOCK, columns // BLOCK).astype(np.float64)
        found: Wide = weights.astype(np.float64) * np.kron(blocks, np.ones((BLOCK, BLOCK)))
        return found

    x = arrays["X"].astype(np.float64) * np.repeat(arrays["SX"], BLOCK, axis=1)
    first = [scaled(*pair) for pair in zip(arrays["W1"], arrays["S1"], strict=True)]
    second = [scaled(*pair) for pair in zip(arrays["W2"], arrays["S2"], strict=True)]
    out = np.zeros(x.shape)
    for token, experts in enumerate(arrays["IDS"]):
        for expert, share in zip(experts, arrays["WEIGHTS"][token].astype(np.float64), strict=True):
            gate, up = np.split(first[expert] @ x[token], 2)
            out[token] += share * (second[expert] @ (gate / (1.0 + np.exp(-gate)) * up))
    return out
