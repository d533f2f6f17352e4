"""C[M, N] = A[M, K] @ B[N, K].T in bf16, M = N = K. Operands: A, B, BT ([K, N]), C."""

from __future__ import annotations

from typing import Any

import numpy as np

from argus.bench.agents.problem import BF16, OursTimed, SmallCase, never_written
from argus.bench.contestant import Contestant, from_choice
from argus.bench.kept import Kept, mark
from argus.clock.staged import Operand
from argus.ops.choice import choose_matmul
from argus.ops.launch import prepared

SMALL = 256


class GemmProblem:
    axis = "M = N = K"

    def sizes(self, size: int) -> dict[str, int]:
        return dict.fromkeys("MNK", size)

    def operands(self, size: int) -> dict[str, Any]:
        square = (size, size)
        return {
            "A": Operand(square, BF16, 0), "B": Operand(square, BF16, 1), "BT": Operand(square, BF16, 1),
            "C": Operand(square, BF16, blank=True),
        }  # fmt: skip

    def small(self) -> SmallCase:
        dice = np.random.default_rng(0)
        a, b = (dice.standard_normal((SMALL, SMALL)).astype(BF16) for _ in "AB")
        arrays = {"A": a, "B": b, "BT": np.ascontiguousarray(b.T), "C": never_written((SMALL, SMALL), BF16)}
        return SmallCase(self.sizes(SMALL), arrays, {"C": a.astype(np.float64) @ b.astype(np.float64).T})

    def ours(self, size: int, kept: Kept) -> OursTimed:
        choice = choose_matmul(size, size, size, "bf16")

        def make() -> Contestant:
            return from_choice("ours", choice, self.sizes(size))

        words = f"agents ours {choice.text()} {mark(prepared(choice).code)} at {size}"
        return OursTimed(kept.time(words, make, OSError), choice.text(), make)
