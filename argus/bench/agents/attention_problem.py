"""Causal attention forward in bf16: batch 16, 8 query heads, 1 key head, head dimension 128.

Operands: Q, K, V, O as [batch, S, head, D]; QH, KH, VH, OH as [batch, head, S, D]; the number `scale`. With one key
head both layouts of K and V are the same. Sizes: BATCH, HEADS, KV, S, D.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from argus.bench import attention
from argus.bench.agents.problem import BF16, OursTimed, SmallCase, Wide, never_written
from argus.bench.attention import BATCH, HEADS, KV_HEADS, D
from argus.bench.kept import Kept
from argus.bench.others import Others
from argus.clock.staged import Operand
from argus.ops.attention import choose_attention

SMALL, SMALL_BATCH = 256, 2
SCALE = np.float32(D**-0.5)


class AttentionProblem:
    axis = "S"

    def sizes(self, size: int) -> dict[str, int]:
        return {"BATCH": BATCH, "HEADS": HEADS, "KV": KV_HEADS, "S": size, "D": D}

    def operands(self, size: int) -> dict[str, Any]:
        found: dict[str, Any] = {"scale": SCALE}
        for seed, name in enumerate("QKVO"):
            heads = HEADS if name in "QO" else KV_HEADS
            found[name] = Operand((BATCH, size, heads, D), BF16, seed, blank=name == "O")
            found[f"{name}H"] = Operand((BATCH, heads, size, D), BF16, seed, blank=name == "O")
        return found

    def small(self) -> SmallCase:
        dice = np.random.default_rng(0)
        shapes = {name: (SMALL_BATCH, HEADS if name == "Q" else KV_HEADS, SMALL, D) for name in "QKV"}
        heads_first = {name: dice.standard_normal(shape).astype(BF16) for name, shape in shapes.items()}
        arrays: dict[str, Any] = {"scale": SCALE}
        for name, array in heads_first.items():
            arrays |= {f"{name}H": array, name: np.ascontiguousarray(array.swapaxes(1, 2))}
        blank = never_written(shapes["Q"], BF16)
        arrays |= {"OH": blank, "O": np.ascontiguousarray(blank.swapaxes(1, 2))}
        want = reference(*heads_first.values())
        sizes = {**self.sizes(SMALL), "BATCH": SMALL_BATCH}
        return SmallCase(sizes, arrays, {"OH": want, "O": want.swapaxes(1, 2)})

    def ours(self, size: int, kept: Kept) -> OursTimed:
        row = attention.attention_row(size, Others("none"), kept=kept)
        choice = choose_attention(size, size, D, "bf16", True)
        return OursTimed(row.ours, row.detail, lambda: attention.ours(size, choice))


def reference(q: Any, k: Any, v: Any) -> Wide:
    """The result in float64, heads first."""
    q, k, v = (array.astype(np.float64) for array in (q, k, v))
    scores = np.einsum("bhsd,bktd->bhst", q, k) * float(SCALE)
    seen = np.tril(np.ones(scores.shape[-2:], bool))
    weights = np.where(seen, np.exp(scores - scores.max(-1, keepdims=True)), 0.0)
    weights /= weights.sum(-1, keepdims=True)
    found: Wide = np.einsum("bhst,bktd->bhsd", weights, v)
    return found
