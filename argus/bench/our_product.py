"""Ours in a comparison of matrix products: the dispatcher's choice, its time kept by its objects.

ours = our_product((4096, 4096, 4096), "bf16", "TN")
ours.text()              "matmul_tiles DTYPE=bf16 …"
ours.time(Kept()).us     the time of its launches, one after the other
"""

from __future__ import annotations

from dataclasses import dataclass

from argus.bench.contestant import Contestant, from_choice
from argus.bench.kept import Kept, Timed, mark
from argus.ops.choice import Choice, choose_matmul
from argus.ops.launch import prepared

Shape = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class OurProduct:
    """The choice at these sizes."""

    shape: Shape
    choice: Choice

    def text(self) -> str:
        return self.choice.text()

    def contestant(self) -> Contestant:
        return from_choice("ours", self.choice, dict(zip("MNK", self.shape, strict=True)))

    def time(self, store: Kept) -> Timed:
        """Of the proved kernels; a kept time is that of these very objects."""
        steps = [self.choice, *([] if self.choice.then is None else [self.choice.then])]
        objects = " ".join(mark(prepared(step).code) for step in steps)
        at = " x ".join(map(str, self.shape))
        return store.time(f"ours {self.choice.text()} {objects} at {at}", self.contestant, ())


def our_product(shape: Shape, dtype: str, layout: str) -> OurProduct:
    """What the library takes for this product; NoKernel says why there is nothing."""
    m, n, k = shape
    return OurProduct(shape, choose_matmul(m, n, k, dtype, a_by_k=layout == "NT", b_by_k=layout != "TN"))
