"""Right kernels that a user would write, beside wrong ones that differ by one idea.

A file holds the variants of one kind, chosen by its knob CASE. `right` must be proved and be right on the machine at
every launch; every other variant must not be proved, unless the machine finds nothing wrong with it either.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tests.check.classes.table import Arrays, AttackClass

KERNELS = Path(__file__).parent / "kernels"


@dataclass(frozen=True)
class KernelKind(AttackClass):
    """One kernel file of this folder, and one kernel of it."""

    file: str = ""
    ends: frozenset[int] = frozenset()
    """Variants of which only a quick and sound verdict is asked."""
    again: frozenset[int] = frozenset()
    """Wrong ones that write an element twice, with the same number: no execution shows it."""

    @property
    def path(self) -> Path:
        return KERNELS / f"{self.file or self.name}.py"


def _twice(arrays: Arrays) -> dict[str, np.ndarray]:
    return {"y": 2 * arrays["x"]}


def _same(arrays: Arrays) -> dict[str, np.ndarray]:
    return {"y": arrays["x"]}


def _sizes(name: str, *values: int) -> tuple[dict[str, int], ...]:
    return tuple({name: value} for value in values)


def _neighbor(x: np.ndarray, k: int) -> np.ndarray:
    """x[…, i + k], zeros outside."""
    moved = np.zeros_like(x)
    if k >= 0:
        moved[..., : max(0, x.shape[-1] - k)] = x[..., k:]
    else:
        moved[..., -k:] = x[..., :k]
    return moved


def _window(x: np.ndarray, at: tuple[int, int], step: tuple[int, int], out: tuple[int, int]) -> np.ndarray:
    """x[…, step * p + at, step * q + at] for p and q below `out`, zeros outside."""
    taken = np.zeros((*x.shape[:2], *out), dtype=np.float64)
    for p, q in np.ndindex(*out):
        h, w = step[0] * p + at[0], step[1] * q + at[1]
        if 0 <= h < x.shape[2] and 0 <= w < x.shape[3]:
            taken[:, :, p, q] = x[:, :, h, w]
    return taken


def _convolution(arrays: Arrays) -> dict[str, np.ndarray]:
    """2 x 3 taps, strides 2 and 1, dilations 1 and 2, padding 1 and 2."""
    x, k = (arrays[name].astype(np.float64) for name in "XK")
    out = x.shape[2] // 2 + 1, x.shape[3]
    taps = np.ndindex(2, 3)
    return {
        "Y": sum(
            np.einsum("ncpq,oc->nopq", _window(x, (r - 1, 2 * s - 2), (2, 1), out), k[:, :, r, s]) for r, s in taps
        )
    }


def _pooling(arrays: Arrays) -> dict[str, np.ndarray]:
    """An eighth of windows of 3 x 2, strides 2 and 3, padding 1 and 0."""
    x = arrays["X"].astype(np.float64)
    out = x.shape[2] // 2 + 1, x.shape[3] // 3 + 1
    return {"Y": sum(_window(x, (r - 1, s), (2, 3), out) for r, s in np.ndindex(3, 2)) / 8}


def _images(*sizes: tuple[int, int, int, int, int]) -> tuple[dict[str, int], ...]:
    """Launches of `convolution`: N, C, H, W, O."""
    return tuple({"N": n, "C": c, "H": h, "W": w, "O": o, "OH": h // 2 + 1, "OW": w} for n, c, h, w, o in sizes)


TILES = _sizes("K", 1, 2, 3, 4, 5, 8)
ELEMENTS = _sizes("N", 1, 255, 1000)
KINDS = (
    KernelKind(
        "ring_stores", 24, TILES, _twice, right=frozenset({0, 1, 2, 3, 5, 6, 7, 20, 21}), ends=frozenset({4}),
        again=frozenset({16}),
    ),
    KernelKind(
        "persistent", 20, _sizes("N", 1, 1023, 1024, 8192, 8193, 20001), _twice, right=frozenset(range(8)),
        again=frozenset({9}),
    ),
    KernelKind("odd_barriers", 14, TILES, _same, right=frozenset(range(6))),
    KernelKind("clamped", 16, TILES, _twice, right=frozenset(range(7))),
    KernelKind(
        "stated_sums", 12, _sizes("N", 1, 255, 256, 1000), lambda a: {"y": a["x"].sum(axis=1)},
        right=frozenset({0, 1, 2, 10}),
    ),
    KernelKind(
        "windows", 16, _sizes("N", 1, 3, 255, 256, 1000), lambda a: {"y": sum(_neighbor(a["x"], k) for k in range(4))},
        right=frozenset(range(5)),
    ),
    KernelKind(
        "smooth", 4, _sizes("N", 3, 255, 256, 1000),
        lambda a: {"y": 0.25 * _neighbor(a["x"], -1) + 0.5 * a["x"] + 0.25 * _neighbor(a["x"], 1)},
        right=frozenset({0, 1}), file="windows",
    ),
    KernelKind(
        "pair_max", 3, tuple({"M": 2, "N": n} for n in (3, 255, 256, 300)),
        lambda a: {"y": np.maximum(a["x"], _neighbor(a["x"], 1))}, right=frozenset({0}), file="windows",
    ),
    KernelKind(
        "relu", 10, ELEMENTS, lambda a: {"y": np.maximum(a["x"] - 5, 0)}, right=frozenset(range(3)), file="choices",
    ),
    KernelKind(
        "leaky", 5, ELEMENTS, lambda a: {"y": np.where(a["x"] > 5, a["x"] - 5, 0.5 * (a["x"] - 5))},
        right=frozenset({0, 1}), file="choices",
    ),
    KernelKind(
        "bounded", 6, ELEMENTS, lambda a: {"y": np.clip(np.abs(a["x"] - 5), 1, 3)}, right=frozenset(range(3)),
        file="choices",
    ),
    KernelKind("edges", 4, _sizes("N", 1, 7, 8, 9, 70), _same, right=frozenset({0})),
    KernelKind("unused_loads", 8, ELEMENTS, _same, right=frozenset(range(4))),
    KernelKind("peeled", 4, TILES, _twice, right=frozenset({0, 1}), again=frozenset({3})),
    KernelKind(
        "far", 8, _sizes("N", 4, 1024, 5000), _same, right=frozenset({4}), file="hangs", ends=frozenset(range(8)),
    ),
    KernelKind(
        "rows", 8, _sizes("N", 1, 7, 16, 17, 70), _same, right=frozenset({0, 1, 2, 3, 4, 6, 7}), file="hangs",
        ends=frozenset(range(8)),
    ),
    KernelKind(
        "row_sums", 2, _sizes("N", 1, 9, 70), lambda a: {"y": a["x"].sum(axis=1)}, right=frozenset({0, 1}),
        file="hangs", ends=frozenset(range(2)),
    ),
    KernelKind(
        "product", 5, tuple({"M": 64, "N": 128, "K": k} for k in (16, 32, 48, 80)),
        lambda a: {"C": a["A"].astype(np.float32) @ a["B"].astype(np.float32).T}, right=frozenset({1, 3}), file="hangs",
        ends=frozenset(range(5)),
    ),
    KernelKind(
        "pooling", 26,
        tuple(
            {"N": 2, "C": 2, "H": h, "W": w, "OH": h // 2 + 1, "OW": w // 3 + 1}
            for h, w in ((1, 1), (5, 7), (9, 195), (8, 12))
        ),
        _pooling, right=frozenset(range(6)),
    ),
    KernelKind(
        "convolution", 42, _images((1, 1, 1, 1, 1), (2, 9, 5, 3, 33), (1, 20, 4, 18, 2), (2, 8, 6, 17, 40)),
        _convolution, right=frozenset(range(7)),
    ),
)  # fmt: skip
